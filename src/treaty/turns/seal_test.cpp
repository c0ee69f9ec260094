#include "treaty/turns/seal.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::turns;

namespace {

// What may have left before a run of base64 turned out to be a file.
std::string beginning_of_run() { return std::string(EmbeddedFileFilter::kShownOfRun, 'A'); }

bool keeps_contract(const std::string& text) {
  const contracts::AgentExecuteResponse response{
      .session_id = "s",
      .turn_id = "t",
      .mode_display_name = "General",
      .kind = contracts::FinalResponse{.primary_output_text = text}};
  const auto decoded = contracts::decode_agent_execute_response(encode(response));
  return decoded && *decoded == response;
}

// The seal's own promise: the contract holds, and a second seal finds nothing to do.
std::string sealed_text(const std::string& text) {
  const Sealed sealed = seal(text);
  CHECK(keeps_contract(sealed.text));
  const Sealed again = seal(sealed.text);
  CHECK(again.text == sealed.text);
  CHECK(again.notes.empty());
  CHECK(again.user_warnings.empty());
  return sealed.text;
}

std::string rule_of(const std::string& text) {
  const Sealed sealed = seal(text);
  REQUIRE(sealed.notes.size() == 1);
  CHECK(sealed.notes[0].kind == "sealed");
  return sealed.notes[0].data;
}

}  // namespace

TEST_CASE("a text that is in order stays as it is, without a word") {
  for (const std::string text :
       {"Done.", "Use `{}` or [1].\n\n```cpp\nint a[] = {1};\n```\n", "1. a\n2. b\n",
        "See /etc/hosts and C:\\temp.\n\n    at main.cpp:3", "postgres://user:pass@localhost/db",
        "It begins with -----BEGIN RSA PRIVATE KEY-----. Then run ssh-add.", "export KEY=value",
        "event: turn.result\ndata: {}\n\nid: 7"}) {
    const Sealed sealed = seal(text);
    CHECK(sealed.text == text);
    CHECK(sealed.user_warnings.empty());
    CHECK(sealed.notes.empty());
  }
}

TEST_CASE("RES-30: a text that is JSON as a whole is put into a tagged fence") {
  CHECK(sealed_text(R"({"a":1})") == "```json\n{\"a\":1}\n```");
  CHECK(sealed_text(" [1]\n") == "```json\n [1]\n```");
  CHECK(sealed_text("[\n\"```\"\n]") == "```json\n[\n\"```\"\n]\n```");
  CHECK(rule_of("{}") == R"({"Rule":"RES-30"})");
  CHECK(seal("{}").user_warnings.empty());
}

TEST_CASE("RES-30: an untagged fence of JSON gets its tag, others stay as they are") {
  CHECK(sealed_text("Here:\n```\n{\"a\":1}\n```\nand\n~~~~  \n[]\n~~~~\n```\nx\n```") ==
        "Here:\n```json\n{\"a\":1}\n```\nand\n~~~~json  \n[]\n~~~~\n```\nx\n```");
  CHECK(sealed_text("  ```\n{}") == "  ```json\n{}");
  CHECK(sealed_text("```\r{}\r```\r") == "```json\r{}\r```\r");
}

TEST_CASE("RES-31: embedded files are replaced by a note, with a warning") {
  const std::string run(2000, 'A');

  CHECK(sealed_text("![a](data:image/png;base64,iVBO==) b") == "![a](`[embedded file removed]`) b");
  CHECK(sealed_text("data:;base64," + run + "== b") == "`[embedded file removed]` b");
  CHECK(sealed_text(run) == beginning_of_run() + "`[embedded file removed]`");
  CHECK(sealed_text("```\n" + run + "==\n```") ==
        "```\n" + beginning_of_run() + "`[embedded file removed]`\n```");
  CHECK(sealed_text("my data:;base64,QUJD") == "my `[embedded file removed]`");
  CHECK(sealed_text("mydata:;base64,QUJD") == "mydata`[embedded file removed]`");
  CHECK(rule_of(run) == R"({"Rule":"RES-31"})");
  CHECK(seal(run).user_warnings ==
        std::vector<std::string>{"The answer held the contents of a file, which were removed."});
}

