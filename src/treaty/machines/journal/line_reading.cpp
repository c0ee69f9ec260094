#include "treaty/machines/journal/line_reading.h"

#include "treaty/base/json_dynamic.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines::lines {

std::int64_t whole(const Object& line, std::string_view name) {
  const auto found = line.find(name);
  const auto* number = found == line.end() ? nullptr : found->value().if_int64();
  return number == nullptr ? 0 : *number;
}

double number(const Object& line, std::string_view name) {
  const auto found = line.find(name);
  if (found == line.end() || !found->value().is_number()) return 0;
  return found->value().to_number<double>();
}

Object object(const Object& line, std::string_view name) {
  const auto found = line.find(name);
  const auto* value = found == line.end() ? nullptr : found->value().if_object();
  return value == nullptr ? Object() : *value;
}

Dynamic value(const Object& line, std::string_view name) {
  const auto found = line.find(name);
  return found == line.end() ? Dynamic() : found->value();
}

std::optional<std::string> optional_text(const Object& line, std::string_view name) {
  return line.contains(name) ? std::optional(text_of(line, name)) : std::nullopt;
}

List list(const Object& line, std::string_view name) {
  const Dynamic found = value(line, name);
  return found.is_array() ? found.get_array() : List();
}

std::vector<double> numbers(const Object& line, std::string_view name) {
  std::vector<double> list;
  const Dynamic found = value(line, name);
  if (!found.is_array()) return list;
  for (const Dynamic& one : found.get_array()) {
    if (one.is_number()) list.push_back(one.to_number<double>());
  }
  return list;
}

Outcome outcome_of(const Object& line) {
  Outcome outcome{.status = text_of(line, "status") == name_of(Status::completed)
                                ? Status::completed
                                : Status::failed,
                  .execution = text_of(line, "id"),
                  .output = value(line, "output"),
                  .error = object(line, "error")};
  outcome.calls = whole(line, "calls");
  outcome.waits = numbers(line, "waits");
  return outcome;
}

std::expected<Object, std::string> parse_line(std::string_view text) {
  const json::Document document(
      text, {.max_size = std::size_t{64} << 20U, .max_depth = kDeepestLine + 8});
  const auto root = document.root();
  if (!document.faults().empty() || !root || !root->is_object()) {
    return std::unexpected("it is not a JSON object");
  }
  return json::to_dynamic_object(*root);
}

Beginning beginning_of(const Object& line) {
  return {.text = text_of(line, "machine"),
          .directory = text_of(line, "directory"),
          .input = object(line, "input"),
          .parent = text_of(line, "parent"),
          .depth = whole(line, "depth")};
}

}  // namespace treaty::machines::lines
