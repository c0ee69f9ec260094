#include "treaty/base/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <istream>
#include <map>
#include <set>
#include <streambuf>
#include <utility>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::yaml {
namespace {

Error error_at(int line, int column, std::string message) {
  return {ErrorCode::not_a_document, std::move(message), fmt::format("{}:{}", line, column)};
}

// What a subtree weighs: its nodes, and the bytes of its texts.
struct Weight {
  std::size_t nodes = 0;
  std::size_t bytes = 0;
};

void weigh(const Node& node, Weight& weight) {
  ++weight.nodes;
  weight.bytes += node.text.size();
  for (const Node& item : node.items) weigh(item, weight);
  for (const auto& [key, value] : node.members) {
    weigh(key, weight);
    weigh(value, weight);
  }
}

std::size_t depth_of(const Node& node) {
  std::size_t deepest = 0;
  for (const Node& item : node.items) deepest = std::max(deepest, depth_of(item));
  for (const auto& [_, value] : node.members) deepest = std::max(deepest, depth_of(value));
  return node.is_scalar() ? 0 : deepest + 1;
}

// YAML 1.2 §10.3.2, the core schema's integers: decimal, 0o octal, 0x hexadecimal.
bool read_integer(std::string_view text, std::int64_t& out) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0o")) {
    base = text[1] == 'x' ? 16 : 8;
    text.remove_prefix(2);
    if (text.empty() || text[0] == '-') return false;
  } else if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return false;
  }
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, out, base);
  return failure == std::errc() && stop == end && !text.empty();
}

// The core schema's floats without .inf and .nan, for which JSON has no word: those stay strings,
// and so does a number that no double can hold.
bool read_decimal(std::string_view text, double& out) {
  const bool is_signed = text.starts_with('+') || text.starts_with('-');
  const std::string_view digits = is_signed ? text.substr(1) : text;
  if (text.starts_with('+')) text.remove_prefix(1);
  if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.')) return false;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, out);
  return failure == std::errc() && stop == end;
}

