// `treaty bridge doctor`: what is wrong in a directory, why, and what mends it.
#include <fmt/format.h>

#include <algorithm>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/bridge/diagnosis/diagnosis.h"
#include "treaty/cli/bridge/directory.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::bridge_doctor {
namespace {

using bridge::Diagnosis;
using bridge::ProblemKind;
using bridge::Severity;

std::string_view name_of(Severity severity) {
  return severity == Severity::trouble ? "trouble" : "note";
}

void print_human(const Diagnosis& diagnosis, bool colors) {
  const bool is_trouble = diagnosis.kind().severity == Severity::trouble;
  print("\n{}: {}\n",
        painted(fmt::format("{} {}", name_of(diagnosis.kind().severity), diagnosis.kind().code),
                is_trouble ? Color::red : Color::yellow, colors),
        harmless(diagnosis.what));
  print("  why:  {}\n", harmless(diagnosis.why));
  if (diagnosis.mend.empty()) return;
  print("  {} {}\n", painted("next:", Color::blue, colors), harmless(command_text(diagnosis.mend)));
}

void print_json(const bridge::DirectoryView& view, const std::vector<Diagnosis>& found,
                bool content) {
  const bridge::DirectoryStatus status = bridge::status_of(view);
  json::Writer writer(json::Layout::indented);
  writer.begin_object().member("directory", view.directory).member("content", content);
  writer.member("standing", bridge::name_of(status));
  writer.member("sentence", bridge::text_of(status, view));
  writer.name("faults").objects(found, [&](const Diagnosis& diagnosis) {
    writer.member("code", diagnosis.kind().code);
    writer.member("severity", name_of(diagnosis.kind().severity));
    writer.member("what", diagnosis.what).member("why", diagnosis.why);
    writer.member_or_null("mend", command_text(diagnosis.mend));
  });
  // Names of files may be any bytes.
  print_document(repaired_utf8(writer.end_object().take()) + "\n");
}

// Everything that the doctor has a word for.
int print_list(bool json) {
  if (!json) {
    for (const ProblemKind& kind : bridge::problem_kinds()) {
      print("{} {}: {}\n  why:  {}\n", name_of(kind.severity), kind.code, kind.what, kind.why);
      if (!kind.mend.empty()) print("  next: {}\n", kind.mend);
    }
    return kOk;
  }
  json::Writer writer(json::Layout::indented);
  writer.objects(bridge::problem_kinds(), [&](const ProblemKind& kind) {
    writer.member("code", kind.code).member("severity", name_of(kind.severity));
    writer.member("what", kind.what).member("why", kind.why).member("mend", kind.mend);
  });
  print_document(writer.take() + "\n");
  return kOk;
}

int run(const Arguments& arguments) {
  const bool json = wants_json(arguments);
  if (arguments.has("--list")) return print_list(json);
  const std::string directory = chosen_directory("bridge doctor", arguments, Needs::anything);
  bridge::DirectoryView view = bridge::look_at(directory);
  if (!view.has_request() && !arguments.has("--dir")) {
    const auto found = bridge::find_request(starting_point());
    if (found) view.request_elsewhere = found->directory;
  }
  const std::vector<Diagnosis> found = bridge::diagnose(view);
  const bool content = std::ranges::none_of(found, [](const Diagnosis& diagnosis) {
    return diagnosis.kind().severity == Severity::trouble;
  });
  if (json) {
    print_json(view, found, content);
  } else {
    const bool colors = stdout_has_colors();
    print("{}: {}\n",
          painted(view.directory == "." ? "this directory" : harmless(view.directory), Color::bold,
                  colors),
          harmless(bridge::text_of(bridge::status_of(view), view)));
    for (const Diagnosis& diagnosis : found) print_human(diagnosis, colors);
  }
  return content ? kOk : kViolated;
}

}  // namespace

Command command() {
  return {
      .name = "doctor",
      .summary = "Tell what is wrong in a directory, why, and the command that mends it",
      .description =
          R"(Looks and changes nothing. The first line says how the directory stands; then comes
each trouble and each note, with the command to give next. Exit: 0 no trouble (notes are
fine), 1 there is one, 2 wrong usage.)",
      .options =
          joined({directory_options(),
                  {{"--list", "", "Everything that the doctor has a word for"}, format_option()}}),
      .examples = {{"bridge doctor", "The program was not resumed; why?"},
                   {"bridge doctor --dir work --format json", "For a host that drives the loop"}},
      .run = run,
  };
}

}  // namespace treaty::cli::bridge_doctor
