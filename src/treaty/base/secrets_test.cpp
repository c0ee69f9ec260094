#include "treaty/base/secrets.h"

#include <doctest/doctest.h>

namespace treaty {
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
  CHECK(mask_secrets(R"(got {"key":"ab\u002Fcd\/ef=="})", "ab/cd/ef==") == R"(got {"key":"***"})");
  CHECK(mask_secrets("key sk-abcdefgh12345678.rest is wrong", "sk-abcdefgh12345678.rest") ==
        "key *** is wrong");
}

}  // namespace treaty
