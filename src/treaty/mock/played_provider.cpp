#include "treaty/mock/played_provider.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::mock {
namespace {

using backends::OutgoingAnswer;
using backends::Protocol;

backends::OutgoingUsage usage_of(const backends::Reply& reply, const OutgoingAnswer& answer,
                                 std::size_t prompt_bytes) {
  const std::size_t thought = answer.thinking_text().size();
  std::size_t said = answer.refusal.size() + thought;
  for (const std::string& piece : answer.pieces) said += piece.size();
  for (const auto& call : answer.tool_calls) said += call.name.size() + call.arguments.size();
  const backends::ScriptedUsage given = reply.usage.value_or(backends::ScriptedUsage{});
  const std::int64_t output = given.output_tokens.value_or(backends::estimated_tokens(said));
  return {.input = given.input_tokens.value_or(backends::estimated_tokens(prompt_bytes)),
          .output = output,
          .cache_read = given.cache_read_tokens,
          .cache_write = given.cache_write_tokens,
          .reasoning = std::min(backends::estimated_tokens(thought), output)};
}

constexpr std::size_t kSignatureLength = 64;

std::string finish_of(const backends::Reply& reply) {
  if (reply.finish_reason) return *reply.finish_reason;
  if (!reply.tool_calls.empty()) return "tool_use";
  return reply.refusal ? "content_filter" : "stop";
}

// The reply as an answer that a protocol can write: everything is decided that a script may leave
// open, such as ids, usage and the pieces of a stream. `prompt_bytes` is what tokens of the input
// are estimated from, `now` in seconds since 1970.
OutgoingAnswer scripted_answer(const backends::Reply& reply,
                               const backends::ReceivedRequest& request, std::size_t prompt_bytes,
                               const backends::Protocol& protocol, std::int64_t now, Ids& ids) {
  OutgoingAnswer answer{.id = ids.next(protocol.ids.answer, 24),
                        .message_id = ids.next(protocol.ids.message, 24),
                        .created = now,
                        .model = reply.model.value_or(request.call.model),
                        .refusal = reply.refusal.value_or(""),
                        .finish_reason = finish_of(reply),
                        .with_ids = !reply.faults.missing_ids,
                        .include_usage = request.include_usage};
  answer.pieces = backends::spoken_pieces(reply.text);
  answer.thinking = backends::spoken_pieces(reply.thinking);
  if (!answer.thinking.empty()) {
    answer.thought_id = ids.next("rs_", 24);
    answer.signature = ids.next("", kSignatureLength);
  }
  for (const backends::ScriptedToolCall& call : reply.tool_calls) {
    answer.tool_calls.push_back({.id = call.id.value_or(ids.next(protocol.ids.tool_call, 22)),
                                 .item_id = ids.next("fc_", 24),
                                 .name = call.name,
                                 .arguments = call.arguments});
  }
  answer.usage = usage_of(reply, answer, prompt_bytes);
  return answer;
}

backends::OutgoingError scripted_error(const backends::ScriptedError& error,
                                       const backends::Protocol& protocol, std::string_view model,
                                       std::string request_id) {
  backends::OutgoingError outgoing = backends::usual_error(protocol, error.status, model);
  outgoing.request_id = std::move(request_id);
  if (error.message) outgoing.message = *error.message;
  if (error.type) {
    outgoing.type = *error.type;
    outgoing.code.reset();
  }
  if (error.code) {
    outgoing.code.reset();  // `code: ""` stands for null.
    if (!error.code->empty()) outgoing.code = error.code;
  }
  return outgoing;
}

constexpr std::string_view kPaths =
    "/v1/chat/completions, /v1/responses, /v1/messages, /v1/completions, /v1/models, "
    "/v1beta/models/MODEL:generateContent, /api/chat";

// What a lightly used account looks like, in the provider's dialect.
void add_limits(Headers& headers, const Protocol& protocol, std::int64_t now) {
  if (&protocol == &backends::anthropic_messages()) {
    const auto reset = fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time_t{now + 1}));
    for (const auto& [resource, limit] : {std::pair{"requests", 4'000}, {"tokens", 400'000}}) {
      const std::string prefix = fmt::format("anthropic-ratelimit-{}-", resource);
      headers.set(prefix + "limit", std::to_string(limit));
      headers.set(prefix + "remaining", std::to_string(limit - 1));
      headers.set(prefix + "reset", reset);
    }
    return;
  }
  if (&protocol == &backends::gemini() || &protocol == &backends::ollama_native()) return;
  headers.set("x-ratelimit-limit-requests", "10000");
  headers.set("x-ratelimit-remaining-requests", "9999");
  headers.set("x-ratelimit-reset-requests", "6ms");
  headers.set("x-ratelimit-limit-tokens", "2000000");
  headers.set("x-ratelimit-remaining-tokens", "1999900");
  headers.set("x-ratelimit-reset-tokens", "3ms");
}

