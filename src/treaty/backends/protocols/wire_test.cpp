#include "treaty/backends/protocols/wire.h"

#include <doctest/doctest.h>

#include <array>

using namespace treaty;
using namespace treaty::backends;

TEST_CASE("arguments are their text, or the text of what a provider made of them") {
  const json::Document document(R"([" {\"a\": 1} ", {"a": [1, 2]}, 5, ""])");
  std::vector<std::string> texts;
  for (const json::Value value : document.root()->elements())
    texts.push_back(arguments_text(value));

  CHECK(texts == std::vector<std::string>{" {\"a\": 1} ", R"({"a":[1,2]})", "5", ""});
  CHECK(arguments_text(std::nullopt).empty());
}

TEST_CASE("content is a string, or the text parts of a list") {
  const auto content = [](std::string_view text) {
    const json::Document document(text);
    std::string out = "<";
    append_content(out, document.root());
    return out;
  };
  CHECK(content(R"("a")") == "<a");
  CHECK(content(R"(["a", {"text": "b"}, {"type": "output_text", "text": "c"},
                    {"type": "image_url", "text": "x"}, 5])") == "<abc");
  CHECK(content("null") == "<");
  CHECK(content("{}") == "<");
}

TEST_CASE("the first error and the first model stay") {
  results::Answer answer;
  note_error(answer, "");
  note_error(answer, "b");
  note_model(answer, "");
  note_model(answer, "m");
  note_model(answer, "n");

  CHECK(answer.error_body == "{}");
  CHECK(answer.model == "m");
}

TEST_CASE("a piece with neither index nor id belongs to the last call") {
  StreamedAnswer state;
  open_tool_call(state, 0, "a", "f");
  open_tool_call(state, 1, "b", "g");

  open_tool_call(state, {}, "", "")->arguments = "x";

  CHECK(state.answer.tool_calls.size() == 2);
  CHECK(state.answer.tool_calls[1].arguments == "x");
}

TEST_CASE("a first piece with neither index nor id opens a call") {
  StreamedAnswer state;
  REQUIRE(open_tool_call(state, {}, "", "f") != nullptr);
  CHECK(state.answer.tool_calls.at(0).name == "f");
}

TEST_CASE("the number of tool calls is bounded") {
  StreamedAnswer state;
  for (std::int64_t i = 0; i < 10'000; ++i) open_tool_call(state, i, "", "f");
  CHECK(!state.broken);

  CHECK(open_tool_call(state, 10'000, "", "f") == nullptr);

  CHECK(state.broken);
}

TEST_CASE("protocols are found by their names and by those of recordings") {
  for (const Protocol* protocol : {&chat_completions(), &completions(), &responses(),
                                   &anthropic_messages(), &gemini(), &ollama_native()}) {
    CHECK(find_protocol(protocol->name) == protocol);
  }
  CHECK(find_protocol("messages") == &anthropic_messages());
  CHECK(find_protocol("generate_content") == &gemini());
  CHECK(find_protocol("") == nullptr);
  CHECK(find_protocol("soap") == nullptr);
}
