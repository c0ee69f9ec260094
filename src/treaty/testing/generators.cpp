#include "treaty/testing/generators.h"

#include <boost/json/array.hpp>

#include "treaty/base/json_dynamic.h"

namespace treaty::testing {
namespace {

using namespace contracts;

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

rc::Gen<std::string> pieces_of(std::vector<std::string> alphabet) {
  return rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::move(alphabet))),
      joined);
}

// Not blank; free of what the rules about prose refuse.
std::string some_words() { return "w" + *pieces_of({"a", " ", "é", "✅", "😀", ".", "\n", "\""}); }

// For fields that take any text that is not blank.
std::string some_text() { return "x" + *any_text(); }

// At most 128 bytes (REQ-01), whatever is appended to make it unique.
std::string some_id() {
  const std::vector<std::string> pieces =
      *rc::gen::resize(40, rc::gen::container<std::vector<std::string>>(
                               rc::gen::element<std::string>("a", "Z", "7", "-", "_", "é", " ")));
  return "i" + joined(pieces);
}

template <class T, class Make>
std::optional<T> perhaps(Make make) {
  if (*rc::gen::arbitrary<bool>()) return make();
  return std::nullopt;
}

template <class T, class Make>
std::vector<T> several(std::size_t least, std::size_t most, Make make) {
  const auto count = *rc::gen::inRange(least, most + 1);
  std::vector<T> out;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) out.push_back(make(i));
  return out;
}

std::int64_t some_count() {
  return *rc::gen::inRange<std::int64_t>(0, std::numeric_limits<std::int64_t>::max());
}

double some_number() { return *rc::gen::arbitrary<double>(); }

boost::json::value some_value(int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0: return nullptr;
    case 1: return *rc::gen::arbitrary<bool>();
    case 2: return *rc::gen::arbitrary<std::int64_t>();
    case 3: return some_number();
    case 4: return boost::json::string(*any_text());
    case 5: {
      boost::json::array array;
      for (int i = *rc::gen::inRange(0, 4); i > 0; --i) array.push_back(some_value(depth - 1));
      return array;
    }
    default: break;
  }
  boost::json::object object;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) object[*any_text()] = some_value(depth - 1);
  return object;
}

json::ObjectText some_object() {
  boost::json::object object;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    object["m" + std::to_string(i)] = some_value(2);
  }
  return json::to_text(object);
}

std::string some_json_object() {
  json::Writer writer;
  writer.begin_object().member("path", *any_text()).member("count", some_count()).end_object();
  return writer.take();
}

ToolResult some_tool_result(std::size_t index) {
  ToolResult result{.tool_call_id = some_id() + std::to_string(index),
                    .execution_ms = some_count(),
                    .outcome = ResultJson{some_text()}};
  if (*rc::gen::arbitrary<bool>()) result.outcome = ErrorMessage{some_text()};
  return result;
}

ToolCall some_tool_call(std::size_t index) {
  return {.tool_call_id = some_id() + std::to_string(index),
          .name = "read_file-" + std::to_string(index),
          .arguments_json = some_json_object()};
}

InputArtifact some_artifact(std::size_t index) {
  InputArtifact artifact{.relative_path = "src/file" + std::to_string(index),
                         .file_name = "file" + std::to_string(index),
                         .contents = *any_text(),
                         .origin = *rc::gen::element(Origin::ide, Origin::user)};
  if (*rc::gen::arbitrary<bool>()) {
    artifact.encoding = Encoding::base64;
    artifact.contents = *rc::gen::element<std::string>("", "QUJD", "QQ==", "+/8=");
  }
  artifact.mime_type = perhaps<std::string>([] { return "text/x-c++src"; });
  artifact.language = perhaps<std::string>(some_text);
  return artifact;
}

RagCondition some_condition() {
  return {.key = some_text(),
          .comparison = *rc::gen::element(
              RagCondition::Operator::equal, RagCondition::Operator::not_equal,
              RagCondition::Operator::contains, RagCondition::Operator::does_not_contain),
          .values = several<std::string>(1, 3, [](std::size_t) { return *any_text(); })};
}

