#include "treaty/base/schema/messages.h"

#include <fmt/format.h>

#include "treaty/base/json_write.h"

namespace treaty::schema {
namespace {

constexpr std::size_t kLongest = 80;
constexpr std::size_t kMostWords = 12;
constexpr std::size_t kLongestList = 500;

}  // namespace

std::string describe_types(std::uint8_t types) {
  std::vector<std::string> words;
  if ((types & kString) != 0) words.emplace_back("a string");
  if ((types & kNumber) != 0) {
    words.emplace_back("a number");
  } else if ((types & kInteger) != 0) {
    words.emplace_back("an integer");
  }
  if ((types & kBoolean) != 0) words.emplace_back("true or false");
  if ((types & kArray) != 0) words.emplace_back("an array");
  if ((types & kObject) != 0) words.emplace_back("an object");
  if ((types & kNull) != 0) words.emplace_back("null");
  return joined(words);
}

std::string describe_kind(json::Value value) {
  switch (value.type()) {
    case json::Type::null: return "null";
    case json::Type::boolean: return value.boolean() ? "true" : "false";
    case json::Type::integer:
    case json::Type::decimal: return fmt::format("the number {}", beginning(value.source()));
    case json::Type::string: return "a string";
    case json::Type::array: return "an array";
    case json::Type::object: return "an object";
  }
  return {};
}

std::string describe_value(json::Value value) {
  if (value.is_number()) return std::string(beginning(value.source()));
  if (value.is_string()) return quote(value.text());
  return value.source().size() <= kLongest ? json::minified(value) : describe_kind(value);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == kMostWords || text.size() > kLongestList) {
      return text + fmt::format(" or {} others", words.size() - i);
    }
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += beginning(words[i], kLongestList);
  }
  return text;
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string quote(std::string_view text) {
  std::string out;
  json::append_quoted(out, beginning(text));
  if (text.size() > kLongest) out.insert(out.size() - 1, "…");
  return out;
}

}  // namespace treaty::schema
