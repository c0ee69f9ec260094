#include "treaty/turns/compose.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::turns;
using contracts::AgentError;

// --- Final and continuation

TEST_CASE("a final has its text and nothing that nobody gave") {
  const auto response = final_response({.text = "Done."}, seal("Done."), {}, {});

  CHECK(response == contracts::FinalResponse{.primary_output_text = "Done."});
}

TEST_CASE("warnings of the turn, of the length and of the seal are told in this order") {
  const auto response =
      final_response({.text = "{}", .was_cut = true}, seal("\xFF"), {}, {"First.", " "});

  REQUIRE(response.user_warnings);
  CHECK(*response.user_warnings ==
        std::vector<std::string>{
            "First.", "The answer reached its length limit and is not complete. Ask to go on.",
            "Bytes of the answer that are no text were replaced."});
}

TEST_CASE("a final tells what the whole turn has used") {
  const contracts::Usage usage{1, 2, 3, {}, {}};

  CHECK(final_response({}, seal("a"), {.usage = usage}, {}).usage == usage);
}

TEST_CASE("a continuation has its calls, and the words beside them when there are any") {
  const AskClient ask{.calls = {{"c", "f", "{}"}}, .text = "Take \xFF."};

  CHECK(continuation_response(ask) ==
        contracts::ClientToolContinuation{.tool_calls = ask.calls,
                                          .tool_continuation_message = "Take \uFFFD."});
  CHECK(!continuation_response({.calls = ask.calls, .text = " \n"}).tool_continuation_message);
  CHECK(continuation_response({.calls = ask.calls, .text = std::string(900'000, '.')})
            .tool_continuation_message->size() == 65'536);
}

// --- Errors

TEST_CASE("a backend's failure keeps its code and says what to do next") {
  for (const char* code : {"rate_limit", "timeout", "server_error", "auth_error", "invalid_request",
                           "content_filter", "context_length", "model_unavailable", "max_rounds"}) {
    const AnswerError error = error_of(AgentError{.message = "?", .code = code});

    CHECK(error.code == code);
    CHECK(error.message.find("; ") != std::string::npos);
    CHECK(error.is_system);
    CHECK(error.is_fatal);
    CHECK(!error.details);
  }
}

TEST_CASE("what may be tried again is not fatal") {
  CHECK(!error_of(AgentError{.message = "?", .retryable = true}).is_fatal);
  CHECK(error_of(AgentError{.message = "?", .retryable = false}).is_fatal);
}

TEST_CASE("an answer that is too large will be so again: nobody is told to repeat the request") {
  const AnswerError error = error_of(AgentError{.message = "more than 12 MiB",
                                                .code = "server_error",
                                                .type = "AnswerTooLarge",
                                                .retryable = false});

  CHECK(error.is_fatal);
  CHECK(error.message.contains("ask for less"));
  CHECK(!error.message.contains("again"));
}

TEST_CASE("a code that is none is a server error") {
  CHECK(error_of(AgentError{.message = "?"}).code == "server_error");
  CHECK(error_of(AgentError{.message = "?", .code = ""}).code == "server_error");
  CHECK(error_of(AgentError{.message = "?", .code = "Was ist\nlos"}).code == "server_error");
  CHECK(error_of(AgentError{.message = "?", .code = "quota_exceeded"}).code == "quota_exceeded");
}

TEST_CASE("what a provider says about the request is told as details") {
  const AnswerError error = error_of(AgentError{.message = "max_tokens:\n must be  at most 4096",
                                                .code = "invalid_request",
                                                .status_code = 400});

  CHECK(error.details == "max_tokens: must be at most 4096");
}

TEST_CASE("details show no key, no address, no path, no trace, and have an end") {
  const auto details = [](std::string message) {
    return error_of(AgentError{.message = std::move(message),
                               .code = "invalid_request",
                               .status_code = 400})
        .details;
  };

  CHECK(details("wrong key sk-proj-abcdefgh12345678, see https://llm.internal:8443/v1/keys.") ==
        "wrong key sk-***, see (address)");
  CHECK(!details("cannot open /srv/models/a.bin"));
  CHECK(!details("dsn postgres://u:p@db/x"));
  CHECK(!details("API_KEY=hunter2"));
  CHECK(!details("Traceback (most recent call last):\n  File \"a.py\", line 1, in f"));
  CHECK(!details(" \n "));
  CHECK(!details("bell \x07"));
  CHECK(details(std::string(5'000, 'a'))->size() < 700);
  CHECK(details(std::string(599, 'a') + "éé")->ends_with("a…"));
}

TEST_CASE("connections and credentials of the server are nobody's business") {
  CHECK(!error_of(AgentError{.message = "cannot connect to 10.0.0.7:9000", .code = "server_error"})
             .details);
  CHECK(!error_of(
             AgentError{.message = "org-77 has no quota", .code = "rate_limit", .status_code = 429})
             .details);
}

TEST_CASE("what the engine says itself is told as it is") {
  const AnswerError error = error_of(AgentError{.message = "interrupted; send it again",
                                                .code = "server_error",
                                                .type = "interrupted",
                                                .retryable = true});

  CHECK(error.message == "interrupted; send it again");
}
