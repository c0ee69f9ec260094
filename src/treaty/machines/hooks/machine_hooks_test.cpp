#include "treaty/machines/hooks/machine_hooks.h"

#include <doctest/doctest.h>

#include <boost/json/array.hpp>
#include <stdexcept>

#include "treaty/testing/stores/awaiting.h"

namespace treaty::machines {
namespace {

using boost::json::array;
using boost::json::object;
using Answer = std::expected<HookReply, std::string>;

Answer tell(std::shared_ptr<MachineHooks> hooks, const HookEvent& event) {
  boost::asio::io_context context(1);
  const auto hook = make_hook(std::move(hooks));
  CHECK(!hook->is_outside());
  return testing::await(context, hook->handle(event));
}

HookEvent event_of(std::string_view kind, const object& more) {
  HookEvent event = {{"event", kind}, {"execution_id", "x1"}};
  for (const auto& [name, value] : more) event[name] = value;
  event["context"] = object{{"a", 1}, {"b", object{{"c", array{1, 2}}}}, {"gone", true}};
  return event;
}

const std::vector<HookEvent> kAllEvents = {
    event_of("machine_start", {}),
    event_of("machine_end", {{"output", object{{"x", 1}}}}),
    event_of("state_enter", {{"state", "s"}}),
    event_of("state_exit", {{"state", "s"}, {"output", object{{"content", "hi"}}}}),
    event_of("transition", {{"from", "s"}, {"to", "t"}}),
    event_of(
        "error",
        {{"state", "s"}, {"error", "E: m"}, {"error_info", object{{"code", "c"}, {"state", "s"}}}}),
    event_of("action", {{"state", "s"}, {"action", "act"}}),
    event_of("tool_calls", {{"state", "s"}, {"tool_calls", array{object{{"id", "1"}}}}}),
    event_of("tool_result", {{"state", "s"}, {"tool_result", object{{"name", "t"}}}}),
};

// Notes what it is called with, and changes each context and each answer.
class Busy final : public MachineHooks {
 public:
  std::vector<std::string> calls{};

  void on_machine_start(Json& context) override { note("machine_start", context); }
  Json on_machine_end(Json& context, Json output) override {
    note("machine_end", context);
    output.as_object()["x"] = 2;
    return output;
  }
  void on_state_enter(std::string_view state, Json& context) override {
    note("state_enter " + std::string(state), context);
  }
  Json on_state_exit(std::string_view state, Json& context, Json output) override {
    note("state_exit " + std::string(state) + " " + std::string(output.at("content").as_string()),
         context);
    return "elsewhere";
  }
  std::string on_transition(std::string_view from, std::string_view to, Json& context) override {
    note("transition " + std::string(from) + " " + std::string(to), context);
    return "elsewhere";
  }
  std::optional<std::string> on_error(std::string_view state, const Json& error,
                                      Json& context) override {
    note("error " + std::string(state) + " " + std::string(error.at("code").as_string()), context);
    return "rescue";
  }
  void on_action(std::string_view state, std::string_view action, Json& context) override {
    note("action " + std::string(state) + " " + std::string(action), context);
  }
  void on_tool_calls(std::string_view state, const Json& tool_calls, Json& context) override {
    note("tool_calls " + std::string(state) + " " + std::to_string(tool_calls.as_array().size()),
         context);
  }
  void on_tool_result(std::string_view state, const Json& tool_result, Json& context) override {
    note(
        "tool_result " + std::string(state) + " " + std::string(tool_result.at("name").as_string()),
        context);
  }

 private:
  void note(std::string call, Json& context) {
    calls.push_back(std::move(call));
    context.as_object()["a"] = 2;
    context.as_object()["new"] = nullptr;
    context.as_object().erase("gone");
  }
};

TEST_CASE("A class that overrides nothing changes nothing") {
  for (const HookEvent& event : kAllEvents) {
    const Answer answer = tell(std::make_shared<MachineHooks>(), event);
    REQUIRE(answer);
    CHECK(answer->empty());
  }
}

TEST_CASE("Each event calls its method with what it brings") {
  const auto busy = std::make_shared<Busy>();

  for (const HookEvent& event : kAllEvents) CHECK(tell(busy, event));

  CHECK(busy->calls == std::vector<std::string>{"machine_start", "machine_end", "state_enter s",
                                                "state_exit s hi", "transition s t", "error s c",
                                                "action s act", "tool_calls s 1",
                                                "tool_result s t"});
}

TEST_CASE("A reply has what was changed in the context, what was removed, and no more") {
  for (const HookEvent& event : kAllEvents) {
    const Answer answer = tell(std::make_shared<Busy>(), event);
    REQUIRE(answer);
    CHECK(answer->at("context") == Json(object{{"a", 2}, {"new", nullptr}}));
    CHECK(answer->at("unset") == Json(array{"gone"}));
  }
}

TEST_CASE("What methods return is in the reply under the event's own name") {
  const auto reply = [](std::size_t event) {
    return *tell(std::make_shared<Busy>(), kAllEvents.at(event));
  };

  CHECK(reply(1).at("output") == Json(object{{"x", 2}}));
  CHECK(reply(3).at("output") == Json("elsewhere"));
  CHECK(reply(4).at("to_state") == Json("elsewhere"));
  CHECK(reply(5).at("recovery_state") == Json("rescue"));
}

TEST_CASE("A state without output has none in its hook either") {
  class Seen final : public MachineHooks {
   public:
    Json on_state_exit(std::string_view /*state*/, Json& context, Json output) override {
      context.as_object()["was_null"] = output.is_null();
      return output;
    }
  };

  const Answer answer = tell(std::make_shared<Seen>(), event_of("state_exit", {{"state", "s"}}));

  REQUIRE(answer);
  CHECK(Json(*answer) == Json(object{{"context", object{{"was_null", true}}}}));
}

TEST_CASE("What a method throws is the hook's failure") {
  class Thrower final : public MachineHooks {
   public:
    void on_state_enter(std::string_view /*state*/, Json& /*context*/) override {
      throw std::runtime_error("out of order");
    }
    void on_action(std::string_view /*state*/, std::string_view /*action*/,
                   Json& context) override {
      context = 7;
    }
  };

  const Answer thrown = tell(std::make_shared<Thrower>(), kAllEvents.at(2));
  const Answer ruined = tell(std::make_shared<Thrower>(), kAllEvents.at(6));

  REQUIRE(!thrown);
  CHECK(thrown.error() == "the hook failed: out of order");
  REQUIRE(!ruined);
  CHECK(ruined.error().contains("not an object"));
}

}  // namespace
}  // namespace treaty::machines
