// `treaty bridge run`: drives a program that asks agents by files.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/bridge/diagnosis/view.h"
#include "treaty/bridge/lookup.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/run_state.h"
#include "treaty/cli/bridge/ask_agent.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/bridge/program.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/bridge/run_end.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_run {
namespace {

using bridge::DriveFault;
using bridge::Exchange;
using bridge::Stage;

constexpr const char* kCommand = "bridge run";

void say(std::string_view text) { print_error("treaty {}: {}\n", kCommand, text); }

// Words are any bytes; a journal is UTF-8.
std::vector<std::string> as_journalled(std::vector<std::string> command) {
  for (std::string& word : command) word = repaired_utf8(word);
  return command;
}

// A signal that asks to leave is for the driver, too. One that a program answers in its own way, or
// passes over, changes nothing: then its end is its end.
bool was_interrupted(const ProgramEnd& end) {
  const bool left_for_it = end.code == bridge::kNeedAgent || end.code == 128 + end.asked_to;
  return end.asked_to != 0 && end.signal == 0 && left_for_it;
}

// How it ended. One that left as if the signal had ended it is told like one that it ended.
json::ObjectText details_of(const ProgramEnd& end) {
  if (end.signal != 0) return {{"signal", end.signal}};
  if (was_interrupted(end) && end.code != bridge::kNeedAgent) return {{"signal", end.asked_to}};
  return {{"code", end.code}};
}

// Where a run may have left something of an exchange in the directory. A place that the request
// names outside of it may be somebody else's by now, and a file that is no answer is.
std::vector<std::string> places_of(const Exchange& exchange, const std::string& directory) {
  std::vector<std::string> places = {
      exchange.request.path, bridge::path_in(directory, bridge::response_name(exchange.suffix))};
  const bool is_inside = std::filesystem::path(exchange.response.path).parent_path() == directory;
  if (is_inside && bridge::is_replaceable(exchange.response)) {
    places.push_back(exchange.response.path);
  }
  return places;
}

int code_of_unstarted(int failure) {
  return failure == ENOENT || failure == ENOTDIR ? kNotFound : kNotStarted;
}

std::string unstarted_text(const std::string& program, int failure) {
  return fmt::format("{} cannot be started: {}", harmless(program), std::strerror(failure));
}

struct DriveOptions {
  std::vector<std::string> command{};  // The program and its arguments.
  std::vector<std::string> words{};    // The options of the run itself, as they were given.
  int most_resumes = bridge::kDefaultMostResumes;
  bool fresh = false;  // An interrupted run is not gone on with.
  AskOptions ask{};
};

// A program, its questions, their answers, the program again.
class Drive {
 public:
  Drive(bridge::Driver& driver, std::unique_ptr<AgentClients> agents, Signals& signals,
        DriveOptions options)
      : driver_(driver),
        agents_(std::move(agents)),
        signals_(signals),
        options_(std::move(options)) {}

  // Drives until the program leaves with anything but 42, or cannot go on; answers the exit code.
  int run() {
    if (const auto begun = begin(); !begun) return finish(begun.error());
    while (true) {
      if (run_.stage == Stage::started) {
        const auto ended = run_program();
        if (!ended) return finish(ended.error());
        if (was_interrupted(*ended)) {
          return finish(
              {128 + ended->asked_to, "interrupted", "interrupted; the same command goes on"});
        }
        if (ended->signal != 0) {
          return finish({ended->exit_code(), "killed",
                         fmt::format("the program was ended by signal {} ({}); the same command "
                                     "goes on with it",
                                     ended->signal, strsignal(ended->signal))});
        }
        if (ended->code != bridge::kNeedAgent) {
          return finish({.exit_code = ended->code, .reason = "exited", .is_final = true});
        }
        run_.stage = Stage::needs;
      }
      if (const auto answered = answer_all(); !answered) return finish(answered.error());
      run_.stage = Stage::started;
    }
  }

 private:
  using End = RunEnd;
  template <class T>
  using Step = std::expected<T, End>;

