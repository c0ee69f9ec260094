#include <fmt/format.h>

#include <array>

#include "treaty/base/json_write.h"
#include "treaty/base/text.h"
#include "treaty/cli/commands.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"
#include "treaty/config/addresses.h"
#include "treaty/config/show.h"

namespace treaty::cli::configuration {
namespace {

using config::Configuration;
using Loaded = std::expected<Configuration, std::vector<Diagnostic>>;

void print_json(const Loaded& loaded, const std::string& file) {
  json::Writer writer;
  writer.begin_object().member_or_null("file", file);
  writer.member("valid", loaded.has_value()).name("problems").begin_array();
  if (!loaded) {
    for (const Diagnostic& problem : loaded.error()) write(writer, problem);
  }
  print_document(writer.end_array().end_object().take() + "\n");
}

void tell_problems(const Loaded& loaded) {
  for (const Diagnostic& problem : loaded.error()) {
    print_error("{}\n", harmless(text_of(problem)));
  }
}

int check(const config::Sources& sources, bool json) {
  const Loaded loaded = config::load(sources);
  const std::string file = config::file_of(sources).value_or("");
  if (json) {
    print_json(loaded, file);
  } else if (!loaded) {
    tell_problems(loaded);
  } else {
    print("{}: in order, {}, {}, {}, listens on {}\n",
          file.empty() ? "no treaty.yaml here, the defaults" : harmless(file),
          counted(loaded->turns.agents.size(), "agent"),
          counted(loaded->backends_of<config::HttpProvider>().size(), "provider"),
          counted(loaded->keys.size(), "key"), config::text_of(loaded->listen));
    for (const std::string& note : loaded->notes) print("{}\n", harmless(note));
  }
  return loaded ? kOk : kBadConfiguration;
}

int show(const config::Sources& sources, bool json) {
  const Loaded loaded = config::load(sources);
  if (!loaded) {
    tell_problems(loaded);
    return kBadConfiguration;
  }
  const yaml::Node tree = config::shown(*loaded);
  if (json) {
    print_document(yaml::to_json(tree) + "\n");
    return kOk;
  }
  for (const std::string& note : loaded->notes) print("# {}\n", harmless(note));
  print_document(config::yaml_of(tree));
  return kOk;
}

Result<int> run(const Arguments& arguments) {
  const auto& words = arguments.positionals;
  if (words.empty()) return misused("say what to do: check or show");
  const std::string& verb = words[0];
  if (verb != "check" && verb != "show") {
    constexpr std::array<std::string_view, 2> kVerbs = {"check", "show"};
    return misused(fmt::format("there is no \"{}\" here, but check and show{}", verb,
                               did_you_mean(kVerbs, verb)));
  }
  if (words.size() > 2) return misused("one file at a time");
  if (words.size() == 2 && arguments.has("--config")) {
    return misused("give FILE or --config, not both");
  }
  config::Flags flags = configuration_flags(arguments);
  if (words.size() == 2) flags.config = words[1];
  const config::Sources sources = config::process_sources(std::move(flags));
  const bool json = wants_json(arguments);
  return verb == "check" ? check(sources, json) : show(sources, json);
}

}  // namespace

Command command() {
  return {
      .name = "config",
      .positionals = "check|show [FILE]",
      .summary = "Check treaty.yaml as a whole, or show what holds",
      .description =
          R"(`check` tells everything that is wrong, with line and column. `show` prints the whole
configuration as it holds, flags, environment and defaults included; keys are masked.
docs/reference/config.md describes every key. Exit: 0 in order, 2 wrong usage, 78 not
in order.)",
      .options = joined({configuration_options(),
                         {{"--listen", "ADDRESS:PORT", "Where to listen (TREATY_LISTEN)"},
                          format_option("For people (YAML), or for programs")}}),
      .examples = {{"config check", "Is ./treaty.yaml in order?"},
                   {"config check deploy/treaty.yaml --format json", "In a pipeline"},
                   {"config show", "What would `treaty serve` do here?"}},
      .words = {"check", "show"},
      .run = run,
  };
}

}  // namespace treaty::cli::configuration
