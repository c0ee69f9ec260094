#include <doctest/doctest.h>

#include "treaty/testing/configurations.h"

namespace treaty::config {
namespace {

using testing::Given;
using testing::problems_of;

// A file with one provider, `main`, which the default agent asks.
Given with_provider(const std::string& members) {
  return {.yaml = "providers:\n  main: {" + members +
                  "}\nagents: {default: {backends: [{provider: main, model: any}]}}\n"};
}

HttpProvider provider(const Given& given) {
  CAPTURE(problems_of(given));
  const auto loaded = load(given.sources());
  REQUIRE(loaded);
  return *loaded->find_backend<HttpProvider>("main");
}

TEST_CASE("Every key of a provider has its place") {
  Given given = with_provider(
      "kind: custom, base_url: 'http://127.0.0.1:9000/v1', key: '${SECRET}', protocol: gemini, "
      "ca_file: certificates.pem, timeout: 20s");
  given.environment["SECRET"] = "s3cret";
  given.files["/work/certificates.pem"] = "pem";

  const HttpProvider found = provider(given);

  CHECK(found.kind == "custom");
  CHECK(found.base_url == "http://127.0.0.1:9000/v1");
  CHECK(found.key == "s3cret");
  CHECK(found.protocol == "gemini");
  CHECK(found.ca_file == "/work/certificates.pem");
  CHECK(found.timeout == std::chrono::seconds(20));
}

TEST_CASE("Address and key come from the provider's own variables when the file has none") {
  Given given = with_provider("kind: openai");
  given.environment = {{"OPENAI_API_KEY", "k"}, {"OPENAI_BASE_URL", "http://localhost:1/v1"}};

  CHECK(provider(given).key == "k");
  CHECK(provider(given).base_url == "http://localhost:1/v1");
}

TEST_CASE("key_env names the variable that holds the key") {
  Given given = with_provider("kind: openai, key_env: MINE");
  given.environment = {{"OPENAI_API_KEY", "wrong"}, {"MINE", " right\n"}};
  CHECK(provider(given).key == "right");

  given.environment.erase("MINE");
  CHECK(problems_of(given).starts_with(
      "treaty.yaml:2:33: the environment variable that key_env names is not set"));
}

TEST_CASE("A provider is of the kind that it is named after") {
  const auto loaded = load(Given{.yaml = "providers: {cerebras: {key: k}}"}.sources());

  REQUIRE(loaded);
  CHECK(loaded->find_backend<HttpProvider>("cerebras")->kind == "cerebras");
  CHECK(problems_of({.yaml = "providers: {mine: {key: k}}"})
            .starts_with("treaty.yaml:1:13: the provider mine needs a `kind` (one of openai,"));
}

TEST_CASE("A provider that an agent asks needs the key that it requires") {
  CHECK(problems_of(with_provider("kind: openai")) ==
        "treaty.yaml:2:3: the provider main has no key (set OPENAI_API_KEY, or write key: "
        "${NAME_OF_A_VARIABLE})\n");
  CHECK(problems_of(with_provider("kind: ollama")) == "");
  CHECK(problems_of({.yaml = "providers: {main: {kind: openai}}\n"
                             "agents: {default: {backends: [{scripted: demo}]}}"}) == "");
}

TEST_CASE("Mistakes of a provider are told at their place, without the key") {
  CHECK(problems_of(with_provider("kind: opnai, key: k")) ==
        "treaty.yaml:2:16: expected openai or anthropic or cerebras or groq or mistral or gemini "
        "or openrouter or azure or xai or deepseek or together or huggingface or ollama or vllm or "
        "custom (did you mean openai?)\n");
  CHECK(problems_of(with_provider("kind: openai, key: k, base_url: 'ftp://host'")) ==
        "treaty.yaml:2:42: the address does not begin with http:// or https:// (such as "
        "https://api.example.com/v1)\n");
  CHECK(problems_of(with_provider("kind: custom, key: k"))
            .starts_with("treaty.yaml:2:3: custom has no address of its own"));
  CHECK(problems_of(with_provider("kind: openai, key: k, protocol: gemini")) ==
        "treaty.yaml:2:42: expected chat_completions or responses or completions\n");
  CHECK(
      problems_of(with_provider("kind: openai, key: k, key_env: A")).contains("there is a `key`"));
  CHECK(problems_of(with_provider("kind: openai, key: k, ca_file: no.pem"))
            .contains("2:41: the file cannot be read"));
  CHECK(problems_of(with_provider("kind: openai, key: k, timeout: 30"))
            .contains("expected a duration from 1ms to 24h"));
  const std::string broken = problems_of(with_provider("kind: openai, key: \"hunter\\x012\""));
  CHECK(broken.contains("the key holds a control character"));
  CHECK(!broken.contains("hunter"));
  CHECK(problems_of({.yaml = "providers: {a b: {kind: openai, key: k}}"})
            .contains("the name of a provider has"));
}

TEST_CASE("A secret in the wrong place is not told either") {
  const std::string key = "sk-proj-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIj";

  CHECK(!problems_of(with_provider("kind: " + key)).contains(key));
  CHECK(!problems_of(with_provider(key + ": x")).contains(key));
  CHECK(!problems_of(with_provider("kind: openai, key_env: " + key)).contains(key));
  CHECK(!problems_of({.yaml = "listen: " + key}).contains(key));
}

}  // namespace
}  // namespace treaty::config