  Step<void> begin() {
    run_ = bridge::replay_run(driver_.history());
    const bool is_open = run_.stage != Stage::none;
    const bool is_same = is_open && run_.command == as_journalled(options_.command);
    if (is_open && !is_same && !options_.fresh) {
      say(
          fmt::format("a run of another program was interrupted here: {}\n"
                      "Next: continue that run with its own command, or give --fresh, which moves "
                      "its files to the quarantine",
                      harmless(shell_line(run_.command))));
      return std::unexpected(End{.exit_code = kTryLater, .is_refused = true});
    }
    if (auto gone = await_earlier(); !gone) return gone;
    return is_same && !options_.fresh ? go_on() : begin_fresh();
  }

  // Two programs in one directory would take each other's answers.
  Step<void> await_earlier() {
    if (run_.program && bridge::is_running(*run_.program)) {
      say(fmt::format(
          "the program of the interrupted run still runs (process {}); waiting for its end",
          run_.program->pid));
      if (const int signal = wait_for_other_process(*run_.program, signals_)) {
        return std::unexpected(End{128 + signal, "interrupted", "interrupted"});
      }
    }
    run_.program.reset();
    return {};
  }

  Step<void> begin_fresh() {
    run_ = {.stage = Stage::started, .command = options_.command};
    std::error_code ignored;
    auto noted = note("run.started", {{"command", options_.command},
                                      {"options", options_.words},
                                      {"from", std::filesystem::current_path(ignored).string()}});
    if (!noted) return noted;
    return put_leftovers_away();
  }

  bool resumes_by_itself() const {
    return std::ranges::find(options_.command, bridge::kResumeFlag) != options_.command.end();
  }

  // A program that begins finds nothing of an earlier one: neither an answer that it could take for
  // its own, nor a request that it did not make.
  Step<void> put_leftovers_away() {
    if (resumes_by_itself()) return {};
    const auto exchanges = bridge::read_exchanges(driver_.directory());
    if (!exchanges) return std::unexpected(unavailable(exchanges.error()));
    for (const Exchange& exchange : *exchanges) {
      for (const std::string& path : places_of(exchange, driver_.directory())) {
        std::error_code ignored;
        if (!std::filesystem::exists(path, ignored)) continue;
        TREATY_TRY(const auto kept, map_error(driver_.quarantine(path, "leftover"), unavailable));
        say(fmt::format("{} was left by an earlier run and is kept as {}", harmless(path),
                        harmless(kept)));
      }
    }
    return {};
  }

  Step<void> go_on() {
    if (auto noted = note("run.continued"); !noted) return noted;
    if (run_.stage == Stage::over) {
      return std::unexpected(End{
          run_.exit_code, "exited",
          fmt::format("the interrupted run had ended: the program left with {}", run_.exit_code),
          true});
    }
    say(run_.stage == Stage::needs || run_.resumed ? "going on with an interrupted run"
                                                   : "beginning an interrupted run again");
    if (run_.stage == Stage::started && !run_.resumed) return put_leftovers_away();
    is_taken_up_ = true;
    return {};
  }

  Step<ProgramEnd> run_program() {
    if (const auto signal = signals_.take()) {
      return std::unexpected(End{128 + *signal, "interrupted", "interrupted"});
    }
    std::vector<std::string> words = options_.command;
    if (run_.resumed && !resumes_by_itself()) words.emplace_back(bridge::kResumeFlag);
    requests_before_ = bridge::request_files_in(other_places());
    const auto program = BridgeProgram::start(words, driver_.directory());
    if (!program) {
      return std::unexpected(End{code_of_unstarted(program.error()), "not_started",
                                 unstarted_text(words[0], program.error()), !run_.resumed});
    }
    is_taken_up_ = false;
    const auto process = bridge::find_process(program->pid()).value_or(bridge::Process{});
    const auto noted = note("program.started", {{"pid", program->pid()},
                                                {"started", process.started},
                                                {"boot", process.boot},
                                                {"resume", run_.resumed}});
    const ProgramEnd end = program->wait(signals_);  // Whatever became of the journal.
    const auto told = noted ? note("program.exited", details_of(end)) : noted;
    if (!told) {
      // Its own end matters more than the journal's, unless it wants to be run again.
      if (end.signal != 0 || end.code == bridge::kNeedAgent) return std::unexpected(told.error());
      say(told.error().message);
    }
    return end;
  }