UserTurn some_user_turn() {
  UserTurn turn;
  turn.instruction = some_text();
  turn.input_artifacts = several<InputArtifact>(0, 2, some_artifact);
  turn.clipboard_images = several<ClipboardImage>(0, 2, [](std::size_t index) {
    return ClipboardImage{some_id() + std::to_string(index), "image/png", "iVBORw0KGgo="};
  });
  turn.rag_scope = perhaps<RagScope>([] {
    return RagScope{several<RagCondition>(0, 2, [](std::size_t) { return some_condition(); })};
  });
  turn.solution_context_text = perhaps<std::string>(some_text);
  turn.workspace_id = perhaps<std::string>(some_text);
  turn.repo = perhaps<std::string>(some_text);
  turn.language = perhaps<std::string>(some_text);
  turn.streaming = *rc::gen::arbitrary<bool>();
  turn.agent_context_id = perhaps<std::string>(some_text);
  turn.conversation_context_id = perhaps<std::string>(some_text);
  return turn;
}

FileRef some_file(std::size_t index) {
  return {.name = some_text(),
          .mime_type = "application/pdf",
          .url = "/files/" + std::to_string(index),
          .size_bytes = some_count(),
          .content_hash = std::string(64, 'a'),
          .description = perhaps<std::string>([] { return *any_text(); }),
          .content_expires = perhaps<std::string>([] { return "2031-01-31T12:00:00Z"; })};
}

FinalResponse some_final() {
  FinalResponse final{.primary_output_text = some_words()};
  final.files = perhaps<std::vector<FileRef>>([] { return several<FileRef>(0, 2, some_file); });
  final.tool_results =
      perhaps<std::vector<ToolResult>>([] { return several<ToolResult>(0, 2, some_tool_result); });
  final.user_warnings = perhaps<std::vector<std::string>>(
      [] { return several<std::string>(0, 2, [](std::size_t) { return some_text(); }); });
  final.usage = perhaps<Usage>([] {
    return Usage{some_count(), some_count(), some_count(), perhaps<std::int64_t>(some_count),
                 perhaps<std::int64_t>(some_count)};
  });
  return final;
}

AgentExecuteResponse some_response() {
  AgentExecuteResponse response{.session_id = some_id(),
                                .turn_id = some_id(),
                                .mode_display_name = some_text(),
                                .kind = some_final()};
  if (*rc::gen::arbitrary<bool>()) {
    response.kind = ClientToolContinuation{
        .tool_calls = several<ToolCall>(1, 3, some_tool_call),
        .tool_continuation_message = perhaps<std::string>([] { return *any_text(); })};
  }
  return response;
}

InvokeError some_error() {
  return {.error_code = some_text(),
          .message = some_text(),
          .fatal_error = *rc::gen::arbitrary<bool>(),
          .system_error = *rc::gen::arbitrary<bool>(),
          .context = perhaps<std::string>([] { return *any_text(); }),
          .details = perhaps<std::string>(some_words)};
}

RateLimitWindow some_window() {
  return {.name = some_text(),
          .resource = "tokens",
          .remaining = perhaps<Number>([] { return Number(some_number()); }),
          .limit = perhaps<Number>([] { return Number(some_number()); }),
          .resets_in = perhaps<Number>([] { return Number(some_number()); }),
          .reset_at = perhaps<Number>([] { return Number(*rc::gen::arbitrary<std::int64_t>()); })};
}

}  // namespace

rc::Gen<std::string> any_text() {
  return pieces_of({"a",    "Z",    "0", " ", "\n", "\t",           "\"", "\\", "/",
                    "\x01", "\x7f", "é", "ß", "✅", "\xEF\xBB\xBF", "😀", "{",  "}",
                    "[",    "]",    ":", ",", "~"});
}

rc::Gen<std::string> any_bytes() {
  return pieces_of(
      {"{", "}",  "[",    "]",    ":",     ",",      "\"", "\\", "\\u",  "d83d",         "1", "-",
       ".", "e9", "true", "null", "\"a\"", "\"a\":", " ",  "\n", "\xFF", "\xEF\xBB\xBF", "é"});
}

rc::Gen<Dialect> any_dialect() { return rc::gen::element(Dialect::pascal, Dialect::camel); }

rc::Gen<AgentExecuteRequest> any_request() {
  return rc::gen::exec([] {
    AgentExecuteRequest request{.session_id = some_id(),
                                .turn_id = some_id(),
                                .scenario = some_user_turn(),
                                .dialect = *any_dialect()};
    if (*rc::gen::arbitrary<bool>()) {
      request.scenario = ToolContinuation{several<ToolResult>(1, 3, some_tool_result)};
    }
    return request;
  });
}

