#include "treaty/machines/journal/account.h"

#include <fmt/format.h>

#include <map>

#include "treaty/machines/journal/line_reading.h"
#include "treaty/machines/run/agent_values.h"

namespace treaty::machines {
namespace {

// By their numbers: a line may stand twice when a commit was repeated, and the last one counts.
struct Gathered {
  StepAccount step{};
  std::map<std::int64_t, CallAccount> calls{};
  std::map<std::int64_t, double> waits{};
  std::map<std::int64_t, Outcome> children{};
  std::map<std::int64_t, std::string> tools{};
};

CallAccount call_of(const Object& line) {
  const Object result = lines::object(line, "result");
  CallAccount call{.agent = text_of(line, "agent"),
                   .finish_reason = text_of(result, "finish_reason")};
  if (const Object* error = error_of(result)) call.error = *error;
  return call;
}

void add(Gathered& step, std::string_view kind, const Object& line) {
  const std::int64_t number = lines::whole(line, "n");
  if (kind == "call") step.calls[number] = call_of(line);
  if (kind == "wait") step.waits[number] = lines::number(line, "seconds");
  if (kind == "child") step.children[number] = lines::outcome_of(line);
  if (kind == "tool") step.tools[number] = text_of(line, "tool");
  if (kind == "signal") step.step.signal = lines::value(line, "data");
  if (kind == "exit") step.step.redirect = text_of(line, "redirect");
}

StepAccount account_of(std::int64_t number, Gathered gathered) {
  StepAccount step = std::move(gathered.step);
  step.step = number;
  for (auto& [_, call] : gathered.calls) step.calls.push_back(std::move(call));
  for (const auto& [_, wait] : gathered.waits) step.waits.push_back(wait);
  for (auto& [_, tool] : gathered.tools) step.tools.push_back(std::move(tool));
  for (auto& [_, child] : gathered.children) step.children.push_back(std::move(child));
  return step;
}

}  // namespace

std::optional<Beginning> read_beginning(const std::vector<std::string>& lines) {
  if (lines.empty()) return std::nullopt;
  const auto line = lines::parse_line(lines.front());
  if (!line || text_of(*line, "kind") != "start") return std::nullopt;
  return lines::beginning_of(*line);
}

std::expected<Account, std::string> read_account(const std::vector<std::string>& lines) {
  Account account;
  std::map<std::int64_t, Gathered> steps;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto line = lines::parse_line(lines[i]);
    if (!line) {
      return std::unexpected(fmt::format("line {} of its journal: {}", i + 1, line.error()));
    }
    const std::string kind = text_of(*line, "kind");
    if (kind == "start") {
      account.beginning = lines::beginning_of(*line);
    } else if (kind == "end") {
      account.ended = lines::outcome_of(*line);
    } else if (kind == "enter") {
      steps[lines::whole(*line, "step")].step.state = text_of(*line, "state");
    } else if (const auto step = steps.find(lines::whole(*line, "step")); step != steps.end()) {
      add(step->second, kind, *line);
    }
  }
  for (auto& [number, gathered] : steps) {
    account.steps.push_back(account_of(number, std::move(gathered)));
  }
  return account;
}

}  // namespace treaty::machines