void write_model(json::Writer& writer, std::string_view id) {
  writer.begin_object().member("id", id).member("object", "model");
  writer.member("created", 1'700'000'000).member("owned_by", "treaty-mock");
  writer.member("type", "model").member("display_name", id);
  writer.member("created_at", "2023-11-14T22:13:20Z").end_object();
}

std::string_view query_value(std::string_view target, std::string_view name) {
  std::size_t at = target.find('?');
  while (at != std::string_view::npos) {
    const std::string_view pair = target.substr(at + 1, target.find('&', at + 1) - at - 1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) {
      return pair.substr(name.size() + 1);
    }
    at = target.find('&', at + 1);
  }
  return {};
}

Headers without(const Headers& headers, std::string_view left_out) {
  Headers rest;
  for (const auto& [name, value] : headers) {
    if (name != left_out) rest.set(name, value);
  }
  return rest;
}

// Anthropic and Gemini put results of tools and a text of the user into one message: there a script
// answers to the results.
std::size_t messages_to_answer(const backends::Call& call, const Protocol& protocol) {
  const std::size_t size = call.messages.size();
  const bool can_mix = protocol.errors != backends::ErrorStyle::openai && size > 1;
  if (!can_mix || !std::holds_alternative<backends::UserMessage>(call.messages[size - 1])) {
    return size;
  }
  return std::holds_alternative<backends::ToolMessage>(call.messages[size - 2]) ? size - 1 : size;
}

}  // namespace

Headers PlayedProvider::headers_for(const Protocol& protocol, std::optional<std::int64_t> now) {
  Headers headers{{"content-type", "application/json"}};
  headers.set(protocol.request_id_header, ids_.next("req_", 24));
  if (now && player_.script().is_empty() && !recordings_) add_limits(headers, protocol, *now);
  for (const auto& [name, value] : player_.script().headers) headers.set(name, value);
  return headers;
}

Plan PlayedProvider::refuse(const backends::ScriptedError& error, const Protocol& protocol) {
  Headers headers = headers_for(protocol, std::nullopt);
  const std::string request_id(headers.get(protocol.request_id_header));
  return make_plan(
      {.status = error.status,
       .headers = std::move(headers),
       .frames = {{protocol.write_error(scripted_error(error, protocol, "", request_id))}}},
      {}, ids_);
}

Plan PlayedProvider::refuse(int status, std::string message, const Protocol& protocol) {
  return refuse({.status = status, .code = "", .message = std::move(message)}, protocol);
}

bool PlayedProvider::presents_key(const http::Request& request) const {
  const std::string& key = *player_.script().key;
  const std::string_view authorization = request.headers.get("authorization");
  if (starts_with_folded(authorization, "bearer ") && trimmed(authorization.substr(7)) == key) {
    return true;
  }
  return request.headers.get("x-api-key") == key || request.headers.get("api-key") == key ||
         request.headers.get("x-goog-api-key") == key || query_value(request.target, "key") == key;
}

Plan PlayedProvider::answer(const http::Request& request, std::int64_t now) {
  const auto route = find_route(request.target);
  if (!route) {
    return refuse(404,
                  fmt::format("Unknown request URL: {} {}. treaty mock answers {}.", request.method,
                              path_of(request.target), kPaths),
                  backends::chat_completions());
  }
  // Errors about the list of models look like those of Chat Completions.
  const bool is_models = route->protocol == nullptr;
  const Protocol& protocol = is_models ? backends::chat_completions() : *route->protocol;
  const std::string_view method = is_models ? "GET" : "POST";
  if (request.method != method) {
    Plan plan = refuse(405,
                       fmt::format("Not allowed to {} on {}; use {}.", request.method,
                                   path_of(request.target), method),
                       protocol);
    plan.headers.set("allow", method);
    return plan;
  }
  if (player_.script().key && !presents_key(request)) return refuse({.status = 401}, protocol);
  if (is_models) return answer_models(route->path.model);
  return recordings_ ? answer_recorded(request, *route) : answer_scripted(request, *route, now);
}

