#include "treaty/base/secrets.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

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

TEST_CASE("a key in a text is masked and the words around it stay") {
  CHECK(mask_secrets("Incorrect API key provided: sk-proj-abcdefgh12345678. Get one.") ==
        "Incorrect API key provided: sk-***. Get one.");
  CHECK(mask_secrets("two: gsk_0123456789abcdefgh and AIzaSyA0123456789abcdefghij") ==
        "two: gsk*** and AIz***");
  CHECK(mask_secrets("Authorization: Bearer abcdefgh1234567890") == "Authorization: Bea***");
}

TEST_CASE("prose that begins like a key is not masked") {
  CHECK(mask_secrets("the sk-learn and xai-based models") == "the sk-learn and xai-based models");
}

TEST_CASE("a private key is masked with its material, whether or not the block is closed") {
  const std::string line(64, 'M');

  CHECK(mask_secrets("a -----BEGIN RSA PRIVATE KEY-----\n" + line +
                     "\nMII=\n-----END RSA PRIVATE " + "KEY----- b") ==
        "a ---***-----END RSA PRIVATE KEY----- b");
  CHECK(mask_secrets("-----BEGIN PRIVATE KEY-----\nProc-Type: 4\n\n" + line + "\n-----END P") ==
        "---***-----END P");
  CHECK(mask_secrets("-----BEGIN PRIVATE KEY-----\\n" + line + "\\n" + line + "\\nMII= is cut.") ==
        "---*** is cut.");
}

TEST_CASE("a text that only speaks of private keys stays as it is") {
  const std::string prose =
      "It begins with `-----BEGIN OPENSSH PRIVATE KEY-----` and ends with `-----END OPENSSH "
      "PRIVATE KEY-----`.\nThen run ssh-add.";

  CHECK(mask_secrets(prose) == prose);
  CHECK(mask_secrets("-----BEGIN PRIVATE KEY-----, and so on.") ==
        "-----BEGIN PRIVATE KEY-----, and so on.");
}

TEST_CASE("many secrets of all shapes are masked in one reading") {
  std::string text;
  std::string expected;
  for (int i = 0; i < 20'000; ++i) {
    text += "ghp_0123456789abcdefghij eyJhbGciOiJI.eyJzdWIiOiIx.c2ln\n";
    expected += "ghp*** eyJ***\n";
  }

  CHECK(mask_secrets(text) == expected);
}

TEST_CASE("a secret that the caller knows is masked whatever its shape") {
  CHECK(mask_secrets("key hunter2hunter2 is wrong", "hunter2hunter2") == "key *** is wrong");
  CHECK(mask_secrets("a b c", "b") == "a b c");
  CHECK(mask_secrets("key sk-abcdefgh12345678.rest is wrong", "sk-abcdefgh12345678.rest") ==
        "key *** is wrong");
}

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
  const auto part = rc::gen::element<std::string>("a", "b", "ab", "ababac", "abababac", "c", "key/",
                                                  "key/with", "\"quotes", "\\", "/", " ");
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
