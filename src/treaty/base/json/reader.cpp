// The reader behind json::Document. It keeps its own stack, so depth costs no call frames, and goes
// on after every fault that leaves the rest readable.
#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>

#include "treaty/base/json.h"
#include "treaty/base/json/scan.h"
#include "treaty/base/percent.h"
#include "treaty/base/text.h"

namespace treaty::json {
namespace {

constexpr std::size_t kMostFaultBytes = std::size_t{4} << 20U;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

class Reader {
 public:
  Reader(Document& document, const ReadOptions& options)
      : document_(document),
        options_(options),
        start_(document.source_.data()),
        at_(start_),
        end_(start_ + document.source_.size()) {}

  void read() {
    if (!acceptable_size()) return;
    // Enough for most small documents at once; large ones have longer strings.
    document_.nodes_.reserve(document_.source_.size() / 12 + 16);
    if (is_utf16()) return;
    skip_byte_order_mark();
    document_.readable_ = read_values();
  }

 private:
  // A container that is open.
  struct Frame {
    std::uint32_t node;
    std::uint32_t count;  // Of values begun in it.
    std::uint32_t name;   // Objects: the name whose value is being read; 0 while there is none.
  };

  bool acceptable_size() {
    const std::size_t size = document_.source_.size();
    // Offsets are 32 bits wide, whatever the limit is set to.
    if (size <= options_.max_size && size < (std::size_t{1} << 32U) - 1) return true;
    fault(FaultKind::too_large, 0, 1,
          fmt::format("the document is larger than the limit of {} bytes", options_.max_size));
    return false;
  }

  // A mark of two bytes, or a zero byte beside the first character.
  bool is_utf16() {
    const std::string_view first = document_.source_.substr(0, 2);
    if (first != "\xFF\xFE" && first != "\xFE\xFF" && !first.contains('\0')) return false;
    syntax("the document is not UTF-8 but looks like UTF-16; save it as UTF-8");
    return true;
  }

  void skip_byte_order_mark() {
    if (!document_.source_.starts_with(kByteOrderMark)) return;
    fault(FaultKind::byte_order_mark, 0, kByteOrderMark.size(),
          "the document begins with a byte order mark");
    at_ += kByteOrderMark.size();
  }

  bool read_values() {
    skip_space();
    if (at_ == end_) return syntax("the document is empty");
    if (!read_value()) return false;
    while (!stack_.empty()) {
      if (!read_next_in_container()) return false;
    }
    skip_space();
    if (at_ != end_) return syntax("something follows the end of the document");
    return true;
  }

  // Reads a scalar whole, or the opening of a container.
  bool read_value() {
    switch (*at_) {
      case '{': return open(Type::object);
      case '[': return open(Type::array);
      case '"': return read_string();
      case 't': return read_literal("true", Type::boolean);
      case 'f': return read_literal("false", Type::boolean);
      case 'n': return read_literal("null", Type::null);
      default: break;
    }
    if (*at_ == '-' || is_digit(*at_)) return read_number();
    const std::string_view reason = misreading(rest());
    return syntax(reason.empty() ? "a value was expected here" : reason);
  }

  bool open(Type type) {
    if (stack_.size() >= options_.max_depth) {
      fault(FaultKind::too_deep, offset(), 1,
            fmt::format("values are nested deeper than {} levels", options_.max_depth));
      return false;
    }
    stack_.push_back({.node = push_node(type), .count = 0, .name = 0});
    ++at_;
    return true;
  }

  bool read_next_in_container() {
    Frame& frame = stack_.back();
    const bool object = document_.nodes_[frame.node].type == Type::object;
    skip_space();
    if (at_ == end_) return syntax(object ? "the object is not closed" : "the array is not closed");
    if (*at_ == (object ? '}' : ']')) return close(object);
    if (frame.count > 0) {
      if (*at_ != ',') {
        const std::string_view reason = misreading(rest());
        const bool telling = rest().starts_with("/") || rest().starts_with("#");
        if (telling && !reason.empty()) return syntax(reason);
        return syntax(object ? "a comma or the closing } was expected here"
                             : "a comma or the closing ] was expected here");
      }
      ++at_;
      skip_space();
      if (at_ == end_) return syntax("the document ends after a comma");
      if (*at_ == '}' || *at_ == ']') return syntax("a comma stands before the closing bracket");
    }
    ++frame.count;
    return object ? read_member() : read_value();
  }

