#include "treaty/backends/flatagent/read_flat_agent.h"

#include <doctest/doctest.h>

#include <map>

#include "treaty/backends/flatagent/render_flat_agent.h"
#include "treaty/base/json_dynamic.h"

namespace treaty::backends {
namespace {

// Files of a directory `/a`, with the machine beside it in `/m`.
class Files {
 public:
  Files& put(const std::string& path, std::string text) {
    files_[path] = std::move(text);
    return *this;
  }

  Read<FlatAgent> read(std::string_view yaml) const {
    const auto document = parse_document(yaml);
    REQUIRE(document);
    return read_flat_agent(
        *document, {.directory = "/a",
                    .parent_directory = "/m",
                    .read_text = [this](const std::string& path) { return text_of(path); }});
  }
  FlatAgent agent(std::string_view yaml) const {
    auto read_one = read(yaml);
    INFO((read_one ? "" : read_one.error()));
    REQUIRE(read_one);
    return *std::move(read_one);
  }
  std::string fault(std::string_view yaml) const {
    const auto read_one = read(yaml);
    return read_one ? "" : read_one.error();
  }

 private:
  Read<std::string> text_of(const std::string& path) const {
    const auto found = files_.find(path);
    if (found == files_.end()) return Wrong("there is no such file");
    return found->second;
  }

