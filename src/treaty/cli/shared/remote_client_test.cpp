#include "treaty/cli/shared/remote_client.h"

#include <doctest/doctest.h>

#include <cstdlib>

namespace treaty::cli {
namespace {

auto read_address(std::map<std::string, std::string> options) {
  return read_remote_address({.positionals = {}, .options = std::move(options)});
}

int refusal_of(std::map<std::string, std::string> options) {
  const auto address = read_address(std::move(options));
  REQUIRE(!address);
  CHECK(!address.error().message.empty());
  return address.error().exit_code;
}

}  // namespace

TEST_CASE("without --url the gateway of this process is meant") {
  const auto address = read_address({{"--config", "treaty.yaml"}});

  REQUIRE(address);
  CHECK(!*address);
}

TEST_CASE("an address and a key make a gateway elsewhere") {
  setenv("TREATY_TEST_KEY", " secret \n", 1);

  const auto address =
      read_address({{"--url", "http://127.0.0.1:8088"}, {"--key-env", "TREATY_TEST_KEY"}});
  unsetenv("TREATY_TEST_KEY");

  REQUIRE(address);
  REQUIRE(*address);
  CHECK((*address)->text == "http://127.0.0.1:8088");
  CHECK((*address)->key == "secret");
}

TEST_CASE("words that contradict each other are wrong usage") {
  CHECK(refusal_of({{"--key-env", "X"}}) == kWrongUsage);
  CHECK(refusal_of({{"--url", "http://x"}, {"--config", "c"}}) == kWrongUsage);
  CHECK(refusal_of({{"--url", "http://x"}, {"--state-dir", "d"}}) == kWrongUsage);
  CHECK(refusal_of({{"--url", "ftp://x"}}) == kWrongUsage);
}

TEST_CASE("an empty --url, as of a variable that is not set, is not the gateway of this process") {
  CHECK(refusal_of({{"--url", ""}}) == kWrongUsage);
}

TEST_CASE("a variable without a key is told before anybody is asked") {
  unsetenv("TREATY_TEST_KEY");
  CHECK(refusal_of({{"--url", "http://x"}, {"--key-env", "TREATY_TEST_KEY"}}) == kBadConfiguration);
  setenv("TREATY_TEST_KEY", "a\nb", 1);
  CHECK(refusal_of({{"--url", "http://x"}, {"--key-env", "TREATY_TEST_KEY"}}) == kBadConfiguration);
  unsetenv("TREATY_TEST_KEY");
}

}  // namespace treaty::cli
