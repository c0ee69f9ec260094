#include "treaty/backends/recording.h"

#include "treaty/backends/answer_reader.h"
#include "treaty/backends/protocols/wire.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/base64.h"
#include "treaty/base/json.h"
#include "treaty/base/try.h"
#include "treaty/results/agent_results.h"

namespace treaty::backends {
namespace {

using json::find_member;
using json::find_text;

// More than any server sends; looking a name up takes a pass over all of them.
constexpr std::size_t kMostHeaders = 1'000;

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::not_a_document, std::move(message));
}

// A body may be kept as its text or as the JSON value that it is.
std::string body_text(std::optional<json::Value> body) {
  if (!body) return {};
  return std::string(body->is_string() ? body->text() : body->source());
}

void read_headers(Headers& headers, std::optional<json::Value> object) {
  if (!object || !object->is_object()) return;
  for (const auto& [name, value] : object->members()) {
    if (headers.size() >= kMostHeaders) break;
    if (value.is_string()) headers.add(name.text(), value.text());
    if (value.is_number()) headers.add(name.text(), value.source());
    for (const json::Value element : json::elements_of(value)) {
      headers.add(name.text(), json::text_of(element));
    }
  }
}

// Whether a structured output was asked for, in the words of any protocol.
bool asks_for_output(std::string_view request_body) {
  const json::Document document(request_body, wire_reading());
  const auto root = document.root();
  const auto is_json = [](std::string_view type) {
    return type == "json_schema" || type == "json_object";
  };
  const auto config = find_member(root, "generationConfig");
  const auto format = find_member(root, "format");  // Ollama: "json", or a schema.
  return is_json(find_text(find_member(root, "response_format"), "type")) ||
         is_json(find_text(find_member(find_member(root, "text"), "format"), "type")) ||
         is_json(find_text(find_member(find_member(root, "output_config"), "format"), "type")) ||
         is_json(find_text(find_member(root, "output_format"), "type")) ||
         find_text(config, "responseMimeType") == "application/json" ||
         (format && (format->is_object() || json::text_of(format) == "json"));
}

std::expected<void, Error> read_response(Recording& recording, json::Value response) {
  const auto status = find_member(response, "status");
  if (status && (!status->is_number() || status->integer().value_or(0) < 100 ||
                 status->integer().value_or(0) > 599)) {
    return refuse("response.status is not an HTTP status");
  }
  if (status) recording.status = static_cast<int>(*status->integer());
  read_headers(recording.headers, find_member(response, "headers"));
  const auto bytes = find_member(response, "body_sse_base64");
  const auto stream = find_member(response, "body_sse_text");
  recording.streamed = bytes || stream;
  if (!bytes) {
    recording.body = body_text(stream ? stream : find_member(response, "body"));
    return {};
  }
  auto decoded = base64_decode(json::text_of(bytes));
  if (!decoded) return refuse("response.body_sse_base64 is not base64");
  recording.body = std::move(*decoded);
  return {};
}

}  // namespace

std::expected<Recording, Error> read_recording(std::string_view text) {
  const json::Document document(text, wire_reading());
  const auto root = document.root();
  if (!root) {
    return refuse("is not JSON: " +
                  (document.faults().empty() ? std::string() : document.faults()[0].message));
  }
  const auto response = find_member(root, "response");
  if (!response || !response->is_object()) {
    return refuse("is no recorded exchange: it has no object `response`");
  }
  Recording recording;
  recording.id = find_text(root, "id");
  recording.provider = find_text(root, "provider");
  const auto request = find_member(root, "request");
  recording.request_path = find_text(request, "path");
  recording.request_body = body_text(find_member(request, "body"));
  recording.protocol = find_protocol(find_text(root, "endpoint"));
  if (recording.protocol == nullptr) {
    recording.protocol = find_protocol_of_path(recording.request_path);
  }
  TREATY_TRY_VOID(read_response(recording, *response));
  return recording;
}

contracts::AgentResult normalize(const Recording& recording, const results::PriceTable* prices) {
  const Provider* provider = find_provider(recording.provider);
  const results::Exchange exchange{
      .provider = recording.provider,
      .status = recording.status,
      .headers = recording.headers,
      .plain_limits = provider == nullptr ? results::PlainLimits::unnamed : provider->plain_limits,
      .prices = prices,
      .wants_output = asks_for_output(recording.request_body)};
  AnswerReader reader(*recording.protocol, recording.status, recording.headers);
  reader.feed(recording.body);
  return reader.finish(exchange);
}

}  // namespace treaty::backends
