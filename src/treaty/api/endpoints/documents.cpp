// Documents without turns: the linter, the composer, the schemas.
#include <fmt/format.h>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/negotiation.h"
#include "treaty/api/offload.h"
#include "treaty/assistant/composer.h"
#include "treaty/base/ids.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/contracts/contract.h"
#include "treaty/contracts/inspection/verdict_json.h"
#include "treaty/contracts/schemas.h"

namespace treaty::api {
namespace {

using contracts::Contract;
using turns::Reason;
using turns::Refusal;

constexpr std::string_view kAuto = "auto";
constexpr std::string_view kJson = ".json";

std::string names_of_contracts() {
  std::string names;
  for (const Contract contract : contracts::kContracts) {
    if (!names.empty()) names += ", ";
    names += contracts::name_of(contract);
  }
  return names;
}

Refusal unknown_contract(std::string_view also) {
  return {Reason::not_found,
          fmt::format("there is no such contract; there are {}{}", names_of_contracts(), also)};
}

std::expected<contracts::Inner, Refusal> inner_in(const Target& target) {
  const std::string_view word = target.parameter("inner").value_or("auto");
  if (word == "auto") return contracts::Inner::automatic;
  if (word == "json") return contracts::Inner::json;
  if (word == "text") return contracts::Inner::text;
  return std::unexpected(wrong_value("inner takes auto, json or text", "inner"));
}

std::expected<contracts::DecodeOptions, Refusal> options_in(const RequestContext& context) {
  TREATY_TRY(const auto lenient, is_second_word(context.target, "profile", "strict", "lenient"));
  TREATY_TRY(const auto consumer, is_second_word(context.target, "role", "producer", "consumer"));
  TREATY_TRY(const auto inner, inner_in(context.target));
  contracts::DecodeOptions options{
      .profile = lenient ? contracts::Profile::lenient : contracts::Profile::strict,
      .max_size = context.settings->max_body_bytes,
      .role = consumer ? contracts::Role::consumer : contracts::Role::producer,
      .inner = inner,
      .now = timestamp_now()};
  if (const auto id = context.target.parameter("request_id")) options.request_id = *id;
  return options;
}

std::string verdict_on(const RequestContext& context, std::optional<Contract> contract,
                       const contracts::DecodeOptions& options) {
  const std::string& body = context.request().body;
  const contracts::DetectedVerdict told =
      contract ? contracts::DetectedVerdict{contract, contracts::check(*contract, body, options)}
               : contracts::check_detected(body, options);
  contracts::CheckedDocument checked{
      .document = "-",
      .contract = told.contract ? contracts::name_of(*told.contract) : kAuto,
      .profile = options.profile == contracts::Profile::lenient ? "lenient" : "strict",
      .verdict = told.verdict};
  if (!told.contract && told.verdict.valid()) checked.trouble = contracts::kUnknownContract;
  return contracts::verdict_json(checked);
}

std::expected<http::Response, Refusal> composed_response(const RequestContext& context,
                                                         assistant::ComposeProfile profile) {
  const std::size_t most = context.settings->max_body_bytes;
  // Any depth: what is nested too deep for a document is still an input.
  const json::Document document(context.request().body, {.max_size = most, .max_depth = most});
  if (!document.root()) {
    return std::unexpected(
        Refusal{.reason = Reason::contract_violation,
                .message = "the body is no JSON",
                .details = document.faults().empty()
                               ? std::nullopt
                               : std::optional("JSON-01: " + document.faults()[0].message)});
  }
  const auto composition = assistant::compose(document.root(), profile, new_uuid);
  return json_response(200, contracts::encode(composition.response));
}

}  // namespace

// The verdict is the answer, also on what is no JSON: hence any type of content.
Reply check_document(const RequestContext& context) {
  const std::string& name = context.names.at(0);
  const auto contract = contracts::contract_named(name);
  if (!contract && name != kAuto) co_return std::unexpected(unknown_contract(" and auto"));
  TREATY_CO_TRY_VOID(require_plain(context.request().headers));
  TREATY_CO_TRY(const auto options, options_in(context));
  TREATY_CO_TRY(auto verdict, co_await offload(context.pool, context.request().body.size(), [&] {
                  return verdict_on(context, contract, options);
                }));
  co_return json_response(200, std::move(verdict));
}

Reply respond_as_assistant(const RequestContext& context) {
  TREATY_CO_TRY_VOID(require_json(context.request().headers));
  TREATY_CO_TRY(const bool compat, is_second_word(context.target, "profile", "strict", "compat"));
  const auto profile =
      compat ? assistant::ComposeProfile::compat : assistant::ComposeProfile::strict;
  TREATY_CO_TRY(auto response, co_await offload(context.pool, context.request().body.size(), [&] {
                  return composed_response(context, profile);
                }));
  co_return response;
}

Reply show_schema(const RequestContext& context) {
  std::string_view name = context.names.at(0);
  const bool has_ending = name.ends_with(kJson);
  if (has_ending) name.remove_suffix(kJson.size());
  const auto contract = has_ending ? contracts::contract_named(name) : std::nullopt;
  if (!contract) co_return std::unexpected(unknown_contract(", each as NAME.json"));
  TREATY_CO_TRY(const bool camel, is_second_word(context.target, "dialect", "pascal", "camel"));
  if (camel && !contracts::has_dialects(*contract)) {
    co_return std::unexpected(
        wrong_value(fmt::format("{} has one dialect, snake_case", name), "dialect"));
  }
  http::Response response =
      json_response(200, contracts::schema_text(*contract, camel ? contracts::Dialect::camel
                                                                 : contracts::Dialect::pascal));
  response.headers.set("content-type", "application/schema+json");
  co_return response;
}

}  // namespace treaty::api