  bool read_member() {
    if (*at_ != '"') {
      return syntax(*at_ == '\'' ? "names stand in double quotes"
                                 : "a name in double quotes was expected here");
    }
    const auto name = static_cast<std::uint32_t>(document_.nodes_.size());
    stack_.back().name = 0;
    if (!read_string()) return false;
    stack_.back().name = name;
    skip_space();
    if (at_ == end_ || *at_ != ':') return syntax("a colon was expected after the name");
    ++at_;
    skip_space();
    if (at_ == end_) return syntax("the value of this member is missing");
    return read_value();
  }

  bool close(bool object) {
    const Frame frame = stack_.back();
    ++at_;
    DocumentNode& node = document_.nodes_[frame.node];
    node.end = static_cast<std::uint32_t>(offset());
    node.extra = static_cast<std::uint32_t>(document_.nodes_.size());
    if (object && frame.count > 1 && !options_.grammar_only)
      refuse_repeated_names(Value(&document_, frame.node), frame.count);
    stack_.pop_back();
    return true;
  }

  bool read_literal(std::string_view word, Type type) {
    if (!rest().starts_with(word)) return syntax("a value was expected here");
    push_node(type);
    at_ += word.size();
    close_scalar();
    return true;
  }

  bool read_number() {
    const std::uint32_t index = push_node(Type::integer);
    if (*at_ == '-') ++at_;
    if (at_ == end_ || !is_digit(*at_)) {
      const std::string_view reason = misreading(document_.source_.substr(offset() - 1));
      return syntax(reason.empty() ? "a digit was expected after the minus sign" : reason);
    }
    const bool zero = *at_ == '0';
    const std::size_t digits = skip_digits();
    if (zero && digits > 1) return syntax("a number has no leading zero");
    bool exponent = false;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      document_.nodes_[index].type = Type::decimal;
      if (skip_digits() == 0) return syntax("a digit was expected after the decimal point");
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      exponent = true;
      document_.nodes_[index].type = Type::decimal;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (skip_digits() == 0) return syntax("a digit was expected in the exponent");
    }
    close_scalar();
    const Value value(&document_, index);
    if ((exponent || digits > 300) && !options_.grammar_only && !full() &&
        !std::isfinite(value.number())) {
      fault(FaultKind::not_finite, value.begin(), value.end() - value.begin(),
            "the number is too large to be finite", pointer());
    }
    return true;
  }

  bool read_string() {
    const std::uint32_t index = push_node(Type::string);
    ++at_;
    string_fault_told_ = false;
    at_ += plain_run(at_, end_);
    while (at_ != end_ && static_cast<unsigned char>(*at_) >= 0x80 && skip_code_point()) {
      at_ += plain_run(at_, end_);
    }
    if (at_ != end_ && *at_ == '"') {
      ++at_;
      close_scalar();
      return true;
    }
    return read_rest_of_string(index);
  }

  // The slow half: escapes, and everything that is wrong. The string's meaning is collected apart.
  bool read_rest_of_string(std::uint32_t index) {
    std::string& out = document_.unescaped_;
    const std::size_t first = out.size();
    const std::size_t begin = document_.nodes_[index].begin + 1;
    out.append(document_.source_.substr(begin, offset() - begin));
    while (true) {
      const std::size_t run = plain_run(at_, end_);
      out.append(at_, run);
      at_ += run;
      if (at_ == end_) return syntax_at(begin - 1, "the string is not closed");
      if (*at_ == '"') break;
      if (*at_ == '\\') {
        if (!read_escape(out)) return false;
      } else {
        read_special_byte(out);
      }
    }
    ++at_;
    close_scalar();
    DocumentNode& node = document_.nodes_[index];
    node.escaped = true;
    node.extra = static_cast<std::uint32_t>(document_.spans_.size());
    document_.spans_.emplace_back(static_cast<std::uint32_t>(first),
                                  static_cast<std::uint32_t>(out.size() - first));
    return true;
  }

