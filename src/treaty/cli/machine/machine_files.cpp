#include "treaty/cli/machine/machine_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/base/yaml.h"
#include "treaty/cli/command_line.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"
#include "treaty/contracts/inspection/verdict_json.h"

namespace treaty::cli {
namespace {

namespace fs = std::filesystem;

using Opened = std::expected<std::shared_ptr<const machines::Machine>, std::string>;

Opened machine_in(const machines::Loaded& loaded, const std::string& where) {
  if (loaded.machine) return loaded.machine;
  const Diagnostic& first = loaded.violations.front();
  return std::unexpected(fmt::format("{}:{}: {} {} (see: treaty machine check {})", where,
                                     first.line, first.rule, first.message, where));
}

// Of a key, or of a word in a list.
std::size_t word_length(std::string_view text, std::size_t offset) {
  return run_length(text, offset, [](char c) {
    return is_word_character(c) || c == '-' || c == '.' || c == '"' || c == '\'';
  });
}

std::string one_finding(const CheckedMachine& checked, const Diagnostic& finding, bool is_violation,
                        bool colors) {
  return finding_text({.file = checked.file,
                       .rule = finding.rule,
                       .message = finding.message,
                       .hint = finding.hint,
                       .is_violation = is_violation},
                      {.text = checked.text,
                       .offset = finding.offset,
                       .length = word_length(checked.text, finding.offset),
                       .line = static_cast<std::size_t>(finding.line),
                       .column = static_cast<std::size_t>(finding.column),
                       .where = finding.where},
                      colors);
}

void write_finding(json::Writer& writer, const Diagnostic& finding) {
  writer.begin_object();
  writer.member("rule", finding.rule);
  writer.member("line", finding.line).member("column", finding.column);
  writer.member("where", finding.where).member("message", finding.message);
  if (!finding.hint.empty()) writer.member("hint", finding.hint);
  writer.end_object();
}

}  // namespace

HookNames names_of(const machines::HookRegistry& hooks) {
  HookNames names;
  for (const auto& [name, _] : hooks) names.insert(name);
  return names;
}

std::expected<machines::Loaded, Error> read_machine_file(const std::string& path,
                                                         const HookNames& hooks) {
  TREATY_TRY(const auto text, read_input(path, yaml::YamlOptions().max_size));
  std::error_code ignored;
  // Absolute: an execution may be resumed from elsewhere.
  const fs::path folder =
      path == "-" ? fs::current_path(ignored) : fs::absolute(fs::path(path), ignored).parent_path();
  return machines::load_machine(text, {.directory = folder.string(), .hooks = hooks});
}

machines::OpenMachine machine_opener(HookNames hooks) {
  const auto known = std::make_shared<std::map<std::string, Opened>>();
  return [hooks = std::move(hooks), known](const std::string& path,
                                           const std::string& directory) -> Opened {
    const std::string whole = (fs::path(directory) / path).lexically_normal().string();
    if (const auto found = known->find(whole); found != known->end()) return found->second;
    const auto file = read_machine_file(whole, hooks);
    Opened opened = file ? machine_in(*file, whole)
                         : std::unexpected(fmt::format("{}: {}", whole, file.error().message));
    known->emplace(whole, opened);
    return opened;
  };
}

machines::ReadMachine machine_reader(HookNames hooks) {
  return [hooks = std::move(hooks)](const std::string& text, const std::string& directory) {
    return machine_in(machines::load_machine(text, {.directory = directory, .hooks = hooks}),
                      "the machine of this execution");
  };
}

void CheckedMachine::count(CheckTally& tally) const {
  ++tally.documents;
  if (!valid()) ++tally.refused;
  tally.violations += loaded.violations.size();
  tally.warnings += loaded.warnings.size();
}

CheckedMachine check_machine(const std::string& path, const std::vector<std::string>& hooks) {
  auto text = read_input(path, yaml::YamlOptions().max_size);
  if (!text) return {.file = path, .trouble = text.error().message};
  const fs::path folder = fs::path(path).parent_path();
  const machines::LoadOptions options{.directory = folder.empty() ? "." : folder.string(),
                                      .hooks = {hooks.begin(), hooks.end()}};
  CheckedMachine out{.file = path, .text = std::move(*text)};
  out.loaded = machines::load_machine(out.text, options);
  return out;
}

std::string human_report(const CheckedMachine& checked, bool colors) {
  const std::string file = painted(harmless(checked.file), Color::bold, colors);
  if (checked.trouble) {
    return fmt::format("{}: {} {}\n", file, painted("error:", Color::red, colors),
                       harmless(*checked.trouble));
  }
  std::string out;
  for (const auto& finding : checked.loaded.violations) {
    out += one_finding(checked, finding, true, colors);
  }
  for (const auto& finding : checked.loaded.warnings) {
    out += one_finding(checked, finding, false, colors);
  }
  if (checked.loaded.more > 0) {
    out += fmt::format("{}: {} more are not listed\n", file, checked.loaded.more);
  }
  if (checked.valid()) {
    out += fmt::format("{}: {} (machine {}, {})\n", file, painted("ok", Color::green, colors),
                       harmless(checked.loaded.machine->name),
                       counted(checked.loaded.machine->states.size(), "state"));
  }
  return out;
}

std::string json_report(const CheckedMachine& checked) {
  json::Writer writer;
  writer.begin_object();
  writer.member("document", is_utf8(checked.file) ? checked.file : "(not UTF-8)");
  writer.member("contract", "machine").member("valid", checked.valid());
  writer.name("violations").begin_array();
  if (checked.trouble) {
    write_finding(writer, {.rule = std::string(contracts::kInput),
                           .line = 1,
                           .column = 1,
                           .message = *checked.trouble});
  }
  for (const auto& finding : checked.loaded.violations) write_finding(writer, finding);
  writer.end_array().name("warnings");
  writer.array(checked.loaded.warnings, [&](const auto& one) { write_finding(writer, one); });
  if (checked.loaded.more > 0) writer.member("more", checked.loaded.more);
  return writer.end_object().take() + "\n";
}

int refuse_machine(std::string_view command, const std::string& path, machines::Loaded loaded,
                   bool is_json) {
  const CheckedMachine checked{.file = path, .text = {}, .loaded = std::move(loaded)};
  if (is_json) {
    json::Writer writer;
    writer.begin_object()
        .member("status", "refused")
        .name("check")
        .raw(trimmed(json_report(checked)));
    print_document(writer.end_object().take() + "\n");
  } else {
    print_error("{}", human_report(checked, false));
    print_error("treaty {}: the machine is refused; nothing has run\n", command);
  }
  return kWrongUsage;
}

}  // namespace treaty::cli
