#include "treaty/turns/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "treaty/base/hash.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/number.h"
#include "treaty/base/text.h"
#include "treaty/contracts/tools.h"
#include "treaty/results/prices.h"
#include "treaty/tools/argument_check.h"

namespace treaty::turns {
namespace {

using backends::AssistantMessage;
using backends::ToolMessage;
using contracts::AgentError;
using contracts::AgentResult;
using contracts::AgentToolCall;

// --- What it cost

// Counts come from outside: none makes a sum wrap around or shrink.
std::int64_t sum(std::int64_t left, std::int64_t right) {
  return saturating_sum(left, std::max<std::int64_t>(right, 0));
}

void count(Progress& progress, const AgentResult& result) {
  if (result.usage) {
    progress.usage = add_usage(progress.usage.value_or(contracts::Usage{}), *result.usage);
  }
  const double cost = progress.cost + results::dollars_of(result).value_or(0);
  if (std::isfinite(cost)) progress.cost = cost;
}

// --- What it said

std::string text_of(const AgentResult& result) {
  if (result.content)
    return is_utf8(*result.content) ? *result.content : repaired_utf8(*result.content);
  return result.output ? result.output->text() : std::string();
}

AgentError failure(std::string_view code, std::string message, bool retryable) {
  return {.message = std::move(message), .code = std::string(code), .retryable = retryable};
}

// An error that the result does not name as one.
std::optional<AgentError> unnamed_error(std::string_view finish_reason) {
  if (finish_reason == "content_filter") {
    return failure("content_filter", "the answer was withheld by a content filter", false);
  }
  if (finish_reason == "error") return failure("server_error", "the model ended in an error", true);
  if (finish_reason == "aborted") {
    return failure("server_error", "the answer was broken off before its end", true);
  }
  return std::nullopt;
}

Step step_without_calls(std::string_view finish_reason, std::string text) {
  if (finish_reason == "tool_use" && is_blank(text)) {
    return Fail{failure("server_error", "the model wanted a tool but called none", true)};
  }
  return Finish{.text = std::move(text), .was_cut = finish_reason == "length"};
}

// --- The tool calls of a model, which is not trusted: which of them a client may run, and what
// the model is told about the others.

constexpr std::size_t kLongestName = 64;  // TOOL-02.
constexpr std::size_t kLongestId = 128;
constexpr std::size_t kMostNamesTold = 32;
constexpr std::size_t kLongestRefusal = 2'000;  // It may quote what the model wrote.
constexpr int kMostTimes = 2;                   // That the same call is run in one turn.

bool is_name_character(char c) { return is_alphanumeric(c) || c == '_' || c == '-'; }

// What providers take back as a name.
std::string as_name(std::string_view name) {
  std::string out(name.substr(0, kLongestName));
  std::ranges::replace_if(out, [](char c) { return !is_name_character(c); }, '_');
  return out.empty() ? "unnamed" : out;
}

bool is_good_id(std::string_view id) {
  return id.size() <= kLongestId && !is_blank(id) && is_utf8(id) && !has_control_character(id);
}

// White space and the order of members make no difference; neither does how a string is escaped.
void append_canonical(std::string& out, json::Value value) {
  if (value.is_string()) {
    json::append_quoted(out, value.text());
  } else if (value.is_array()) {
    out.push_back('[');
    for (const json::Value element : value.elements()) {
      append_canonical(out, element);
      out.push_back(',');
    }
    out.push_back(']');
  } else if (value.is_object()) {
    std::vector<json::Member> members;
    for (const json::Member member : value.members()) members.push_back(member);
    std::ranges::sort(members, {}, [](const json::Member& member) { return member.name.text(); });
    out.push_back('{');
    for (const json::Member& member : members) {
      json::append_quoted(out, member.name.text());
      out.push_back(':');
      append_canonical(out, member.value);
      out.push_back(',');
    }
    out.push_back('}');
  } else {
    out += value.source();
  }
}

std::string key_of(std::string_view name, json::Value arguments) {
  constexpr std::size_t kDigits = 32;
  std::string canonical;
  append_canonical(canonical, arguments);
  return fmt::format("{} {}", name, sha256_hex(canonical).substr(0, kDigits));
}

constexpr std::size_t kMostShown = 4'096;  // Bytes of arguments that were refused.

// One answer's calls, looked at one after the other.
class Check {
 public:
  Check(const AgentRole& role, Progress& progress) : role_(role), progress_(progress) {}

