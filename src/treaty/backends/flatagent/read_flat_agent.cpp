#include "treaty/backends/flatagent/read_flat_agent.h"

#include <fmt/format.h>

#include "treaty/backends/flatagent/output_schema.h"
#include "treaty/backends/flatagent/profiles.h"
#include "treaty/base/json_dynamic.h"

namespace treaty::backends {
namespace {

constexpr std::string_view kCatalogName = "profiles.yml";
constexpr std::string_view kUsualSystem = "You are a helpful assistant.";

Read<Dynamic> read_document(const std::string& path, const FlatAgentPlace& place) {
  const auto text = place.read_text(path);
  if (!text) return Wrong(fmt::format("{}: {}", path, text.error()));
  auto document = parse_document(*text);
  if (!document) return Wrong(fmt::format("{}: {}", path, document.error()));
  return document;
}

// The catalog beside the document, else beside the machine, else an empty one.
Read<ProfileCatalog> nearest_catalog(const FlatAgentPlace& place) {
  for (const std::string& directory : {place.directory, place.parent_directory}) {
    if (directory.empty()) continue;
    const std::string path = path_from(directory, std::string(kCatalogName));
    if (!place.read_text(path)) continue;
    const auto document = read_document(path, place);
    if (!document) return Wrong(document.error());
    auto catalog = read_catalog(*document);
    if (!catalog) return Wrong(fmt::format("{}: {}", path, catalog.error()));
    return catalog;
  }
  return ProfileCatalog{};
}

bool looks_like_path(std::string_view text) {
  return text.ends_with(".yml") || text.ends_with(".yaml") || text.ends_with(".json") ||
         text.starts_with("./") || text.starts_with("../") || text.starts_with('/');
}

Read<Object> profile_in_file(const std::string& reference, const FlatAgentPlace& place) {
  const std::string path = path_from(place.directory, reference);
  const auto document = read_document(path, place);
  if (!document) return Wrong(document.error());
  const auto catalog = read_catalog(*document);
  if (!catalog) return Wrong(fmt::format("{}: {}", path, catalog.error()));
  auto profile = find_profile(*catalog, std::nullopt);
  if (!profile) return Wrong(fmt::format("{}: {}", path, profile.error()));
  return profile;
}

// A name that no catalog knows may be a model itself: "cerebras/gpt-oss-120b".
Read<Object> profile_by_name(const std::string& name, const FlatAgentPlace& place) {
  const auto catalog = nearest_catalog(place);
  if (!catalog) return Wrong(catalog.error());
  const bool is_known = catalog->profiles.contains(name) || !catalog->default_name.empty();
  if (!is_known && name.contains('/')) return Object{{"name", name}};
  return find_profile(*catalog, name);
}

// What `model` or `profile` stand for. Nothing: whatever the catalog means by itself, or nothing.
Read<Object> resolve_profile(const Dynamic* reference, const FlatAgentPlace& place) {
  if (reference == nullptr) {
    const auto catalog = nearest_catalog(place);
    if (!catalog) return Wrong(catalog.error());
    return merged_profile(*catalog, {});
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
    const auto catalog = read_catalog(*reference);
    if (!catalog) return Wrong(fmt::format("the profile: {}", catalog.error()));
    return find_profile(*catalog, std::nullopt);
  }
  const auto catalog = nearest_catalog(place);
  if (!catalog) return Wrong(catalog.error());
  return merged_profile(*catalog, object);
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
  const auto document = read_document(path, place);
  if (!document) return Wrong(document.error());
  auto prompt = prompt_in(*document);
  if (!prompt) return Wrong(fmt::format("{}: {}", path, prompt.error()));
  return prompt;
}

Read<std::optional<PromptText>> read_text(const Object& prompt, std::string_view name) {
  const auto text = text_member(prompt, name);
  if (!text) return Wrong(text.error());
  if (!*text) return std::nullopt;
  auto parsed = PromptText::parse(**text);
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
    json::Writer writer;
    json::write(writer, *parameters);
    tool.parameters_json = writer.take();
  }
  return tool;
}

Read<void> take_tools(const Object& prompt, FlatAgent& agent) {
  const Dynamic* tools = member_of(prompt, "tools");
  if (tools == nullptr) return {};
  if (!tools->is_array()) return Wrong(fmt::format("`tools` is {}, not a list", kind_of(*tools)));
  for (const Dynamic& written : tools->get_array()) {
    auto tool = read_tool(written);
    if (!tool) return Wrong(tool.error());
    agent.tools.push_back(*std::move(tool));
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
  auto wanted = read_output(output->get_object());
  if (!wanted) return Wrong(wanted.error());
  agent.output = *std::move(wanted);
  return {};
}

// Everything but the model, of whichever version.
Read<void> take_prompt(const Object& prompt, FlatAgent& agent) {
  if (member_of(prompt, "mcp") != nullptr) return Wrong("tools of `mcp` are not supported yet");
  auto system = read_text(prompt, "system");
  if (!system) return Wrong(system.error());
  auto user = read_text(prompt, "user");
  if (!user) return Wrong(user.error());
  if (!*user) return Wrong("`user` is missing: the prompt that the model is asked with");
  auto suffix = read_text(prompt, "instruction_suffix");
  if (!suffix) return Wrong(suffix.error());
  auto post_history = read_text(prompt, "post_history_instructions");
  if (!post_history) return Wrong(post_history.error());
  agent.system = *system ? **system : *PromptText::parse(std::string(kUsualSystem));
  agent.user = **user;
  agent.suffix = *suffix;
  agent.post_history = *post_history;
  if (auto taken = take_output(prompt, agent); !taken) return taken;
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
  const auto data = data_of(document);
  if (!data) return Wrong(data.error());
  const bool is_bundle = (*data)->contains("prompt") || (*data)->contains("profile");
  Object prompt = **data;
  if (is_bundle) {
    auto found = resolve_prompt(member_of(**data, "prompt"), place);
    if (!found) return Wrong(found.error());
    prompt = *std::move(found);
  }
  FlatAgent agent;
  agent.name = name_of(prompt, **data, document.get_object());
  if (auto taken = take_prompt(prompt, agent); !taken) return Wrong(taken.error());
  const auto profile = resolve_profile(member_of(**data, is_bundle ? "profile" : "model"), place);
  if (!profile) return Wrong(profile.error());
  auto model = read_profile(*profile);
  if (!model) return Wrong(model.error());
  agent.profile = *std::move(model);
  return agent;
}

}  // namespace treaty::backends
