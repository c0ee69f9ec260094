#include "treaty/results/errors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "treaty/base/text.h"

using namespace treaty;
using namespace treaty::results;
using contracts::AgentError;

namespace {

AgentError classify(std::optional<int> status, std::string_view body, const Headers& headers = {}) {
  return classify_error({.status = status, .headers = headers, .body = body});
}

// `code` alone when trying again does not help, `code, again` when it may.
std::string told(std::optional<int> status, std::string_view body, const Headers& headers = {}) {
  const AgentError error = classify(status, body, headers);
  return *error.code + (*error.retryable ? ", again" : "");
}

std::string named(std::string_view name, int status = 400) {
  const std::string by_type = told(status, fmt::format(R"({{"error": {{"type": "{}"}}}})", name));
  const std::string by_code = told(status, fmt::format(R"({{"error": {{"code": "{}"}}}})", name));
  const std::string bare = told(status, fmt::format(R"({{"type": "{}"}})", name));
  CHECK(by_type == by_code);
  CHECK(by_type == bare);
  return by_type;
}

std::string saying(std::string_view message, std::optional<int> status = 400) {
  return told(status, fmt::format(R"({{"error": {{"message": "{}"}}}})", message));
}

}  // namespace

TEST_CASE("names for a prompt that is too long are context_length") {
  for (const char* name :
       {"context_length_exceeded", "too_many_prompt_tokens", "request_too_large"}) {
    CAPTURE(name);
    CHECK(named(name) == "context_length");
  }
  CHECK(told(413, "") == "context_length");
  CHECK(told(413, "<html><title>413 Payload Too Large</title></html>") == "context_length");
}

TEST_CASE("words for a prompt that is too long are context_length") {
  for (const char* words :
       {"prompt is too long: 9 tokens > 5 maximum", "prompt too long; exceeded",
        "This model's maximum context length is 8192 tokens", "exceeded max context length by 5",
        "the model's context length is only 4096", "Your input exceeds the context window",
        "It exceeds the maximum number of tokens", "The input token count (12) exceeds it"}) {
    CAPTURE(words);
    CHECK(saying(words) == "context_length");
    CHECK(saying(words, 500) == "context_length");
    CHECK(saying(words, {}) == "context_length");
  }
}

TEST_CASE("a request that alone exceeds the limit is context_length, whatever it is called") {
  constexpr std::string_view kBody =
      R"({"error": {"message": "Request too large for gpt-4o", "code": "rate_limit_exceeded"}})";

  CHECK(told(429, kBody) == "context_length");
  CHECK(told({}, kBody) == "context_length");
  CHECK(told(429, "Request too large") == "context_length");
}

TEST_CASE("names for a filter are content_filter, also of an inner error") {
  for (const char* name :
       {"content_filter", "ResponsibleAIPolicyViolation", "content_policy_violation"}) {
    CAPTURE(name);
    CHECK(named(name) == "content_filter");
  }
  for (const char* inner : {"innererror", "inner_error"}) {
    CHECK(told(400,
               fmt::format(R"({{"error": {{"{}": {{"code": "ResponsibleAIPolicyViolation"}}}}}})",
                           inner)) == "content_filter");
  }
}

TEST_CASE("403 is a filter when moderation speaks, else it is about who asks") {
  CHECK(told(403, R"({"error": {"message": "Your input requires moderation", "code": 403}})") ==
        "content_filter");
  CHECK(told(403, R"({"error": {"message": "Flagged", "metadata": {"reasons": ["x"]}}})") ==
        "content_filter");
  CHECK(told(403, R"({"error": {"message": "Forbidden"}})") == "auth_error");
}

TEST_CASE("names for a model that is not there are model_unavailable") {
  CHECK(named("model_not_found") == "model_unavailable");
  CHECK(named("DeploymentNotFound", 404) == "model_unavailable");
  CHECK(told(404, R"({"error": {"type": "not_found_error", "message": "model: claude-x"}})") ==
        "model_unavailable");
  CHECK(told(404, R"({"error": {"type": "not_found_error", "message": "no such page"}})") ==
        "invalid_request");
}

