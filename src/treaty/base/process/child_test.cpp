#include "treaty/base/process/child.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>

#include "treaty/testing/stores/awaiting.h"
#include "treaty/testing/temporary_directory.h"

namespace treaty::process {
namespace {

namespace asio = boost::asio;
using std::chrono::seconds;
using testing::await;

Time in(std::chrono::milliseconds span) { return std::chrono::steady_clock::now() + span; }
Time at_last() { return in(seconds(30)); }

class Shell {
 public:
  explicit Shell(std::string script, Limits limits = {}) {
    auto started = Child::start(context_.get_executor(),
                                {.words = {"/bin/sh", "-c", std::move(script)}}, limits);
    REQUIRE(started);
    child_ = std::move(*started);
  }

  Reading exchange(std::string_view input, Until until, Time deadline = at_last()) {
    return await(context_, child_->exchange(input, until, deadline));
  }
  std::optional<ExitStatus> wait_for_end() {
    return await(context_, child_->wait_for_end(at_last()));
  }

  Child& operator*() { return *child_; }
  Child* operator->() { return child_.get(); }
  asio::io_context& context() { return context_; }
  void drop() { child_.reset(); }
  void run() {
    context_.restart();
    context_.run();
  }

 private:
  asio::io_context context_{1};
  std::unique_ptr<Child> child_{};
};

bool lives(pid_t pid) { return kill(pid, 0) == 0; }

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST_CASE("A program answers line by line, and what it says early is kept for the next") {
  Shell shell("while read line; do echo \"got $line\"; echo more; done");

  REQUIRE(shell.exchange("one\n", Until::line) == Reading::complete);
  CHECK(shell->take_line() == "got one");
  REQUIRE(shell.exchange("", Until::line) == Reading::complete);
  CHECK(shell->take_line() == "more");
  REQUIRE(shell.exchange("two\n", Until::line) == Reading::complete);
  CHECK(shell->take_line() == "got two");
}

TEST_CASE("Input and output larger than any pipe's buffer pass each other") {
  Shell shell("cat; cat >&2 </dev/null");
  const std::string text(5'000'000, 'x');

  REQUIRE(shell.exchange(text, Until::end) == Reading::complete);

  CHECK(shell->take_output() == text);
  const auto end = shell.wait_for_end();
  REQUIRE(end);
  CHECK(end->code == 0);
}

TEST_CASE("A program that ends without an answer tells how, and its last words") {
  Shell shell("echo first >&2; printf 'the \\033[31mreason\\n\\n' >&2; exit 3");

  CHECK(shell.exchange("question\n", Until::line) == Reading::closed);

  const auto end = shell.wait_for_end();
  REQUIRE(end);
  CHECK(text_of(*end) == "exit status 3");
  CHECK(last_error_line(shell->errors()) == "the  [31mreason");
}

TEST_CASE("A program that is ended by a signal tells which") {
  Shell shell("kill -9 $$");

  CHECK(shell.exchange("", Until::line) == Reading::closed);

  const auto end = shell.wait_for_end();
  REQUIRE(end);
  CHECK(text_of(*end) == "signal 9 (Killed)");
}

TEST_CASE("The end of a program is seen while one that it started keeps its output open") {
  Shell shell("sleep 1000 & exit 4");

  CHECK(shell.exchange("", Until::line) == Reading::closed);

  const auto end = shell.wait_for_end();
  REQUIRE(end);
  CHECK(end->code == 4);
}

TEST_CASE("A program that does not read is given up at the deadline, whatever it was told") {
  Shell shell("exec sleep 1000");
  const std::string text(1'000'000, 'x');

  CHECK(shell.exchange(text, Until::line, in(std::chrono::milliseconds(50))) == Reading::timed_out);
}

TEST_CASE("A program that has closed its input is no reason to end") {
  Shell shell("exec 0<&-; echo done; exec sleep 1000");
  const std::string text(1'000'000, 'x');

  REQUIRE(shell.exchange(text, Until::line) == Reading::complete);
  CHECK(shell->take_line() == "done");
}

TEST_CASE("Output without end stops at the limit, and stderr keeps its end alone") {
  Shell shell("yes bad >&2 & exec yes", {.output_bytes = 100'000, .error_bytes = 1'000});

  CHECK(shell.exchange("", Until::end) == Reading::too_large);
  CHECK(shell->take_output().size() <= 100'000 + (std::size_t{64} << 10U));
}

TEST_CASE("Of stderr the end is kept") {
  Shell shell("printf '%s' 0123456789 >&2", {.error_bytes = 4});

  REQUIRE(shell.exchange("", Until::end) == Reading::complete);
  REQUIRE(shell.wait_for_end());
  CHECK(shell->errors() == "6789");
}

TEST_CASE("One that writes without end and outlives the program holds nobody up") {
  Shell shell("yes >&2 & exit 5");

  REQUIRE(shell.exchange("", Until::end) == Reading::complete);
  CHECK(shell.wait_for_end()->code == 5);
}

TEST_CASE("A cancelled exchange ends at once") {
  Shell shell("exec sleep 1000");
  asio::cancellation_signal signal;
  std::optional<Reading> reading;

  asio::co_spawn(shell.context(), shell->exchange("", Until::line, at_last()),
                 asio::bind_cancellation_slot(
                     signal.slot(), [&](const std::exception_ptr& failure, Reading outcome) {
                       CHECK(!failure);
                       reading = outcome;
                     }));
  asio::post(shell.context(), [&] { signal.emit(asio::cancellation_type::terminal); });
  shell.run();

  CHECK(reading == Reading::cancelled);
}

TEST_CASE("With its owner the whole group of a program goes, and nothing is left open") {
  const std::size_t before = open_descriptors();
  pid_t grandchild = 0;
  {
    Shell shell("sleep 1000 & echo $!; wait");
    REQUIRE(shell.exchange("", Until::line) == Reading::complete);
    grandchild = std::stoi(shell->take_line());
    REQUIRE(lives(grandchild));

    shell.drop();
    shell.run();

    // It is somebody else's to wait for, so it may be seen as a dead one for a moment.
    std::string state = "R";
    while (lives(grandchild) && state != "Z" && state != "X") {
      std::ifstream stat("/proc/" + std::to_string(grandchild) + "/stat");
      std::string number;
      std::string name;
      stat >> number >> name >> state;
    }
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
  CHECK(open_descriptors() == before);
}

TEST_CASE("A program that passes over SIGTERM is killed") {
  Shell shell("trap '' TERM; echo ready; while :; do sleep 1; done");
  REQUIRE(shell.exchange("", Until::line) == Reading::complete);

  shell.drop();
  shell.run();

  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("A program whose event loop goes away is killed at once") {
  {
    Shell shell("trap '' TERM; echo ready; while :; do sleep 1; done");
    REQUIRE(shell.exchange("", Until::line) == Reading::complete);
    shell.drop();
  }
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("A program runs where it is told to, and is looked for there") {
  const testing::TemporaryDirectory directory;
  const std::string path = directory.path() + "/here.sh";
  std::ofstream(path) << "#!/bin/sh\npwd\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  asio::io_context context(1);

  auto child =
      Child::start(context.get_executor(), {.words = {"./here.sh"}, .directory = directory.path()});

  REQUIRE(child);
  REQUIRE(await(context, (*child)->exchange("", Until::line, at_last())) == Reading::complete);
  CHECK(std::filesystem::equivalent((*child)->take_line(), directory.path()));
}

TEST_CASE("A program that is not there is not started, and the message names it") {
  asio::io_context context(1);

  const auto child =
      Child::start(context.get_executor(), {.words = {"./nobody", "--now"}, .directory = "/"});

  REQUIRE(!child);
  CHECK(child.error() == "`./nobody --now` cannot be started in /: No such file or directory");
}

}  // namespace
}  // namespace treaty::process