  std::map<std::string, std::string> files_{};
};

std::string user_text(const FlatAgent& agent, const Dynamic& input) {
  const auto call = render(agent, {.input = input, .chain = {}});
  REQUIRE(call);
  return std::get<TextPart>(std::get<UserMessage>(call->messages[0]).parts[0]).text;
}

constexpr std::string_view kCatalog = R"(
spec: flatprofile
spec_version: "4.2.1"
data:
  model_profiles:
    fast: {provider: cerebras, name: gpt-oss-120b, temperature: 0.6, max_tokens: 2048}
    smart: {type: llm, model: {provider: anthropic, name: claude-sonnet-4-5}}
    remote: {name: some-model, base_url: "http://10.0.0.5:8000/v1"}
)";

TEST_CASE("Version 1: one file with the model and the prompts") {
  const FlatAgent agent = Files().agent(R"(
spec: flatagent
spec_version: "1.0.0"
data:
  name: critic
  model: {provider: openai, name: gpt-4o, temperature: 0.2, max_tokens: 100}
  system: You judge.
  user: "Judge {{ input.text }}."
  output:
    score: {type: int, description: 0 to 10}
)");

  CHECK(agent.name == "critic");
  CHECK(agent.profile.provider == "openai");
  CHECK(agent.profile.model == "gpt-4o");
  CHECK(agent.profile.temperature == 0.2);
  CHECK(agent.profile.max_tokens == 100);
  CHECK(user_text(agent, Object{{"text", "this"}}) == "Judge this.");
  REQUIRE(agent.output);
  CHECK(agent.output->request.strict);
}

TEST_CASE("Versions 2 and 3: the model is the name of a profile beside the agent") {
  const FlatAgent agent = Files().put("/a/profiles.yml", std::string(kCatalog)).agent(R"(
spec: flatagent
spec_version: "2.2.0"
data: {model: fast, user: hello}
)");

  CHECK(agent.profile.provider == "cerebras");
  CHECK(agent.profile.model == "gpt-oss-120b");
  CHECK(agent.profile.max_tokens == 2048);
  CHECK(agent.name == "agent");
}

TEST_CASE("A profile is looked for beside the machine when there is no catalog at the agent") {
  const Files files = Files().put("/m/profiles.yml", std::string(kCatalog));

  CHECK(files.agent("data: {model: fast, user: hi}").profile.model == "gpt-oss-120b");
  CHECK(
      files.agent("data: {model: {profile: fast, temperature: 1}, user: hi}").profile.temperature ==
      1.0);
}

TEST_CASE("Version 4: prompt and profile, inline") {
  const FlatAgent agent = Files().agent(R"(
spec: flatagent
spec_version: "4.2.1"
data:
  prompt:
    name: writer
    user: "Write about {{ input.topic }}"
    instruction_suffix: Be brief.
  profile:
    spec: flatprofile
    data: {model_profiles: {only: {provider: groq, name: llama}}}
)");

  CHECK(agent.name == "writer");
  CHECK(agent.profile.provider == "groq");
  CHECK(user_text(agent, Object{{"topic", "rain"}}) == "Write about rain\n\nBe brief.");
}

TEST_CASE("Version 4: prompt and profile in files of their own") {
  const Files files = Files()
                          .put("/a/prompts/p.yml", "spec: prompt\ndata: {user: hi, system: S}\n")
                          .put("/a/models.yml", std::string(kCatalog) + "  default: smart\n")
                          .put("/a/profiles.yml", kCatalog.data());

  const FlatAgent by_path = files.agent("data: {prompt: ./prompts/p.yml, profile: ./models.yml}");
  const FlatAgent by_name = files.agent("data: {prompt: prompts/p.yml, profile: fast}");

  CHECK(by_path.profile.provider == "anthropic");
  CHECK(by_path.profile.model == "claude-sonnet-4-5");
  CHECK(by_name.profile.model == "gpt-oss-120b");
}

TEST_CASE("Default stands below what an agent says, override above it") {
  const auto with = [](std::string_view more) {
    return Files().put("/a/profiles.yml", std::string(kCatalog) + std::string(more));
  };
  constexpr std::string_view kOwn = "data: {model: {name: mine}, user: hi}";

  CHECK(with("  default: fast\n").agent(kOwn).profile.model == "mine");
  CHECK(with("  default: fast\n").agent(kOwn).profile.provider == "cerebras");
  CHECK(with("  default: fast\n").agent("data: {user: hi}").profile.model == "gpt-oss-120b");
  CHECK(with("  override: fast\n").agent(kOwn).profile.model == "gpt-oss-120b");
  CHECK(with("  default: fast\n").agent("data: {model: unheard, user: hi}").profile.model ==
        "gpt-oss-120b");
}

TEST_CASE("A model without a profile may name its provider before a slash") {
  const Files files;

  const ModelProfile split = files.agent("data: {model: {name: groq/llama}, user: hi}").profile;
  CHECK(split.provider == "groq");
  CHECK(split.model == "llama");
  const ModelProfile twice =
      files.agent("data: {model: {provider: groq, name: groq/llama}, user: hi}").profile;
  CHECK(twice.model == "llama");
  const ModelProfile plain =
      files.agent("data: {model: {provider: together, name: meta/llama}, user: hi}").profile;
  CHECK(plain.model == "meta/llama");
  const ModelProfile word = files.agent("data: {model: groq/llama, user: hi}").profile;
  CHECK(word.provider == "groq");
}

TEST_CASE("How the model draws its words stands in the profile") {
  const Files files;

  const Sampling sampling =
      files
          .agent(
              "data: {user: hi, model: {name: m, top_p: 0.9, top_k: 40, frequency_penalty: 0.5, "
              "presence_penalty: -1, seed: 7}}")
          .profile.sampling;

  CHECK(
      sampling ==
      Sampling{
          .top_p = 0.9, .top_k = 40, .frequency_penalty = 0.5, .presence_penalty = -1, .seed = 7});
  CHECK(files.fault("data: {user: hi, model: {name: m, seed: 1.5}}").contains("whole number"));
  CHECK(files.fault("data: {user: hi, model: {name: m, top_p: a}}").contains("`top_p`"));
}

TEST_CASE("How much the model thinks stands in the profile") {
  const Files files;
  const auto reasoning = [&](const std::string& written) {
    return files.agent("data: {user: hi, model: {name: m, reasoning: " + written + "}}")
        .profile.reasoning;
  };
  const auto fault = [&](const std::string& written) {
    return files.fault("data: {user: hi, model: {name: m, reasoning: " + written + "}}");
  };

  CHECK(reasoning("{effort: minimal}") == Reasoning{.effort = Effort::minimal});
  CHECK(reasoning("{effort: high, budget_tokens: 2048}") ==
        Reasoning{.effort = Effort::high, .budget_tokens = 2048});
  CHECK(!files.agent("data: {user: hi, model: {name: m}}").profile.reasoning);
  CHECK(!reasoning("null"));

  CHECK(fault("low").contains("`reasoning` of the model is a text; write {effort: low}"));
  CHECK(fault("{}").contains("`reasoning` of the model is empty"));
  CHECK(fault("{effort: huge}").contains("is huge; there are minimal, low, medium and high"));
  CHECK(fault("{effort: 3}").contains("is a number; there are minimal"));
  CHECK(fault("{budget_tokens: 0}").contains("a whole number from 1 to 10000000"));
  CHECK(fault("{budget_tokens: 1.5}").contains("a whole number"));
  CHECK(fault("{budget_tokens: many}").contains("a whole number"));
  CHECK(fault("{budget: 7}").contains("the unknown member budget; there are effort and"));
}

TEST_CASE("Tools are function definitions") {
  const FlatAgent agent = Files().agent(R"(
data:
  user: hi
  tools:
    - type: function
      function:
        name: search
        description: Finds.
        parameters: {type: object, properties: {q: {type: string}}}
    - {name: now}
)");

  REQUIRE(agent.tools.size() == 2);
  CHECK(agent.tools[0].name == "search");
  CHECK(agent.tools[0].parameters_json ==
        R"({"type":"object","properties":{"q":{"type":"string"}}})");
  CHECK(agent.tools[1].parameters_json.empty());
}

TEST_CASE("What is wrong with an agent is said in one sentence, with the place") {
  const Files files = Files()
                          .put("/a/profiles.yml", std::string(kCatalog))
                          .put("/a/bad.yml", "a: [")
                          .put("/a/other.yml", "spec: flatmachine\n");

  CHECK(files.fault("[1]").contains("a mapping; this is a list"));
  CHECK(files.fault("spec: flatmachine").contains("expected 'flatagent', got 'flatmachine'"));
  CHECK(files.fault("spec: flatagent").contains("`data` is missing"));
  CHECK(files.fault("data: {model: fast}").contains("`user` is missing"));
  CHECK(files.fault("data: {user: 7}").contains("`user` is a number"));
  CHECK(files.fault("data: {user: hi, model: fsat}").contains("did you mean fast?"));
  CHECK(files.fault("data: {user: hi, model: 7}").contains("the model is a number"));
  CHECK(files.fault("data: {user: hi, model: {name: 7}}").contains("`name` is a number"));
  CHECK(files.fault("data: {user: hi, model: {max_tokens: 0}}").contains("max_tokens"));
  CHECK(files.fault("data: {user: '{{ input.', model: fast}").contains("`user`, at character"));
  CHECK(files.fault("data: {prompt: gone.yml, profile: fast}").contains("/a/gone.yml"));
  CHECK(files.fault("data: {prompt: bad.yml, profile: fast}").contains("/a/bad.yml: line"));
  CHECK(files.fault("data: {prompt: other.yml, profile: fast}").contains("/a/other.yml"));
  CHECK(files.fault("data: {profile: fast}").contains("`data.prompt` is missing"));
  CHECK(files.fault("data: {prompt: {user: hi}, profile: {type: pi-agent, ref: x}}")
            .contains("pi-agent are not supported yet"));
  CHECK(files.fault("data: {user: hi, tools: [7]}").contains("a tool is a number"));
  CHECK(files.fault("data: {user: hi, tools: [{}]}").contains("a tool has no name"));
  CHECK(files.fault("data: {user: hi, mcp: {servers: {}}}").contains("mcp"));
  CHECK(files.fault("data: {user: hi, output: [a]}").contains("`output` is a list"));
  CHECK(
      files.fault("data: {user: hi, output: {a: {type: text}}}").contains("output.a has the type"));
  CHECK(files.fault("data: {user: hi, output: {a: str}}").contains("output.a is a text"));
}

TEST_CASE("An output becomes a schema: typed, required unless it says otherwise, nested") {
  const FlatAgent agent = Files().agent(R"(
data:
  user: hi
  output:
    title: {type: str, description: A title.}
    mood: {type: str, enum: [good, bad]}
    tags: {type: list, items: {type: str}}
    place: {type: object, properties: {x: {type: float}, y: {type: float, required: false}}}
)");

  REQUIRE(agent.output);
  CHECK(!agent.output->request.strict);
  CHECK(agent.output->request.schema_json ==
        R"({"type":"object","properties":{)"
        R"("title":{"type":"string","description":"A title."},)"
        R"("mood":{"type":"string","enum":["good","bad"]},)"
        R"("tags":{"type":"array","items":{"type":"string"}},)"
        R"("place":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"}},)"
        R"("required":["x"],"additionalProperties":false}},)"
        R"("required":["title","mood","tags","place"],"additionalProperties":false})");
}

}  // namespace
}  // namespace treaty::backends
