// A hook sees what happens in a machine and may answer: change the context, replace an output,
// redirect (machines.md section 8).
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/object.hpp>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace treaty::machines {

// `event`, `execution_id`, and the payload of that event. In this order.
using HookEvent = boost::json::object;

// {} : nothing. `context`, `unset`, `output`, `to_state`, `recovery_state` as the event allows.
using HookReply = boost::json::object;

// Thread rule: called on the event loop of the execution, one event at a time.
//
//   class Veto final : public Hook {
//     awaitable<std::expected<HookReply, std::string>> handle(const HookEvent& event) override {
//       if (text_in(event, "to") != "publish") co_return HookReply{};
//       co_return HookReply{{"to_state", "review"}};
//     }
//   };
//   registry["veto"] = [](const HookOrder&) { return std::make_shared<Veto>(); };
class Hook {
 public:
  virtual ~Hook() = default;

  // The error is what went wrong, for people. Cancelling the coroutine ends it.
  virtual boost::asio::awaitable<std::expected<HookReply, std::string>> handle(
      const HookEvent& event) = 0;

  // Whether it reaches outside of the process: what happened before is on the disk first.
  virtual bool is_outside() const { return false; }
};

struct HookOrder {
  const boost::json::object& arguments;
  const std::string& directory;  // Of the machine's file.
  // Whether the machine has that state. Lives as long as the hook; none: every name is one.
  std::function<bool(std::string_view)> has_state{};
};

// Makes a hook; the error says what is wrong with the arguments.
using MakeHook = std::function<std::expected<std::shared_ptr<Hook>, std::string>(const HookOrder&)>;
using HookRegistry = std::map<std::string, MakeHook, std::less<>>;

}  // namespace treaty::machines