  void take(const AgentToolCall& call, bool is_cut) {
    AgentToolCall& said = say(call);
    const std::string_view arguments =
        is_blank(call.arguments) ? std::string_view("{}") : std::string_view(call.arguments);
    if (auto refusal = refusal_of(call, arguments)) {
      // What is short and an object stays, so that the model sees its mistake.
      if (arguments.size() <= kMostShown && json::type_of_json(arguments) == json::Type::object) {
        said.arguments = arguments;
      }
      refuse(said, "tool.refused", *std::move(refusal));
      return;
    }
    said.arguments = arguments;
    if (is_cut) {
      refuse(said, "tool.refused",
             "The answer reached its length limit at this call, which may be incomplete and was "
             "not run. Make it again, with less text.");
      return;
    }
    if (++progress_.calls[key_of(said.name, *document_.root())] > kMostTimes) {
      refuse(said, "tool.suppressed",
             fmt::format("This call was made {} times before with the same arguments and was not "
                         "run again. Use the results that you have, or do something else.",
                         kMostTimes));
      return;
    }
    argument_bytes_ += said.arguments.size();
    checked_.for_client.push_back(
        {.tool_call_id = said.id, .name = said.name, .arguments_json = said.arguments});
  }

  // Too many to run any of them; the first ones stay, so that the model sees what it did.
  void take_none_of(const std::vector<AgentToolCall>& calls) {
    const std::string why =
        fmt::format("There were {} calls in one answer; at most {} are allowed, and none was run.",
                    calls.size(), kMostCalls);
    for (std::size_t i = 0; i < kMostCalls; ++i) answer(say(calls[i]), why);
    json::Writer writer;
    writer.begin_object().member("Calls", calls.size()).member("Why", why);
    checked_.notes.push_back({"tool.refused", writer.end_object().take()});
  }

  CheckedCalls finish() { return std::move(checked_); }

 private:
  // The call as the transcript has it: arguments are only there once they are known to be good.
  AgentToolCall& say(const AgentToolCall& call) {
    std::string id = is_good_id(call.id) ? call.id : std::string();
    const std::size_t place = checked_.said.size() + 1;
    for (std::size_t n = progress_.call_ids.size() + 1;
         id.empty() || progress_.call_ids.contains(id); ++n) {
      id = fmt::format("call_{}_{}", n, place);
    }
    progress_.call_ids.insert(id);
    return checked_.said.emplace_back(
        AgentToolCall{.id = std::move(id), .name = as_name(call.name), .arguments = "{}"});
  }

  // Why a client cannot run it; else `document_` holds its arguments.
  std::optional<std::string> refusal_of(const AgentToolCall& call, std::string_view arguments) {
    if (!contracts::is_tool_name(call.name)) {
      return "A tool's name has 1 to 64 letters, digits, underscores and hyphens. " + tools_told();
    }
    const auto tool = std::ranges::find(role_.tools, call.name,
                                        [](const ClientTool& one) { return one.declaration.name; });
    if (tool == role_.tools.end()) {
      return fmt::format("There is no tool named {}. {}", call.name, tools_told());
    }
    const bool is_small = arguments.size() <= tools::kMostArgumentBytes;
    if (is_small && argument_bytes_ + arguments.size() > kMostAllArgumentBytes) {
      return fmt::format(
          "The arguments of all calls in one answer have at most {} bytes; make this call in an "
          "answer of its own.",
          kMostAllArgumentBytes);
    }
    return tools::refusal_of_arguments(arguments, tool->parameters.get(), document_);
  }

  std::string tools_told() const {
    if (role_.tools.empty()) return "There are no tools here: answer in words.";
    std::string names;
    for (std::size_t i = 0; i < std::min(role_.tools.size(), kMostNamesTold); ++i) {
      fmt::format_to(std::back_inserter(names), "{}{}", i == 0 ? "" : ", ",
                     role_.tools[i].declaration.name);
    }
    return fmt::format("The tools are: {}{}.", names,
                       role_.tools.size() > kMostNamesTold ? " and others" : "");
  }

  void answer(const AgentToolCall& said, std::string why) {
    checked_.refused.push_back({.tool_call_id = said.id,
                                .tool_name = said.name,
                                .content = std::move(why),
                                .failed = true});
  }

