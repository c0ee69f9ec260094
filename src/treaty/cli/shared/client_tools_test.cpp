#include "treaty/cli/shared/client_tools.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "treaty/base/json.h"

namespace treaty::cli {
namespace {

using process::Reading;
using process::Run;
using std::chrono::milliseconds;
using tools::ToolOutcome;

std::string result(std::string output) {
  const auto outcome =
      contract_outcome(outcome_of("look", Run{.output = std::move(output)}, milliseconds(1)));
  const auto* found = std::get_if<contracts::ResultJson>(&outcome);
  return found == nullptr ? "failed" : found->text;
}

std::string failure(const ToolRun& run) {
  const ToolOutcome outcome = outcome_of("look", run, milliseconds(1500));
  CHECK(contract_outcome(outcome) ==
        decltype(contract_outcome(outcome))(contracts::ErrorMessage{outcome.content}));
  return outcome.is_error ? outcome.content : "";
}

std::optional<ToolOutcome> ran(const std::string& command, const std::string& arguments = "{}",
                               milliseconds time_limit = std::chrono::minutes(1),
                               int interrupt = -1) {
  ToolCommands commands({.commands = {{"look", command}}, .time_limit = time_limit});
  return run_here(commands, {.id = "1", .name = "look", .arguments = arguments}, interrupt);
}

std::string output_of(const std::string& command, const std::string& arguments = "{}") {
  const auto outcome = ran(command, arguments);
  REQUIRE(outcome);
  CHECK(!outcome->is_error);
  return outcome->content;
}

std::string failure_of(const std::string& command,
                       milliseconds time_limit = std::chrono::minutes(1)) {
  const auto outcome = ran(command, "{}", time_limit);
  REQUIRE(outcome);
  CHECK(outcome->is_error);
  return outcome->content;
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
  CHECK(output_of("cat; printf ' %s %s %s' \"$TREATY_TOOL_NAME\" \"$TREATY_TOOL_ARGUMENTS\" $0",
                  R"({"a":"; exit 9 $(id) `id`"})") ==
        R"({"a":"; exit 9 $(id) `id`"} look {"a":"; exit 9 $(id) `id`"} sh)");
}

TEST_CASE("a call of a tool without a command fails, and the model reads why") {
  ToolCommands commands({.commands = {{"look", "cat"}}});

  CHECK(commands.has("look"));
  CHECK(!commands.has("other"));
  const auto outcome =
      run_here(commands, {.id = "1", .name = "other", .arguments = "{}"}, -1).value();
  CHECK(outcome.is_error);
  CHECK(outcome.content == tools::no_provider_for("other").content);
}

TEST_CASE("arguments too long for a variable come on stdin alone") {
  const std::string much = R"({"a":")" + std::string(200'000, 'x') + R"("})";

  CHECK(output_of("wc -c; echo ${TREATY_TOOL_ARGUMENTS-none}", much) ==
        std::to_string(much.size()) + "\nnone\n");
}

TEST_CASE("a command that fails is told in its own words") {
  CHECK(failure_of("echo done; echo oh >&2; exit 3") == "oh");
}

TEST_CASE("a command that does not read its input does no harm") {
  CHECK(output_of("exec <&-; echo done", std::string(std::size_t{4} << 20U, 'x')) == "done\n");
}

TEST_CASE("a command that takes too long is ended with what it has started") {
  CHECK(failure_of("sleep 1000 & sleep 1000", milliseconds(1)) ==
        "look was ended after its time limit of 0.001 s");
}

TEST_CASE("a command that writes without end is ended") {
  CHECK(failure_of("exec yes") == "look wrote more than is allowed");
}

TEST_CASE("a command that leaves something behind has ended nevertheless, and that lives on") {
  CHECK(kill(std::stoi(output_of("sleep 1000 & echo $!")), SIGKILL) == 0);
}

TEST_CASE("a command that a signal ended tells which") {
  CHECK(failure_of("kill -15 $$") == "look was ended by signal 15");
}

TEST_CASE("whoever waits may have a command ended") {
  const FileDescriptor interrupt(eventfd(1, EFD_CLOEXEC));

  CHECK(!ran("sleep 1000", "{}", std::chrono::minutes(1), interrupt.get()));
}

}  // namespace treaty::cli
