#include "treaty/backends/flatagent/read_flat_agent.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <vector>

#include "treaty/backends/providers/provider.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"

namespace treaty::backends {
namespace {

constexpr std::string_view kCatalogName = "profiles.yml";
constexpr std::string_view kUsualSystem = "You are a helpful assistant.";

// Model profiles, and which of them an agent means by what it says.
struct ProfileCatalog {
  std::map<std::string, Object, std::less<>> profiles{};
  std::string default_name{};   // Below everything else;
  std::string override_name{};  // above everything else.
};

void put_over(Object& below, const Object& above) {
  for (const auto& [name, value] : above) {
    if (name != "profile" && !value.is_null()) below[name] = value;
  }
}

Wrong unknown_profile(const ProfileCatalog& catalog, std::string_view name) {
  std::vector<std::string_view> names;
  names.reserve(catalog.profiles.size());
  for (const auto& [known, profile] : catalog.profiles) names.push_back(known);
  const std::string_view meant = closest(names, name);
  const std::string hint = !meant.empty()  ? fmt::format("did you mean {}?", meant)
                           : names.empty() ? "there are none"
                                           : fmt::format("there are {}", fmt::join(names, ", "));
  return Wrong(fmt::format("there is no model profile {}; {}", name, hint));
}

// No name: an empty one.
Read<Object> profile_named(const ProfileCatalog& catalog, const std::string& name) {
  if (name.empty()) return Object{};
  const auto found = catalog.profiles.find(name);
  if (found == catalog.profiles.end()) return unknown_profile(catalog, name);
  return found->second;
}

// A name that is not there is the default, where there is one.
Read<void> put_named(const ProfileCatalog& catalog, std::string_view name, Object& profile) {
  const auto found = catalog.profiles.find(name);
  if (found == catalog.profiles.end() && profile.empty()) return unknown_profile(catalog, name);
  if (found != catalog.profiles.end()) put_over(profile, found->second);
  return {};
}

Read<std::optional<double>> number_member(const Object& object, std::string_view name) {
  const Dynamic* found = member_of(object, name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_number()) {
    return Wrong(fmt::format("`{}` of the model is {}, not a number", name, kind_of(*found)));
  }
  return found->to_number<double>();
}

Read<std::optional<std::int64_t>> whole_member(const Object& object, std::string_view name) {
  TREATY_TRY(const auto number, number_member(object, name));
  if (!number) return std::nullopt;
  if (*number != std::floor(*number) || std::abs(*number) > 1e15) {
    return Wrong(fmt::format("`{}` of the model is not a whole number", name));
  }
  return static_cast<std::int64_t>(*number);
}

Read<void> take_numbers(const Object& model, ModelProfile& profile) {
  Sampling& sampling = profile.sampling;
  TREATY_TRY(profile.temperature, number_member(model, "temperature"));
  TREATY_TRY(profile.max_tokens, whole_member(model, "max_tokens"));
  TREATY_TRY(sampling.top_p, number_member(model, "top_p"));
  TREATY_TRY(sampling.top_k, whole_member(model, "top_k"));
  TREATY_TRY(sampling.frequency_penalty, number_member(model, "frequency_penalty"));
  TREATY_TRY(sampling.presence_penalty, number_member(model, "presence_penalty"));
  TREATY_TRY(sampling.seed, whole_member(model, "seed"));
  if (profile.max_tokens && *profile.max_tokens < 1) {
    return Wrong("`max_tokens` of the model is not a number from 1 on");
  }
  return {};
}

Read<Effort> read_effort(const Dynamic& written) {
  const std::string word = written.is_string() ? std::string(written.get_string()) : "";
  if (const auto effort = effort_of(word)) return *effort;
  return Wrong(
      fmt::format("`reasoning.effort` of the model is {}; there are minimal, low, medium "
                  "and high",
                  word.empty() ? std::string(kind_of(written)) : word));
}

Read<std::int64_t> read_budget(const Dynamic& written) {
  constexpr double kLargest = 10'000'000;
  const double tokens = written.is_number() ? written.to_number<double>() : 0;
  if (tokens >= 1 && tokens <= kLargest && tokens == std::floor(tokens)) {
    return static_cast<std::int64_t>(tokens);
  }
  return Wrong("`reasoning.budget_tokens` of the model is not a whole number from 1 to 10000000");
}

// {effort: low} or {budget_tokens: 2048}, or both.
Read<std::optional<Reasoning>> read_reasoning(const Object& model) {
  const Dynamic* written = member_of(model, "reasoning");
  if (written == nullptr) return std::nullopt;
  if (!written->is_object() || written->get_object().empty()) {
    return Wrong(
        fmt::format("`reasoning` of the model is {}; write {{effort: low}} or "
                    "{{budget_tokens: 2048}}",
                    written->is_object() ? "empty" : kind_of(*written)));
  }
  Reasoning reasoning;
  for (const auto& [name, value] : written->get_object()) {
    if (name == "effort") {
      TREATY_TRY(reasoning.effort, read_effort(value));
    } else if (name == "budget_tokens") {
      TREATY_TRY(reasoning.budget_tokens, read_budget(value));
    } else {
      return Wrong(
          fmt::format("`reasoning` of the model has the unknown member {}; there are "
                      "effort and budget_tokens",
                      std::string_view(name)));
    }
  }
  return reasoning;
}

// "cerebras/llama", also under the provider cerebras, is its llama; "meta-llama/Llama-3" is a name.
void split_name(ModelProfile& profile) {
  const std::size_t end = profile.model.find_first_of("/:");
  if (end == std::string::npos) return;
  const std::string before = profile.model.substr(0, end);
  const bool is_said_twice = before == profile.provider;
  const bool is_provider =
      profile.provider.empty() && profile.model[end] == '/' && find_provider(before) != nullptr;
  if (!is_said_twice && !is_provider) return;
  profile.provider = before;
  profile.model.erase(0, end + 1);
}

// {spec: flatprofile, data: {model_profiles, default?, override?}}, or its data alone.
Read<ProfileCatalog> read_catalog(const Dynamic& document) {
  if (!document.is_object()) return Wrong(fmt::format("it is {}", kind_of(document)));
  const Object& root = document.get_object();
  const auto spec = text_member(root, "spec");
  if (!spec || (*spec && **spec != "flatprofile")) {
    return Wrong(fmt::format("its spec is {}, not flatprofile", spec ? **spec : "not a text"));
  }
  const Dynamic* wrapped = member_of(root, "data");
  if (wrapped != nullptr && !wrapped->is_object()) return Wrong("`data` is not a mapping");
  const Object& data = wrapped == nullptr ? root : wrapped->get_object();
  ProfileCatalog catalog;
  if (const Dynamic* profiles = member_of(data, "model_profiles")) {
    if (!profiles->is_object()) return Wrong("`model_profiles` is not a mapping");
    for (const auto& [name, profile] : profiles->get_object()) {
      if (!profile.is_object()) {
        return Wrong(
            fmt::format("the model profile {} is {}", std::string_view(name), kind_of(profile)));
      }
      catalog.profiles[std::string(name)] = profile.get_object();
    }
  }
  TREATY_TRY(const auto usual, text_member(data, "default"));
  TREATY_TRY(const auto override, text_member(data, "override"));
  catalog.default_name = usual.value_or("");
  catalog.override_name = override.value_or("");
  return catalog;
}

// The profile of that name, or the default one of the catalog without a name. The catalog's default
// and override are applied to it.
Read<Object> find_profile(const ProfileCatalog& catalog, const std::optional<std::string>& name) {
  TREATY_TRY(Object profile, profile_named(catalog, catalog.default_name));
  if (name) {
    TREATY_TRY_VOID(put_named(catalog, *name, profile));
  } else if (profile.empty() && catalog.profiles.size() == 1) {
    profile = catalog.profiles.begin()->second;
  }
  TREATY_TRY(const Object above, profile_named(catalog, catalog.override_name));
  put_over(profile, above);
  if (profile.empty()) return Wrong("the catalog of model profiles names no `default`");
  return profile;
}

// `inlined` over the profile that it names with `profile`, if any.
Read<Object> merged_profile(const ProfileCatalog& catalog, const Object& inlined) {
  TREATY_TRY(Object profile, profile_named(catalog, catalog.default_name));
  TREATY_TRY(const auto name, text_member(inlined, "profile"));
  if (name) TREATY_TRY_VOID(put_named(catalog, *name, profile));
  put_over(profile, inlined);
  TREATY_TRY(const Object above, profile_named(catalog, catalog.override_name));
  put_over(profile, above);
  return profile;
}

// {type: llm, model: {…}}, or the model's own members. Profiles of programs (pi-agent, smolagents,
// claude-code, codex-cli) are refused with their name.
Read<ModelProfile> read_profile(const Object& profile) {
  TREATY_TRY(const auto type, text_member(profile, "type"));
  if (type.value_or("llm") != "llm") {
    return Wrong(fmt::format("agents of the type {} are not supported yet", *type));
  }
  const Dynamic* nested = member_of(profile, "model");
  const Object& model = nested != nullptr && nested->is_object() ? nested->get_object() : profile;
  ModelProfile read;
  for (const auto& [name, place] :
       {std::pair("name", &read.model), std::pair("provider", &read.provider),
        std::pair("base_url", &read.base_url)}) {
    const auto text = text_member(model, name);
    if (!text) return Wrong(fmt::format("of the model, {}", text.error()));
    *place = text->value_or("");
  }
  TREATY_TRY_VOID(take_numbers(model, read));
  TREATY_TRY(read.reasoning, read_reasoning(model));
  read.written = model;
  split_name(read);
  return read;
}

Read<Dynamic> read_document(const std::string& path, const FlatAgentPlace& place) {
  TREATY_TRY(const auto text, at(path, place.read_text(path)));
  return at(path, parse_document(text));
}

// The catalog beside the document, else beside the machine, else an empty one.
Read<ProfileCatalog> nearest_catalog(const FlatAgentPlace& place) {
  for (const std::string& directory : {place.directory, place.parent_directory}) {
    if (directory.empty()) continue;
    const std::string path = path_from(directory, std::string(kCatalogName));
    if (!place.read_text(path)) continue;
    TREATY_TRY(const auto document, read_document(path, place));
    return at(path, read_catalog(document));
  }
  return ProfileCatalog{};
}

bool looks_like_path(std::string_view text) {
  return text.ends_with(".yml") || text.ends_with(".yaml") || text.ends_with(".json") ||
         text.starts_with("./") || text.starts_with("../") || text.starts_with('/');
}

Read<Object> profile_in_file(const std::string& reference, const FlatAgentPlace& place) {
  const std::string path = path_from(place.directory, reference);
  TREATY_TRY(const auto document, read_document(path, place));
  TREATY_TRY(const auto catalog, at(path, read_catalog(document)));
  return at(path, find_profile(catalog, std::nullopt));
}

// A name that no catalog knows may be a model itself: "cerebras/gpt-oss-120b".
Read<Object> profile_by_name(const std::string& name, const FlatAgentPlace& place) {
  TREATY_TRY(const auto catalog, nearest_catalog(place));
  const bool is_known = catalog.profiles.contains(name) || !catalog.default_name.empty();
  if (!is_known && name.contains('/')) return Object{{"name", name}};
  return find_profile(catalog, name);
}

// What `model` or `profile` stand for. Nothing: whatever the catalog means by itself, or nothing.
Read<Object> resolve_profile(const Dynamic* reference, const FlatAgentPlace& place) {
  if (reference == nullptr) {
    TREATY_TRY(const auto catalog, nearest_catalog(place));
    return merged_profile(catalog, {});
  }
  if (reference->is_string()) {
    const std::string text(reference->get_string());
    return looks_like_path(text) ? profile_in_file(text, place) : profile_by_name(text, place);
  }
  if (!reference->is_object()) {
    return Wrong(fmt::format("the model is {}; write the name of a profile, or {{provider, name}}",
                             kind_of(*reference)));
  }
  const Object& object = reference->get_object();
  if (object.contains("model_profiles") || object.contains("spec")) {
    TREATY_TRY(const auto catalog, at("the profile", read_catalog(*reference)));
    return find_profile(catalog, std::nullopt);
  }
  TREATY_TRY(const auto catalog, nearest_catalog(place));
  return merged_profile(catalog, object);
}

// `data` of a prompt document, or the prompt itself.
Read<Object> prompt_in(const Dynamic& document) {
  if (!document.is_object()) return Wrong(fmt::format("the prompt is {}", kind_of(document)));
  const Object& root = document.get_object();
  const auto spec = text_member(root, "spec");
  if (!spec || (*spec && **spec != "prompt")) {
    return Wrong(
        fmt::format("the spec of the prompt is {}, not prompt", spec ? **spec : "not a text"));
  }
  const Dynamic* data = member_of(root, "data");
  if (data == nullptr) return root;
  if (!data->is_object()) return Wrong("`data` of the prompt is not a mapping");
  return data->get_object();
}

Read<Object> resolve_prompt(const Dynamic* reference, const FlatAgentPlace& place) {
  if (reference == nullptr) return Wrong("`data.prompt` is missing");
  if (!reference->is_string()) return prompt_in(*reference);
  const std::string path = path_from(place.directory, std::string(reference->get_string()));
  TREATY_TRY(const auto document, read_document(path, place));
  return at(path, prompt_in(document));
}

Read<std::optional<PromptText>> read_text(const Object& prompt, std::string_view name) {
  TREATY_TRY(const auto text, text_member(prompt, name));
  if (!text) return std::nullopt;
  auto parsed = PromptText::parse(*text);
  if (!parsed) {
    return Wrong(fmt::format("`{}`, at character {}: {}", name, parsed.error().offset + 1,
                             parsed.error().message));
  }
  return *std::move(parsed);
}

Read<Tool> read_tool(const Dynamic& written) {
  if (!written.is_object()) return Wrong(fmt::format("a tool is {}", kind_of(written)));
  const Dynamic* function = member_of(written.get_object(), "function");
  const Object& definition =
      function != nullptr && function->is_object() ? function->get_object() : written.get_object();
  const auto name = text_member(definition, "name");
  if (!name || !*name || (**name).empty()) return Wrong("a tool has no name");
  const auto description = text_member(definition, "description");
  if (!description) return Wrong(fmt::format("the tool {}: {}", **name, description.error()));
  Tool tool{.name = **name, .description = description->value_or("")};
  if (const Dynamic* parameters = member_of(definition, "parameters")) {
    if (!parameters->is_object()) {
      return Wrong(fmt::format("the tool {}: `parameters` is {}", tool.name, kind_of(*parameters)));
    }
    tool.parameters_json = json::to_json(*parameters);
  }
  return tool;
}

Read<void> take_tools(const Object& prompt, FlatAgent& agent) {
  const Dynamic* tools = member_of(prompt, "tools");
  if (tools == nullptr) return {};
  if (!tools->is_array()) return Wrong(fmt::format("`tools` is {}, not a list", kind_of(*tools)));
  for (const Dynamic& written : tools->get_array()) {
    TREATY_TRY(auto tool, read_tool(written));
    agent.tools.push_back(std::move(tool));
  }
  return {};
}

Read<void> take_output(const Object& prompt, FlatAgent& agent) {
  const Dynamic* output = member_of(prompt, "output");
  if (output == nullptr) return {};
  if (!output->is_object()) {
    return Wrong(fmt::format("`output` is {}, not a mapping", kind_of(*output)));
  }
  if (output->get_object().empty()) return {};
  TREATY_TRY(agent.output, read_output(output->get_object()));
  return {};
}

// Everything but the model, of whichever version.
Read<void> take_prompt(const Object& prompt, FlatAgent& agent) {
  if (member_of(prompt, "mcp") != nullptr) return Wrong("tools of `mcp` are not supported yet");
  TREATY_TRY(const auto system, read_text(prompt, "system"));
  TREATY_TRY(const auto user, read_text(prompt, "user"));
  if (!user) return Wrong("`user` is missing: the prompt that the model is asked with");
  TREATY_TRY(agent.suffix, read_text(prompt, "instruction_suffix"));
  TREATY_TRY(agent.post_history, read_text(prompt, "post_history_instructions"));
  agent.system = system ? *system : *PromptText::parse(std::string(kUsualSystem));
  agent.user = *user;
  TREATY_TRY_VOID(take_output(prompt, agent));
  return take_tools(prompt, agent);
}

// Where the name may stand, the nearest first.
std::string name_of(const Object& prompt, const Object& data, const Object& root) {
  const Dynamic* metadata = member_of(root, "metadata");
  for (const Object* place :
       {&prompt, &data,
        metadata != nullptr && metadata->is_object() ? &metadata->get_object() : nullptr}) {
    if (place == nullptr) continue;
    const auto name = text_member(*place, "name");
    if (name && *name && !(**name).empty()) return **name;
  }
  return "agent";
}

// What stands under `data`, or the whole when somebody left the wrapping out.
Read<const Object*> data_of(const Dynamic& document) {
  if (!document.is_object()) {
    return Wrong(fmt::format("a FlatAgent is a mapping; this is {}", kind_of(document)));
  }
  const Object& root = document.get_object();
  const auto spec = text_member(root, "spec");
  if (!spec || (*spec && **spec != "flatagent")) {
    return Wrong(fmt::format("Invalid spec: expected 'flatagent', got '{}'",
                             spec ? **spec : "something that is not a text"));
  }
  const Dynamic* data = member_of(root, "data");
  if (data == nullptr) {
    if (*spec) return Wrong("`data` is missing");
    return &root;
  }
  if (!data->is_object()) return Wrong("`data` is not a mapping");
  return &data->get_object();
}

}  // namespace

Read<FlatAgent> read_flat_agent(const Dynamic& document, const FlatAgentPlace& place) {
  TREATY_TRY(const Object* data, data_of(document));
  const bool is_bundle = data->contains("prompt") || data->contains("profile");
  Object prompt = *data;
  if (is_bundle) {
    TREATY_TRY(prompt, resolve_prompt(member_of(*data, "prompt"), place));
  }
  FlatAgent agent;
  agent.name = name_of(prompt, *data, document.get_object());
  TREATY_TRY_VOID(take_prompt(prompt, agent));
  TREATY_TRY(const auto profile,
             resolve_profile(member_of(*data, is_bundle ? "profile" : "model"), place));
  TREATY_TRY(agent.profile, read_profile(profile));
  return agent;
}

}  // namespace treaty::backends
