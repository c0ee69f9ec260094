#include "treaty/backends/flatagent/flat_agent.h"

#include <fmt/format.h>

#include <filesystem>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/try.h"
#include "treaty/base/yaml.h"

namespace treaty::backends {

std::expected<PromptText, templates::SyntaxFault> PromptText::parse(const std::string& text) {
  PromptText prompt;
  prompt.text_ = text;
  // What looks like a reference to a machine (`input.a` alone) is a text in a prompt.
  if (!text.contains("{{") && !text.contains("{%")) {
    if (prompt.text_.ends_with('\n')) prompt.text_.pop_back();  // As templates do.
    return prompt;
  }
  TREATY_TRY(prompt.template_, templates::Template::parse(templates::Dynamic(text)));
  return prompt;
}

std::expected<std::string, std::string> PromptText::render(const templates::Scope& scope) const {
  if (!template_) return text_;
  TREATY_TRY(const auto rendered, template_->render(scope));
  if (rendered.is_string()) return std::string(rendered.get_string());
  return templates::print(rendered);
}

Read<Dynamic> parse_document(std::string_view text) {
  const auto root = yaml::read(text);
  if (!root) return Wrong(fmt::format("line {}: {}", root.error().where, root.error().message));
  const std::string as_json = yaml::to_json(*root);
  const json::Document document(as_json, {.max_size = as_json.size() + 1, .grammar_only = true});
  if (!document.root()) return Wrong("it is not a document");
  return json::to_dynamic(*document.root());
}

std::string path_from(const std::string& directory, const std::string& reference) {
  const std::filesystem::path path(reference);
  if (path.is_absolute()) return path.lexically_normal().string();
  return (std::filesystem::path(directory) / path).lexically_normal().string();
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

const Dynamic* member_of(const Object& object, std::string_view name) {
  const Dynamic* found = object.if_contains(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Read<std::optional<std::string>> text_member(const Object& object, std::string_view name) {
  const Dynamic* found = member_of(object, name);
  if (found == nullptr) return std::nullopt;
  if (!found->is_string()) {
    return Wrong(fmt::format("`{}` is {}, not a text", name, kind_of(*found)));
  }
  return std::string(found->get_string());
}

std::string_view kind_of(const Dynamic& value) {
  if (value.is_null()) return "nothing";
  if (value.is_bool()) return "true or false";
  if (value.is_number()) return "a number";
  if (value.is_string()) return "a text";
  return value.is_array() ? "a list" : "a mapping";
}

}  // namespace treaty::backends
