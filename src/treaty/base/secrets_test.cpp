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

TEST_CASE("a secret that the caller knows is masked whatever its shape") {
  CHECK(mask_secrets("key hunter2hunter2 is wrong", "hunter2hunter2") == "key *** is wrong");
  CHECK(mask_secrets("a b c", "b") == "a b c");
}

}  // namespace treaty
