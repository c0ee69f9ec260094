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
    if (rest) {
      out += *rest;
    } else {
      out = "FAILED";
    }
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

TEST_CASE("white space in one text only is no difference, unless the text is short") {
  CHECK(joined("nowhere", Form::rest, "now here") == "now here");
  CHECK(joined("One,two,three,four", Form::rest, "One, two, three, four, five") == ", five");
  CHECK(joined("Then use `a = b` now", Form::rest, "Then use `a=b` now. Done.") == ". Done.");
}

TEST_CASE("what repeats much of the text and then differs or ends is another answer") {
  const std::string heard =
      "The first line of the answer is long enough to be recognised when it is "
      "repeated, and a second line follows.";
  CHECK(joined(heard, Form::rest, heard.substr(0, 90) + "but another one follows.") == "FAILED");
  CHECK(joined(heard, Form::rest, heard.substr(0, 90)) == "FAILED");
  CHECK(joined(heard, Form::rest, heard.substr(0, 20) + "of another table") ==
        heard.substr(0, 20) + "of another table");
}

TEST_CASE("a continuation may begin as earlier lines do") {
  const std::string line =
      "INSERT INTO customers (id, first_name, last_name, city, country, since) "
      "VALUES (";
  const std::string second = line + "2, 'B');\n";
  CHECK(joined(line + "1, 'A');\n", Form::rest, second) == second);
  CHECK(joined(line + "1, 'A');\n" + second + line + "3,", Form::rest, line + "4);") ==
        line + "4);");
  const std::string rule(90, '-');
  CHECK(joined(rule + "\nOne\n" + rule + "\nTwo", Form::rest, rule + "\nThree") ==
        rule + "\nThree");
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
