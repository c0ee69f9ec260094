// Writes a tree as YAML: maps and lists in blocks, texts of several lines as literal blocks where
// that reads back as the same text.
#include <algorithm>
#include <array>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/config/show.h"

namespace treaty::config {
namespace {

using yaml::Kind;
using yaml::Node;

enum class Dollars { doubled, as_they_are };

// What a reader would take for a text without quotes, whatever its idea of YAML.
bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 8> kWords = {"true", "false", "null", "yes",
                                                      "no",   "on",    "off",  "y"};
  const auto is_quiet = [](char c) {
    return is_word_character(c) || std::string_view(" ./-").contains(c);
  };
  if (text.empty() || !is_letter(text[0]) || text.ends_with(' ')) return false;
  if (!std::ranges::all_of(text, is_quiet)) return false;
  return std::ranges::none_of(kWords,
                              [&](std::string_view word) { return equal_folded(text, word); });
}

// Nothing that a reader of literal blocks may take away or change.
bool fits_block(std::string_view text) {
  if (!text.contains('\n') || !is_utf8(text)) return false;
  if (text.starts_with(' ') || text.starts_with('\n') || text.ends_with('\n')) return false;
  if (text.ends_with(' ') || text.contains(" \n")) return false;
  return std::ranges::none_of(
      text, [](char c) { return (c < ' ' && c != '\n' && c >= 0) || c == '\x7F'; });
}

class YamlWriter {
 public:
  std::string take() { return std::move(out_); }

  // After a key or a dash: on the same line when it fits there, else below.
  void write_below(const Node& node, std::size_t depth, Dollars dollars) {
    const bool is_block = (node.kind == Kind::map && !node.members.empty()) ||
                          (node.kind == Kind::list && !node.items.empty());
    if (!is_block) {
      out_ += ' ';
      write_scalar(node, depth, dollars);
      return;
    }
    out_ += '\n';
    write_block(node, depth, dollars);
  }

  void write_block(const Node& node, std::size_t depth, Dollars dollars) {
    for (const auto& [key, value] : node.members) {
      indent(depth);
      write_entry(key, value, depth, dollars);
    }
    for (const Node& item : node.items) write_item(item, depth, dollars);
  }

 private:
  void indent(std::size_t depth) { out_.append(2 * depth, ' '); }

  void write_entry(const Node& key, const Node& value, std::size_t depth, Dollars dollars) {
    write_word(key.text);
    out_ += ':';
    const bool is_schema = key.text == "parameters" && value.kind == Kind::map;
    write_below(value, depth + 1, is_schema ? Dollars::as_they_are : dollars);
  }

  // The first member of a map stands beside the dash.
  void write_item(const Node& item, std::size_t depth, Dollars dollars) {
    indent(depth);
    out_ += '-';
    if (item.kind != Kind::map || item.members.empty()) {
      return write_below(item, depth + 1, dollars);
    }
    out_ += ' ';
    for (std::size_t i = 0; i < item.members.size(); ++i) {
      if (i > 0) indent(depth + 1);
      write_entry(item.members[i].first, item.members[i].second, depth + 1, dollars);
    }
  }

  void write_word(std::string_view text) {
    if (is_plain(text)) {
      out_ += text;
    } else {
      append_quoted(text);
    }
  }

  // A JSON string is one of YAML's, but for DEL, which no YAML holds as it is.
  void append_quoted(std::string_view text) {
    std::string quoted;
    json::append_quoted(quoted, text);
    for (const char c : quoted) out_ += c == '\x7F' ? std::string("\\x7f") : std::string(1, c);
  }

  void write_lines(std::string_view text, std::size_t depth) {
    out_ += "|-\n";
    for (std::size_t begin = 0; begin < text.size();) {
      const Line line = line_at(text, begin);
      if (!line.text.empty()) indent(depth);
      out_ += line.text;
      out_ += '\n';
      begin = line.next;
    }
  }

  void write_scalar(const Node& node, std::size_t depth, Dollars dollars) {
    if (node.kind == Kind::map || node.kind == Kind::list) {
      out_ += node.kind == Kind::map ? "{}\n" : "[]\n";
      return;
    }
    if (node.kind != Kind::string) {
      out_ += node.text;
      out_ += '\n';
      return;
    }
    std::string text = node.text;
    if (dollars == Dollars::doubled) text = with_doubled_dollars(text);
    if (fits_block(text)) return write_lines(text, depth);
    write_word(text);
    out_ += '\n';
  }

  static std::string with_doubled_dollars(std::string_view text) {
    std::string out;
    for (const char c : text) out.append(c == '$' ? 2 : 1, c);
    return out;
  }

  std::string out_{};
};

}  // namespace

std::string yaml_of(const Node& node) {
  YamlWriter writer;
  writer.write_block(node, 0, Dollars::doubled);
  return writer.take();
}

}  // namespace treaty::config