  void read_special_byte(std::string& out) {
    if (static_cast<unsigned char>(*at_) < 0x20) {
      string_fault(
          FaultKind::bad_string,
          fmt::format("a raw control character (0x{:02x}) stands in the string; write it as "
                      "an escape",
                      static_cast<unsigned>(*at_)));
      out.push_back(*at_++);
      return;
    }
    const char* const before = at_;
    if (skip_code_point()) {
      out.append(before, at_);
    } else {
      string_fault(FaultKind::syntax, "the bytes of this string are not UTF-8");
      append_utf8(out, 0xFFFD);
      ++at_;
    }
  }

  bool read_escape(std::string& out) {
    const char* const escape = at_++;
    if (at_ == end_) return syntax("the string is not closed");
    switch (*at_++) {
      case '"': out.push_back('"'); return true;
      case '\\': out.push_back('\\'); return true;
      case '/': out.push_back('/'); return true;
      case 'b': out.push_back('\b'); return true;
      case 'f': out.push_back('\f'); return true;
      case 'n': out.push_back('\n'); return true;
      case 'r': out.push_back('\r'); return true;
      case 't': out.push_back('\t'); return true;
      case 'u': return read_unicode_escape(out, escape);
      default: break;
    }
    return syntax_at(static_cast<std::size_t>(escape - start_), "JSON has no such escape");
  }

  bool read_unicode_escape(std::string& out, const char* escape) {
    const auto where = static_cast<std::size_t>(escape - start_);
    const auto first = take_four_hex_digits();
    if (!first) return syntax_at(where, "four hex digits were expected after \\u");
    char32_t code_point = *first;
    if (is_high_surrogate(code_point) && rest().starts_with("\\u")) {
      at_ += 2;
      const auto second = take_four_hex_digits();
      if (!second) return syntax_at(offset() - 2, "four hex digits were expected after \\u");
      if (is_low_surrogate(*second)) {
        code_point = 0x10000 + ((code_point - 0xD800) << 10U) + (*second - 0xDC00);
      } else {
        at_ -= 6;  // Not its partner: a character of its own.
      }
    }
    if (is_high_surrogate(code_point) || is_low_surrogate(code_point)) {
      string_fault(FaultKind::bad_string, "half of a surrogate pair stands alone", where, 6);
    }
    append_utf8(out, code_point);
    return true;
  }

  std::optional<char32_t> take_four_hex_digits() {
    if (end_ - at_ < 4) return std::nullopt;
    char32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const int digit = hex_digit(at_[i]);
      if (digit < 0) return std::nullopt;
      value = value * 16 + static_cast<char32_t>(digit);
    }
    at_ += 4;
    return value;
  }

  bool skip_code_point() {
    const CodePoint next = read_code_point(rest());
    at_ += next.length;
    return next.length > 0;
  }

  std::size_t skip_digits() {
    const char* const before = at_;
    while (at_ != end_ && is_digit(*at_)) ++at_;
    return static_cast<std::size_t>(at_ - before);
  }

  void skip_space() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  // A bit per name, by length and ends, tells most objects clean in one pass.
  void refuse_repeated_names(Value object, std::uint32_t count) {
    std::uint64_t seen = 0;
    bool suspicious = count > 24;
    for (const Member member : object.members()) {
      const std::string_view name = member.name.text();
      const std::uint64_t ends = name.empty() ? 0U
                                              : static_cast<unsigned>(to_lower(name.front())) * 7U +
                                                    static_cast<unsigned>(to_lower(name.back()));
      const std::uint64_t bit = std::uint64_t{1} << ((name.size() * 31 + ends) % 64);
      suspicious = suspicious || (seen & bit) != 0;
      seen |= bit;
    }
    if (suspicious) compare_all_names(object);
  }

