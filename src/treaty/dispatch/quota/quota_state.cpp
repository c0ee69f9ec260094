#include "treaty/dispatch/quota/quota_state.h"

#include <algorithm>
#include <cmath>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"

namespace treaty::dispatch {
namespace {

constexpr double kMostTokens = 1e15;
constexpr double kLeastRate = 1e-9;  // Less does not come back while anybody waits.
constexpr int kMostFailures = 1'000'000;

// From the clock of the wall to the one that never jumps.
class Decoding {
 public:
  Decoding(Moment now, double unix_now) : now_(now), offset_(now - unix_now) {}

  static double number(std::optional<json::Value> object, std::string_view name, double least,
                       double most, double otherwise) {
    const auto number = json::find_number(object, name);
    return number && std::isfinite(*number) ? std::clamp(*number, least, most) : otherwise;
  }

  std::optional<Moment> moment(std::optional<json::Value> object, std::string_view name) const {
    const double at = number(object, name, -1e12, 1e12, 0);
    if (at <= 0) return std::nullopt;
    return std::clamp(at + offset_, now_ - kLongestReset, now_ + kLongestReset);
  }

  std::optional<Window> window(json::Value told) const {
    Window window;
    window.name = json::find_text(told, "name");
    window.resource = json::find_text(told, "resource");
    const auto seen = moment(told, "seen");
    const auto resets = moment(told, "resets");
    if (window.name.empty() || !seen || !resets) return std::nullopt;
    window.remaining = number(told, "remaining", 0, 1e19, 0);
    const double limit = number(told, "limit", 0, 1e19, 0);
    if (limit >= std::max(window.remaining, 1.0)) window.limit = limit;
    // Told before now, and full again no later than it was said then.
    const Seconds to_full = std::max(*resets - *seen, 0.0);
    window.seen = std::min(*seen, now_);
    window.resets = std::min(*resets, window.seen + to_full);
    window.named = length_of_window(window.name);
    window.length = number(told, "length", 1, kLongestReset, 60);
    window.rate = number(told, "rate", 0, 1e19, 0);
    if (window.rate < kLeastRate) window.rate = 0;
    window.votes = static_cast<int>(number(told, "votes", -4, 4, 0));
    window.refills =
        window.rate > 0 && window.limit && json::is_true(json::find_member(told, "refills"));
    return window;
  }

 private:
  Moment now_;
  Seconds offset_;
};

}  // namespace

std::string encode_state(const QuotaState& state, Moment now, double unix_now) {
  const double offset = unix_now - now;
  json::Writer writer;
  writer.begin_object().member("version", 1).member("saved_at", unix_now);
  if (state.blocked_until > now) writer.member("blocked_until", state.blocked_until + offset);
  writer.member("failures", state.breaker.failures);
  if (state.breaker.open_until) writer.member("open_until", *state.breaker.open_until + offset);
  if (state.estimate.has_learnt) {
    writer.member("tokens_per_byte", state.estimate.tokens_per_byte);
    writer.member("output_tokens", state.estimate.output_tokens);
    writer.member("fixed_tokens", state.estimate.fixed_tokens);
  }
  writer.name("windows").objects(state.windows, [&](const Window& window) {
    writer.member("name", window.name).member("resource", window.resource);
    if (window.limit) writer.member("limit", *window.limit);
    writer.member("remaining", std::max(window.remaining - window.used, 0.0));
    writer.member("seen", window.seen + offset).member("resets", window.resets + offset);
    writer.member("length", window.length).member("rate", window.rate);
    writer.member("votes", window.votes).member("refills", window.refills);
  });
  return writer.end_object().take();
}

std::optional<QuotaState> decode_state(std::string_view text, Moment now, double unix_now) {
  const json::Document document(text);
  const auto root = document.root();
  if (!document.faults().empty() || !root || !root->is_object()) return std::nullopt;
  if (Decoding::number(root, "version", 0, 1'000, 0) != 1) return std::nullopt;
  // Nothing is read before it was written: a clock that says so was set back.
  const double saved_at = Decoding::number(root, "saved_at", 0, 1e12, 0);
  const Decoding decoding(now, std::max(unix_now, saved_at));
  QuotaState state;
  // A restart is what an operator tries when a provider asked for something absurd.
  state.blocked_until =
      std::min(decoding.moment(root, "blocked_until").value_or(0), now + kLongestBlock);
  state.breaker.failures =
      static_cast<int>(Decoding::number(root, "failures", 0, kMostFailures, 0));
  state.breaker.open_until = decoding.moment(root, "open_until");
  const double ratio = Decoding::number(root, "tokens_per_byte", 0, 1'000, 0);
  if (ratio > 0) {
    state.estimate = {.tokens_per_byte = ratio,
                      .fixed_tokens = Decoding::number(root, "fixed_tokens", 0, 1e5, 0),
                      .output_tokens = Decoding::number(root, "output_tokens", 0, kMostTokens, 0),
                      .has_learnt = true};
  }
  for (const json::Value told : json::elements_of(json::find_member(root, "windows"))) {
    if (state.windows.size() == kMostWindows) break;
    if (auto window = decoding.window(told)) state.windows.push_back(*std::move(window));
  }
  return state;
}

}  // namespace treaty::dispatch
