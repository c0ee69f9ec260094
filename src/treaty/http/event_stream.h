// Reads text/event-stream by the rules of WHATWG HTML §9.2.6, however the bytes were cut: a byte
// order mark at the start, lines that end with CR, LF or CRLF, comments, several data lines.
//
// Bytes are not decoded: what is not UTF-8 reaches the caller as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::http {

// The views are valid until the reader is called again.
struct StreamedEvent {
  std::string_view name;  // "message" when the stream names none.
  std::string_view data;
  std::string_view last_event_id;
};

// An event that lies whole in the fed bytes and has one data line is not copied: its views are
// views of those bytes.
class EventStreamReader {
 public:
  explicit EventStreamReader(std::size_t max_event_bytes = std::size_t{16} << 20U)
      : max_event_bytes_(max_event_bytes) {}

  // Takes `bytes`; call next() until it gives nothing before feeding again. `bytes` are borrowed
  // until then.
  void feed(std::string_view bytes);

  // The next whole event with data, if one is there.
  std::optional<StreamedEvent> next();

  // After the last byte: an event whose blank line never came. A browser drops it; callers who know
  // by other means that it is whole may use it. The last line counts even without a line end.
  std::optional<StreamedEvent> rest();

  // The data of an event together with the line after it grew beyond the limit. Nothing more is
  // read.
  bool overflowed() const { return overflowed_; }

  // The last `retry` field, in milliseconds.
  std::optional<std::int64_t> retry() const { return retry_; }

 private:
  // A field's value: borrowed from the fed bytes, or kept when it must outlive them.
  struct Value {
    std::string_view borrowed{};
    std::string kept{};
    bool is_kept = false;

    std::string_view view() const { return is_kept ? std::string_view(kept) : borrowed; }
    void keep();
    void clear();
  };

  void skip_byte_order_mark();
  std::optional<std::string_view> take_line();
  void keep_unfinished();
  bool fits(std::string_view line);
  void read_line(std::string_view line);
  void read_field(std::string_view field, std::string_view value);
  void add_data(std::string_view value);
  void set_name(std::string_view value);
  std::optional<StreamedEvent> dispatch();

  std::size_t max_event_bytes_;
  bool overflowed_ = false;
  std::optional<std::int64_t> retry_{};

  std::string_view fed_{};
  std::size_t at_ = 0;        // Where in fed_ the next line begins.
  std::size_t next_lf_ = 0;   // The first LF and the first CR at or after at_;
  std::size_t next_cr_ = 0;   // looked up again only when at_ has passed them.
  std::size_t mark_ = 0;      // How much of the byte order mark came; kMarkDone after that.
  bool after_cr_ = false;     // The last byte fed was a CR: an LF that follows belongs to it.
  std::string unfinished_{};  // A line whose end has not come.
  std::string joined_{};      // A line that came in several pieces.
  bool line_is_fed_ = false;  // The line in hand is a view of fed_.
  Value name_{};
  Value data_{};
  bool has_data_ = false;
  std::string last_event_id_{};
};

// One event as bytes: `event: NAME` (unless empty), a `data:` line for each line, a blank line.
// Line breaks in the name are left out.
std::string event_bytes(std::string_view name, std::string_view data);

}  // namespace treaty::http