Plan PlayedProvider::answer_recorded(const http::Request& request, const ProviderRoute& route) {
  const Track* track = recordings_->find(request, route);
  if (track == nullptr) {
    return refuse(
        404, fmt::format("No recording of {} fits this request.", route.protocol->recorded_name),
        *route.protocol);
  }
  Plan plan = make_plan(whole_of(*track), {}, ids_);
  plan.note += fmt::format("{}recording {}", plan.note.empty() ? "" : ", ", track->recording.id);
  return plan;
}

Plan PlayedProvider::answer_models(const std::string& model) {
  std::vector<std::string> models = player_.script().models;
  if (models.empty()) models = {"mock-1", "mock-1-mini"};
  json::Writer writer;
  if (!model.empty()) {
    const bool is_there = std::ranges::find(models, model) != models.end();
    if (!is_there && !player_.script().models.empty()) {
      return refuse(404, fmt::format("The model `{}` does not exist.", model),
                    backends::chat_completions());
    }
    write_model(writer, model);
  } else {
    writer.begin_object().member("object", "list").name("data");
    writer.array(models, [&](const std::string& listed) { write_model(writer, listed); });
    writer.member("first_id", models.front()).member("last_id", models.back());
    writer.member("has_more", false).end_object();
  }
  return make_plan({.headers = headers_for(backends::chat_completions(), std::nullopt),
                    .frames = {{writer.take()}}},
                   {}, ids_);
}

Plan PlayedProvider::answer_scripted(const http::Request& request, const ProviderRoute& route,
                                     std::int64_t now) {
  const Protocol& protocol = *route.protocol;
  const auto received = backends::parse_request(protocol, request.body, route.path);
  if (!received) return refuse(400, received.error(), protocol);
  backends::Asked asked = asked_of(received->call, messages_to_answer(received->call, protocol));
  asked.path = path_of(request.target);
  asked.prompt_bytes = request.body.size();
  const backends::Reply reply = player_.next(asked);
  Whole whole{.headers = headers_for(protocol, now)};
  const std::string request_id(whole.headers.get(protocol.request_id_header));
  const bool streams = received->call.stream;
  backends::OutgoingAnswer outgoing =
      scripted_answer(reply, *received, asked.prompt_bytes, protocol, now, ids_);
  outgoing.json_array = route.json_array;
  // A request that fails is not kept.
  if (!reply.usage && !reply.error && &protocol == &backends::anthropic_messages()) {
    const CachedPart cached = cache_.account(request.body);
    outgoing.usage.cache_read = cached.read;
    outgoing.usage.cache_write = cached.written;
  }
  if (reply.error) {
    outgoing.error = scripted_error(*reply.error, protocol, outgoing.model, request_id);
  }
  // With a text before it, an error comes in the middle of a stream that began well.
  const bool begins_well = !reply.text.empty() && streams;
  if (reply.body) {
    whole.status = reply.status.value_or(200);
    whole.frames = {{*reply.body}};
  } else if (reply.error && !begins_well) {
    whole.status = reply.error->status;
    whole.frames = {{protocol.write_error(*outgoing.error)}};
  } else if (streams) {
    whole.frames = protocol.write_stream(outgoing);
    whole.streamed = true;
    whole.headers.set("content-type", route.json_array ? "application/json" : protocol.stream_type);
    whole.headers.set("cache-control", "no-cache");
  } else {
    whole.frames = {{protocol.write_answer(outgoing)}};
  }
  whole.status = reply.status.value_or(whole.status);
  if (reply.content_type) whole.headers.set("content-type", *reply.content_type);
  for (const auto& [name, value] : reply.headers) whole.headers.set(name, value);
  if (reply.faults.missing_ids) whole.headers = without(whole.headers, protocol.request_id_header);
  return make_plan(std::move(whole), reply, ids_);
}

}  // namespace treaty::mock
