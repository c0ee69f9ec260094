#include "treaty/assistant/composer.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/contracts/text/internals.h"
#include "treaty/contracts/text/leaks.h"

namespace treaty::assistant {
namespace {

// --- Reading an input of any shape: what is not there, or not what it should be, is absent -----

// A value that may be absent. Looking into something that is no object finds nothing.
class Part {
 public:
  Part() = default;
  explicit Part(std::optional<json::Value> value) : value_(value) {}

  Part operator[](std::string_view name) const;

  bool there() const { return value_.has_value(); }
  bool is_null() const { return value_ && value_->is_null(); }
  bool is_true() const { return value_ && value_->is_boolean() && value_->boolean(); }
  bool is_string() const { return value_ && value_->is_string(); }
  bool is(std::string_view text) const { return is_string() && value_->text() == text; }

  // As Python sees it: absent, null, false, 0 and everything empty are not.
  bool truthy() const;

  std::string_view text() const { return is_string() ? value_->text() : std::string_view(); }

  bool is_boolean() const { return value_ && value_->is_boolean(); }
  bool is_object() const { return value_ && value_->is_object(); }

  // As Python's float() reads it: numbers, texts that are one, true and false.
  std::optional<double> number() const;

  // As Python prints a scalar: null is None, true is True. Nothing for lists and objects.
  std::optional<std::string> printed() const;

 private:
  std::optional<json::Value> value_;
};

// Digits with single underscores between them, and all else that a JSON number may have, are what
// float() takes; besides, it knows infinity and nan by name.
std::optional<double> read_float(std::string_view text) {
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool between =
        i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] == '_' && between) continue;
    digits.push_back(to_lower(text[i]));
  }
  std::string_view number = digits;
  if (number.starts_with('+') || number.starts_with('-')) number.remove_prefix(1);
  const bool named = number == "inf" || number == "infinity" || number == "nan";
  const bool plain = number.find_first_not_of("0123456789.e+-") == std::string_view::npos &&
                     !number.empty() && (is_digit(number[0]) || number[0] == '.');
  if (!named && !plain) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  return value;
}

Part Part::operator[](std::string_view name) const {
  if (!value_ || !value_->is_object()) return Part();
  return Part(value_->members().find(name));
}

bool Part::truthy() const {
  if (!value_) return false;
  switch (value_->type()) {
    case json::Type::null: return false;
    case json::Type::boolean: return value_->boolean();
    case json::Type::integer:
    case json::Type::decimal: return value_->number() != 0;
    case json::Type::string: return !value_->text().empty();
    case json::Type::array: return !value_->elements().empty();
    case json::Type::object: return !value_->members().empty();
  }
  return false;
}

std::optional<double> Part::number() const {
  if (!value_) return std::nullopt;
  if (value_->is_number()) return value_->number();
  if (value_->is_boolean()) return value_->boolean() ? 1.0 : 0.0;
  if (!value_->is_string()) return std::nullopt;
  return read_float(trimmed(value_->text()));
}

std::optional<std::string> Part::printed() const {
  if (!value_) return std::nullopt;
  switch (value_->type()) {
    case json::Type::null: return "None";
    case json::Type::boolean: return value_->boolean() ? "True" : "False";
    case json::Type::integer: return std::string(value_->source());
    case json::Type::decimal: return json::decimal_text(value_->number());
    case json::Type::string: return std::string(value_->text());
    case json::Type::array:
    case json::Type::object: break;
  }
  return std::nullopt;
}

using contracts::ConfidenceLevel;

constexpr double kHigh = 0.8;    // At least this is high,
constexpr double kMedium = 0.5;  // at least this medium.

struct Sources {
  Part summary;
  Part task;
  Part routing;
  Part status;  // execution_status.
};

// --- Texts ------------------------------------------------------------------------------------

// What a template prints for one of its places.
class Texts {
 public:
  explicit Texts(ComposeProfile profile, bool plain = false) : profile_(profile), plain_(plain) {}

  // Whether a text is there at all. In strict another type counts as absent; the deployed composer
  // took every value that Python finds true.
  bool there(const Part& part) const {
    if (profile_ == ComposeProfile::strict) return !part.text().empty();
    return part.truthy() && part.printed().has_value();
  }

  // Compat prints what it finds as Python does: None for null, a blank text as it is.
  std::string shown(const Part& part, std::string_view otherwise) const {
    if (profile_ == ComposeProfile::compat) return part.printed().value_or(std::string(otherwise));
    return usable(part) ? std::string(part.text()) : std::string(otherwise);
  }

  // Whether to take this source or go on to the next.
  bool usable(const Part& part) const {
    if (plain_ || !there(part)) return false;
    if (profile_ == ComposeProfile::compat) return true;
    // ARL-09 holds for all that a producer writes, whichever place it came from.
    return !is_blank(part.text()) && contracts::find_internals(part.text()).empty();
  }

