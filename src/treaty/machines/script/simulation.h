// The world of a simulated run: agents, tools and hooks that answer what a script says, and a clock
// that jumps. The runner and the store are those of every run.
#pragma once

#include <boost/json/array.hpp>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/machines/run/timeline.h"
#include "treaty/machines/run/world.h"

namespace treaty::machines {

// A script of a simulated run: what agents, tools and hooks answer, which signals are there, and
// where the process shall die (`treaty machine run --script`).
struct Script {
  struct Crash {
    std::string event{};
    std::int64_t step = 0;
  };

  std::map<std::string, List, std::less<>> agents{};  // Answers, in their order.
  std::map<std::string, List, std::less<>> tools{};
  std::map<std::string, std::map<std::string, List, std::less<>>, std::less<>> hooks{};
  std::map<std::string, List, std::less<>> signals{};  // By channel.
  std::optional<Crash> crash{};
};

// JSON or YAML. The error says what is wrong, for people.
std::expected<Script, std::string> read_script(std::string_view text);

// Waiting takes no time; what would run side by side runs in its order, with overlapping time.
class VirtualTimeline final : public Timeline {
 public:
  explicit VirtualTimeline(double unix_now) : unix_at_zero_(unix_now) {}

  double now() const override { return now_; }
  double unix_now() const override { return unix_at_zero_ + now_; }
  double chance() override { return 0; }
  boost::asio::awaitable<bool> wait(double seconds) override;
  boost::asio::awaitable<bool> within(double deadline, Job job) override;
  boost::asio::awaitable<void> together(std::vector<Job> jobs, std::size_t at_once,
                                        std::function<bool()> is_enough) override;
  boost::asio::awaitable<void> alongside(Job job, Job other) override;
  boost::asio::awaitable<void> beside(Job job) override;

  // Something takes so long, or is cut at the deadline. False: it is cut.
  bool spend(double seconds, double deadline);

 private:
  double now_ = 0;
  double unix_at_zero_;
};

class Simulation final : public Agents, public ToolRunner {
 public:
  explicit Simulation(Script script, double unix_now);

  // What was asked before, by earlier processes of the same run: count_asked().
  void go_on_after(std::map<std::string, std::int64_t> asked) { asked_ = std::move(asked); }

  boost::asio::awaitable<Dynamic> call(const AgentCall& call) override;
  boost::asio::awaitable<std::optional<ToolOutcome>> run(const ToolInvocation& call,
                                                         double deadline) override;

  // The script's hooks, and those given; calls of all of them but the silent ones are recorded.
  HookRegistry hooks(const HookRegistry& others);

  Timeline& timeline() { return timeline_; }
  const Script& script() const { return script_; }
  const List& recorded() const { return recorded_; }

  // Ends the process where the script wants it; none when it does not.
  AfterWrite after_write() const;

 private:
  class ScriptedHook;
  class RecordedHook;

  const Dynamic* next(const std::map<std::string, List, std::less<>>& lists, std::string_view kind,
                      const std::string& name);

  Script script_;
  VirtualTimeline timeline_;
  std::map<std::string, std::int64_t> asked_{};
  List recorded_{};
};

}  // namespace treaty::machines
