#include "treaty/base/masking/known_secrets.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>

#include "treaty/base/json_write.h"

namespace treaty {
namespace {

KnownSecrets known(std::vector<std::string> secrets) { return KnownSecrets(secrets); }

// The text, cut into pieces of these sizes and masked one after the other.
std::string masked_in_pieces(const KnownSecrets& secrets, std::string_view text,
                             const std::vector<std::size_t>& sizes) {
  MaskedPieces pieces(secrets);
  std::string out;
  for (const std::size_t size : sizes) {
    out += pieces.feed(text.substr(0, size));
    text.remove_prefix(std::min(size, text.size()));
  }
  out += pieces.feed(text);
  return out += pieces.finish();
}

}  // namespace

TEST_CASE("known secrets are masked wherever they stand") {
  const KnownSecrets secrets = known({"hunter2hunter2", "PlainCanary99"});

  CHECK(secrets.masked("hunter2hunter2, xPlainCanary99x hunter2hunter2") == "***, x***x ***");
  CHECK(secrets.masked("PlainCanary99PlainCanary99") == "******");
  CHECK(!secrets.masked("hunter2hunter, PlainCanary9 and hunter2hunter."));
  CHECK(!secrets.masked(""));
  CHECK(!KnownSecrets().masked("hunter2hunter2"));
}

TEST_CASE("a known secret is masked as JSON and addresses spell it") {
  const KnownSecrets secrets = known({R"(ab/cd"ef\gh+1)"});

  CHECK(secrets.masked(R"({"a":"ab/cd\"ef\\gh+1"})") == R"({"a":"***"})");
  CHECK(secrets.masked(R"({"a":"ab\/cd\"ef\\gh+1"})") == R"({"a":"***"})");
  CHECK(secrets.masked("?key=ab%2Fcd%22ef%5Cgh%2B1&b") == "?key=***&b");
}

TEST_CASE("a known secret is masked whatever escapes of JSON it is spelled with") {
  const KnownSecrets secrets = known({"ab/cd+ef", "Schl\u00fcssel\U0001F511"});

  for (const char* spelling :
       {R"(ab\u002fcd+ef)", R"(ab\u002Fcd\u002Bef)", R"(\u0061b/cd+e\u0066)", R"(ab\/cd+ef)",
        R"(\u0061\u0062\u002f\u0063\u0064\u002b\u0065\u0066)", "ab%2fcd+ef", "%61b%2Fcd%2Bef"}) {
    CHECK(secrets.masked(fmt::format("<{}>", spelling)) == "<***>");
  }
  for (const char* spelling : {"Schl\u00fcssel\U0001F511", R"(Schl\u00fcssel\ud83d\udd11)",
                               R"(Schl\u00FCssel\uD83D\uDD11)", "Schl%C3%bcssel%F0%9F%94%91"}) {
    CHECK(secrets.masked(fmt::format("<{}>", spelling)) == "<***>");
  }
  CHECK(!secrets.masked(R"(ab\u002gcd+ef ab\ucd+ef ab\xcd+ef Schl\u00fcssel\ud83d ab%2gcd+ef)"));
}

TEST_CASE("a known secret is masked in JSON that is a string of JSON") {
  const KnownSecrets secrets = known({R"(ab/cd"ef\gh)"});
  std::string text = R"({"a":"ab\u002fcd\"ef\\gh"})";

  for (int layers = 1; layers < 3; ++layers) {
    std::string quoted;
    json::append_quoted(quoted, text);
    text = quoted;
    CHECK(secrets.masked(text).value().contains("***"));
    CHECK(!secrets.masked(text).value().contains("ef"));
  }
}

TEST_CASE("a known secret is masked behind any number of backslashes") {
  const KnownSecrets secrets = known({"/abcdefgh"});
  for (std::size_t count = 0; count < 40; ++count) {
    const std::string text = std::string(count, '\\') + R"(\u002fabcdefgh)";

    const std::string masked = secrets.masked(text).value();

    CHECK(masked.ends_with("***"));
    CHECK(!masked.contains("abc"));
  }
}

TEST_CASE("secrets can be added, and the earlier ones stay known") {
  const KnownSecrets both = known({"the-old-key"}).with(std::vector<std::string>{"the-new-key"});

  CHECK(both.masked("the-old-key, the-new-key") == "***, ***");
}

TEST_CASE("a known secret of fewer than eight characters is left alone") {
  CHECK(!known({"", "secret7"}).masked("a secret7 b"));
  CHECK(known({"secret78"}).masked("a secret78 b") == "a *** b");
}

TEST_CASE("of known secrets that overlap nothing stays") {
  CHECK(known({"abcdefgh", "abcdefghijkl"}).masked("-abcdefghijkl-abcdefghi-") == "-***-***i-");
  CHECK(known({"abcdefgh1", "gh1ijklmn"}).masked("-abcdefgh1ijklmn-") == "-***-");
}

TEST_CASE("of a known secret that the text cuts off most is masked, a mere beginning is not") {
  const KnownSecrets secrets = known({"sk-proj-0123456789abcdef"});
  CHECK(secrets.masked("it is sk-proj-0123456789abcde") == "it is ***");
  CHECK(secrets.masked("it is sk-proj-0123") == "it is ***");
  CHECK(!secrets.masked("it is sk-proj-012"));
  CHECK(!secrets.masked("it is sk-proj-0123 or so"));
}

TEST_CASE("what may not be in a text is masked in no part of it") {
  const KnownSecrets secrets = known({"abababac", "ababacabababab"});
  const auto part = rc::gen::element<std::string>("a", "b", "ab", "ababac", "c", "\"");
  CHECK(rc::check([&] {
    std::string text;
    for (const auto& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    for (std::size_t size = 0; size <= text.size(); ++size) {
      const bool is_masked = secrets.masked(text.substr(0, size)).has_value();
      RC_ASSERT(!is_masked || secrets.may_be_in(text));
    }
  }));
  CHECK(!secrets.may_be_in("ababab, acabab"));
  CHECK(!KnownSecrets().may_be_in("abababac"));
}

TEST_CASE("a piece without a trace of a secret is passed on as it is") {
  const KnownSecrets secrets = known({"hunter2hunter2"});
  MaskedPieces pieces(secrets);
  const std::string_view piece = "nothing at all ";

  CHECK(pieces.feed(piece).data() == piece.data());
  CHECK(pieces.feed("my hun") == "my ");
  CHECK(pieces.feed("ter2hunter") == "");
  CHECK(pieces.feed("2 is") == "*** is");
  CHECK(pieces.feed(" hunter") == " ");
  CHECK(pieces.finish() == "hunter");
}

TEST_CASE("however a text is cut, its masked pieces are the masked text") {
  const KnownSecrets secrets =
      known({"abababac", "ababacabab", "babababababab", "key/with\"quotes", "key/with"});
  const auto part = rc::gen::element<std::string>(
      "a", "b", "ab", "ababac", "abababac", "c", "key/", "key/with", "\"quotes", "\\", "/", " ",
      "\\u002f", "\\u006", "b", "key", "%2f", "with", "u", "\\\\", "\\u0061", "\\\\u0062",
      "\\u005c", "\\u005cu0061", "%61", "%");
  CHECK(rc::check([&] {
    std::string text;
    for (const auto& one : *rc::gen::container<std::vector<std::string>>(part)) text += one;
    const auto sizes =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 9));

    const std::string whole = secrets.masked(text).value_or(text);

    RC_ASSERT(masked_in_pieces(secrets, text, sizes) == whole);
    for (const char* secret : {"abababac", "ababacabab", "babababababab", "key/with"}) {
      RC_ASSERT(!whole.contains(secret));
    }
  }));
}

}  // namespace treaty
