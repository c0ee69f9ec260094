#include "treaty/api/negotiation.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "treaty/base/pieces.h"
#include "treaty/base/text.h"

namespace treaty::api {
namespace {

using turns::Reason;
using turns::Refusal;

constexpr std::size_t kLongestKey = 255;

Refusal unsupported(std::string message, std::string context) {
  return {Reason::unsupported_media_type, std::move(message), std::move(context)};
}

std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

bool is_json_type(std::string_view type) {
  return equal_folded(type, "application/json") ||
         (starts_with_folded(type, "application/") && folded(type).ends_with("+json"));
}

// RFC 9110 §12.4.2; what is no weight counts as 1.
double weight_in(std::string_view parameters) {
  while (!parameters.empty()) {
    const std::string_view parameter = trimmed(take_until(parameters, ';'));
    if (!starts_with_folded(parameter, "q=")) continue;
    double weight = 1;
    const std::string_view text = parameter.substr(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
    return error == std::errc() && weight >= 0 && weight <= 1 ? weight : 1;
  }
  return 1;
}

}  // namespace

std::expected<void, Refusal> require_plain(const Headers& headers) {
  const std::string_view encoding = trimmed(headers.get("content-encoding"));
  if (encoding.empty() || equal_folded(encoding, "identity")) return {};
  return std::unexpected(
      unsupported("compressed bodies are not read; send it as it is, without Content-Encoding",
                  "Content-Encoding"));
}

std::expected<void, Refusal> require_json(const Headers& headers) {
  if (auto plain = require_plain(headers); !plain) return plain;
  std::string_view rest = headers.get("content-type");
  if (trimmed(rest).empty()) return {};
  if (!is_json_type(trimmed(take_until(rest, ';')))) {
    return std::unexpected(
        unsupported("this takes JSON; send `Content-Type: application/json`", "Content-Type"));
  }
  while (!rest.empty()) {
    const std::string_view parameter = trimmed(take_until(rest, ';'));
    if (!starts_with_folded(parameter, "charset=")) continue;
    const std::string_view charset = unquoted(parameter.substr(8));
    if (equal_folded(charset, "utf-8") || equal_folded(charset, "utf8") ||
        equal_folded(charset, "us-ascii")) {
      continue;
    }
    return std::unexpected(unsupported("JSON is read in UTF-8 alone", "Content-Type"));
  }
  return {};
}

std::optional<StreamForm> stream_form_in(const Headers& headers) {
  std::string_view rest = headers.get("accept");
  std::optional<StreamForm> best;
  double most = 0;
  while (!rest.empty()) {
    std::string_view entry = trimmed(take_until(rest, ','));
    const std::string_view type = trimmed(take_until(entry, ';'));
    const bool lines =
        equal_folded(type, "application/x-ndjson") || equal_folded(type, "application/ndjson");
    if (!lines && !equal_folded(type, "text/event-stream")) continue;
    const double weight = weight_in(entry);
    if (weight <= most) continue;
    most = weight;
    best = lines ? StreamForm::lines : StreamForm::events;
  }
  return best;
}

std::expected<std::optional<std::string>, Refusal> idempotency_key_in(const Headers& headers) {
  const std::string* key = headers.find("idempotency-key");
  if (key == nullptr) return std::nullopt;
  const bool printable = std::ranges::all_of(*key, [](char c) { return c >= ' ' && c <= '~'; });
  if (key->empty() || key->size() > kLongestKey || !printable) {
    return std::unexpected(Refusal{
        Reason::contract_violation,
        fmt::format("an Idempotency-Key has 1 to {} printable ASCII characters", kLongestKey),
        "Idempotency-Key"});
  }
  return *key;
}

std::expected<std::optional<std::int64_t>, Refusal> last_event_id_in(const Headers& headers,
                                                                     const Target& target) {
  std::string_view text = headers.get("last-event-id");
  if (text.empty()) text = target.parameter("last_event_id").value_or("");
  if (text.empty()) return std::nullopt;
  const auto id = parse_number<std::int64_t>(text);
  if (!id || *id < 0) {
    return std::unexpected(Refusal{Reason::contract_violation,
                                   "Last-Event-ID is the `id` of the last event that was read, an "
                                   "integer; leave it out to begin at the beginning",
                                   "Last-Event-ID"});
  }
  return id;
}

contracts::Dialect dialect_of_text(std::string_view body) {
  const std::size_t brace = body.find_first_not_of(" \t\r\n");
  if (brace == std::string_view::npos || body[brace] != '{') return contracts::Dialect::pascal;
  const std::size_t quote = body.find_first_not_of(" \t\r\n", brace + 1);
  const bool named =
      quote != std::string_view::npos && body[quote] == '"' && quote + 1 < body.size();
  return named && is_lower(body[quote + 1]) ? contracts::Dialect::camel
                                            : contracts::Dialect::pascal;
}

}  // namespace treaty::api
