// What a gateway tells of its limits (GET /v1/limits), for whoever looks at them. Pure.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/http/client.h"

namespace treaty::cli::limits_watch {

// Texts are harmless: a terminal may show them. Times are seconds from the moment of the answer.
struct LimitsView {
  struct Window {
    std::string name{};
    std::optional<double> limit{};
    double remaining = 0;
    double resets_in = 0;
    bool refills = false;
    bool operator==(const Window&) const = default;
  };

  // The newest one about a call that was not answered at once.
  struct Decision {
    std::string act{};  // "wait", "switch", "fail".
    std::string rule{};
    std::string reason{};
    double ago = 0;
    bool operator==(const Decision&) const = default;
  };

  struct Pool {
    std::string provider{};
    std::string model{};
    std::string obstacle{};  // Empty: it is free.
    double next_free_in = 0;
    std::int64_t waiting = 0;
    std::int64_t running = 0;
    std::vector<Window> windows{};
    std::string breaker{};  // "closed", "open", "probing".
    std::int64_t failures = 0;
    double probe_in = 0;
    std::optional<Decision> decision{};
    bool operator==(const Pool&) const = default;
  };

  // Of tokens, or of dollars.
  struct Allowance {
    std::optional<double> per_day{};
    double spent = 0;
    double reserved = 0;
    bool operator==(const Allowance&) const = default;
  };

  struct Budget {
    std::string scope{};
    std::string name{};
    Allowance tokens{};
    Allowance dollars{};
    double resets_in = 0;
    bool operator==(const Budget&) const = default;
  };

  std::string at{};
  std::vector<Pool> pools{};
  std::vector<Budget> budgets{};
  bool operator==(const LimitsView&) const = default;
};

// The error says what is wrong with the text.
std::expected<LimitsView, std::string> parse_limits(std::string_view text);

// Without what changes by itself as time goes by: two answers that tell the same are equal then.
LimitsView without_times(LimitsView view);

struct ToldLimits {
  std::string json{};  // As it was told, on one line.
  LimitsView view{};
};

struct LimitsTrouble {
  int exit_code = 0;
  std::string text{};     // For people.
  std::string next{};     // What to do about it.
  bool may_pass = false;  // By itself: whoever watches goes on trying.
};

using AnsweredLimits = std::expected<ToldLimits, LimitsTrouble>;

AnsweredLimits read_limits_answer(const std::expected<http::Response, http::FetchFailure>& answer);

}  // namespace treaty::cli::limits_watch