  Step<void> answer_all() {
    const auto exchanges = bridge::read_judged_exchanges(driver_.directory());
    if (!exchanges) return std::unexpected(unavailable(exchanges.error()));
    const auto next = bridge::after_need(*exchanges, run_, options_.most_resumes);
    if (const auto* stop = std::get_if<bridge::Stop>(&next)) {
      const bool asked_again = stop->fault == DriveFault::same_request;
      const bool has_none =
          stop->fault == DriveFault::no_request || stop->fault == DriveFault::broken_request;
      if (is_taken_up_ && has_none) return start_again();
      // The driver died before the program could take its answer, or the program asked again and
      // may have been corrected since.
      if (!is_taken_up_ || !asked_again) return std::unexpected(end_of(*stop, *exchanges));
    } else if (const auto* found = std::get_if<bridge::Resume>(&next)) {
      for (const std::size_t place : found->found) {
        if (auto taken = take_found((*exchanges)[place]); !taken) return taken;
      }
    } else {
      for (const std::size_t place : std::get<bridge::AnswerRequests>(next).waiting) {
        if (auto answered = answer((*exchanges)[place]); !answered) return answered;
      }
    }
    run_.resumed = true;
    return {};
  }

  // What it asked was of no use, and nobody has mended it: perhaps the program was.
  Step<void> start_again() {
    if (run_.resumed) return {};
    return put_leftovers_away();
  }

  Step<void> take_found(const Exchange& exchange) {
    say(fmt::format("{}: answered already, in {}", request_text(exchange),
                    harmless(exchange.response.path)));
    const std::string key = bridge::phase_key(exchange);
    ++run_.answers[key];
    const contracts::BridgeResponse& response = *exchange.response.document;
    run_.answered[request_id_of(exchange)] = bridge::answered_question(exchange, response);
    json::ObjectText details = {{"request_id", request_id_of(exchange)},
                                {"phase_key", key},
                                {"file", exchange.response.path}};
    bridge::add_question(details, exchange, response);
    return note("answer.found", std::move(details));
  }

  Step<void> answer(const Exchange& exchange) {
    const AnswerOutcome reply = answer_shown(driver_, *agents_, signals_, exchange, options_.ask);
    if (reply.response) {
      say(answer_line(exchange, *reply.response));
      ++run_.answers[bridge::phase_key(exchange)];
      run_.answered[request_id_of(exchange)] = bridge::answered_question(exchange, *reply.response);
    }
    if (reply.signal != 0) {
      return std::unexpected(
          End{128 + reply.signal, "interrupted", "interrupted; the same command goes on"});
    }
    if (!reply.response) return std::unexpected(End{reply.exit_code, "unavailable", reply.failure});
    return {};
  }

  End end_of(const bridge::Stop& stop, const std::vector<Exchange>& exchanges) const {
    return end_of_stop(stop, exchanges,
                       {.directory = driver_.directory(),
                        .command = options_.command,
                        .words = options_.words,
                        .most_resumes = options_.most_resumes,
                        .request_in = place_of_request()});
  }

  // Where the program wrote a request while it ran, beside the directory that is driven.
  std::string place_of_request() const {
    const auto place =
        bridge::place_of_new_request(requests_before_, bridge::request_files_in(other_places()));
    return place && bridge::has_waiting_request(*place) ? *place : std::string();
  }

  std::vector<std::string> other_places() const {
    std::vector<std::string> places = bridge::places_of_requests(starting_point());
    std::ranges::move(bridge::places_nearby(driver_.directory()), std::back_inserter(places));
    std::erase(places, driver_.directory());
    return places;
  }

  Step<void> note(std::string event, json::ObjectText details = {}) {
    return map_error(driver_.note(std::move(event), std::move(details)), unavailable);
  }

  static End unavailable(const Error& error) {
    return {kUnavailable, "unavailable", text_of(error)};
  }

  int finish(const End& end) {
    if (!end.message.empty()) say(end.message);
    if (end.is_refused) return end.exit_code;
    agents_.reset();  // It takes its time; who is killed meanwhile has not told his end.
    json::ObjectText details = {{"exit", end.exit_code},
                                {"final", end.is_final},
                                {"reason", end.reason},
                                {"message", end.message}};
    if (!end.request_in.empty()) details.add(bridge::kRequestIn, end.request_in);
    const auto noted = driver_.note("run.ended", std::move(details));
    // The next run finds this one open and goes on with it, which is all that is lost.
    if (!noted && end.is_final)
      say(fmt::format("{}: {}", noted.error().where, noted.error().message));
    return end.exit_code;
  }