  void refuse(const AgentToolCall& said, std::string_view kind, std::string why) {
    why.resize(utf8_prefix(why, kLongestRefusal).size());
    json::Writer writer;
    writer.begin_object().member("ToolCallId", said.id).member("Tool", said.name);
    writer.member("Why", why);
    checked_.notes.push_back({std::string(kind), writer.end_object().take()});
    answer(said, std::move(why));
  }

  const AgentRole& role_;
  Progress& progress_;
  CheckedCalls checked_;
  json::Document document_;
  std::size_t argument_bytes_ = 0;
};

}  // namespace

contracts::Usage add_usage(contracts::Usage usage, const contracts::UsageInfo& spent) {
  const std::int64_t input = spent.input_tokens.value_or(0);
  const std::int64_t output = spent.output_tokens.value_or(0);
  usage.prompt_tokens = sum(usage.prompt_tokens, input);
  usage.completion_tokens = sum(usage.completion_tokens, output);
  usage.total_tokens =
      sum(usage.total_tokens,
          spent.total_tokens.value_or(sum(std::max<std::int64_t>(input, 0), output)));
  if (spent.cache_read_tokens) {
    usage.cached_tokens = sum(usage.cached_tokens.value_or(0), *spent.cache_read_tokens);
  }
  return usage;
}

CheckedCalls check_tool_calls(const AgentRole& role, const std::vector<AgentToolCall>& calls,
                              bool last_is_cut, Progress& progress) {
  Check check(role, progress);
  if (calls.size() > kMostCalls) {
    check.take_none_of(calls);
  } else {
    for (const AgentToolCall& call : calls) {
      check.take(call, last_is_cut && &call == &calls.back());
    }
  }
  return check.finish();
}

Stepped next_step(const AgentRole& role, int max_rounds, Progress progress,
                  const AgentResult& result) {
  Stepped stepped{.step = Finish{}, .progress = std::move(progress)};
  count(stepped.progress, result);
  if (result.error) {
    Fail fail{*result.error};
    if (fail.error.type == kAnswerTooLarge) fail.error.retryable = false;
    stepped.step = std::move(fail);
    return stepped;
  }
  const std::string_view reason =
      result.finish_reason ? std::string_view(*result.finish_reason) : std::string_view("stop");
  if (auto error = unnamed_error(reason)) {
    stepped.step = Fail{*std::move(error)};
    return stepped;
  }
  stepped.said.text = text_of(result);
  if (!result.tool_calls || result.tool_calls->empty()) {
    stepped.step = step_without_calls(reason, stepped.said.text);
    return stepped;
  }
  if (stepped.progress.tool_rounds >= max_rounds) {
    stepped.step = Fail{
        failure("max_rounds",
                fmt::format("the model asked for tools more than {} times", max_rounds), false)};
    return stepped;
  }
  ++stepped.progress.tool_rounds;
  CheckedCalls checked =
      check_tool_calls(role, *result.tool_calls, reason == "length", stepped.progress);
  stepped.said.tool_calls = std::move(checked.said);
  stepped.notes = std::move(checked.notes);
  if (checked.for_client.empty()) {
    stepped.step = AskAgain{.results = std::move(checked.refused), .text = stepped.said.text};
  } else {
    stepped.step = AskClient{.calls = std::move(checked.for_client),
                             .known = std::move(checked.refused),
                             .text = stepped.said.text};
  }
  return stepped;
}

std::vector<ToolMessage> in_order_of_calls(const AssistantMessage& said,
                                           std::vector<ToolMessage> results) {
  std::unordered_map<std::string_view, ToolMessage*> by_id;
  for (ToolMessage& result : results) by_id.emplace(result.tool_call_id, &result);
  std::vector<ToolMessage> ordered;
  ordered.reserve(said.tool_calls.size());
  for (const contracts::AgentToolCall& call : said.tool_calls) {
    const auto found = by_id.find(call.id);
    if (found == by_id.end()) {
      ordered.push_back({.tool_call_id = call.id,
                         .tool_name = call.name,
                         .content = "There is no result of this call.",
                         .failed = true});
      continue;
    }
    ordered.push_back(*found->second);
  }
  return ordered;
}

}  // namespace treaty::turns
