#include "treaty/contracts/tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "treaty/base/text.h"
#include "treaty/config/sections/sections.h"

namespace treaty::config {
namespace {

using turns::ClientTool;
using yaml::Node;

// A tool while it is read.
struct ToolDraft {
  ClientTool tool{};
  bool has_name = false;
};

void take_name(ConfigReader& reader, const Node& node, ToolDraft& draft) {
  draft.has_name = true;
  auto name = reader.text(node);
  if (!name) return;
  if (!contracts::is_tool_name(*name)) {
    reader.note(node, "the name of a tool has 1 to 64 letters, digits, `_` and `-`", "TOOL-02");
  }
  draft.tool.declaration.name = *std::move(name);
}

void take_run(ConfigReader& reader, const Node& node, ToolDraft& /*draft*/) {
  constexpr std::array<std::string_view, 2> kWords = {"client", "server"};
  if (reader.word(node, kWords).value_or(0) == 1) {
    reader.note(node, "tools that the server runs are not supported yet", "write run: client");
  }
}

// "~1" is a slash and "~0" a tilde (RFC 6901).
std::string unescaped(std::string_view token) {
  std::string out;
  for (std::size_t at = 0; at < token.size(); ++at) {
    if (token.substr(at).starts_with("~1")) {
      out += '/', ++at;
    } else if (token.substr(at).starts_with("~0")) {
      out += '~', ++at;
    } else {
      out += token[at];
    }
  }
  return out;
}

// The node below `node` that the JSON pointer leads to; as deep as the way is there.
const Node* place_of(const Node* node, std::string_view pointer) {
  while (pointer.starts_with('/')) {
    const std::size_t end = std::min(pointer.find('/', 1), pointer.size());
    const std::string token = unescaped(pointer.substr(1, end - 1));
    const Node* next = nullptr;
    if (node->kind == yaml::Kind::map) {
      next = node->find(token);
    } else {
      std::size_t index = node->items.size();
      std::from_chars(token.data(), token.data() + token.size(), index);
      if (index < node->items.size()) next = &node->items[index];
    }
    if (next == nullptr) break;
    node = next;
    pointer.remove_prefix(end);
  }
  return node;
}

// A schema is taken word for word: `$` has its own meaning there.
void take_parameters(ConfigReader& reader, const Node& node, ToolDraft& draft) {
  if (node.kind != yaml::Kind::map) {
    return reader.note(node, "expected a JSON Schema as a map",
                       "such as {type: object, properties: {path: {type: string}}}");
  }
  const Node* type = node.find("type");
  if (type == nullptr || type->text != "object") {
    reader.note(type == nullptr ? node : *type, "the parameters of a tool are an object",
                "write type: object");
  }
  std::string json = yaml::to_json(node);
  auto schema = schema::Schema::compile(json);
  if (!schema) {
    const std::string& where = schema.error().where;
    return reader.note(*place_of(&node, where), schema.error().message,
                       where.empty() ? "" : fmt::format("at {} of the schema", where));
  }
  draft.tool.declaration.parameters_json = std::move(json);
  draft.tool.parameters = std::make_shared<const schema::Schema>(*std::move(schema));
}

constexpr auto kToolMembers = std::to_array<ConfigMember<ToolDraft>>({
    {"name", take_name},
    {"run", take_run},
    {"description", yaml::take_text<&ToolDraft::tool, &ClientTool::declaration,
                                    &tools::ToolDeclaration::description>},
    {"parameters", take_parameters},
});

}  // namespace

std::vector<ClientTool> read_tools(ConfigReader& reader, const Node& list) {
  constexpr std::size_t kMost = 128;  // What the larger providers take.
  std::vector<ClientTool> tools;
  if (!reader.is_list(list, "tools")) return tools;
  if (list.items.size() > kMost) {
    reader.note(list, fmt::format("there are more than {} tools", kMost));
  }
  for (const Node& item : list.items) {
    ToolDraft draft;
    reader.members<ToolDraft>(item, "a tool", kToolMembers, draft);
    const std::string& name = draft.tool.declaration.name;
    const bool is_double = std::ranges::any_of(
        tools, [&](const ClientTool& other) { return other.declaration.name == name; });
    if (!draft.has_name && item.kind != yaml::Kind::string) {
      reader.note(item, "a tool needs a `name`");
    } else if (is_double && !name.empty()) {
      const Node& place = *item.find("name");
      reader.note(place, fmt::format("there are two tools named {}", place.text));
    }
    tools.push_back(std::move(draft.tool));
  }
  return tools;
}

void add_tool_keys(Keys& keys, const std::string& section) {
  add_keys(keys, section, kToolMembers);
}

}  // namespace treaty::config