  bridge::Driver& driver_;
  std::unique_ptr<AgentClients> agents_;
  Signals& signals_;
  DriveOptions options_;
  bridge::RunState run_{};
  bridge::RequestFiles requests_before_{};  // In other places, when the program was started.
  bool is_taken_up_ = false;                // Of an interrupted run nothing has been done yet.
};

Result<DriveOptions> read_options(const Arguments& arguments) {
  DriveOptions options{.command = arguments.positionals, .fresh = arguments.has("--fresh")};
  if (options.command.empty()) {
    return misused("name the program to drive, after --: treaty bridge run -- ./program");
  }
  if (arguments.has("--max-resumes")) {
    options.most_resumes = parse_number<int>(arguments.get("--max-resumes")).value_or(0);
    if (options.most_resumes < 1) return misused("--max-resumes is a number from 1 on");
  }
  TREATY_TRY(auto ask, read_ask_options(kCommand, arguments));
  options.ask = std::move(ask);
  return options;
}

// All but --dir and --fresh, as they were given: for whoever is told how to go on.
std::vector<std::string> words_of(const Arguments& arguments) {
  std::vector<std::string> words;
  const auto add = [&](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  for (const auto& [name, value] : arguments.options) {
    if (name != "--dir" && name != "--fresh") add(name, value);
  }
  for (const auto& [name, values] : arguments.lists) {
    for (const std::string& value : values) add(name, value);
  }
  return words;
}

Result<int> run(const Arguments& arguments, const OpenGateway& open) {
  TREATY_TRY(auto options, read_options(arguments));
  options.words = words_of(arguments);
  TREATY_TRY(const auto directory, resolved_directory(arguments.get("--dir", ".")));
  const std::string& program = options.command.front();
  if (const int failure = find_program(program)) {  // Told before anything is touched.
    return failed_with(code_of_unstarted(failure), unstarted_text(program, failure));
  }
  // nohup has it ignored, and so it stays.
  Signals signals =
      is_ignored(SIGHUP) ? Signals{SIGINT, SIGTERM} : Signals{SIGINT, SIGTERM, SIGHUP};
  TREATY_TRY(auto agents, open_agent_clients(kCommand, arguments, open, std::span(&directory, 1)));
  TREATY_TRY(auto driver, open_driver("run", directory));
  return Drive(driver, std::move(agents), signals, std::move(options)).run();
}

}  // namespace

Command command(OpenGateway open) {
  return {
      .name = "run",
      .positionals = "-- PROGRAM ARGS...",
      .summary = "Drive a program that asks agents: run, answer, resume, until it is done",
      .description =
          R"(Runs the program. When it leaves with 42, its request (.agent-request.json, or
.agent-request-phaseN.json) is run as a turn of an agent, the answer is written
(.agent-response.json), and the program is run again with --resume added. Any other exit
is the exit of this command. The program finds the directory in TREATY_BRIDGE_DIR.
A run that was interrupted (kill -9, a signal, 75) goes on when the same command is given
again: what was answered is not asked again. Leftovers of others are kept in
.treaty-bridge/quarantine. Progress goes to stderr.
Exit: the program's own; 1 it left with 42 and no usable request, 2 wrong usage, 69 no
agent or no disk, 75 it asks the same again, asks too often, or another driver has the
directory, 78 bad configuration, 126/127 the program cannot be started, 128 + a signal.)",
      .options = joined(
          {{{"--dir", "DIR", "Where requests and answers lie (default: the current directory)"},
            {"--max-resumes", "N", "Answers of one phase before it gives up (5)"},
            {"--fresh", "", "Begin anew, whatever an interrupted run has left"}},
           asking_options()}),
      .examples = {{"bridge run -- python3 review.py", "Drive a program in this directory"},
                   {"bridge run --agent reviewer --dir work -- ./build.sh",
                    "With an agent of the configuration"},
                   {"bridge run --url http://127.0.0.1:8088 -- ./program",
                    "On a server that runs already"}},
      .run = [open = std::move(open)](const Arguments& arguments) { return run(arguments, open); },
  };
}

}  // namespace treaty::cli::bridge_run
