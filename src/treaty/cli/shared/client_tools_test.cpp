#include "treaty/cli/shared/client_tools.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "treaty/base/json.h"

namespace treaty::cli {
namespace {

using contracts::ErrorMessage;
using contracts::ResultJson;
using process::Reading;
using process::Run;
using std::chrono::milliseconds;

std::string result(std::string output) {
  const auto outcome = outcome_of("look", Run{.output = std::move(output)}, milliseconds(1));
  const auto* found = std::get_if<ResultJson>(&outcome);
  return found == nullptr ? "failed" : found->text;
}

std::string failure(const ToolRun& run) {
  const auto outcome = outcome_of("look", run, milliseconds(1500));
  const auto* found = std::get_if<ErrorMessage>(&outcome);
  return found == nullptr ? "" : found->text;
}

Run ran(const std::string& command, const std::string& arguments = "{}",
        milliseconds time_limit = std::chrono::minutes(1), int interrupt = -1) {
  auto run =
      run_tool_here({.commands = {{"look", command}}, .time_limit = time_limit},
                    {.tool_call_id = "1", .name = "look", .arguments_json = arguments}, interrupt);
  REQUIRE(run.has_value());
  REQUIRE(run->has_value());
  return **std::move(run);
}

Result<ClientTools> tools_of(std::vector<std::string> words) {
  return read_client_tools({.positionals = {}, .options = {}, .lists = {{"--tool", words}}});
}

}  // namespace

TEST_CASE("output that is JSON is the result as it is, without the white space around it") {
  CHECK(result("{\"a\": 1}\n") == "{\"a\": 1}");
  CHECK(result("  [1, 2]  ") == "[1, 2]");
  CHECK(result("\"text\"\n") == "\"text\"");
  CHECK(result("17\n") == "17");
  CHECK(result("null") == "null");
}

TEST_CASE("any other output is the result as a JSON string, without its last line end") {
  CHECK(result("two words\n") == "\"two words\"");
  CHECK(result("a\n\nb\n\n") == "\"a\\n\\nb\\n\"");
  CHECK(result("{broken") == "\"{broken\"");
  CHECK(result("Grüße \"du\"") == "\"Grüße \\\"du\\\"\"");
}

TEST_CASE("no output is an empty string, not a missing result") {
  CHECK(result("") == "\"\"");
  CHECK(result("\n") == "\"\"");
}

TEST_CASE("output that is no text is a failure that says so") {
  CHECK(failure(Run{.output = "\xff\xfe"}) == "look wrote 2 bytes that are not UTF-8");
}

TEST_CASE("a failure is told in the words of the command, else in ours") {
  CHECK(failure(Run{.exit = {.code = 1}, .errors = "no such file\n"}) == "no such file");
  CHECK(failure(Run{.exit = {.code = 4}, .output = "{}", .errors = " \n"}) ==
        "look ended with exit code 4");
  CHECK(failure(Run{.exit = {.signal = 9}}) == "look was ended by signal 9");
  CHECK(failure(Run{.reading = Reading::timed_out, .errors = "waiting"}) ==
        "look was ended after its time limit of 1.5 s: waiting");
  CHECK(failure(Run{.reading = Reading::too_large}) == "look wrote more than is allowed");
  CHECK(failure(std::unexpected("no memory")) == "look did not start: no memory");
  CHECK(failure(Run{.exit = {.code = 1}, .errors = "a\xff"}) == "a?");
}

TEST_CASE("a tool is a name and a command, each name once") {
  const auto tools = tools_of({"read_file=cat \"$HOME/x=y\"", "now=date"});

  REQUIRE(tools);
  CHECK(tools->commands.at("read_file") == "cat \"$HOME/x=y\"");
  CHECK(tools->commands.at("now") == "date");
  CHECK(!tools_of({"a=b", "a=c"}));
  CHECK(!tools_of({"a"}));
  CHECK(!tools_of({"a= "}));
  CHECK(!tools_of({"=b"}));
  CHECK(!tools_of({"no good=b"}));
}

TEST_CASE("a call runs the command of its name with the arguments on stdin and in a variable") {
  const ClientTools tools{.commands = {{"look",
                                        "cat; printf ' %s %s' \"$TREATY_TOOL_NAME\" "
                                        "\"$TREATY_TOOL_ARGUMENTS\""}}};

  const auto ran = run_tool_here(tools, {"c1", "look", "{\"a\":\"; exit 9\"}"}, -1);
  const auto unknown = run_tool_here(tools, {"c1", "other", "{}"}, -1);

  REQUIRE((ran && *ran));
  CHECK((*ran)->output == "{\"a\":\"; exit 9\"} look {\"a\":\"; exit 9\"}");
  CHECK(!unknown);
}

TEST_CASE("arguments too long for a variable come on stdin alone") {
  const ClientTools tools{.commands = {{"look", "wc -c; echo ${TREATY_TOOL_ARGUMENTS-none}"}}};
  const std::string much = "{\"a\":\"" + std::string(200'000, 'x') + "\"}";

  const auto ran = run_tool_here(tools, {"c1", "look", much}, -1);

  REQUIRE((ran && *ran));
  CHECK((*ran)->output == std::to_string(much.size()) + "\nnone\n");
}

TEST_CASE("a command reads its input and its variables, and what it writes is kept") {
  const Run run = ran("cat; printf '|%s|%s' \"$TREATY_TOOL_ARGUMENTS\" $0; echo oh >&2; exit 3",
                      "{\"x\": \"$(id) `id`\"}");

  CHECK(run.reading == Reading::complete);
  CHECK(run.exit.code == 3);
  CHECK(run.output == "{\"x\": \"$(id) `id`\"}|{\"x\": \"$(id) `id`\"}|sh");
  CHECK(run.errors == "oh\n");
}

TEST_CASE("a command that does not read its input does no harm") {
  const Run run = ran("exec <&-; echo done", std::string(std::size_t{4} << 20U, 'x'));

  CHECK(run.reading == Reading::complete);
  CHECK(run.output == "done\n");
}

TEST_CASE("a command that takes too long is ended with what it has started") {
  CHECK(ran("sleep 1000 & sleep 1000", "{}", milliseconds(1)).reading == Reading::timed_out);
}

TEST_CASE("a command that writes without end is ended") {
  CHECK(ran("exec yes").reading == Reading::too_large);
}

TEST_CASE("a command that leaves something behind has ended nevertheless, and that lives on") {
  const Run run = ran("sleep 1000 & echo $!");

  CHECK(run.reading == Reading::complete);
  CHECK(kill(std::stoi(run.output), SIGKILL) == 0);
}

TEST_CASE("a command that a signal ended tells which") {
  CHECK(ran("kill -15 $$").exit.signal == 15);
}

TEST_CASE("whoever waits may have a command ended") {
  const FileDescriptor interrupt(eventfd(1, EFD_CLOEXEC));

  const Run run = ran("sleep 1000", "{}", std::chrono::minutes(1), interrupt.get());

  CHECK(run.reading == Reading::cancelled);
}

}  // namespace treaty::cli
