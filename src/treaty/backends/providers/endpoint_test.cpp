#include "treaty/backends/providers/endpoint.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

Environment variables(std::map<std::string, std::string, std::less<>> values) {
  return [values = std::move(values)](std::string_view name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

const Environment kNothingSet = variables({});

const Provider& named(std::string_view name) {
  const Provider* provider = find_provider(name);
  REQUIRE(provider != nullptr);
  return *provider;
}

// "https://host:port/target" of a call of the provider's model `m`.
std::string address(std::string_view name, std::string_view given,
                    const Environment& environment = kNothingSet, std::string_view protocol = {}) {
  const Provider& provider = named(name);
  const Protocol* spoken = protocol.empty() ? provider.protocol : provider.find_protocol(protocol);
  REQUIRE(spoken != nullptr);
  const auto url =
      address_of(provider, base_url_of(provider, given, environment), *spoken, {.model = "m"});
  if (!url) return url.error().message;
  return fmt::format("{}://{}:{}{}", url->secure ? "https" : "http", url->host, url->port,
                     url->target);
}

}  // namespace

TEST_CASE("every provider has a name, a protocol, an address or a variable for it, and a key") {
  std::set<std::string_view> names;
  for (const Provider& provider : all_providers()) {
    CAPTURE(provider.name);
    CHECK(names.insert(provider.name).second);
    REQUIRE(provider.protocol != nullptr);
    CHECK((provider.protocol->render_request != nullptr));
    CHECK(provider.find_protocol(provider.protocol->name) == provider.protocol);
    CHECK(!provider.base_url_variables.empty());
    CHECK(!provider.key.environment_variables.empty());
    CHECK(provider.base_url.ends_with('/') == false);
    CHECK((provider.base_url.starts_with("https://") || !provider.key.required ||
           provider.base_url.empty()));
    CHECK(find_provider(provider.name) == &provider);
  }
  CHECK(names.size() == 15);
  CHECK(find_provider("nobody") == nullptr);
}

TEST_CASE("a call goes to the provider's own address when nothing else is said") {
  const std::map<std::string_view, std::string> expected = {
      {"openai", "https://api.openai.com:443/v1/chat/completions"},
      {"anthropic", "https://api.anthropic.com:443/v1/messages"},
      {"cerebras", "https://api.cerebras.ai:443/v1/chat/completions"},
      {"groq", "https://api.groq.com:443/openai/v1/chat/completions"},
      {"mistral", "https://api.mistral.ai:443/v1/chat/completions"},
      {"gemini", "https://generativelanguage.googleapis.com:443/v1beta/models/m:generateContent"},
      {"openrouter", "https://openrouter.ai:443/api/v1/chat/completions"},
      {"xai", "https://api.x.ai:443/v1/chat/completions"},
      {"deepseek", "https://api.deepseek.com:443/chat/completions"},
      {"together", "https://api.together.xyz:443/v1/chat/completions"},
      {"huggingface", "https://router.huggingface.co:443/v1/chat/completions"},
      {"ollama", "http://localhost:11434/api/chat"},
      {"vllm", "http://localhost:8000/v1/chat/completions"},
  };
  for (const Provider& provider : all_providers()) {
    CAPTURE(provider.name);
    const auto found = expected.find(provider.name);
    if (found == expected.end()) {
      CHECK(base_url_of(provider, "", kNothingSet).empty());
    } else {
      CHECK(address(provider.name, "") == found->second);
    }
  }
}

TEST_CASE("an explicit base URL goes before the variable, and that before the default") {
  const Environment environment = variables({{"OPENAI_BASE_URL", "http://proxy/v1/"}});

  CHECK(address("openai", "", environment) == "http://proxy:80/v1/chat/completions");
  CHECK(address("openai", "http://here:8080/x", environment) ==
        "http://here:8080/x/chat/completions");
  CHECK(address("openai", " ", variables({{"OPENAI_BASE_URL", ""}})) ==
        "https://api.openai.com:443/v1/chat/completions");
}

TEST_CASE("a base URL without a path gets the provider's own path") {
  CHECK(address("openai", "http://here:1") == "http://here:1/v1/chat/completions");
  CHECK(address("groq", "http://here:1/") == "http://here:1/openai/v1/chat/completions");
  CHECK(address("deepseek", "http://here:1") == "http://here:1/chat/completions");
  CHECK(address("custom", "http://here:1") == "http://here:1/chat/completions");
}

TEST_CASE("Anthropic's and Gemini's base URLs are read with and without their version") {
  for (const char* url : {"http://here:1", "http://here:1/", "http://here:1/v1"}) {
    CHECK(address("anthropic", url) == "http://here:1/v1/messages");
  }
  CHECK(address("anthropic", "https://api.deepseek.com/anthropic") ==
        "https://api.deepseek.com:443/anthropic/v1/messages");
  for (const char* url : {"http://here:1", "http://here:1/v1beta/"}) {
    CHECK(address("gemini", url) == "http://here:1/v1beta/models/m:generateContent");
  }
  CHECK(address("gemini", "http://here:1/v1") == "http://here:1/v1/models/m:generateContent");
}

TEST_CASE("Azure takes an endpoint, or a deployment with its version in the query") {
  const Environment endpoint =
      variables({{"AZURE_OPENAI_ENDPOINT", "https://openai.example.com/"}});

  CHECK(address("azure", "", endpoint) ==
        "https://openai.example.com:443/openai/v1/chat/completions");
  CHECK(address("azure", "", endpoint, "responses") ==
        "https://openai.example.com:443/openai/v1/responses");
  CHECK(address("azure", "https://r.example.com/openai/deployments/d?api-version=2024-10-21") ==
        "https://r.example.com:443/openai/deployments/d/chat/completions?api-version=2024-10-21");
}

TEST_CASE("OLLAMA_HOST is read as Ollama reads it") {
  const auto at = [](const char* host) {
    return address("ollama", "", variables({{"OLLAMA_HOST", host}}));
  };
  CHECK(at("box") == "http://box:11434/api/chat");
  CHECK(at("box:80") == "http://box:80/api/chat");
  CHECK(at(":1234") == "http://localhost:1234/api/chat");
  CHECK(at("0.0.0.0") == "http://localhost:11434/api/chat");
  CHECK(at("https://box/v1") == "https://box:443/api/chat");
  CHECK(address("ollama", "http://box/v1", kNothingSet, "chat_completions") ==
        "http://box:80/v1/chat/completions");
}

TEST_CASE("what is asked in the path and in the base URL both stay") {
  const Provider& gemini_provider = named("gemini");
  const auto url = address_of(gemini_provider, "http://here/v1beta?tenant=a", gemini(),
                              {.model = "m", .stream = true});

  REQUIRE(url);
  CHECK(url->target == "/v1beta/models/m:streamGenerateContent?alt=sse&tenant=a");
}

TEST_CASE("the key is the first variable that is set, without white space around it") {
  CHECK(key_of(named("huggingface"), variables({{"HUGGINGFACE_API_KEY", " b\n"}})) == "b");
  CHECK(key_of(named("huggingface"),
               variables({{"HF_TOKEN", "a"}, {"HUGGINGFACE_API_KEY", "b"}})) == "a");
  CHECK(key_of(named("openai"), variables({{"OPENAI_API_KEY", "  "}})).empty());
}

TEST_CASE("each provider gets its key under its own header") {
  const auto headers = [](std::string_view name, std::string_view protocol = {}) {
    const Provider& provider = named(name);
    const Protocol* spoken =
        protocol.empty() ? provider.protocol : provider.find_protocol(protocol);
    REQUIRE(spoken != nullptr);
    return headers_of(provider, *spoken, "k", {.model = "m", .stream = true});
  };
  CHECK(headers("openai").get("authorization") == "Bearer k");
  CHECK(headers("openai").get("accept") == "text/event-stream");
  CHECK(headers("openai").get("content-type") == "application/json");
  CHECK(headers("anthropic").get("x-api-key") == "k");
  CHECK(headers("anthropic").get("anthropic-version") == "2023-06-01");
  CHECK(headers("anthropic").find("authorization") == nullptr);
  CHECK(headers("gemini").get("x-goog-api-key") == "k");
  CHECK(headers("azure").get("api-key") == "k");
  CHECK(headers("ollama").get("accept") == "application/json");
  CHECK(headers("custom").get("authorization") == "Bearer k");
  CHECK(headers("custom", "anthropic_messages").get("x-api-key") == "k");
  CHECK(headers("custom", "anthropic_messages").get("anthropic-version") == "2023-06-01");
  CHECK(headers("custom", "gemini").get("x-goog-api-key") == "k");
  CHECK(headers_of(named("vllm"), chat_completions(), "", {.model = "m"}).find("authorization") ==
        nullptr);
}

TEST_CASE("The beta header of Anthropic is sent with bound thoughts, and only with them") {
  Call call{.model = "claude-opus-5-5", .author = "me"};
  const auto beta = [&](std::string_view provider) {
    return std::string(
        headers_of(named(provider), anthropic_messages(), "k", call).get("anthropic-beta"));
  };
  CHECK(beta("anthropic").empty());
  call.messages.push_back(AssistantMessage{
      .text = "Hi.", .thoughts = {.author = "me", .parts = {{.json = R"({"type":"thinking"})"}}}});
  CHECK(beta("anthropic") == "thinking-binding-controls-2026-08-01");
  CHECK(beta("custom").empty());
  call.model = "claude-opus-4-8";
  CHECK(beta("anthropic").empty());
}

}  // namespace treaty::backends