TEST_CASE("404 with a model named is model_unavailable, without one a wrong request") {
  CHECK(saying("models/gemini-9 is not found", 404) == "model_unavailable");
  CHECK(saying("The model does not live here", 404) == "model_unavailable");
  CHECK(saying("Resource not found", 404) == "invalid_request");
  CHECK(saying("the remodeling page", 404) == "invalid_request");
}

TEST_CASE("words for a model that is not there are model_unavailable") {
  CHECK(saying("The requested model 'x' does not exist.") == "model_unavailable");
  CHECK(saying("x has been deprecated") == "model_unavailable");
  CHECK(told({}, R"({"error": "model 'x' not found"})") == "model_unavailable");
  CHECK(saying("the file does not exist") == "invalid_request");
}

TEST_CASE("503 while the model is loading may be tried again") {
  CHECK(saying("Model x is currently loading", 503) == "model_unavailable, again");
  CHECK(saying("Service Unavailable", 503) == "server_error, again");
}

TEST_CASE("names, statuses and words for a wrong key are auth_error") {
  for (const char* name : {"invalid_api_key", "authentication_error", "permission_error",
                           "API_KEY_INVALID", "UNAUTHENTICATED", "PERMISSION_DENIED"}) {
    CAPTURE(name);
    CHECK(named(name) == "auth_error");
  }
  CHECK(told(401, "") == "auth_error");
  CHECK(told(401, R"({"error": {"code": "401", "message": "Access denied"}})") == "auth_error");
  CHECK(told(401, R"({"detail": "Invalid API Key"})") == "auth_error");
  CHECK(told(400, R"({"code": "invalid-argument", "error": "Incorrect API key provided"})") ==
        "auth_error");
  CHECK(told(400, R"({"error": {"code": 400, "status": "INVALID_ARGUMENT", "details": [
          {"reason": "API_KEY_INVALID"}]}})") == "auth_error");
}

TEST_CASE("names and statuses for a limit are rate_limit, which may be tried again") {
  for (const char* name :
       {"rate_limit_exceeded", "rate_limit_error", "rate_limited", "RESOURCE_EXHAUSTED",
        "RateLimitReached", "request_quota_exceeded", "too_many_requests_error"}) {
    CAPTURE(name);
    CHECK(named(name) == "rate_limit, again");
  }
  CHECK(told(429, "") == "rate_limit, again");
  CHECK(told(429, R"({"message": "Service tier capacity exceeded",
                      "type": "invalid_request_error"})") == "rate_limit, again");
}

TEST_CASE("a limit of money does not go away by waiting") {
  CHECK(named("insufficient_quota", 429) == "rate_limit");
  CHECK(told(429, R"({"error": {"type": "rate_limit_error",
                      "details": {"error_code": "enforced_spend_limit_reached"}}})") ==
        "rate_limit");
  CHECK(told(402, "") == "rate_limit");
  CHECK(told(402, R"({"error": {"code": "rate_limit_exceeded"}})") == "rate_limit");
  CHECK(told(429, R"({"error": {"code": "rate_limit_exceeded", "type": "insufficient_quota"}})") ==
        "rate_limit");
}

TEST_CASE("statuses for a deadline are timeout, and words where there is no status") {
  for (const int status : {408, 504, 524}) CHECK(told(status, "") == "timeout, again");
  CHECK(saying("the process timed out", {}) == "timeout, again");
  CHECK(saying("the upload timed out", 400) == "invalid_request");
}

TEST_CASE("names and statuses for a tired server are server_error, which may be tried again") {
  for (const char* name : {"overloaded_error", "capacity_exceeded", "UNAVAILABLE"}) {
    CAPTURE(name);
    CHECK(named(name) == "server_error, again");
  }
  for (const int status : {498, 500, 502, 503, 520, 529, 599}) {
    CAPTURE(status);
    CHECK(told(status, "") == "server_error, again");
  }
  CHECK(told(500, R"({"error": {"type": "api_error"}})") == "server_error, again");
}

