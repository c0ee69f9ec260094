#include "treaty/dispatch/budgets/purchase.h"

#include <algorithm>
#include <cmath>

namespace treaty::dispatch {
namespace {

constexpr double kPicodollars = 1e12;

// Calls differ from the average that was learnt: so much more is set aside.
constexpr double kMargin = 1.25;
constexpr double kMostTokensPerByte = 1;   // No token of a text is shorter than a byte.
constexpr double kTokensPerByte = 0.25;    // Of an answer that nobody has counted.
constexpr double kTemplateTokens = 16;     // What a provider puts around the texts,
constexpr double kMessageTokens = 4;       // and around each of them.
constexpr double kPictureTokens = 3'000;   // More than any picture takes, at the usual sizes.
constexpr std::int64_t kLeastOutput = 16;  // Some providers take no less as a limit.

// Of tokens or picodollars; more than that is a provider's mistake.
constexpr std::int64_t kMost = 1'000'000'000'000'000;

std::int64_t whole(double value) {
  return static_cast<std::int64_t>(std::clamp(std::ceil(value), 0.0, double{kMost}));
}

std::int64_t tokens_of(const contracts::UsageInfo& usage) {
  const auto count = [](std::optional<std::int64_t> tokens) {
    return std::clamp<std::int64_t>(tokens.value_or(0), 0, kMost);
  };
  return std::max(count(usage.input_tokens) + count(usage.output_tokens),
                  count(usage.total_tokens));
}

}  // namespace

std::size_t pictures_in(const backends::Call& call) {
  std::size_t pictures = 0;
  for (const backends::Message& message : call.messages) {
    const auto* user = std::get_if<backends::UserMessage>(&message);
    if (user == nullptr) continue;
    for (const auto& part : user->parts) {
      pictures += std::holds_alternative<backends::ImagePart>(part) ? 1 : 0;
    }
  }
  return pictures;
}

double bytes_of(const backends::Call& call) {
  std::size_t bytes = call.system.size() + call.messages.bytes();
  for (const backends::Tool& tool : call.tools) {
    bytes += tool.name.size() + tool.description.size() + tool.parameters_json.size();
  }
  if (call.output) bytes += call.output->schema_json.size();
  return static_cast<double>(bytes);
}

store::Purchase purchase_of(const backends::Call& call, const Choice& choice,
                            const TokenEstimate& estimate,
                            const std::optional<results::Price>& price,
                            std::vector<store::BudgetLimit> limits, double unix_now) {
  // A bound, not a guess: the average of other calls says nothing about this one.
  const double ratio = std::max(kMostTokensPerByte, estimate.tokens_per_byte * kMargin);
  const double around = std::max(kTemplateTokens, estimate.fixed_tokens * kMargin) +
                        kMessageTokens * static_cast<double>(call.messages.size()) +
                        kPictureTokens * static_cast<double>(pictures_in(call));
  store::Purchase purchase{.day = day_of(unix_now), .limits = std::move(limits)};
  purchase.input_tokens = whole(bytes_of(call) * ratio + around);
  purchase.output_tokens = choice.max_output_tokens.value_or(kAnswerTokens);
  // An answer that would be cut short is not worth its input.
  purchase.least_output = std::min(purchase.output_tokens,
                                   std::max(whole(estimate.output_tokens * kMargin), kLeastOutput));
  // Tokens of reasoning are tokens of the answer, and the bound of both has to be above theirs.
  if (choice.reasoning && choice.reasoning->budget_tokens) {
    const std::int64_t reasoning = std::min(*choice.reasoning->budget_tokens, kMost);
    purchase.output_tokens += reasoning;
    purchase.least_output += reasoning;
  }
  if (price) {
    const auto dearest = [](results::Picodollars plain, std::optional<results::Picodollars> other) {
      return std::max(plain, other.value_or(plain));
    };
    purchase.input_price = dearest(price->input, price->cache_write);
    purchase.output_price = price->output;
  }
  return purchase;
}

store::Amount spent_by(const contracts::AgentResult& result, const store::Purchase& purchase,
                       double heard_bytes) {
  store::Amount spent;
  if (result.usage) spent.tokens = tokens_of(*result.usage);
  if (const auto dollars = results::dollars_of(result)) {
    spent.picodollars = whole(*dollars * kPicodollars);
  } else if (result.usage) {  // Answered under a name without a price: as dear as what was asked.
    const auto worth = [](std::optional<std::int64_t> tokens, std::int64_t price) {
      return static_cast<double>(std::max<std::int64_t>(tokens.value_or(0), 0)) *
             static_cast<double>(price);
    };
    spent.picodollars = whole(worth(result.usage->input_tokens, purchase.input_price) +
                              worth(result.usage->output_tokens, purchase.output_price));
  }
  // Answered without a word about usage, or cut in the middle: a bill comes that nobody has told
  // us.
  const bool is_cut =
      result.error && (!result.error->code || result.error->code == "timeout" || heard_bytes > 0);
  if ((is_cut || !result.error) && !result.usage) {
    const double bytes =
        std::max(heard_bytes, result.content ? static_cast<double>(result.content->size()) : 0);
    // What was set aside counts a token a byte.
    const double input = static_cast<double>(purchase.input_tokens) * kTokensPerByte;
    const double output = bytes * kTokensPerByte;
    spent.tokens = whole(input + output);
    if (!result.cost) {
      spent.picodollars = whole(input * static_cast<double>(purchase.input_price) +
                                output * static_cast<double>(purchase.output_price));
    }
  }
  return spent;
}

std::int64_t day_of(double unix_now) {
  return static_cast<std::int64_t>(std::floor(unix_now / kDay));
}

Seconds until_next_day(double unix_now) { return kDay - std::fmod(unix_now, kDay); }

}  // namespace treaty::dispatch
