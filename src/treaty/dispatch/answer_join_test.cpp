#include "treaty/dispatch/answer_join.h"

#include <doctest/doctest.h>

#include <vector>

namespace treaty::dispatch {
namespace {

using Form = AnswerJoin::Form;

// What leaves after `heard`, however the new text is cut; "FAILED" if it cannot be joined.
std::string joined(const std::string& heard, Form form, const std::string& said) {
  std::string result;
  for (std::size_t piece = 1; piece <= said.size() + 1; ++piece) {
    AnswerJoin join(heard, form);
    std::string out;
    for (std::size_t at = 0; at < said.size(); at += piece)
      out += join.feed(said.substr(at, piece));
    const auto rest = join.finish();
    out = rest ? out + *rest : "FAILED";
    if (piece == 1) result = out;
    CHECK(out == result);
  }
  return result;
}

}  // namespace

TEST_CASE("a continuation is appended as it is") {
  CHECK(joined("The sky is bl", Form::rest, "ue today.") == "ue today.");
  CHECK(joined("The sky is", Form::rest, " blue.") == " blue.");
  CHECK(joined("one two", Form::rest, "") == "");
}

TEST_CASE("of a repetition only the rest is new") {
  CHECK(joined("one two three", Form::rest, "one two three four") == " four");
  CHECK(joined("one two three", Form::rest, "one two three") == "");
}

TEST_CASE("a repetition is recognised although its white space differs") {
  CHECK(joined("one two\n\nthree", Form::rest, "  one  two three four") == " four");
  CHECK(joined("\n one", Form::rest, "one two") == " two");
  CHECK(joined("one ", Form::rest, "one two") == "two");
  CHECK(joined("one\n", Form::rest, "one\n\ntwo") == "\ntwo");
}

TEST_CASE("white space inside a word is a difference") {
  CHECK(joined("nowhere", Form::rest, "now here") == "now here");
}

TEST_CASE("white space at the seam is not doubled") {
  CHECK(joined("one two ", Form::rest, " three") == "three");
  CHECK(joined("one two \n", Form::rest, "three") == "three");
  CHECK(joined("one two\n\n", Form::rest, "\nthree") == "three");
}

TEST_CASE("other white space at the seam is new") {
  CHECK(joined("one two ", Form::rest, "\n\nThree") == "\n\nThree");
  CHECK(joined("one two\n", Form::rest, "  three") == "  three");
}

TEST_CASE("what differs in the middle of a character is a continuation") {
  CHECK(joined("caf\xC3\xA9", Form::rest, "caf\xC3\xA8 noir") == "caf\xC3\xA8 noir");
}

TEST_CASE("a beginning of the text alone is a continuation") {
  CHECK(joined("the cat and the dog", Form::rest, "the") == "the");
}

TEST_CASE("a whole answer has to begin with exactly the text that has left") {
  CHECK(joined("one two", Form::whole, "one two three") == " three");
  CHECK(joined("one two", Form::whole, "one two") == "");
  CHECK(joined("one two", Form::whole, "one  two three") == "FAILED");
  CHECK(joined("one two", Form::whole, " one two three") == "FAILED");
  CHECK(joined("one two", Form::whole, "one") == "FAILED");
  CHECK(joined("one two", Form::whole, "") == "FAILED");
  CHECK(joined("caf\xC3\xA9", Form::whole, "caf\xC3\xA8 noir") == "FAILED");
}

}  // namespace treaty::dispatch
