#include "treaty/cli/shared/tool_process.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace treaty::cli {
namespace {

ProcessRun run(const std::string& command, std::string_view input = "",
               const ProcessLimits& limits = {}) {
  return run_process(command, input, {{"TREATY_TOOL_ARGUMENTS", "{\"a\": \"$(id) `id`\"}"}}, limits,
                     -1);
}

}  // namespace

TEST_CASE("a command reads its input and its variables, and what it writes is kept") {
  const ProcessRun ran = run("cat; printf '|%s' \"$TREATY_TOOL_ARGUMENTS\"; echo oh >&2; exit 3",
                             "{\"x\": \"$(id)\"}");

  CHECK(ran.end == ProcessEnd::exited);
  CHECK(ran.code == 3);
  CHECK(ran.output == "{\"x\": \"$(id)\"}|{\"a\": \"$(id) `id`\"}");
  CHECK(ran.errors == "oh\n");
}

TEST_CASE("a command that does not read its input does no harm") {
  const std::string much(std::size_t{4} << 20U, 'x');

  const ProcessRun ran = run("exec <&-; echo done", much);

  CHECK(ran.end == ProcessEnd::exited);
  CHECK(ran.output == "done\n");
}

TEST_CASE("more input than a pipe holds goes through") {
  const std::string much(std::size_t{512} << 10U, 'x');

  CHECK(run("cat", much).output == much);
}

TEST_CASE("a command that takes too long is ended with what it has started") {
  const ProcessRun ran = run("sleep 1000 & sleep 1000", "", {.time = std::chrono::milliseconds(1)});

  CHECK(ran.end == ProcessEnd::timed_out);
}

TEST_CASE("a command that writes without end is ended") {
  const ProcessRun ran = run("exec yes", "", {.output_bytes = 1000});

  CHECK(ran.end == ProcessEnd::too_large);
}

TEST_CASE("of stderr the end is kept") {
  const ProcessRun ran = run("printf '%s' 0123456789 >&2", "", {.error_bytes = 4});

  CHECK(ran.errors == "6789");
}

TEST_CASE("a command that leaves something behind has ended nevertheless") {
  const ProcessRun ran = run("sleep 1000 & echo $!");

  CHECK(ran.end == ProcessEnd::exited);
  kill(std::stoi(ran.output), SIGKILL);
}

TEST_CASE("a command that a signal ended tells which") {
  const ProcessRun ran = run("kill -15 $$");

  CHECK(ran.end == ProcessEnd::killed);
  CHECK(ran.code == 15);
}

TEST_CASE("whoever waits may have it ended") {
  const int interrupt = eventfd(1, EFD_CLOEXEC);

  const ProcessRun ran = run_process("sleep 1000", "", {}, {}, interrupt);

  CHECK(ran.end == ProcessEnd::interrupted);
  close(interrupt);
}

}  // namespace treaty::cli
