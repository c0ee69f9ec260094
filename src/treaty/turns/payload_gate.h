// Holds a text back as long as it may be a JSON payload as a whole (RES-30). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace treaty::turns {

// Whether what was fed can be the beginning of a JSON object or array, white space around it
// allowed. Never says no to a beginning of one; some mistakes are only seen by is_payload().
class PayloadPrefix {
 public:
  void feed(std::string_view text) {
    for (std::size_t i = 0; i < text.size() && is_possible(); ++i) feed(text[i]);
  }
  void feed(char c);
  bool is_possible() const { return next_ != Next::impossible; }

 private:
  enum class Next : std::uint8_t {
    opening,  // Of the payload itself.
    value,
    value_or_end,
    name,
    name_or_end,
    colon,
    comma_or_end,
    nothing,  // It is complete.
    impossible,
  };
  enum class Within : std::uint8_t { structure, string, escape, number, word };

  void feed_structure(char c);
  void feed_word(char c);
  void open(char c);
  void close(char c);
  void begin_value(char c);
  void end_value() { next_ = open_.empty() ? Next::nothing : Next::comma_or_end; }

  Next next_ = Next::opening;
  Within within_ = Within::structure;
  std::string_view word_{};  // What is left of true, false or null.
  std::string open_{};       // The brackets that are open.
};

// The text comes twice: as it is, and as the filter of embedded files leaves it. If the one as it
// is turns out to be a payload, nothing has to be removed from it, since a fence will guard it.
class PayloadGate {
 public:
  bool is_open() const { return is_open_; }

  // Whether the text as it is, so far, may become a payload.
  bool may_be_raw() const { return raw_prefix_.is_possible(); }

  void feed(std::string_view text) {
    raw_ += text;
    raw_prefix_.feed(text);
  }

  // Appends to `out` the filtered text, as soon as neither form can be a payload.
  void feed_filtered(std::string_view text, std::string& out);

  // At the end of a text whose gate did not open.
  enum class Verdict : std::uint8_t { no_payload, raw_is_payload, filtered_is_payload };
  Verdict verdict() const;
  const std::string& raw() const { return raw_; }
  const std::string& filtered() const { return filtered_; }

 private:
  std::string raw_{};
  std::string filtered_{};
  PayloadPrefix raw_prefix_{};
  PayloadPrefix filtered_prefix_{};
  bool is_open_ = false;
};

}  // namespace treaty::turns
