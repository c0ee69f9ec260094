#include <doctest/doctest.h>
#include <sys/wait.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <boost/json/array.hpp>
#include <fstream>
#include <optional>

#include "treaty/machines/hooks/built_in_hooks.h"
#include "treaty/testing/stores/awaiting.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::machines {
namespace {

using boost::json::array;
using boost::json::object;
using boost::json::value;
using Answer = std::expected<HookReply, std::string>;

const HookEvent kEnter = {{"event", "state_enter"},
                          {"execution_id", "x1"},
                          {"state", "draft"},
                          {"context", object{{"a", 1}}}};

// A python program as a hook, in a directory of its own.
class Program {
 public:
  explicit Program(std::string_view text, double timeout = 30) {
    std::ofstream(directory_.path() + "/hook.py") << text;
    const object arguments = {{"command", array{"python3", "./hook.py"}}, {"timeout", timeout}};
    auto made = make_command_hook({.arguments = arguments, .directory = directory_.path()});
    REQUIRE(made);
    hook_ = std::move(*made);
  }

  Answer tell(const HookEvent& event = kEnter) {
    return testing::await(context_, hook_->handle(event));
  }
  std::string failure() {
    const Answer answer = tell();
    REQUIRE(!answer);
    return answer.error();
  }

 private:
  testing::TemporaryDirectory directory_{};
  boost::asio::io_context context_{1};
  std::shared_ptr<Hook> hook_{};
};

constexpr std::string_view kEcho = R"(
import json, os, sys
count = 0
for line in sys.stdin:
    event = json.loads(line)
    count += 1
    print(json.dumps({"id": event["id"], "context": {"seen": event, "pid": os.getpid(),
                      "count": count, "cwd": os.getcwd()}}), flush=True)
)";

TEST_CASE("A program sees each event with an id, and its reply is handed on without it") {
  Program program(kEcho);

  const Answer answer = program.tell();

  REQUIRE(answer);
  CHECK(!answer->contains("id"));
  object expected = {{"id", 1}};
  for (const auto& [name, member] : kEnter) expected[name] = member;
  CHECK(answer->at("context").at("seen") == value(expected));
}

TEST_CASE("One process serves all events of a run") {
  Program program(kEcho);

  const Answer first = program.tell();
  const Answer second = program.tell();

  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->at("context").at("pid") == second->at("context").at("pid"));
  CHECK(second->at("context").at("count").to_number<int>() == 2);
  CHECK(second->at("context").at("seen").at("id").to_number<int>() == 2);
}

TEST_CASE("An event that is larger than a pipe's buffer arrives, and so does its echo") {
  Program program(kEcho);
  HookEvent event = kEnter;
  event["context"] = object{{"long", std::string(3'000'000, 'x')}};

  const Answer answer = program.tell(event);

  REQUIRE(answer);
  CHECK(answer->at("context").at("seen").at("context") == event["context"]);
}

TEST_CASE("A program that dies at once is named, with its status and its last words") {
  Program program("raise SystemExit('no licence')");

  CHECK(program.failure() ==
        "the hook `python3 ./hook.py` ended with exit status 1 before it answered: no licence");
}

TEST_CASE("A program that dies in the middle fails that event; the next one begins it again") {
  Program program(R"(
import json, os, sys
for line in sys.stdin:
    event = json.loads(line)
    if event["state"] == "bad": os.kill(os.getpid(), 9)
    print(json.dumps({"id": event["id"], "context": {"pid": os.getpid()}}), flush=True)
)");
  HookEvent bad = kEnter;
  bad["state"] = "bad";

  const Answer first = program.tell();
  const Answer second = program.tell(bad);
  const Answer third = program.tell();

  REQUIRE(first);
  REQUIRE(!second);
  CHECK(second.error().contains("ended with signal 9 (Killed)"));
  REQUIRE(third);
  CHECK(first->at("context").at("pid") != third->at("context").at("pid"));
}

TEST_CASE("A program that hangs is ended, and the message says how long it had") {
  Program program("import time\ntime.sleep(1000)", 0.2);

  CHECK(program.failure() == "the hook `python3 ./hook.py` did not answer within 0.2 s");
}

TEST_CASE("A program that closes its output but lives has not answered") {
  Program program("import os, time\nos.close(1)\ntime.sleep(1000)");

  CHECK(program.failure() == "the hook `python3 ./hook.py` closed its output before it answered");
}

