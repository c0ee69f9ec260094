#include "treaty/mock/played_provider.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::mock {
namespace {

constexpr std::string_view kPaths =
    "/v1/chat/completions, /v1/responses, /v1/messages, /v1/completions, /v1/models, "
    "/v1beta/models/MODEL:generateContent, /api/chat";

// What a lightly used account looks like, in the provider's dialect.
void add_limits(Headers& headers, Endpoint endpoint, std::int64_t now) {
  if (endpoint == Endpoint::messages) {
    const auto reset = fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(std::time_t{now + 1}));
    for (const auto& [resource, limit] : {std::pair{"requests", 4'000}, {"tokens", 400'000}}) {
      const std::string prefix = fmt::format("anthropic-ratelimit-{}-", resource);
      headers.set(prefix + "limit", std::to_string(limit));
      headers.set(prefix + "remaining", std::to_string(limit - 1));
      headers.set(prefix + "reset", reset);
    }
    return;
  }
  if (endpoint == Endpoint::generate_content || endpoint == Endpoint::ollama_chat) return;
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

}  // namespace

Headers PlayedProvider::headers_for(Endpoint endpoint, std::optional<std::int64_t> now) {
  Headers headers{{"content-type", "application/json"}};
  headers.set(wire_of(endpoint).request_id_header, ids_.next("req_", 24));
  if (now && player_.script().is_empty() && !recordings_) add_limits(headers, endpoint, *now);
  for (const auto& [name, value] : player_.script().headers) headers.set(name, value);
  return headers;
}

Plan PlayedProvider::refuse(const backends::ScriptedError& error, Endpoint endpoint) {
  Headers headers = headers_for(endpoint, std::nullopt);
  const Wire& wire = wire_of(endpoint);
  const std::string request_id(headers.get(wire.request_id_header));
  const SpokenError spoken = speak_error(error, endpoint, "", request_id);
  return make_plan({.status = error.status,
                    .headers = std::move(headers),
                    .frames = {{wire.render_error(spoken)}}},
                   {}, ids_);
}

Plan PlayedProvider::refuse(int status, std::string message, Endpoint endpoint) {
  return refuse({.status = status, .code = "", .message = std::move(message)}, endpoint);
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
                  Endpoint::chat_completions);
  }
  const bool reads = route->endpoint == Endpoint::models;
  if (request.method != (reads ? "GET" : "POST")) {
    Plan plan = refuse(405,
                       fmt::format("Not allowed to {} on {}; use {}.", request.method,
                                   path_of(request.target), reads ? "GET" : "POST"),
                       route->endpoint);
    plan.headers.set("allow", reads ? "GET" : "POST");
    return plan;
  }
  if (player_.script().key && !presents_key(request)) {
    return refuse({.status = 401}, route->endpoint);
  }
  return answer_route(request, *route, now);
}

Plan PlayedProvider::answer_route(const http::Request& request, const Route& route,
                                  std::int64_t now) {
  if (route.endpoint == Endpoint::models) return answer_models(route);
  if (recordings_) {
    const Track* track = recordings_->find(request, route);
    if (track == nullptr) {
      return refuse(404,
                    fmt::format("No recording of {} fits this request.", name_of(route.endpoint)),
                    route.endpoint);
    }
    Plan plan = make_plan(whole_of(*track), {}, ids_);
    plan.note += fmt::format("{}recording {}", plan.note.empty() ? "" : ", ", track->recording.id);
    return plan;
  }
  const auto question = read_question(route, request.target, request.body);
  if (!question) return refuse(400, question.error(), route.endpoint);
  return answer_reply(player_.next(question->asked), *question, route, now);
}

Plan PlayedProvider::answer_models(const Route& route) {
  std::vector<std::string> models = player_.script().models;
  if (models.empty()) models = {"mock-1", "mock-1-mini"};
  json::Writer writer;
  if (!route.model.empty()) {
    const bool is_there = std::ranges::find(models, route.model) != models.end();
    if (!is_there && !player_.script().models.empty()) {
      return refuse(404, fmt::format("The model `{}` does not exist.", route.model),
                    Endpoint::models);
    }
    write_model(writer, route.model);
  } else {
    writer.begin_object().member("object", "list").name("data").begin_array();
    for (const std::string& model : models) write_model(writer, model);
    writer.end_array().member("first_id", models.front()).member("last_id", models.back());
    writer.member("has_more", false).end_object();
  }
  return make_plan(
      {.headers = headers_for(Endpoint::models, std::nullopt), .frames = {{writer.take()}}}, {},
      ids_);
}

Plan PlayedProvider::answer_reply(const backends::Reply& reply, const Question& question,
                                  const Route& route, std::int64_t now) {
  const Wire& wire = wire_of(route.endpoint);
  Whole whole{.headers = headers_for(route.endpoint, now)};
  const std::string request_id(whole.headers.get(wire.request_id_header));
  const bool streams = question.asked.stream;
  Spoken spoken = speak(reply, question, route.endpoint, now, ids_);
  spoken.json_array = route.json_array;
  if (reply.error) {
    spoken.error = speak_error(*reply.error, route.endpoint, spoken.model, request_id);
  }
  // With a text before it, an error comes in the middle of a stream that began well.
  const bool begins_well = !reply.text.empty() && streams;
  if (reply.body) {
    whole.status = reply.status.value_or(200);
    whole.frames = {{*reply.body}};
  } else if (reply.error && !begins_well) {
    whole.status = reply.error->status;
    whole.frames = {{wire.render_error(*spoken.error)}};
  } else if (streams) {
    whole.frames = wire.render_stream(spoken);
    whole.streamed = true;
    whole.headers.set("content-type", route.json_array ? "application/json" : wire.stream_type);
    whole.headers.set("cache-control", "no-cache");
  } else {
    whole.frames = {{wire.render(spoken)}};
  }
  whole.status = reply.status.value_or(whole.status);
  if (reply.content_type) whole.headers.set("content-type", *reply.content_type);
  for (const auto& [name, value] : reply.headers) whole.headers.set(name, value);
  if (reply.faults.missing_ids) whole.headers = without(whole.headers, wire.request_id_header);
  return make_plan(std::move(whole), reply, ids_);
}

}  // namespace treaty::mock