// The parser writes the escapes \N and \_ (U+0085, U+00A0) as single bytes, in a text that is
// UTF-8 otherwise.
std::string mended(const std::string& text) {
  if (is_utf8(text)) return text;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    const std::size_t length = read_code_point(rest).length;
    if (length == 0) {
      append_utf8(out, static_cast<unsigned char>(rest[0]));
    } else {
      out += rest.substr(0, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return out;
}

void read_plain(Node& node) {
  const std::string_view text = node.text;
  if (text == "true" || text == "True" || text == "TRUE" || text == "false" || text == "False" ||
      text == "FALSE") {
    node.kind = Kind::boolean;
    node.boolean = to_lower(text[0]) == 't';
  } else if (read_integer(text, node.integer)) {
    node.kind = Kind::integer;
    node.decimal = static_cast<double>(node.integer);
  } else if (read_decimal(text, node.decimal)) {
    node.kind = Kind::decimal;
  }
}

// Builds the tree from the parser's events. After the first fault the remaining events are passed
// over.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const YamlOptions& options) : options_(options) {}

  Node root{};
  std::optional<Error> error{};
  std::pair<int, int> last_scalar{};  // Line and column.
  std::size_t events = 0;             // So far.

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(started_, true)) {
      refuse(mark, "a second document begins here; one file holds one document");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(placed(mark, Kind::null, "null"), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    ++events;
    if (error) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      return refuse(mark, "an alias stands inside of what it stands for");
    }
    Node copy = found->second;
    if (!afford(copy, mark)) return;
    if (open_.size() + depth_of(copy) > options_.max_depth) return refuse_depth(mark);
    std::tie(copy.line, copy.column) = place(mark);
    add(std::move(copy), 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = placed(mark, Kind::string, mended(value));
    last_scalar = {node.line, node.column};
    if (tag == "?") {
      read_plain(node);
    } else if (!is_plain_tag(tag)) {
      return refuse_tag(mark, tag);
    }
    add(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, Kind::list);
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(mark, tag, anchor, Kind::map);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor;
    std::optional<Node> key{};      // Of a map: read, and waiting for its value.
    std::set<std::string> names{};  // Of a map: the keys so far.
  };

  static std::pair<int, int> place(const YAML::Mark& mark) {
    return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
  }

  static Node placed(const YAML::Mark& mark, Kind kind, std::string text) {
    const auto [line, column] = place(mark);
    return {.kind = kind, .line = line, .column = column, .text = std::move(text)};
  }

  // `!` is what the parser calls a quoted scalar.
  static bool is_plain_tag(std::string_view tag) {
    return tag.empty() || tag == "!" || tag == "?" || tag == "tag:yaml.org,2002:str" ||
           tag == "tag:yaml.org,2002:seq" || tag == "tag:yaml.org,2002:map";
  }

  void refuse(const YAML::Mark& mark, std::string message) {
    if (error) return;
    const auto [line, column] = place(mark);
    error = error_at(line, column, std::move(message));
    open_.clear();
  }

  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    refuse(mark, fmt::format("tags such as {} are not read; take it away", tag));
  }

  void refuse_depth(const YAML::Mark& mark) {
    refuse(mark, fmt::format("more than {} levels deep", options_.max_depth));
  }

  // Copies are paid for before they are made, so that a few aliases cannot become a forest.
  bool afford(const Node& copy, const YAML::Mark& mark) {
    weigh(copy, spent_);
    if (spent_.nodes <= options_.max_nodes && spent_.bytes <= 2 * options_.max_size) return true;
    refuse(mark, fmt::format("more than {} values, aliases included", options_.max_nodes));
    return false;
  }

  void begin(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, Kind kind) {
    ++events;
    if (error) return;
    if (!is_plain_tag(tag)) return refuse_tag(mark, tag);
    if (open_.size() >= options_.max_depth) return refuse_depth(mark);
    if (!open_.empty() && open_.back().node.kind == Kind::map && !open_.back().key) {
      return refuse(mark, "a key is a list or a map; keys are texts here");
    }
    open_.push_back({.node = placed(mark, kind, ""), .anchor = anchor});
  }

  void end() {
    if (error) return;
    Frame frame = std::move(open_.back());
    open_.pop_back();
    add(std::move(frame.node), frame.anchor);
  }

  void add(Node node, YAML::anchor_t anchor) {
    ++events;
    if (error) return;
    YAML::Mark mark;
    mark.line = node.line - 1;
    mark.column = node.column - 1;
    if (++spent_.nodes > options_.max_nodes) {
      return refuse(mark, fmt::format("more than {} values", options_.max_nodes));
    }
    if (anchor != 0) {
      if (!afford(node, mark)) return;
      anchors_[anchor] = node;
    }
    if (open_.empty()) {
      root = std::move(node);
      return;
    }
    Frame& frame = open_.back();
    if (frame.node.kind == Kind::list) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.key) {
      frame.node.members.emplace_back(std::move(*frame.key), std::move(node));
      frame.key.reset();
    } else if (!node.is_scalar()) {
      refuse(mark, "a key is a list or a map; keys are texts here");
    } else if (!frame.names.insert(node.text).second) {
      refuse(mark, fmt::format("the key {} is there twice", node.text));
    } else {
      frame.key = std::move(node);
    }
  }

  const YamlOptions& options_;
  std::vector<Frame> open_{};
  std::map<YAML::anchor_t, Node> anchors_{};
  Weight spent_{};
  bool started_ = false;
};

// Gives the parser its text piece by piece. The parser keeps all of a collection in brackets, in
// tokens that take many times its size, before it tells of the first value. So the text ends when
// there are more entries in one than max_flow_entries, and after a fault.
class GuardedText final : public std::streambuf {
 public:
  GuardedText(std::string_view text, const Builder& builder, std::size_t most)
      : text_(text), builder_(builder), most_(most) {}

  bool has_ended_early() const { return is_over_; }
  std::size_t given() const { return given_; }

 private:
  int_type underflow() override {
    if (builder_.events != events_) {
      events_ = builder_.events;
      entries_ = 0;
    }
    if (builder_.error || is_over_ || given_ == text_.size()) return traits_type::eof();
    const std::string_view piece = text_.substr(given_, kPiece);
    // Every entry follows one of these. They may be in a plain text, too: that is why the limit is
    // high.
    entries_ += static_cast<std::size_t>(
        std::ranges::count_if(piece, [](char c) { return c == ',' || c == '[' || c == '{'; }));
    is_over_ = entries_ > most_;
    if (is_over_) return traits_type::eof();
    given_ += piece.size();
    piece_ = piece;
    setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
    return traits_type::to_int_type(piece_.front());
  }

  static constexpr std::size_t kPiece = 4096;

  std::string_view text_;
  const Builder& builder_;
  const std::size_t most_;
  std::string piece_{};
  std::size_t given_ = 0;
  std::size_t events_ = 0;   // Events that the builder had received at the last check.
  std::size_t entries_ = 0;  // Entries in the text since the last event.
  bool is_over_ = false;
};