TEST_CASE("An answer that is nonsense is refused, and the message says in which way") {
  const auto failure_of = [](std::string_view answer) {
    return Program("import sys\nsys.stdin.readline()\nprint('''" + std::string(answer) +
                   "''', flush=True)\nsys.stdin.readline()")
        .failure();
  };

  CHECK(failure_of("hello").contains("not JSON"));
  CHECK(failure_of("").contains("not JSON"));
  CHECK(failure_of("{\"id\": 1, \"id\": 1}").contains("not JSON"));
  CHECK(failure_of("{\"id\": 1, \"context\": NaN}").contains("not JSON"));
  CHECK(failure_of("[1]").contains("not an object"));
  CHECK(failure_of("{\"id\": 2}").contains("another id than 1"));
  CHECK(failure_of("{\"id\": \"1\"}").contains("another id than 1"));
  CHECK(failure_of("{\"id\": 1.5}").contains("another id than 1"));
  CHECK(failure_of("{\"context\": {}}").contains("without the id 1"));
}

TEST_CASE("A line without end is given up at 16 MiB") {
  Program program("import sys\nwhile True: sys.stdout.write('x' * 65536)");

  CHECK(program.failure().contains("more than 16 MiB"));
}

TEST_CASE("A program may write to stderr as much as it likes") {
  Program program(R"(
import json, sys
for line in sys.stdin:
    for _ in range(20000): sys.stderr.write("a warning that nobody reads\n")
    print(json.dumps({"id": json.loads(line)["id"]}), flush=True)
)");

  CHECK(program.tell());
  CHECK(program.tell());
}

TEST_CASE("A key in a program's last words does not get into the message") {
  Program program("raise SystemExit('bad key sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD')");

  CHECK(!program.failure().contains("abcdefghijklmnopqrstuvwxyz"));
}

TEST_CASE("Arguments of a command are checked before anything is started") {
  const std::string directory = ".";
  const auto fault_of = [&directory](const object& arguments) {
    const auto made = make_command_hook({.arguments = arguments, .directory = directory});
    return made ? std::string() : made.error();
  };

  CHECK(fault_of({{"command", array{"true"}}}).empty());
  CHECK(fault_of({}).contains("args.command is not a list of words"));
  CHECK(fault_of({{"command", "true"}}).contains("args.command is not a list of words"));
  CHECK(fault_of({{"command", array{}}}).contains("args.command is not a list of words"));
  CHECK(fault_of({{"command", array{1}}}).contains("args.command is not a list of words"));
  CHECK(fault_of({{"command", array{""}}}).contains("begins with an empty word"));
  CHECK(fault_of({{"command", array{"true"}}, {"timeout", 0}}).contains("args.timeout"));
  CHECK(fault_of({{"command", array{"true"}}, {"timeout", "5"}}).contains("args.timeout"));
  CHECK(fault_of({{"command", array{"true"}}, {"timout", 5}}).contains("did you mean timeout?"));
}

TEST_CASE("A cancelled event ends at once, and the program with it") {
  const testing::TemporaryDirectory directory;
  const object arguments = {{"command", array{"sleep", "1000"}}, {"timeout", 1000}};
  const auto hook = make_command_hook({.arguments = arguments, .directory = directory.path()});
  REQUIRE(hook);
  boost::asio::io_context context(1);
  boost::asio::cancellation_signal signal;
  std::optional<Answer> answer;

  boost::asio::co_spawn(context, (*hook)->handle(kEnter),
                        boost::asio::bind_cancellation_slot(
                            signal.slot(), [&](const std::exception_ptr& failure, Answer outcome) {
                              CHECK(!failure);
                              answer = std::move(outcome);
                            }));
  boost::asio::post(context, [&] { signal.emit(boost::asio::cancellation_type::terminal); });
  context.run();

  REQUIRE(answer);
  REQUIRE(!*answer);
  CHECK(answer->error().contains("was not waited for any longer"));
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("A program that is not there fails the event") {
  const object arguments = {{"command", array{"./no-such-hook"}}};
  const std::string directory = "/";
  const auto hook = make_command_hook({.arguments = arguments, .directory = directory});
  REQUIRE(hook);
  boost::asio::io_context context(1);

  const Answer answer = testing::await(context, (*hook)->handle(kEnter));

  REQUIRE(!answer);
  CHECK(answer.error().contains("cannot be started"));
}

}  // namespace
}  // namespace treaty::machines
