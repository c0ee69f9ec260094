#include "treaty/machines/run/agent_values.h"

#include <doctest/doctest.h>

namespace treaty::machines {
namespace {

Object told(const char* code, bool retryable) {
  return failed_result(make_error(code, "ApiError", "no", retryable));
}

TEST_CASE("An object with a member of an AgentResult is one, without its other members and nulls") {
  const Object result =
      coerce(Object{{"content", "hi"}, {"usage", nullptr}, {"mine", 1}, {"raw", "r"}});

  CHECK(result == Object{{"content", "hi"}});
}

TEST_CASE("Another object is the output, a text the content, and nothing is nothing") {
  CHECK(coerce(Object{{"answer", 42}}) == Object{{"output", Object{{"answer", 42}}}});
  CHECK(coerce("hi") == Object{{"content", "hi"}});
  CHECK(coerce(7) == Object{{"content", "7"}});
  CHECK(coerce(nullptr).empty());
  CHECK(coerce(Object()).empty());
}

TEST_CASE("An error that is a text has a code, and one of no words is none") {
  const Object result = coerce(Object{{"error", "boom"}});

  REQUIRE(error_of(result) != nullptr);
  CHECK(text_of(*error_of(result), "code") == "server_error");
  CHECK(sentence_of(*error_of(result)) == "AgentError: boom");
  CHECK(error_of(coerce(Object{{"error", Object()}, {"content", "hi"}})) == nullptr);
  CHECK(error_of(coerce(Object{{"error", ""}, {"content", "hi"}})) == nullptr);
}

TEST_CASE("The payload is the output, else the content, else nothing") {
  CHECK(payload_of({{"output", Object{{"v", 1}}}, {"content", "x"}}) == Object{{"v", 1}});
  CHECK(payload_of({{"content", "x"}}) == Object{{"content", "x"}});
  CHECK(payload_of({{"finish_reason", "stop"}}).empty());
}

TEST_CASE("Blank content and {} are empty, an output is not") {
  CHECK(is_empty({{"content", " \n"}}));
  CHECK(is_empty({{"output", Object()}}));
  CHECK(is_empty({}));
  CHECK_FALSE(is_empty({{"output", Object{{"v", 0}}}}));
  CHECK_FALSE(is_empty({{"content", "x"}}));
}

TEST_CASE("A call counts once unless its usage says more, and costs its total or its parts") {
  CHECK(spent_by({}).api_calls == 1);
  CHECK(spent_by({{"usage", Object{{"api_calls", 4}}}}).api_calls == 4);
  CHECK(spent_by({{"cost", 0.25}}).cost == 0.25);
  CHECK(spent_by({{"cost", Object{{"input", 1}, {"total", 3}}}}).cost == 3);
  CHECK(spent_by({{"cost", Object{{"input", 1}, {"cache_read", 0.5}}}}).cost == 1.5);
}

TEST_CASE("Usage and cost of several calls are summed, calls that tell neither included") {
  const std::vector<Object> all = {
      told("server_error", true),
      {{"content", "hi"}, {"usage", Object{{"input_tokens", 10}, {"api_calls", 2}}}, {"cost", 0.5}},
  };

  const Object sum = with_sums(all.back(), all);

  CHECK(sum.at("usage") == Object{{"input_tokens", 10}, {"api_calls", 3}});
  CHECK(sum.at("cost") == 0.5);
  CHECK(text_of(sum, "content") == "hi");
}

TEST_CASE("What nobody told is not made up by a sum") {
  const std::vector<Object> all = {{{"content", "a"}}, {{"content", "b"}}};

  CHECK(with_sums(all.back(), all) == all.back());
}

}  // namespace
}  // namespace treaty::machines