TEST_CASE("RES-31: what stands in a tagged fence stays, and so does the payload of a whole text") {
  const std::string fenced = "```text\n" + std::string(2000, 'A') + "\n```";

  CHECK(sealed_text(fenced) == fenced);
  CHECK(sealed_text(R"({"a":"data:;base64,QUJD"})") ==
        "```json\n{\"a\":\"data:;base64,QUJD\"}\n```");
  CHECK(sealed_text("```\n{\"a\":\"data:;base64,QUJD\"}\n```") ==
        "```json\n{\"a\":\"data:;base64,QUJD\"}\n```");
}

TEST_CASE("a removal that makes a payload of the rest guards it") {
  CHECK(sealed_text(R"({"a":"data:\q;base64,QUJD"})") ==
        "```json\n{\"a\":\"`[embedded file removed]`\"}\n```");
}

TEST_CASE("a removal makes no line a fence") {
  CHECK(sealed_text("``` data:`;base64,QUJD\n{}\n```\n[]\n```") ==
        "``` `[embedded file removed]`\n{}\n```json\n[]\n```");
}

TEST_CASE("what only looks like a key is the model's own text and stays") {
  CHECK(sealed_text("Use sk-proj-abcdefgh12345678 here.") == "Use sk-proj-abcdefgh12345678 here.");
}

TEST_CASE("RES-10: a blank text becomes a sentence, with a warning") {
  for (const std::string blank : {"", " ", "\n\t ", "\u00A0\u3000"}) {
    CHECK(sealed_text(blank) == "The model gave no answer.");
    CHECK(rule_of(blank) == R"({"Rule":"RES-10"})");
    CHECK(seal(blank).user_warnings.size() == 1);
  }
}

TEST_CASE("bytes that are no text are replaced") {
  CHECK(sealed_text("a\xFF\xC3") == "a\uFFFD\uFFFD");
  CHECK(rule_of("\xFF") == R"({"Rule":"JSON-01"})");
}

TEST_CASE("a text that is too long is cut at the limit, between two characters, with a warning") {
  std::string long_text = "é";
  while (long_text.size() <= kLongestText) long_text += "😀";

  const Sealed sealed = seal(long_text);
  Sealer sealer;
  const std::string left = sealer.feed(long_text.substr(0, kLongestText / 2 + 1)) +
                           sealer.feed(long_text.substr(kLongestText / 2 + 1));

  CHECK(left + sealer.finish().text == sealed.text);
  CHECK(sealed.text.size() == kLongestText - 2);
  CHECK(long_text.starts_with(sealed.text));
  CHECK(sealed.notes == std::vector<StepNote>{{"sealed", R"({"Rule":"JSON-03"})"}});
  CHECK(sealed.user_warnings.size() == 1);
}

TEST_CASE("a text of the full length that grows when it is sealed still keeps the contract") {
  std::string uris;
  while (uris.size() + 14 < kLongestText / 2) uris += "data:;base64,\n";
  const std::string payload = "[\"" + std::string(kLongestText - 8, '`') + "\"]";
  const std::string escaped(kLongestText / 5, '\x01');
  const std::string backspaces(kLongestText / 3, '\b');  // Written as \u0008.

  for (const std::string& text : {uris, payload, escaped, backspaces}) {
    const Sealed sealed = seal(text);
    CHECK(sealed.text.size() <= kLongestText + 12);  // The fence around a payload.
    CHECK(keeps_contract(sealed.text));
  }
}

TEST_CASE("a text of many lines is cut at the same place whether it comes whole or in pieces") {
  std::string text;
  while (text.size() + 200 < kLongestText) text += "Some \"quoted\" words, and then data.\n";
  for (int i = 0; i < 40; ++i) text += "data:;base64,QUJD \x01";

  const Sealed whole = seal(text);
  Sealer sealer;
  std::string left;
  const std::size_t end = text.size() - 2'000;
  left += sealer.feed(std::string_view(text).substr(0, end));
  for (const char c : text.substr(end)) left += sealer.feed({&c, 1});

  CHECK(left + sealer.finish().text == whole.text);
  CHECK(whole.notes.front().data == R"({"Rule":"JSON-03"})");
}

