// Removes embedded files (RES-31) from a text that arrives character by character: `data:` URIs
// with base64, and long runs of base64. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace treaty::turns {

// Ordinary text passes at once. Only what may be the beginning of a file is held back: `data` at
// the beginning of a word, what follows `data:` up to the end of the word, and what a run of base64
// has beyond its first characters. A word must not wait for its end, so these first characters stay
// when the run turns out to be a file.
class EmbeddedFileFilter {
 public:
  // How many characters of a run pass at once.
  static constexpr std::size_t kShownOfRun = 16;

  // Appends to `out` what is certain to stay.
  void feed(std::string_view text, std::string& out);
  void feed(char c, std::string& out);

  // The text has ended here; the next character begins another one.
  void finish(std::string& out);

  std::size_t removed() const { return removed_; }  // How many files.
  void set_removed(std::size_t count) { removed_ = count; }
  std::size_t added() const { return added_; }     // Bytes of all notes in their places.
  static std::size_t most_added(std::size_t fed);  // By so many bytes more.

 private:
  enum class State : std::uint8_t {
    text,
    long_run,  // Of base64, not yet long enough to be a file.
    uri_head,  // From the colon of `data:` to the comma.
    uri_body,  // Removed, until it ends.
    run_body,  // The same.
  };

  std::size_t plain_run(std::string_view text);
  void feed_text(char c, std::string& out);
  void feed_long_run(char c, std::string& out);
  void feed_uri_head(char c, std::string& out);
  void match_scheme(char c, std::string& out);
  void release(std::string& out);
  void remove(State body, std::string& out);
  void continue_as_text(char c, std::string& out);
  void replay_without_uri(std::string& out);

  State state_ = State::text;
  std::string held_{};
  std::size_t run_ = 0;         // Characters of base64 right before this place.
  std::size_t padding_ = 0;     // `=` right after a long run.
  std::size_t scheme_ = 0;      // How much of `data` stands right before this place.
  std::size_t colon_ = 0;       // uri_head: its place in held_.
  bool looks_for_uris_ = true;  // False while a word that is no URI is read again.
  std::size_t removed_ = 0;
  std::size_t added_ = 0;
};

}  // namespace treaty::turns