  void compare_all_names(Value object) {
    std::vector<Value> names;
    for (const Member member : object.members()) names.push_back(member.name);
    const auto compare = [this](Value left, Value right) {
      const std::string_view a = left.text();
      const std::string_view b = right.text();
      if (options_.names == NameCase::exact) return a <=> b;
      return std::lexicographical_compare_three_way(
          a.begin(), a.end(), b.begin(), b.end(),
          [](char x, char y) { return to_lower(x) <=> to_lower(y); });
    };
    std::ranges::sort(names, [&](Value left, Value right) {
      const auto order = compare(left, right);
      return order == 0 ? left.begin() < right.begin() : order < 0;
    });
    for (std::size_t i = 1; i < names.size() && !full(); ++i) {
      if (compare(names[i - 1], names[i]) != 0) continue;
      std::string where = pointer_to_container();
      append_pointer_token(where, names[i].text());
      fault(FaultKind::duplicate_name, names[i].begin(), names[i].end() - names[i].begin(),
            fmt::format("the name \"{}\" stands twice in this object", names[i].text()),
            std::move(where));
    }
  }

  // The pointer to the innermost open container.
  std::string pointer_to_container() const { return pointer(stack_.size() - 1); }

  // The pointer to the value being read, through the first `levels` open containers.
  std::string pointer() const { return pointer(stack_.size()); }

  std::string pointer(std::size_t levels) const {
    std::string out;
    for (std::size_t i = 0; i < levels; ++i) {
      const Frame& frame = stack_[i];
      if (document_.nodes_[frame.node].type == Type::array) {
        append_pointer_token(out, std::to_string(frame.count - 1));
      } else if (frame.name != 0) {
        append_pointer_token(out, document_.text(document_.nodes_[frame.name]));
      }
    }
    return out;
  }

  std::uint32_t push_node(Type type) {
    const auto index = static_cast<std::uint32_t>(document_.nodes_.size());
    document_.nodes_.push_back({.begin = static_cast<std::uint32_t>(offset()),
                                .end = 0,
                                .extra = 0,
                                .type = type,
                                .escaped = false});
    return index;
  }

  void close_scalar() { document_.nodes_.back().end = static_cast<std::uint32_t>(offset()); }

  std::size_t offset() const { return static_cast<std::size_t>(at_ - start_); }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  // Syntax faults concern the document as a whole: their pointer is empty. Always false.
  bool syntax(std::string_view message) { return syntax_at(offset(), message); }
  bool syntax_at(std::size_t where, std::string_view message) {
    fault(FaultKind::syntax, where, 1, std::string(message));
    return false;
  }

  // One fault a string is enough.
  void string_fault(FaultKind kind, std::string message) {
    string_fault(kind, std::move(message), offset(), 1);
  }
  void string_fault(FaultKind kind, std::string message, std::size_t where, std::size_t length) {
    if (string_fault_told_ || full()) return;
    string_fault_told_ = true;
    fault(kind, where, length, std::move(message),
          kind == FaultKind::syntax ? std::string() : pointer());
  }

  // Bounds what a hostile document makes us say of it: a pointer may be as long as the document.
  bool full() {
    if (document_.faults_.size() < options_.max_faults && fault_bytes_ <= kMostFaultBytes) {
      return false;
    }
    document_.more_faults_ = true;
    return true;
  }

  void fault(FaultKind kind, std::size_t where, std::size_t length, std::string message,
             std::string pointer = {}) {
    if (full()) return;
    fault_bytes_ += pointer.size() + message.size();
    document_.faults_.push_back({.kind = kind,
                                 .offset = where,
                                 .length = length,
                                 .pointer = std::move(pointer),
                                 .message = std::move(message)});
  }

  Document& document_;
  const ReadOptions& options_;
  const char* start_;
  const char* at_;
  const char* end_;
  boost::container::small_vector<Frame, 16> stack_;  // No allocation for what is usual.
  bool string_fault_told_ = false;
  std::size_t fault_bytes_ = 0;
};

Document::Document(std::string_view text, const ReadOptions& options) { read(text, options); }

void Document::read(std::string_view text, const ReadOptions& options) {
  source_ = text;
  nodes_.clear();
  unescaped_.clear();
  spans_.clear();
  faults_.clear();
  readable_ = false;
  more_faults_ = false;
  Reader(*this, options).read();
}

}  // namespace treaty::json
