#include "treaty/base/json.h"

#include <doctest/doctest.h>

#include <limits>

using namespace treaty::json;

namespace {

Fault only_fault(const Document& document) {
  REQUIRE(document.faults().size() == 1);
  return document.faults()[0];
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

}  // namespace

TEST_CASE("a document gives its values as they stand in the text") {
  const std::string text = R"( {"a": [1, -2.5e1, true, null], "b": "x\ny"} )";
  const Document document(text);

  REQUIRE(document.root());
  const auto a = document.root()->members().find("a");
  REQUIRE(a);
  auto element = a->elements().begin();
  CHECK((*element).integer() == 1);
  CHECK((*++element).number() == -25.0);
  CHECK((*++element).boolean());
  CHECK((*++element).is_null());
  CHECK(a->source() == "[1, -2.5e1, true, null]");
  CHECK(document.root()->members().find("b")->text() == "x\ny");
}

TEST_CASE("an integer that does not fit int64 is still a number, but no integer") {
  const Document document("[9223372036854775807, 9223372036854775808, 1.0]");

  auto element = document.root()->elements().begin();
  CHECK((*element).integer() == std::numeric_limits<std::int64_t>::max());
  CHECK(!(*++element).integer());
  CHECK((*element).number() == 9223372036854775808.0);
  CHECK(!(*++element).integer());
}

TEST_CASE("a number too large for a double is not finite, one too small is zero") {
  const Document huge("[1e400]");
  const Document tiny("[1e-400, -0]");

  CHECK(only_fault(huge).kind == FaultKind::not_finite);
  CHECK(only_fault(huge).pointer == "/0");
  CHECK(tiny.faults().empty());
  CHECK((*tiny.root()->elements().begin()).number() == 0.0);
}

TEST_CASE("a number with many digits and a negative exponent may still be too large") {
  const Document document("[1" + std::string(400, '0') + "e-1]");

  CHECK(only_fault(document).kind == FaultKind::not_finite);
}

TEST_CASE("nesting is allowed up to the limit and no deeper") {
  CHECK(Document(nested(64)).faults().empty());
  CHECK(only_fault(Document(nested(65))).kind == FaultKind::too_deep);
  CHECK(only_fault(Document(std::string(100'000, '['))).kind == FaultKind::too_deep);
}

TEST_CASE("a document larger than the limit is not read") {
  const Document document("[1,2]", {.max_size = 4});

  CHECK(only_fault(document).kind == FaultKind::too_large);
  CHECK(!document.root());
}

TEST_CASE("a name that stands twice is told at its second place, also after unescaping") {
  const Document document(R"({"m": [{"x": 1, "\u0078": 2}]})");

  CHECK(only_fault(document).kind == FaultKind::duplicate_name);
  CHECK(only_fault(document).pointer == "/m/0/x");
  CHECK(only_fault(document).offset == 16);
}

TEST_CASE("names that differ in case are the same only where the contract says so") {
  const std::string text = R"({"Id": 1, "id": 2})";

  CHECK(Document(text).faults().empty());
  CHECK(only_fault(Document(text, {.names = NameCase::folded})).pointer == "/id");
}

TEST_CASE("repeated names are found among many") {
  std::string text = "{";
  for (int i = 0; i < 1000; ++i) text += "\"n" + std::to_string(i) + "\":0,";
  text += "\"n500\":0}";

  CHECK(only_fault(Document(text)).pointer == "/n500");
}

TEST_CASE("surrogate pairs join, and one that stands alone is told once a string") {
  CHECK((*Document(R"(["\ud83d\ude00"])").root()->elements().begin()).text() == "😀");
  CHECK(only_fault(Document(R"(["\ud83d", 1])")).kind == FaultKind::bad_string);
  CHECK(only_fault(Document(R"(["\ude00\ud83d \udfff"])")).pointer == "/0");
}

TEST_CASE("a raw control character is told, and reading goes on") {
  const Document document("{\"a\": \"x\ty\", \"b\": 01}");

  REQUIRE(document.faults().size() == 2);
  CHECK(document.faults()[0].kind == FaultKind::bad_string);
  CHECK(document.faults()[0].pointer == "/a");
  CHECK(document.faults()[1].kind == FaultKind::syntax);
}

TEST_CASE("bytes that are not UTF-8 are a fault of syntax") {
  for (const char* bytes : {"[\"\xFF\"]", "[\"\xC0\x80\"]", "[\"\xED\xA0\x80\"]", "[\"\xE2\x82\"]",
                            "[\"\xF5\x80\x80\x80\"]"}) {
    CAPTURE(bytes);
    CHECK(only_fault(Document(bytes)).kind == FaultKind::syntax);
  }
}

TEST_CASE("a byte order mark is told and passed over") {
  const Document document("\xEF\xBB\xBF[1]");

  CHECK(only_fault(document).kind == FaultKind::byte_order_mark);
  CHECK(document.root());
}

TEST_CASE("what is not JSON is told with its place and its likely reason") {
  struct Case {
    const char* text;
    std::size_t offset;
    const char* reason;
  };
  for (const Case& wrong :
       {Case{"", 0, "the document is empty"},
        Case{"[1,]", 3, "a comma stands before the closing bracket"},
        Case{"{'a':1}", 1, "names stand in double quotes"},
        Case{"[NaN]", 1, "NaN and Infinity are not JSON; write a number or null"},
        Case{"[01]", 3, "a number has no leading zero"},
        Case{"[\"\\x\"]", 2, "JSON has no such escape"},
        Case{"[1] x", 4, "something follows the end of the document"},
        Case{"[\"a", 1, "the string is not closed"},
        Case{"[1 // one\n]", 3, "JSON has no comments"}}) {
    CAPTURE(wrong.text);
    CHECK(only_fault(Document(wrong.text)).message == wrong.reason);
    CHECK(only_fault(Document(wrong.text)).offset == wrong.offset);
  }
}

TEST_CASE("faults are bounded in number") {
  std::string text = "[";
  for (int i = 0; i < 50; ++i) text += "\"\\ud800\",";
  text += "0]";

  CHECK(Document(text, {.max_faults = 10}).faults().size() == 10);
  CHECK(Document(text, {.max_faults = 10}).has_more_faults());
  CHECK(!Document(text).has_more_faults());
}

TEST_CASE("is_json asks for the grammar alone") {
  CHECK(is_json(" true "));
  CHECK(is_json(R"({"a":1,"a":1e400})"));
  CHECK(is_json(nested(5000)));
  CHECK(!is_json(nested(200'000)));  // The depth is bounded, so that brackets alone take no memory.
  CHECK(!is_json("{'a':1}"));
  std::string repeated = "{\"x\":{\"a\":1";
  for (int i = 0; i < 2000; ++i) repeated += ",\"a\":1";
  CHECK(is_json(repeated + "}}"));
  CHECK(!is_json(repeated + "},\"b\":\"\x01\"}"));
  CHECK(!is_json(""));
  CHECK(type_of_json("[]") == Type::array);
}

TEST_CASE("RFC 6901: tilde and slash are escaped in a pointer") {
  std::string pointer = "/a";
  append_pointer_token(pointer, "b/c~d");

  CHECK(pointer == "/a/b~1c~0d");
}
