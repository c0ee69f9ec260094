#include "treaty/config/load.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "treaty/base/clock.h"
#include "treaty/base/files.h"
#include "treaty/base/secrets.h"
#include "treaty/base/try.h"
#include "treaty/config/addresses.h"
#include "treaty/config/sections/sections.h"

namespace treaty::config {
namespace {

constexpr std::string_view kUsualFile = "treaty.yaml";

// Where a value came from: the name of a flag or a variable, or a place in the file.
struct Given {
  std::string where{};
  std::string value{};
};

std::optional<Given> given_listen(const Sources& sources) {
  if (sources.flags.listen) return Given{"--listen", *sources.flags.listen};
  const std::string variable = sources.environment("TREATY_LISTEN").value_or("");
  if (!variable.empty()) return Given{"TREATY_LISTEN", variable};
  return std::nullopt;
}

// A key by which nobody can come in would make the refusal worthless, so only its absence counts.
bool has_keys(const Draft& draft) { return draft.keys != nullptr && !draft.keys->items.empty(); }

void settle_listen(ConfigReader& reader, Draft& draft) {
  const auto given = given_listen(reader.sources());
  if (given) {
    const auto listen = parse_listen(given->value);
    if (!listen) {
      Diagnostic problem = listen.error();
      problem.where = given->where;
      return reader.note(std::move(problem));
    }
    draft.configuration.listen = *listen;
  }
  auto problem = find_open_door(draft.configuration.listen, has_keys(draft));
  if (!problem) return;
  if (given) {
    problem->where = given->where;
    reader.note(*std::move(problem));
  } else {
    reader.note(*draft.listen, problem->message, problem->hint);
  }
}

void settle_store(ConfigReader& reader, Draft& draft) {
  const bool is_flagged = reader.sources().flags.state_dir.has_value();
  if (draft.store != nullptr && !is_flagged) return;
  auto store = default_store(reader.sources());
  if (!store) {
    return reader.note({.where = is_flagged ? "--state-dir" : "store",
                        .message = store.error().message,
                        .hint = store.error().hint});
  }
  draft.configuration.store = *std::move(store);
}

void settle_deadlines(Draft& draft) {
  for (auto& [name, agent] : draft.configuration.turns.agents) {
    if (draft.agents_with_deadline.contains(name)) continue;
    agent.deadline = draft.configuration.turn_deadline;
  }
}

Diagnostic masked(Diagnostic diagnostic) {
  diagnostic.message = mask_secrets(diagnostic.message);
  return diagnostic;
}

// Null: there is no file.
std::expected<yaml::Node, Diagnostic> read_tree(const std::optional<std::string>& file,
                                                const Sources& sources) {
  if (!file) return yaml::Node{};
  const auto text = sources.read_file(*file);
  if (!text) return std::unexpected(Diagnostic{.where = *file, .message = text.error().message});
  auto root = yaml::read(*text);
  if (!root) return std::unexpected(masked(diagnostic_of(root.error(), *file)));
  return *std::move(root);
}

std::expected<std::string, Error> read_file(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{10} << 20U;
  TREATY_TRY(const auto file, open_to_read(path));
  auto text = read_rest(file, path, kLargest);
  if (!text || text->size() <= kLargest) return text;
  return fail(ErrorCode::unreadable, "is larger than 10 MiB", path);
}

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

Sources process_sources(Flags flags) {
  std::error_code failed;
  const std::filesystem::path here = std::filesystem::current_path(failed);
  return {.flags = std::move(flags),
          .environment = backends::process_environment,
          .read_file = read_file,
          .file_exists = file_exists,
          .directory = failed ? "/" : here.string(),
          .now = unix_seconds(std::chrono::system_clock::now())};
}

std::optional<std::string> file_of(const Sources& sources) {
  if (sources.flags.config) return sources.flags.config;
  auto variable = sources.environment("TREATY_CONFIG");
  if (variable && !variable->empty()) return variable;
  if (sources.file_exists(std::string(kUsualFile))) return std::string(kUsualFile);
  return std::nullopt;
}

std::expected<Configuration, std::vector<Diagnostic>> load(const Sources& sources) {
  const auto file = file_of(sources);
  const auto root = read_tree(file, sources);
  if (!root) return std::unexpected(std::vector{root.error()});
  ConfigReader reader(file.value_or(""), sources);
  Draft draft;
  draft.configuration.source = file.value_or("");
  reader.members<Draft>(*root, "the configuration", file_members(), draft);
  settle_backends(reader, draft);
  settle_providers(reader, draft);
  settle_machines(reader, draft);
  settle_policies(draft);
  settle_budgets(reader, draft);
  settle_deadlines(draft);
  settle_store(reader, draft);
  settle_listen(reader, draft);
  auto problems = reader.take_problems();
  if (!problems.empty()) return std::unexpected(std::move(problems));
  return std::move(draft.configuration);
}

std::vector<std::string> known_keys() {
  Keys keys;
  for (const auto add :
       {add_server_keys, add_provider_keys, add_agent_keys, add_tenant_keys, add_machine_keys}) {
    add(keys);
  }
  return keys;
}

}  // namespace treaty::config
