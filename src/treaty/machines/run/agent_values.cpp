#include "treaty/machines/run/agent_values.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "treaty/base/json_dynamic.h"
#include "treaty/base/text.h"
#include "treaty/contracts/decode_agent_result.h"

namespace treaty::machines {
namespace {

constexpr std::string_view kRaw = "raw";  // Never leaves the process.

constexpr std::array<std::string_view, 4> kCostParts = {"input", "output", "cache_read",
                                                        "cache_write"};

bool is_member(std::string_view name) {
  const auto& names = contracts::kAgentResultNames;
  return std::ranges::find(names, name) != std::end(names);
}

std::optional<double> number_of(const Dynamic* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->if_int64()) return static_cast<double>(*whole);
  if (const auto* large = value->if_uint64()) return static_cast<double>(*large);
  if (const auto* decimal = value->if_double()) {
    if (std::isfinite(*decimal)) return *decimal;
  }
  return std::nullopt;
}

// Backends of others tell an error as a text, or without its message.
Object whole_error(const Dynamic& told) {
  if (const auto* text = told.if_string()) {
    return make_error("server_error", "AgentError", *text, true);
  }
  Object error = told.is_object() ? told.get_object() : Object();
  for (const std::string_view member : {"code", "type", "message"}) {
    if (const Dynamic* value = error.if_contains(member); value != nullptr && !value->is_string()) {
      error[member] = templates::print(*value);
    }
  }
  if (error.if_contains("message") == nullptr) error["message"] = "unknown";
  return error;
}

bool is_told(const Dynamic& error) {
  if (const auto* object = error.if_object()) return !object->empty();
  if (const auto* text = error.if_string()) return !text->empty();
  return false;
}

// An error without a code could not be told apart from others by a machine.
void complete(Object& result) {
  const Dynamic* error = result.if_contains("error");
  if (error == nullptr) return;
  if (!is_told(*error)) {
    result.stable_erase(result.find("error"));
    return;
  }
  result["error"] = whole_error(*error);
}

double cost_of(const Object& result) {
  const Dynamic* cost = result.if_contains("cost");
  if (cost == nullptr) return 0;
  if (const auto total = number_of(cost)) return *total;
  const Object* parts = cost->if_object();
  if (parts == nullptr) return 0;
  if (const auto total = number_of(parts->if_contains("total"))) return *total;
  double sum = 0;
  for (const std::string_view part : kCostParts)
    sum += number_of(parts->if_contains(part)).value_or(0);
  return sum;
}

void add_counts(Object& sum, const Object& more) {
  for (const auto& member : more) {
    const auto* count = member.value().if_int64();
    if (count == nullptr) continue;
    Dynamic& so_far = sum[member.key()];
    std::int64_t added = 0;
    const std::int64_t before = so_far.is_int64() ? so_far.get_int64() : 0;
    if (!__builtin_add_overflow(before, *count, &added)) so_far = added;
  }
}

}  // namespace

Object coerce(const Dynamic& answer) {
  Object result;
  if (const auto* object = answer.if_object()) {
    const bool is_result =
        std::ranges::any_of(*object, [](const auto& member) { return is_member(member.key()); });
    if (!is_result) {
      if (!object->empty()) result["output"] = *object;
      return result;
    }
    for (const auto& member : *object) {
      if (is_member(member.key()) && member.key() != kRaw && !member.value().is_null()) {
        result[member.key()] = member.value();
      }
    }
    complete(result);
    return result;
  }
  if (!answer.is_null()) result["content"] = templates::print(answer);
  return result;
}

Object payload_of(const Object& result) {
  if (const Dynamic* output = result.if_contains("output")) {
    if (const auto* object = output->if_object()) return *object;
    return {{"value", *output}};
  }
  if (const Dynamic* content = result.if_contains("content")) return {{"content", *content}};
  return {};
}

const Object* error_of(const Object& result) { return object_in(result, "error"); }

bool is_retryable(const Object& error) { return flag_in(error, "retryable"); }

Dynamic value_in(const Object& object, std::string_view member) {
  return or_empty(object.if_contains(member));
}

const Object* object_in(const Object& object, std::string_view member) {
  const Dynamic* value = object.if_contains(member);
  return value == nullptr ? nullptr : value->if_object();
}

const List* list_in(const Object& object, std::string_view member) {
  const Dynamic* value = object.if_contains(member);
  return value == nullptr ? nullptr : value->if_array();
}

std::string_view text_in(const Object& object, std::string_view member) {
  const Dynamic* value = object.if_contains(member);
  return value != nullptr && value->is_string() ? value->get_string().subview()
                                                : boost::json::string_view();
}

std::string text_of(const Object& object, std::string_view member) {
  return std::string(text_in(object, member));
}

bool flag_in(const Object& object, std::string_view member) {
  const Dynamic* value = object.if_contains(member);
  return value != nullptr && value->is_bool() && value->get_bool();
}

std::int64_t whole_in(const Object& object, std::string_view member) {
  const Dynamic* value = object.if_contains(member);
  return value != nullptr && value->is_int64() ? value->get_int64() : 0;
}

double number_in(const Object& object, std::string_view member) {
  const Dynamic* value = object.if_contains(member);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::string sentence_of(const Object& error) {
  const std::string type = text_of(error, "type");
  return (type.empty() ? "AgentError" : type) + ": " + text_of(error, "message");
}

Object make_error(std::string_view code, std::string_view type, std::string_view message,
                  bool retryable) {
  return {{"code", code}, {"type", type}, {"message", message}, {"retryable", retryable}};
}

Object failed_result(Object error) {
  return {{"finish_reason", "error"}, {"error", std::move(error)}};
}

bool is_empty(const Object& result) {
  const Dynamic* output = result.if_contains("output");
  if (output != nullptr && templates::is_true(*output)) return false;
  const Dynamic* content = result.if_contains("content");
  return content == nullptr || !content->is_string() || is_blank(content->get_string());
}

double retry_after_of(const Object& result) {
  const Object* limits = object_in(result, "rate_limit");
  if (limits == nullptr) return 0;
  return std::max(0.0, number_of(limits->if_contains("retry_after")).value_or(0));
}

std::size_t length_of(const Object& result) {
  if (const Dynamic* content = result.if_contains("content");
      content != nullptr && content->is_string()) {
    return content->get_string().size();
  }
  return json::to_json(payload_of(result)).size();
}

Spent spent_by(const Object& result) {
  Spent spent{.api_calls = 1, .cost = cost_of(result)};
  if (const Object* usage = object_in(result, "usage")) {
    if (const Dynamic* calls = usage->if_contains("api_calls");
        calls != nullptr && calls->is_int64()) {
      spent.api_calls = calls->get_int64();
    }
  }
  return spent;
}

Object with_sums(Object result, const std::vector<Object>& all) {
  if (all.empty()) return result;
  Object usage;
  double cost = 0;
  bool has_usage = false;
  bool has_cost = false;
  std::int64_t api_calls = 0;
  for (const Object& one : all) {
    if (const Object* told = object_in(one, "usage")) {
      has_usage = true;
      add_counts(usage, *told);
    }
    has_cost = has_cost || one.if_contains("cost") != nullptr;
    cost += cost_of(one);
    api_calls += spent_by(one).api_calls;
  }
  if (has_usage) {
    if (all.size() > 1) usage["api_calls"] = api_calls;
    result["usage"] = std::move(usage);
  }
  if (has_cost && all.size() == 1) {
    result["cost"] = *all.front().if_contains("cost");
  } else if (has_cost && std::isfinite(cost)) {
    result["cost"] = cost;
  }
  return result;
}

}  // namespace treaty::machines
