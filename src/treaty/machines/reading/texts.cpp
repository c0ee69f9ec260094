#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/text.h"
#include "treaty/machines/reading/sections.h"

namespace treaty::machines {
namespace {

using templates::SyntaxFault;
using yaml::Kind;

bool has_tags(std::string_view text) { return text.contains("{{") || text.contains("{%"); }

// Where in a text something is wrong, for people: the line is the key's.
std::string place_in(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  const auto column = 1 + std::ranges::count_if(before.substr(begin), [](char c) {
                        return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                      });
  if (!text.contains('\n')) return fmt::format("at character {}", column);
  return fmt::format("at line {}, character {} of it", line, column);
}

void refuse(Reader& reader, const Place& place, std::string_view rule, std::string_view what,
            const SyntaxFault& fault) {
  reader.findings.violate(
      rule, place,
      fmt::format("{}: {} ({})", what, fault.message, place_in(place.value().text, fault.offset)));
}

// Each answers whether all is in order.
bool check_text(Reader& reader, const Place& place, Bound bound) {
  const std::string& text = place.value().text;
  if (!has_tags(text)) return true;  // A reference to what is not there is null.
  const auto parsed = Template::parse(Dynamic(text));
  if (!parsed) {
    refuse(reader, place, "MCH-14", "the template", parsed.error());
    return false;
  }
  const std::vector<SyntaxFault> unknown = parsed->unknown_names(bound);
  if (unknown.empty()) return true;
  refuse(reader, place, "MCH-14", "the template", unknown.front());
  return false;
}

bool check_texts(Reader& reader, const Place& place, Bound bound) {
  const yaml::Node& node = place.value();
  bool is_good = node.kind != Kind::string || check_text(reader, place, bound);
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    is_good = check_texts(reader, place.entry(i), bound) && is_good;
  }
  for (const auto& member : node.members) {
    is_good = check_texts(reader, place.member(member), bound) && is_good;
  }
  return is_good;
}

std::string condition_of(const yaml::Node& literal) {
  const bool holds = literal.kind == Kind::boolean ? literal.boolean : literal.decimal != 0;
  return holds ? "true" : "false";
}

}  // namespace

bool is_dynamic(std::string_view text) {
  if (has_tags(text)) return true;
  const std::string_view reference = trimmed(text);
  return reference == "input" || reference == "context" || reference == "output" ||
         reference.starts_with("input.") || reference.starts_with("context.") ||
         reference.starts_with("output.") || reference.starts_with("result.");
}

std::optional<Template> read_template(Reader& reader, const Place& place, Bound bound) {
  if (!check_texts(reader, place, bound)) return std::nullopt;
  auto parsed = Template::parse(to_value(place.value()));
  if (parsed) return std::move(*parsed);
  refuse(reader, place, "MCH-14", "the template", parsed.error());
  return std::nullopt;
}

std::optional<Template> read_template_map(Reader& reader, const Place& place, std::string_view what,
                                          Bound bound) {
  if (!reader.is_map(place, what)) return std::nullopt;
  return read_template(reader, place, bound);
}

std::optional<Template> read_template_text(Reader& reader, const Place& place,
                                           std::string_view what, Bound bound) {
  if (!reader.text(place, what)) return std::nullopt;
  return read_template(reader, place, bound);
}

std::vector<std::pair<std::string, Template>> read_template_members(Reader& reader,
                                                                    const Place& place,
                                                                    std::string_view what) {
  std::vector<std::pair<std::string, Template>> out;
  if (!reader.is_map(place, what)) return out;
  for (const auto& member : place.value().members) {
    auto parsed = read_template(reader, place.member(member));
    if (parsed) out.emplace_back(member.first.text, std::move(*parsed));
  }
  return out;
}

void read_condition(Reader& reader, const Place& place, Transition& transition) {
  const yaml::Node& node = place.value();
  if (!node.is_scalar()) return reader.wrong(place, "a condition", "a text");
  transition.text = node.text;
  if (is_blank(node.text)) return;
  auto parsed = Expression::parse(node.kind == Kind::string ? node.text : condition_of(node));
  if (!parsed) return refuse(reader, place, "MCH-13", "the condition", parsed.error());
  transition.names_result = parsed->names("result");
  transition.condition = std::move(*parsed);
}

}  // namespace treaty::machines
