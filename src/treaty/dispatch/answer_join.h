// Joins what a backend says to the text of an answer that another backend began and that has left
// already. No text is doubled, and none is lost. A value.
//
//   AnswerJoin join("The sky is bl", AnswerJoin::Form::rest);
//   join.feed("ue today.");             // "ue today.": for the client.
//   join.finish();                      // What was held back; nothing: it cannot be joined.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace treaty::dispatch {

class AnswerJoin {
 public:
  enum class Form {
    rest,   // The backend continues the text. If it repeats all of it instead, however white space
            // differs, only what follows is new. An answer that begins with a long repetition and
            // then differs is another answer.
    whole,  // The backend writes the whole answer, which begins with exactly that text.
  };

  AnswerJoin(std::string heard, Form form);

  // What may leave now, because it cannot be a repetition.
  std::string feed(std::string_view delta);

  // What came is another answer: what is still to come does not matter.
  bool has_failed() const { return state_ == State::failed; }

  // At the end of the answer: what was held back. Nothing: it is another answer.
  std::optional<std::string> finish();

 private:
  enum class State { undecided, seam, joined, failed };

  void compare_rest();
  void compare_whole();
  void close_seam(bool is_end);
  void note_difference();
  bool is_pattern() const;

  std::string heard_;
  Form form_;
  State state_ = State::undecided;
  std::string held_{};        // Came, and has not left.
  std::size_t at_heard_ = 0;  // Compared so far: in heard_,
  std::size_t at_held_ = 0;   // and in held_.
  std::size_t equal_ = 0;     // How many bytes were equal, white space aside.
  bool heard_gap_ = false;    // White space was passed since the last byte that was equal.
  bool held_gap_ = false;
  bool gaps_differ_ = false;  // There was white space in one of them only.
};

}  // namespace treaty::dispatch
