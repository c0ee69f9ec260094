#include "treaty/cli/call/call_report.h"

#include <doctest/doctest.h>

#include "treaty/backends/http_backend.h"
#include "treaty/cli/call/attachments.h"
#include "treaty/cli/command_line.h"

namespace treaty::cli::call {
namespace {

using contracts::AgentResult;
using namespace backends::failure_types;

AgentResult failed(std::string code, std::string_view type, bool retryable) {
  AgentResult result{.finish_reason = "error"};
  result.error = {.message = "It \x1b[2J failed.",
                  .code = std::move(code),
                  .type = std::string(type),
                  .retryable = retryable};
  return result;
}

std::string next_step(const AgentResult& result) {
  const std::string lines = error_lines(result, *backends::find_provider("openai"));
  return lines.substr(lines.find("Next: ") + 6);
}

}  // namespace

TEST_CASE("the usage line tells who, tokens, cost and windows") {
  AgentResult result{
      .content = "Hi.",
      .usage =
          contracts::UsageInfo{.input_tokens = 12, .output_tokens = 3, .cache_read_tokens = 10},
      .cost = 0.0000123,
      .finish_reason = "length"};
  result.provider_data = json::ObjectText{{"provider", "openai"}, {"model", "small\x1b"}};
  result.rate_limit = {.windows = {{.name = "requests",
                                    .resource = "requests",
                                    .remaining = Number(59),
                                    .limit = Number(60),
                                    .resets_in = Number(1)},
                                   {.name = "tokens", .resource = "tokens", .limit = Number(7)}}};

  CHECK(usage_line(result) ==
        "openai small? · 12 tokens in (10 from the cache), 3 out · $0.000012 · requests 59/60 "
        "left, resets in 1 s · tokens of 7 · cut off at the token limit (--max-tokens)");
  CHECK(usage_line({}) == "usage not told");
}

TEST_CASE("a price below a millionth is not told as nothing") {
  CHECK(usage_line({.cost = 1e-9}).ends_with("less than $0.000001"));
  CHECK(usage_line({.cost = 0.0}).ends_with("$0.000000"));
}

TEST_CASE("tool calls are one line each, whatever the model wrote") {
  const AgentResult result{.tool_calls = {{{"a", "look", "{\"x\":\n1}"}, {"", "now", "{}"}}}};

  CHECK(tool_call_lines(result) == "look({\"x\":?1})  [a]\nnow({})\n");
  CHECK(tool_call_lines({}).empty());
}

TEST_CASE("an answer to a schema is printed without its fence, and only if it fits") {
  AgentResult fits{.content = "```json\n{\"a\": 1}\n```"};
  AgentResult unfit = failed("invalid_output", "InvalidOutput", true);
  unfit.content = "no";
  AgentResult cut = failed("server_error", kReset, true);
  cut.content = "half of";

  CHECK(text_of_answer(fits, true) == "{\"a\": 1}");
  CHECK(text_of_answer(fits, false) == *fits.content);
  CHECK(text_of_answer(unfit, true).empty());
  CHECK(text_of_answer(cut, false) == "half of");
  CHECK(text_of_answer({}, true).empty());
}

TEST_CASE("an error cannot command a terminal and says what to do next") {
  const AgentResult result = failed("server_error", kReset, true);

  CHECK(error_lines(result, *backends::find_provider("openai")) ==
        "treaty call: server_error: It ?[2J failed.\nNext: try again later\n");
  CHECK(next_step(failed("auth_error", kMissingKey, false)) == "export OPENAI_API_KEY=…\n");
  CHECK(next_step(failed("auth_error", "invalid_api_key", false)).contains("OPENAI_API_KEY"));
  AgentResult untrusted = failed("server_error", kTls, true);
  untrusted.error->message = "the certificate of a.example does not verify: self-signed";
  CHECK(next_step(untrusted).contains("--ca-file"));
  CHECK(next_step(failed("server_error", kTls, true)).contains("--base-url"));
  CHECK(next_step(failed("server_error", kRefused, true)).contains("--base-url"));
  CHECK(next_step(failed("timeout", kTimeout, true)).contains("--timeout"));
  CHECK(next_step(failed("model_unavailable", "", false)).contains("--model"));
  CHECK(next_step(failed("rate_limit", "", false)).contains("billing"));
  CHECK(next_step(failed("invalid_output", "InvalidOutput", true)).contains("schemas"));
}

TEST_CASE("the exit code tells whether to try again, to look elsewhere or to give up") {
  CHECK(exit_code_of({}) == kOk);
  CHECK(exit_code_of(failed("auth_error", kMissingKey, false)) == kBadConfiguration);
  CHECK(exit_code_of(failed("server_error", kBadAddress, true)) == kUnavailable);
  CHECK(exit_code_of(failed("server_error", kTls, true)) == kUnavailable);
  CHECK(exit_code_of(failed("server_error", kReset, true)) == kTryLater);
  CHECK(exit_code_of(failed("timeout", kTimeout, true)) == kTryLater);
  CHECK(exit_code_of(failed("invalid_output", "InvalidOutput", true)) == kTryLater);
  CHECK(exit_code_of(failed("invalid_request", "", false)) == kViolated);
}

TEST_CASE("an image is told by its first bytes") {
  CHECK(image_type_of("\x89PNG\r\n\x1a\n…") == "image/png");
  CHECK(image_type_of("\xff\xd8\xff\xe1") == "image/jpeg");
  CHECK(image_type_of("GIF87a") == "image/gif");
  CHECK(image_type_of(std::string_view("RIFF\0\0\0\0WEBP", 12)) == "image/webp");
  CHECK(image_type_of("RIFF").empty());
  CHECK(image_type_of("<svg>").empty());
  CHECK(image_type_of("").empty());
}

TEST_CASE("a tool is a name, a name with a schema, or a whole tool") {
  CHECK(read_tool("now") == backends::Tool{.name = "now"});
  CHECK(read_tool(R"(add={"type": "object"})") ==
        backends::Tool{.name = "add", .parameters_json = R"({"type":"object"})"});
  CHECK(read_tool(R"({"name":"a","description":"d","parameters":{}})") ==
        backends::Tool{.name = "a", .description = "d", .parameters_json = "{}"});
  CHECK(read_tool(R"(b={"name":"a","input_schema":{}})") ==
        backends::Tool{.name = "b", .parameters_json = "{}"});
  CHECK(!read_tool("no good"));
  CHECK(!read_tool(R"({"name":"no good"})"));
  CHECK(!read_tool("{"));
  CHECK(!read_tool("a=[]"));
}

TEST_CASE("a provider cannot choose the exit code with a word of ours") {
  AgentResult answered = failed("server_error", kTls, true);
  answered.error->status_code = 500;
  CHECK(exit_code_of(answered) == kTryLater);

  AgentResult inside = failed("server_error", kMissingKey, true);
  inside.provider_data =
      json::ObjectText{{"provider", "openai"}, {"raw_headers", json::ObjectText()}};
  CHECK(exit_code_of(inside) == kTryLater);
}

}  // namespace treaty::cli::call
