#include "treaty/base/base64.h"

#include <doctest/doctest.h>

using namespace treaty;

TEST_CASE("RFC 4648 §10: the test vectors decode") {
  CHECK(base64_decode("") == "");
  CHECK(base64_decode("Zg==") == "f");
  CHECK(base64_decode("Zm8=") == "fo");
  CHECK(base64_decode("Zm9vYmFy") == "foobar");
}

TEST_CASE("what is encoded decodes to the same bytes, with padding where it is due") {
  CHECK(base64_encode("") == "");
  CHECK(base64_encode("f") == "Zg==");
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK(base64_encode("foobar") == "Zm9vYmFy");
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  CHECK(base64_decode(base64_encode(all)) == all);
}

TEST_CASE("base64 without its padding, with padding inside or with strays is none") {
  for (const char* text : {"Zg", "Zg=", "Z===", "====", "QQ=Q", "QU JD", "-_-_", "QUJD\n"}) {
    CAPTURE(text);
    CHECK(!base64_decode(text));
    CHECK(!base64_decoded_size(text));
  }
}
