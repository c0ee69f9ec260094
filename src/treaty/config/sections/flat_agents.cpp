// The FlatAgents of a machine: they can be read, and their providers have the reasoning that they
// ask for.
#include <fmt/format.h>

#include "treaty/backends/flatagent/read_flat_agent.h"
#include "treaty/backends/providers/provider.h"
#include "treaty/base/try.h"
#include "treaty/config/load.h"
#include "treaty/config/sections/sections.h"

namespace treaty::config {
namespace {

using backends::Dynamic;
using backends::FlatAgent;
using backends::ModelProfile;

// A FlatAgent, where it is written, and the directories from which it is read.
struct FlatAgentSource {
  Dynamic document{};
  std::string path{};  // Empty: it is written into the machine.
  std::string directory{};
};

using FoundSource = backends::Read<std::optional<FlatAgentSource>>;

FoundSource file_source(const Sources& sources, const std::string& directory,
                        const std::string& reference) {
  const std::string path = backends::path_from(directory, reference);
  if (!sources.file_exists(path)) return std::nullopt;  // An agent of treaty.yaml.
  const auto text = sources.read_file(path);
  if (!text) return std::unexpected(fmt::format("{} {}", path, text.error().message));
  TREATY_TRY(auto document, backends::at(path, backends::parse_document(*text)));
  return FlatAgentSource{std::move(document), path, backends::directory_of(path)};
}

// Nothing: the reference means an agent of another kind.
FoundSource source_of(const Sources& sources, const Dynamic& reference,
                      const std::string& directory) {
  if (reference.is_string()) {
    return file_source(sources, directory, std::string(reference.get_string()));
  }
  const auto* written = reference.if_object();
  if (written == nullptr) return std::nullopt;
  TREATY_TRY(const auto type, backends::text_member(*written, "type"));
  if (!type) return FlatAgentSource{.document = reference, .directory = directory};
  if (*type != "flatagent") return std::nullopt;
  TREATY_TRY(const auto ref, backends::text_member(*written, "ref"));
  if (ref) return file_source(sources, directory, *ref);
  const Dynamic* config = backends::member_of(*written, "config");
  if (config == nullptr) return std::nullopt;
  return FlatAgentSource{.document = *config, .directory = directory};
}

// The provider that a profile names. Nothing: it names none that can be judged here.
std::optional<HttpProvider> provider_of(const Sources& sources, const Configuration& configuration,
                                        const ModelProfile& profile) {
  if (const auto* own = configuration.find_backend<HttpProvider>(profile.provider)) return *own;
  if (backends::find_provider(profile.provider) == nullptr) return std::nullopt;
  return provider_of_kind(sources, profile.provider);
}

std::string refusal_of(const Sources& sources, const Configuration& configuration,
                       const FlatAgent& agent) {
  if (!agent.profile.reasoning) return {};
  const auto provider = provider_of(sources, configuration, agent.profile);
  if (!provider) return {};
  const std::string refusal = config::refusal_of(*provider, agent.profile.model,
                                                 *agent.profile.reasoning, !agent.tools.empty());
  return refusal.empty() ? std::string() : fmt::format("`reasoning` of the model: {}", refusal);
}

}  // namespace

std::optional<std::string> flat_agent_problem(const Sources& sources,
                                              const Configuration& configuration,
                                              const Dynamic& reference,
                                              const std::string& directory) {
  auto source = source_of(sources, reference, directory);
  if (!source) return source.error();
  if (!*source) return std::nullopt;
  const FlatAgentSource& found = **source;
  const auto read_text = [&](const std::string& path) -> backends::Read<std::string> {
    auto text = sources.read_file(path);
    if (!text) return std::unexpected(text.error().message);
    return *std::move(text);
  };
  const auto agent = backends::read_flat_agent(
      found.document,
      {.directory = found.directory, .parent_directory = directory, .read_text = read_text});
  const std::string problem = agent ? refusal_of(sources, configuration, *agent) : agent.error();
  if (problem.empty()) return std::nullopt;
  return found.path.empty() ? problem : fmt::format("{}: {}", found.path, problem);
}

}  // namespace treaty::config
