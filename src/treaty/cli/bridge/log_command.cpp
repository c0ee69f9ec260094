// `treaty bridge log`: the journal of a directory, readable.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "treaty/base/try.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/names.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_log {
namespace {

using bridge::Entry;

std::string number_in(const Entry& entry, std::string_view name) {
  if (const auto integer = entry.details.find_integer(name)) return fmt::format("{}", *integer);
  const auto number = entry.details.find_number(name);
  return number ? fmt::format("{:.1f}", *number) : std::string();
}

// The name of a file; the directory is the same for all.
std::string file_in(const Entry& entry, std::string_view name) {
  const std::string path = text_in(entry, name);
  return path.substr(path.rfind('/') + 1);
}

// What is said beside the event itself, in the order in which it matters.
class Details {
 public:
  explicit Details(std::string text) : text_(std::move(text)) {}

  Details& add(std::string_view before, const std::string& what, std::string_view behind = "") {
    if (!what.empty()) text_ += fmt::format(" · {}{}{}", before, what, behind);
    return *this;
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string tokens_in(const Entry& entry) {
  const std::string input = number_in(entry, "input_tokens");
  const std::string output = number_in(entry, "output_tokens");
  if (input.empty() || output.empty()) return {};
  return fmt::format("{} tokens in, {} out", input, output);
}

std::string answer_text(const Entry& entry) {
  const std::string phase = text_in(entry, "phase_key");
  const std::string type = text_in(entry, "error_type");
  const std::string message = text_in(entry, "error_message");
  return Details(fmt::format("answered: {}", text_in(entry, "status")))
      .add("phase ", phase)
      .add("agent ", text_in(entry, "agent"))
      .add("", text_in(entry, "model"))
      .add("", number_in(entry, "seconds"), " s")
      .add("", tokens_in(entry))
      .add("", type.empty() ? message : fmt::format("{}: {}", type, message))
      .add("request ", text_in(entry, "request_id"))
      .take();
}

std::string end_text(const Entry& entry) {
  const bool goes_on = entry.details.find_boolean("final") == false;
  const std::string message = text_in(entry, "message");
  return Details(fmt::format("run {} with exit {}", goes_on ? "interrupted" : "ended",
                             number_in(entry, "exit")))
      .add("", text_in(entry, "reason"))
      .add("", message.substr(0, message.find('\n')))
      .take();
}

std::string started_text(const Entry& entry) {
  const bool resumed = entry.details.find_boolean("resume").value_or(false);
  return Details(resumed ? "program started with --resume" : "program started")
      .add("process ", number_in(entry, "pid"))
      .take();
}

std::string exited_text(const Entry& entry) {
  const std::string signal = number_in(entry, "signal");
  if (!signal.empty()) return fmt::format("program ended by signal {}", signal);
  const std::string code = number_in(entry, "code");
  return fmt::format("program ended with {}{}", code,
                     code == std::to_string(bridge::kNeedAgent) ? ": it needs an agent" : "");
}

std::string run_text(const Entry& entry) {
  return fmt::format("run of {}", shell_line(entry.details.find_texts("command")));
}

std::string repairs_in(const Entry& entry, std::string_view name) {
  return fmt::format("{}", fmt::join(entry.details.find_texts(name), "; "));
}

struct Detail {
  std::string_view before;
  std::string_view member;
  std::string (*read)(const Entry&, std::string_view) = bridge::text_in;
};
constexpr Detail kRequest = {"request ", "request_id"};
constexpr Detail kRepairs = {"", "repairs", repairs_in};
constexpr Detail kOriginal = {"original kept as ", "kept_as", file_in};

struct EventText {
  std::string_view event;
  std::string_view text;  // `{}` is the name of the file that it is about.
  std::array<Detail, 2> details{};
};
constexpr auto kTexts = std::to_array<EventText>({
    {"run.continued", "run goes on"},
    {"request.asked", "agent asked", {{{"", "agent"}, kRequest}}},
    {"request.given_up", "request given up", {{{"", "why"}, kRequest}}},
    {"request.refused", "{} refused", {{{"", "problem"}}}},
    {"request.repaired", "{} repaired", {{kRepairs, kOriginal}}},
    {"answer.found", "answered by somebody else", {{{"phase ", "phase_key"}, kRequest}}},
    {"answer.moved", "{} moved", {{{"to ", "moved_to", file_in}, kRequest}}},
    {"answer.repaired", "{} repaired", {{kRepairs, kOriginal}}},
    {"file.quarantined", "{} put away", {{{"", "reason"}, {"kept as ", "kept_as", file_in}}}},
});

// Events of other versions are told by their name.
std::string event_text(const Entry& entry) {
  if (entry.event == "run.started") return run_text(entry);
  if (entry.event == "run.ended") return end_text(entry);
  if (entry.event == "program.started") return started_text(entry);
  if (entry.event == "program.exited") return exited_text(entry);
  if (entry.event == "answer.written") return answer_text(entry);
  const auto* found = std::ranges::find(kTexts, entry.event, &EventText::event);
  if (found == kTexts.end()) return entry.event;
  Details text(fmt::format(fmt::runtime(found->text), file_in(entry, "file")));
  for (const Detail& detail : found->details) {
    if (!detail.member.empty()) text.add(detail.before, detail.read(entry, detail.member));
  }
  return text.take();
}

// To the second: "2026-11-16 10:17:27".
std::string time_text(const std::string& at) {
  std::string text = at.substr(0, 19);
  if (text.size() > 10) text[10] = ' ';
  return text;
}

Result<int> run(const Arguments& arguments) {
  std::optional<std::size_t> limit;
  if (arguments.has("--limit")) {
    limit = parse_number<std::size_t>(arguments.get("--limit"));
    if (!limit || *limit == 0) return misused("--limit is a number from 1 on");
  }
  TREATY_TRY(const auto directory,
             resolved_directory(chosen_directory("bridge log", arguments, Needs::journal)));
  const auto journal = bridge::read_journal(bridge::journal_path(directory));
  if (!journal) return unusable(journal.error(), kViolated);
  const bool json = wants_json(arguments);
  const std::size_t count = journal->entries.size();
  const std::size_t first = limit && *limit < count ? count - *limit : 0;
  if (!json && count == 0) print("nothing has happened here yet\n");
  for (std::size_t place = first; place < count; ++place) {
    const Entry& entry = journal->entries[place];
    if (json) {
      print_document(bridge::encode(entry) + "\n");
    } else {
      print("{}  {}\n", harmless(time_text(entry.at)), harmless(event_text(entry)));
    }
  }
  if (const std::size_t damaged = journal->damaged_lines; damaged > 0) {
    print_error("treaty bridge log: {} damaged line{} left out\n", damaged,
                damaged == 1 ? " is" : "s are");
  }
  return kOk;
}

}  // namespace

Command command() {
  return {
      .name = "log",
      .summary = "Show what happened in a directory: runs, requests, answers, repairs",
      .description =
          R"(The journal, a line each: time (UTC), event, phase, agent, seconds, tokens, error. Lines
that a crash has damaged are left out and counted. Exit: 0 shown, 1 it cannot be read, 2
wrong usage.)",
      .options = joined({directory_options(),
                         {{"--limit", "N", "The last so many entries (all)"},
                          format_option("For people, or the entries as they are")}}),
      .examples = {{"bridge log", "What did the program ask, and who answered?"},
                   {"bridge log --limit 20 --format json", "The last twenty, for a program"}},
      .run = run,
  };
}

}  // namespace treaty::cli::bridge_log