rc::Gen<AgentExecuteResponse> any_response() { return rc::gen::exec(some_response); }

rc::Gen<InvokeResult> any_invoke_result() {
  return rc::gen::exec([] {
    const auto errors = [](std::size_t least) {
      return several<InvokeError>(least, 2, [](std::size_t) { return some_error(); });
    };
    InvokeResult result{.outcome = some_response(),
                        .warnings = errors(0),
                        .result_id = perhaps<std::string>(some_id)};
    if (*rc::gen::arbitrary<bool>()) result.outcome = Failure{errors(1)};
    return result;
  });
}

rc::Gen<AgentResult> any_agent_result() {
  return rc::gen::exec([] {
    AgentResult result;
    result.output = perhaps<json::ObjectText>(some_object);
    result.content = perhaps<std::string>([] { return *any_text(); });
    result.usage = perhaps<UsageInfo>([] {
      return UsageInfo{.input_tokens = perhaps<std::int64_t>(some_count),
                       .api_calls = perhaps<std::int64_t>(some_count)};
    });
    if (*rc::gen::arbitrary<bool>()) result.cost = some_number();
    if (*rc::gen::arbitrary<bool>()) result.cost = CostInfo{.total = some_number()};
    result.metadata = perhaps<json::ObjectText>(some_object);
    result.finish_reason = perhaps<std::string>([] { return *any_text(); });
    result.error = perhaps<AgentError>([] {
      return AgentError{.message = some_text(),
                        .code = perhaps<std::string>(some_text),
                        .status_code = perhaps<std::int64_t>([] { return 429; }),
                        .retryable = perhaps<bool>([] { return true; })};
    });
    result.rate_limit = perhaps<RateLimitState>([] {
      return RateLimitState{
          .limited = *rc::gen::arbitrary<bool>(),
          .retry_after = perhaps<Number>([] { return Number(0.25); }),
          .windows = several<RateLimitWindow>(0, 2, [](std::size_t) { return some_window(); })};
    });
    result.provider_data = perhaps<json::ObjectText>(some_object);
    result.tool_calls = perhaps<std::vector<AgentToolCall>>([] {
      return several<AgentToolCall>(
          0, 2, [](std::size_t) { return AgentToolCall{*any_text(), *any_text(), *any_text()}; });
    });
    result.rendered_user_prompt = perhaps<std::string>([] { return *any_text(); });
    return result;
  });
}

rc::Gen<BridgeRequest> any_bridge_request() {
  return rc::gen::exec([] {
    return BridgeRequest{
        .request_id = some_id(),
        .version = "1.0",
        .agent_name = some_text(),
        .prompt = some_text(),
        .created_at = "2026-03-01T08:30:00.5+02:00",
        .phase = perhaps<std::int64_t>([] { return *rc::gen::arbitrary<std::int64_t>(); }),
        .phase_name = perhaps<std::string>([] { return *any_text(); }),
        .timeout_seconds = some_count() / 2 + 1,
        .context = some_object(),
        .model = perhaps<std::string>([] { return *any_text(); }),
        .response_file = perhaps<std::string>([] { return *any_text(); })};
  });
}

rc::Gen<BridgeResponse> any_bridge_response() {
  return rc::gen::exec([] {
    const auto text = [] { return perhaps<std::string>([] { return *any_text(); }); };
    BridgeResponse response{.request_id = some_id(),
                            .outcome = BridgeSuccess{*any_text()},
                            .created_at = "2026-03-01T08:30:00Z",
                            .duration_seconds = std::abs(some_number()),
                            .metadata = some_object()};
    switch (*rc::gen::inRange(0, 3)) {
      case 0: response.outcome = BridgeError{some_text(), text(), text()}; break;
      case 1: response.outcome = BridgeTimeout{some_text(), text()}; break;
      default: break;
    }
    return response;
  });
}

rc::Gen<AssistantResponse> any_assistant_response() {
  return rc::gen::exec([] {
    return AssistantResponse{
        .assistant_message = some_words(),
        .action_taken = some_words(),
        .next_steps = several<std::string>(0, 3, [](std::size_t) { return some_words(); }),
        .confidence_level =
            *rc::gen::element(ConfidenceLevel::high, ConfidenceLevel::medium, ConfidenceLevel::low),
        .trace_id = some_id()};
  });
}

}  // namespace treaty::testing
