#include "treaty/cli/call/attachments.h"

#include <fmt/format.h>

#include <optional>

#include "treaty/backends/strict_schema.h"
#include "treaty/base/base64.h"
#include "treaty/base/json.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/input.h"
#include "treaty/cli/shared/client_tools.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/tools.h"

namespace treaty::cli {
namespace {

constexpr std::size_t kLargestImage = std::size_t{20} << 20U;
constexpr std::size_t kLargestSchema = std::size_t{1} << 20U;

Result<std::string> read_file(const std::string& path, std::size_t limit) {
  auto bytes = read_within(path, limit);
  if (!bytes) return misused(text_of(bytes.error()));
  return *std::move(bytes);
}

Result<std::string> object_of(std::string_view text, std::string_view what) {
  const json::Document document(text);
  if (!document.faults().empty()) {
    return misused(fmt::format("{}: is not JSON: {}", what, document.faults()[0].message));
  }
  if (!document.root()->is_object()) return misused(fmt::format("{}: is not an object", what));
  return json::minified(*document.root());
}

std::string text_at(json::Value object, std::string_view name) {
  const auto found = object.members().find(name);
  return found && found->is_string() ? std::string(found->text()) : "";
}

// A whole tool: {"name", "description", "parameters"}, the latter also as Anthropic names them, or
// all of it below "function".
std::optional<backends::Tool> whole_tool(json::Value object) {
  if (const auto inner = object.members().find("function"); inner && inner->is_object()) {
    object = *inner;
  }
  backends::Tool tool{.name = text_at(object, "name"),
                      .description = text_at(object, "description")};
  if (tool.name.empty()) return std::nullopt;
  for (const std::string_view name : {"parameters", "input_schema", "inputSchema"}) {
    const auto schema = object.members().find(name);
    if (schema && schema->is_object()) tool.parameters_json = json::minified(*schema);
  }
  return tool;
}

Result<backends::Tool> tool_of(std::string_view json_text, std::string name) {
  const json::Document document(json_text);
  if (auto tool = whole_tool(*document.root())) {
    if (!name.empty()) tool->name = std::move(name);
    TREATY_TRY_VOID(read_tool_name(tool->name));
    return *std::move(tool);
  }
  if (!name.empty()) {
    return backends::Tool{.name = std::move(name), .parameters_json = std::string(json_text)};
  }
  return misused("--tool: the JSON of a tool has a \"name\"");
}

}  // namespace

std::string_view image_type_of(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return "image/png";
  if (bytes.starts_with("\xff\xd8\xff")) return "image/jpeg";
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return "image/gif";
  if (bytes.starts_with("RIFF") && bytes.substr(0, 12).ends_with("WEBP")) return "image/webp";
  return {};
}

Result<backends::ImagePart> read_image(const std::string& path) {
  TREATY_TRY(const auto bytes, read_file(path, kLargestImage));
  const std::string_view type = image_type_of(bytes);
  if (type.empty()) {
    return misused(fmt::format("{}: is not a PNG, JPEG, GIF or WebP image", harmless(path)));
  }
  return backends::ImagePart{.media_type = std::string(type), .base64 = base64_encode(bytes)};
}

Result<backends::Tool> read_tool(const std::string& word) {
  if (trimmed(word).starts_with('{')) {
    TREATY_TRY(const auto object, object_of(word, "--tool"));
    return tool_of(object, "");
  }
  const std::size_t equals = word.find('=');
  TREATY_TRY(auto name, read_tool_name(word.substr(0, equals)));
  if (equals == std::string::npos) return backends::Tool{.name = std::move(name)};
  const std::string rest = word.substr(equals + 1);
  std::string text = rest;
  if (!trimmed(rest).starts_with('{')) {
    TREATY_TRY(auto read, read_file(rest, kLargestSchema));
    text = std::move(read);
  }
  TREATY_TRY(const auto object, object_of(text, harmless(rest.substr(0, 80))));
  return tool_of(object, std::move(name));
}

Result<WantedAnswer> read_output_schema(const std::string& path) {
  TREATY_TRY(const auto text, read_file(path, kLargestSchema));
  TREATY_TRY(auto object, object_of(text, harmless(path)));
  auto compiled = schema::Schema::compile(object);
  if (!compiled) {
    const Error& fault = compiled.error();
    return misused(fmt::format("{}: not a schema that answers can be checked with: {}{}{}",
                               harmless(path), harmless(fault.where),
                               fault.where.empty() ? "" : ": ", harmless(fault.message)));
  }
  const json::Document document(object);
  const bool strict = backends::fits_strict_modes(*document.root());
  return WantedAnswer{.request = {.schema_json = std::move(object), .strict = strict},
                      .schema = *std::move(compiled)};
}

}  // namespace treaty::cli