 private:
  ComposeProfile profile_;
  bool plain_;  // Nothing of the input is shown.
};

constexpr std::string_view kItem = "item";

std::string description_of(const Sources& input, const Texts& texts) {
  std::string description(kItem);
  for (const Part& part :
       {input.task["parameters"]["message"], input.task["parameters"]["query"]}) {
    if (!texts.usable(part)) continue;
    description = texts.shown(part, kItem);
    break;
  }
  // A message that says "item" is no description either.
  const Part summary = input.summary["summary"];
  return description == kItem && texts.usable(summary) ? texts.shown(summary, kItem) : description;
}

// --- State ------------------------------------------------------------------------------------

struct StateChoice {
  State state;
  std::string why;
};

// The first that holds; exact and case-sensitive.
StateChoice choose_state(const Sources& input, const Texts& texts) {
  if (input.status["status"].is("error")) {
    return {State::task_failed, "execution_status.status is \"error\""};
  }
  if (input.status["status"].is("clarification_needed")) {
    return {State::clarification_needed, "execution_status.status is \"clarification_needed\""};
  }
  if (input.status["deferred"].truthy()) {
    return {State::task_deferred, "execution_status.deferred is set"};
  }
  if (!texts.there(input.task["task_type"])) return {State::fallback, "nothing else holds"};
  if (!texts.there(input.task["parameters"]["datetime"])) {
    return {State::task_created, "task.task_type is set, task.parameters.datetime is not"};
  }
  return {State::task_scheduled, "task.task_type and task.parameters.datetime are set"};
}

void fill_templates(contracts::AssistantResponse& response, State state, const Sources& input,
                    const Texts& texts) {
  const std::string type = texts.shown(input.task["task_type"], "task");
  switch (state) {
    case State::task_created:
      response.assistant_message =
          fmt::format("I've created a {} task for you: {}.", type, description_of(input, texts));
      response.action_taken = fmt::format("Created {} task with priority {}.", type,
                                          texts.shown(input.task["priority"], "normal"));
      response.next_steps = {"Review task details", "Modify if needed"};
      return;
    case State::task_scheduled: {
      const std::string datetime =
          texts.shown(input.task["parameters"]["datetime"], "unspecified time");
      response.assistant_message = fmt::format("I've scheduled your {} for {}.", type, datetime);
      response.action_taken = fmt::format("Scheduled {} at {}.", type, datetime);
      response.next_steps = {"Check calendar", "Set reminder"};
      return;
    }
    case State::task_deferred:
      response.assistant_message = "I've noted that down but haven't scheduled it yet.";
      response.action_taken = "Deferred task creation.";
      response.next_steps = {"Provide time to schedule", "Add more details"};
      return;
    case State::task_failed:
      response.assistant_message = "I encountered an issue while processing your request.";
      response.action_taken = fmt::format("Failed to execute task: {}.",
                                          texts.shown(input.status["error"], "unknown error"));
      response.next_steps = {"Retry with clear instructions", "Check system status"};
      return;
    case State::clarification_needed:
      response.assistant_message = fmt::format(
          "I need a bit more information to proceed. {}",
          texts.shown(input.status["clarification_prompt"], "Could you provide more details?"));
      response.action_taken = "Requested clarification.";
      response.next_steps = {"Provide missing details"};
      return;
    case State::fallback: break;
  }
  response.assistant_message = contracts::kMessageFallback;
  response.action_taken = contracts::kActionFallback;
}

// --- Confidence -------------------------------------------------------------------------------

struct Confidence {
  Part value;
  bool verified = false;
  std::string_view source;
};

// The block that says what was verified: routing's, if it has one, else that of execution_status.
Part trust_of(const Sources& input) {
  const Part trust = input.routing["trust"];
  return trust.is_object() ? trust : input.status["trust"];
}

// What was verified first counts, even when it then has no value to give.
Confidence verified_confidence(const Sources& input) {
  const Part trust = trust_of(input);
  if (trust["confidence_verified"].is_true()) {
    return {trust["confidence"], true, "trust.confidence, verified"};
  }
  if (input.routing["confidence_verified"].is_true()) {
    return {input.routing["verified_confidence"], true, "routing.verified_confidence"};
  }
  if (input.status["confidence_verified"].is_true()) {
    return {input.status["verified_confidence"], true, "execution_status.verified_confidence"};
  }
  return {};
}

