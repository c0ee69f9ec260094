#include "treaty/backends/answer_reader.h"

#include <doctest/doctest.h>

using namespace treaty;
using namespace treaty::backends;
using contracts::AgentResult;

namespace {

AgentResult read(int status, const Headers& headers, std::initializer_list<std::string_view> pieces,
                 const Protocol& protocol = chat_completions()) {
  AnswerReader reader(protocol, status, headers);
  for (const std::string_view piece : pieces) reader.feed(piece);
  return reader.finish({.provider = "openai", .status = status, .headers = headers});
}

constexpr std::string_view kPlain =
    R"({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]})";
constexpr std::string_view kStream =
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n";
const Headers kJson{{"content-type", "application/json"}};
const Headers kEvents{{"content-type", "Text/Event-Stream; charset=utf-8"}};

}  // namespace

TEST_CASE("plain answers and streams are told apart by their content type") {
  CHECK(read(200, kJson, {kPlain}).content == "Hi");
  CHECK(read(200, kEvents, {kStream}).content == "Hi");
}

TEST_CASE("without a content type the first byte tells, after white space in pieces") {
  CHECK(read(200, {}, {kPlain}).content == "Hi");
  CHECK(read(200, {}, {" ", "\n", kPlain}).content == "Hi");
  CHECK(read(200, {}, {kStream}).content == "Hi");
  CHECK(read(200, {}, {": comment\n\n", kStream}).content == "Hi");
  CHECK(read(200, {{"content-type", "text/plain"}}, {kStream}).content == "Hi");
}

TEST_CASE("the first byte tells a stream from a plain answer, whatever the content type says") {
  CHECK(read(200, kJson, {kStream}).content == "Hi");
  CHECK(read(200, kEvents, {kPlain}).content == "Hi");
  CHECK(read(200, kJson, {"\xEF", "\xBB\xBF", kPlain}).content == "Hi");
}

TEST_CASE("a status that is no success is a failure, even with an event stream") {
  constexpr std::string_view kBody = R"({"error": {"message": "no", "code": "invalid_api_key"}})";

  CHECK(read(401, kEvents, {kBody}).error->code == "auth_error");
  CHECK(read(404, kEvents, {"data: ", kBody, "\n\n"}).error->code == "auth_error");
  CHECK(read(302, {}, {""}).error->code == "server_error");
}

TEST_CASE(
    "an empty, truncated, foreign or unreadable answer is a server_error, to be tried again") {
  for (const std::string_view body :
       {std::string_view(""), std::string_view("{\"choices\": [{\"mess"), std::string_view("{}"),
        std::string_view("[]"), std::string_view("null"), std::string_view("nonsense"),
        std::string_view("{\"choices\": [{\"message\": {\"content\": \"\xff\"}}]}"),
        std::string_view("\0\0", 2)}) {
    CAPTURE(body);
    const AgentResult result = read(200, kJson, {body});
    REQUIRE(result.error);
    CHECK(result.error->code == "server_error");
    CHECK(result.error->retryable == true);
    CHECK(!result.error->status_code);
    CHECK(result.finish_reason == "error");
  }
}

TEST_CASE("a page of HTML with a success is told as such") {
  for (const char* page : {"<!DOCTYPE html><html>", "\n <html lang=en>", "<?xml version='1.0'?>"}) {
    CAPTURE(page);
    const AgentResult result = read(200, {{"content-type", "text/html"}}, {page});
    CHECK(result.error->type == "NotAnAnswer");
    CHECK(result.error->message.contains("base URL"));
  }
}

TEST_CASE("an enormous failure is not kept whole") {
  AnswerReader reader(chat_completions(), 500, {});
  const std::string piece(1U << 20U, 'x');

  reader.feed(piece);
  CHECK(!reader.is_hopeless());
  reader.feed(piece);

  CHECK(reader.is_hopeless());
  CHECK(reader.finish({.provider = "p", .status = 500, .headers = {}}).error->code ==
        "server_error");
}

TEST_CASE("a stream that told an error is hopeless") {
  AnswerReader reader(chat_completions(), 200, kEvents);
  reader.feed("data: {\"error\": {\"message\": \"Overloaded\"}}\n\n");

  CHECK(reader.is_hopeless());
}

TEST_CASE("Ollama's lines are read as lines or as a kept text") {
  constexpr std::string_view kLines =
      "{\"message\":{\"content\":\"H\"},\"done\":false}\n"
      "{\"message\":{\"content\":\"i\"},\"done\":true}\n";

  CHECK(read(200, {{"content-type", "application/x-ndjson"}}, {kLines}, ollama_native()).content ==
        "Hi");
  CHECK(read(200, kJson, {kLines}, ollama_native()).content == "Hi");
}

TEST_CASE("white space and marks before an answer mean the same however they are cut") {
  for (const std::string& before :
       {std::string(" "), std::string("\n"), std::string("\r\n \n"), std::string("\xEF\xBB\xBF"),
        std::string("\xEF\xBB\xBF\xEF\xBB\xBF"), std::string(" \xEF\xBB\xBF"),
        std::string("\n\xEF\xBB\xBF"), std::string("\xEF\xBB\xBF \n"), std::string(70'000, ' ')}) {
    for (const std::string_view body : {kPlain, kStream}) {
      CAPTURE(before);
      CAPTURE(body);
      const std::string whole = before + std::string(body);
      CHECK(read(200, {}, {before, body}) == read(200, {}, {whole}));
      CHECK(read(200, {}, {before.substr(0, 1), before.substr(1), body}) == read(200, {}, {whole}));
    }
  }
}