namespace {

rc::Gen<std::string> any_answer() {
  const auto piece = rc::gen::element<std::string>(
      "```", "~~~", "````", "json", "\n", "\r", "\r\n", " ", "    ", "{", "}", "[]", "{}",
      "\"a\":", "1", ",", "\"", "\\", "\\q", "`", "data:", "data", "d", "da", ":", ";base64,",
      ";base64", "AAAA", "+", "/", "(", std::string(1024, 'B'), std::string(600, 'C'), "=",
      "==", "sk-proj-abcdefgh12345678", "Bearer abcdefgh1234567890", "-----BEGIN PRIVATE KEY-----",
      "-----END PRIVATE KEY-----", std::string(64, 'M'), "eyJhbGciOiJI.eyJzdWIiOiIx.c2ln", "\xFF",
      "\xC3", "\xE2\x82", "é", "😀", std::string("\0", 1), "\x01", "\u2028", "\u00A0", "true",
      "[1,null]", "\\u0073", "\\\\u0073", "\\\\", "\\\"", "\t", "\x7F", "D", "Dada",
      "data:;base64,", "and added words, ", "0123456789abcde", "0123456789abcdefd",
      "```\n{\"a\":1}\n```\n", "{\"a\":\"data:\\q;base64,QUJD\"}", "text");
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece),
                      [](const std::vector<std::string>& pieces) {
                        std::string text;
                        for (const std::string& one : pieces) text += one;
                        return text;
                      });
}

}  // namespace

TEST_CASE("whatever a model says, the seal keeps the contract and changes nothing twice") {
  CHECK(rc::check([] {
    const std::string text = *any_answer();
    const Sealed sealed = seal(text);
    RC_ASSERT(keeps_contract(sealed.text));
    RC_ASSERT(seal(sealed.text).text == sealed.text);
    RC_ASSERT(seal(sealed.text).notes.empty());
    RC_ASSERT(sealed.notes.empty() == (sealed.text == text));
  }));
}

TEST_CASE("however an answer is cut into pieces, what leaves piece by piece is the sealed text") {
  CHECK(rc::check([] {
    const std::string text = *any_answer();
    const Sealed whole = seal(text);
    Sealer sealer;
    std::string left;
    for (std::string_view rest = text; !rest.empty();) {
      const std::size_t size = std::min(*rc::gen::inRange<std::size_t>(1, 40), rest.size());
      left += sealer.feed(rest.substr(0, size));
      RC_ASSERT(whole.text.starts_with(left));
      rest.remove_prefix(size);
    }
    const Sealed end = sealer.finish();
    RC_ASSERT(left + end.text == whole.text);
    RC_ASSERT(end.notes == whole.notes);
    RC_ASSERT(end.user_warnings == whole.user_warnings);
  }));
}

TEST_CASE("ordinary text leaves as it comes") {
  Sealer sealer;

  for (const std::string_view piece :
       {"Do",    "ne",     ".",      " See ",   "[1]",      " and {x}",
        ":\n",   "- an ",  "item",   "\n\n",    "```cpp\n", "int a[] = {1};\n",
        "```\n", "`code`", " and ~", "tilde~ ", "Grüße, ",  "日本 🚲",
        "\n",    "   ",    "The end"}) {
    CHECK(sealer.feed(piece) == piece);
  }
  CHECK(sealer.finish().text.empty());
}

TEST_CASE("a text that begins like JSON leaves as soon as it cannot be JSON any more") {
  for (const std::string_view text : {"[1] says", "[Note]", "{{ name }}", "[ ] buy", "{a: 1}",
                                      "[link](https://example.org)", "{\"a\" is"}) {
    Sealer sealer;
    CHECK(sealer.feed(text) == text);
  }
  Sealer sealer;
  CHECK(sealer.feed("{\"a\": [1, ").empty());
  CHECK(sealer.feed("null]}\n").empty());
  CHECK(sealer.finish().text == "```json\n{\"a\": [1, null]}\n```");
}

TEST_CASE("an untagged code block leaves line by line unless it may be JSON") {
  Sealer code;
  CHECK(code.feed("```\nint x;\n") == "```\nint x;\n");
  CHECK(code.feed("{1}\n```\n") == "{1}\n```\n");

  Sealer payload;
  CHECK(payload.feed("Here:\n```\n{\"a\":") == "Here:\n```");
  CHECK(payload.feed("1}\n").empty());
  CHECK(payload.feed("```\n") == "json\n{\"a\":1}\n```\n");
}

TEST_CASE("nothing of an embedded file leaves, and what follows it does") {
  Sealer sealer;

  CHECK(sealer.feed("A picture: ![x](da") == "A picture: ![x](");
  CHECK(sealer.feed("ta:image/png;base").empty());
  CHECK(sealer.feed("64,iVBORw0") == "`[embedded file removed]`");
  CHECK(sealer.feed("KGgo=").empty());
  CHECK(sealer.feed(") and more") == ") and more");
  CHECK(sealer.finish().user_warnings.size() == 1);
}