Confidence find_confidence(const Sources& input, ComposeProfile profile) {
  const Confidence verified = verified_confidence(input);
  if (verified.value.there() && !verified.value.is_null()) return verified;
  const std::array<std::pair<Part, std::string_view>, 2> claimed = {
      {{input.task["confidence"], "task.confidence"},
       {input.routing["confidence"], "routing.confidence"}}};
  for (const auto& [value, source] : claimed) {
    // Compat lets 0, false, null and everything empty fall through; strict what is no value at all.
    const bool given = profile == ComposeProfile::compat
                           ? value.truthy()
                           : value.there() && !value.is_null() && !value.is_boolean();
    if (given) return {value, false, source};
  }
  return {.value = Part(), .source = "nothing given, 1.0"};
}

ConfidenceLevel level_of(const Confidence& confidence) {
  if (!confidence.value.there()) return ConfidenceLevel::high;
  const auto number = confidence.value.number();
  if (!number) return ConfidenceLevel::medium;
  if (*number >= kHigh) return ConfidenceLevel::high;
  return *number >= kMedium ? ConfidenceLevel::medium : ConfidenceLevel::low;
}

// Strict: who failed, or has to ask, is not sure of itself, unless someone verified that it is.
ConfidenceLevel capped(ConfidenceLevel level, State state) {
  if (state == State::task_failed) return ConfidenceLevel::low;
  if (state == State::clarification_needed) return std::max(level, ConfidenceLevel::medium);
  return level;
}

// --- Trace ------------------------------------------------------------------------------------

struct Trace {
  std::string id;
  std::string_view source;
};

// Of what was verified the first counts; one that is not a text is as good as none.
Trace verified_trace(const Sources& input) {
  const Part trust = trust_of(input);
  if (trust["trace_ref_verified"].is_true()) {
    return {std::string(trust["trace_ref"].text()), "trust.trace_ref, verified"};
  }
  if (const Part id = input.routing["verified_trace_id"]; id.is_string()) {
    return {std::string(id.text()), "routing.verified_trace_id"};
  }
  return {std::string(input.status["verified_trace_id"].text()),
          "execution_status.verified_trace_id"};
}

Trace find_trace(const Sources& input, ComposeProfile profile,
                 const std::function<std::string()>& new_id) {
  const auto is_nothing = [&](std::string_view text) {
    if (profile == ComposeProfile::compat) return text.empty();
    return is_blank(text) || !contracts::find_leak(text).empty();
  };
  Trace verified = verified_trace(input);
  if (!is_nothing(verified.id)) return verified;
  const std::array<std::pair<Part, std::string_view>, 4> candidates = {
      {{input.status["trace_id"], "execution_status.trace_id"},
       {input.task["trace_id"], "task.trace_id"},
       {input.summary["trace_id"], "summary.trace_id"},
       {input.routing["trace_id"], "routing.trace_id"}}};
  for (const auto& [value, source] : candidates) {
    if (!value.truthy() || (value.is_string() && is_nothing(value.text()))) continue;
    if (value.is_string()) return {std::string(value.text()), source};
    return {new_id(), "new: what was given is not a string"};
  }
  return {new_id(), "new: none was given"};
}

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::task_created: return "task_created";
    case State::task_scheduled: return "task_scheduled";
    case State::task_deferred: return "task_deferred";
    case State::task_failed: return "task_failed";
    case State::clarification_needed: return "clarification_needed";
    case State::fallback: return "default";
  }
  return "";
}

Composition compose(std::optional<json::Value> input, ComposeProfile profile,
                    const std::function<std::string()>& new_id) {
  const Part top(input);
  const Sources sources{top["summary"], top["task"], top["routing"], top["execution_status"]};
  StateChoice choice = choose_state(sources, Texts(profile));
  Composition composition{
      .response = {}, .state = choice.state, .why_state = std::move(choice.why)};
  contracts::AssistantResponse& response = composition.response;
  fill_templates(response, choice.state, sources, Texts(profile));
  // Parts that pass alone can leak together: "/etc/" and the full stop after it make a path.
  if (profile == ComposeProfile::strict &&
      !(contracts::find_internals(response.assistant_message).empty() &&
        contracts::find_internals(response.action_taken).empty())) {
    fill_templates(response, choice.state, sources, Texts(profile, true));
  }

  const Confidence confidence = find_confidence(sources, profile);
  const ConfidenceLevel level = level_of(confidence);
  const bool cap = profile == ComposeProfile::strict && !confidence.verified;
  response.confidence_level = cap ? capped(level, choice.state) : level;
  composition.why_confidence = confidence.source;
  if (response.confidence_level != level) {
    composition.why_confidence +=
        fmt::format(" ({}), lowered because of the state", contracts::name_of(level));
  }

  Trace trace = find_trace(sources, profile, new_id);
  response.trace_id = std::move(trace.id);
  composition.why_trace_id = trace.source;
  return composition;
}

}  // namespace treaty::assistant
