#include "treaty/api/api.h"

#include <fmt/format.h>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/routes.h"
#include "treaty/base/text.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

Conversation respond(http::Exchange& exchange, http::Response response) {
  co_await exchange.respond(std::move(response));
}

Conversation reply(RequestContext context, Reply (*endpoint)(const RequestContext&)) {
  auto response = co_await endpoint(context);
  co_await context.exchange.respond(
      response ? *std::move(response) : refusal_response(response.error(), context.renderer));
}

Conversation call(const RouteHandler& handler, RequestContext context) {
  if (const auto* conversation = std::get_if<Conversation (*)(RequestContext)>(&handler)) {
    return (*conversation)(std::move(context));
  }
  return reply(std::move(context), std::get<Reply (*)(const RequestContext&)>(handler));
}

http::Response with_allow(http::Response response, std::string_view methods) {
  response.headers.set("allow", methods);
  return response;
}

http::Response options_response(std::string_view methods) {
  return with_allow({.status = 204, .headers = {{"cache-control", "no-store"}}}, methods);
}

// A request that leads to no route belongs to no family.
http::Response plain_refusal(const Refusal& refusal) {
  return refusal_response(refusal, invoke_result_renderer());
}

http::Response unknown_path() {
  return plain_refusal({.reason = Reason::not_found,
                        .message = "there is nothing at this address; Details has those that "
                                   "there are, with their methods",
                        .details = addresses()});
}

http::Response wrong_method(const Route& route, std::string_view method) {
  const std::string methods = methods_at(route);
  const Refusal refusal{Reason::method_not_allowed, fmt::format("this address takes {}", methods),
                        is_media_type(fmt::format("x/{}", method)) ? std::string(method) : ""};
  return with_allow(refusal_response(refusal, route.renderer()), methods);
}

Reason reason_of_status(int status) {
  switch (status) {
    case 413: return Reason::body_too_large;
    case 415: return Reason::unsupported_media_type;
    case 503: return Reason::overloaded;
    default: return status >= 500 ? Reason::internal : Reason::contract_violation;
  }
}

}  // namespace

std::expected<bool, Refusal> is_second_word(const Target& target, std::string_view name,
                                            std::string_view first, std::string_view second) {
  const std::string_view word = target.parameter(name).value_or(first);
  if (word == first || word == second) return word == second;
  return std::unexpected(
      wrong_value(fmt::format("{} takes {} or {}", name, first, second), std::string(name)));
}

Api::Api(turns::Engine& engine, turns::Worker& worker, std::shared_ptr<const ApiSettings> settings)
    : engine_(engine), worker_(worker), settings_(std::move(settings)) {}

void Api::configure(std::shared_ptr<const ApiSettings> settings) {
  settings_ = std::move(settings);
}

http::Response Api::refusal(int status, std::string_view message) {
  http::Response response = plain_refusal({reason_of_status(status), std::string(message)});
  response.status = status;
  return response;
}

std::expected<Api::Admitted, http::Response> Api::look_at(const http::Request& request) const {
  const auto away = [](http::Response response) { return std::unexpected(std::move(response)); };
  if (settings_->keys.empty()) {
    if (const auto local = refuse_web_pages(request.headers); !local) {
      return away(plain_refusal(local.error()));
    }
  }
  if (request.target == "*" && request.method == "OPTIONS") {
    return away(options_response("GET, HEAD, POST, DELETE, OPTIONS"));
  }
  auto target = Target::parse(request.target);
  if (!target) return away(plain_refusal(wrong_value(target.error().message, "")));
  const Route* path = find_path(target->segments());
  if (path == nullptr) return away(unknown_path());
  if (request.method == "OPTIONS") return away(options_response(methods_at(*path)));
  const Route* route = find_method(*path, request.method);
  if (route == nullptr) return away(wrong_method(*path, request.method));
  if (route->is_open) return Admitted{*route, std::move(*target), {}};
  auto tenant = tenant_of(request.headers, settings_->keys);
  if (!tenant) return away(refusal_response(tenant.error(), route->renderer()));
  return Admitted{*route, std::move(*target), std::move(*tenant)};
}

std::optional<http::Response> Api::admit(const http::Request& head) const {
  auto admitted = look_at(head);
  if (admitted) return std::nullopt;
  return std::move(admitted.error());
}

Conversation Api::handle(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  auto admitted = look_at(request);
  if (!admitted) return respond(exchange, std::move(admitted.error()));
  if (request.body.size() > settings_->max_body_bytes) {
    return respond(exchange, refusal(413, fmt::format("a body has at most {} bytes",
                                                      settings_->max_body_bytes)));
  }
  auto& [route, target, tenant] = *admitted;
  std::vector<std::string> names = names_in(route, target.segments());
  return call(route.handler, RequestContext{.engine = engine_,
                                            .worker = worker_,
                                            .pool = *worker_.pool,
                                            .exchange = exchange,
                                            .settings = settings_,
                                            .renderer = route.renderer(),
                                            .target = std::move(target),
                                            .names = std::move(names),
                                            .tenant = std::move(tenant)});
}

}  // namespace treaty::api