// The parser takes U+0004 for the end of its input, and what is not UTF-8 for something else.
std::optional<Error> fault_in_bytes(std::string_view text, const YamlOptions& options) {
  if (text.size() > options.max_size) {
    return error_at(1, 1, fmt::format("larger than {} bytes", options.max_size));
  }
  int line = 1;
  std::size_t line_begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = read_code_point(text.substr(at));
    const auto column = static_cast<int>(at - line_begin) + 1;
    if (point.length == 0) return error_at(line, column, "this is not UTF-8");
    const bool is_break = point.value == '\n' || point.value == '\r';
    if ((point.value < 0x20 && !is_break && point.value != '\t') || point.value == 0x7F) {
      return error_at(
          line, column,
          fmt::format("a control character, U+{:04X}; in a quoted text write \\x{:02x}",
                      static_cast<unsigned>(point.value), static_cast<unsigned>(point.value)));
    }
    at += point.length;
    if (point.value == '\n') {
      ++line;
      line_begin = at;
    }
  }
  return std::nullopt;
}

// The rest of `text` from line and column on (both from 1).
std::string_view rest_from(std::string_view text, int line, int column) {
  std::size_t begin = 0;
  for (int passed = 1; passed < line && begin < text.size(); ++passed) {
    begin = line_at(text, begin).next;
  }
  return text.substr(std::min(begin + static_cast<std::size_t>(column) - 1, text.size()));
}

// The parser takes the end of the text for a closing quote. Only the last scalar can be such a one.
bool is_open_quote(std::string_view rest) {
  while (rest.starts_with('&') || rest.starts_with('!')) {
    rest.remove_prefix(std::min(rest.find_first_of(" \t\n"), rest.size()));
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\n"), rest.size()));
  }
  if (rest.empty() || (rest[0] != '\'' && rest[0] != '"')) return false;
  for (std::size_t at = 1; at < rest.size(); ++at) {
    if (rest[at] == '\\' && rest[0] == '"') {
      ++at;
    } else if (rest[at] == rest[0]) {
      const bool is_doubled = rest[0] == '\'' && rest.substr(at + 1).starts_with('\'');
      if (!is_doubled) return false;
      ++at;
    }
  }
  return true;
}

// The parser's own words, with the one mistake that everybody makes named.
std::string explained(const std::string& message, std::string_view text, int line) {
  const std::string_view content = line_at(rest_from(text, line, 1), 0).text;
  const std::size_t first = content.find_first_not_of(' ');
  if (first != std::string_view::npos && content[first] == '\t') {
    return "a tab indents this line; YAML wants spaces";
  }
  return message;
}

void write(json::Writer& writer, const Node& node) {
  switch (node.kind) {
    case Kind::null: writer.null(); return;
    case Kind::boolean: writer.value(node.boolean); return;
    case Kind::integer: writer.value(node.integer); return;
    case Kind::decimal: writer.value(node.decimal); return;
    case Kind::string: writer.value(node.text); return;
    case Kind::list:
      writer.array(node.items, [&](const Node& item) { write(writer, item); });
      return;
    case Kind::map: break;
  }
  writer.begin_object();
  for (const auto& [key, value] : node.members) {
    writer.name(key.text);
    write(writer, value);
  }
  writer.end_object();
}

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, value] : members) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

std::expected<Node, Error> read(std::string_view text, const YamlOptions& options) {
  if (auto fault = fault_in_bytes(text, options)) return std::unexpected(std::move(*fault));
  Builder builder(options);
  GuardedText guarded(text, builder, options.max_flow_entries);
  try {
    std::istream stream(&guarded);
    YAML::Parser parser(stream);
    while (!builder.error && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& exception) {
    if (!builder.error) {
      const int line = std::max(exception.mark.line, 0);
      builder.error = error_at(line + 1, std::max(exception.mark.column, 0) + 1,
                               explained(exception.msg, text, line + 1));
    }
  } catch (const std::exception& exception) {
    if (!builder.error) builder.error = error_at(1, 1, exception.what());
  }
  if (guarded.has_ended_early()) {
    const auto line = std::ranges::count(text.substr(0, guarded.given()), '\n') + 1;
    return std::unexpected(
        error_at(static_cast<int>(line), 1,
                 fmt::format("one value has more than {} commas and opening brackets; write a list "
                             "or map in block style, one entry on a line",
                             options.max_flow_entries)));
  }
  const auto [line, column] = builder.last_scalar;
  if (!builder.error && line > 0 && is_open_quote(rest_from(text, line, column))) {
    builder.error = error_at(line, column, "the quote that opens here is never closed");
  }
  if (builder.error) return std::unexpected(std::move(*builder.error));
  if (builder.root.line == 0) builder.root.line = builder.root.column = 1;
  return std::move(builder.root);
}

std::string to_json(const Node& node) {
  json::Writer writer;
  write(writer, node);
  return writer.take();
}

}  // namespace treaty::yaml