TEST_CASE("other 4xx are invalid_request") {
  for (const int status : {400, 404, 405, 409, 422, 451}) {
    CAPTURE(status);
    CHECK(told(status, "") == "invalid_request");
  }
  CHECK(told(400, R"({"error": {"code": "unsupported_parameter"}})") == "invalid_request");
  CHECK(told(422, R"({"detail": [{"loc": ["body"], "msg": "field required"}]})") ==
        "invalid_request");
}

TEST_CASE("without any status a general name or nothing decides") {
  CHECK(told({}, R"({"error": {"type": "invalid_request_error"}})") == "invalid_request");
  CHECK(told({}, R"({"error": {"type": "api_error"}})") == "server_error, again");
  CHECK(told({}, "") == "server_error, again");
  CHECK(told({}, "connection refused") == "server_error, again");
}

TEST_CASE("the body's name goes before the status, the status before words") {
  CHECK(told(500, R"({"error": {"code": "invalid_api_key"}})") == "auth_error");
  CHECK(told(401, R"({"error": {"type": "overloaded_error"}})") == "server_error, again");
  CHECK(saying("maximum context length", 401) == "auth_error");
  CHECK(saying("prompt is too long", 500) == "context_length");
  CHECK(told(400, R"({"error": {"type": "invalid_request_error", "code": "model_not_found"}})") ==
        "model_unavailable");
}

TEST_CASE("an error inside a success has the status that it names") {
  const AgentError error = classify(200, R"({"error": {"code": 429, "message": "Slow down"}})");
  CHECK(error.code == "rate_limit");
  CHECK(error.status_code == 429);
  CHECK(classify(200, R"({"error": {"status_code": "400"}})").status_code == 400);
  CHECK(!classify(200, R"({"error": {"code": 200}})").status_code);
  CHECK(!classify(200, R"({"error": {"code": 4000}})").status_code);
  CHECK(classify(503, R"({"error": {"code": 429}})").status_code == 503);
  CHECK(!classify({}, "{}").status_code);
}

TEST_CASE("x-should-retry overrides whether to try again, and nothing else") {
  CHECK(told(500, "", {{"x-should-retry", "false"}}) == "server_error");
  CHECK(told(400, "", {{"X-Should-Retry", "True"}}) == "invalid_request, again");
  CHECK(told(500, "", {{"x-should-retry", "perhaps"}}) == "server_error, again");
}

TEST_CASE("type is the provider's own name, else the status") {
  CHECK(classify(529, R"({"type": "error", "error": {"type": "overloaded_error"}})").type ==
        "overloaded_error");
  CHECK(classify(502, "<html></html>").type == "HTTP 502");
  CHECK(classify(401, R"({"error": {"code": "401"}})").type == "HTTP 401");
  CHECK(!classify({}, "").type);
}

TEST_CASE("a status that HTTP does not have is not told, but counts") {
  const AgentError error = classify(999, "");
  CHECK(error.code == "server_error");
  CHECK(!error.status_code);
}

TEST_CASE("the message is the provider's, with secrets masked") {
  const std::string key = "sk-proj-abcdefgh12345678";
  const AgentError error =
      classify(401, R"({"error": {"message": "Incorrect API key provided: )" + key + R"("}})");
  CHECK(error.message == "Incorrect API key provided: sk-***");

  const AgentError known = classify_error({.status = 401,
                                           .headers = {},
                                           .body = "hunter2hunter2 is wrong",
                                           .known_secret = "hunter2hunter2"});
  CHECK(known.message == "*** is wrong");
}

TEST_CASE("a message is never blank") {
  for (const char* body :
       {"", " \n", "{}", "[]", "null", R"({"error": {"message": "\u3000"}})",
        R"({"error": {"message": "", "type": " "}})", "<html></html>", R"({"error": {}})"}) {
    CAPTURE(body);
    CHECK(!is_blank(classify(500, body).message));
    CHECK(!is_blank(classify({}, body).message));
  }
}

TEST_CASE("a long type is cut between characters") {
  std::string name = "x";
  for (int i = 0; i < 300; ++i) name += "\u00e9";

  const AgentError error = classify(500, R"({"error": {"type": ")" + name + R"("}})");

  CHECK(is_utf8(*error.type));
  CHECK(is_utf8(error.message));
  CHECK(error.type->size() <= 204);
}
