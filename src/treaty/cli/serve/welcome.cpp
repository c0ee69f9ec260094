#include "treaty/cli/serve/welcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "treaty/base/json_text.h"
#include "treaty/cli/shared/configured.h"
#include "treaty/cli/terminal.h"
#include "treaty/config/addresses.h"

namespace treaty::cli::serve {
namespace {

// The model of an agent's first choice, and whose it is.
std::string backend_text(const turns::Agent& agent) {
  if (agent.chain.empty()) return "";
  const dispatch::Choice& first = agent.chain.front();
  if (first.model.empty()) return first.backend;
  return fmt::format("{} of {}", first.model, first.backend);
}

std::vector<std::string> agent_lines(const config::Configuration& configuration) {
  std::vector<std::string> lines;
  lines.reserve(configuration.notes.size());
  for (const std::string& note : configuration.notes) lines.push_back(harmless(note));
  for (const auto& [name, agent] : configuration.turns.agents) {
    const auto tells_of_it = [&](const std::string& note) {
      return note.starts_with(fmt::format("agent {}: ", name));
    };
    if (std::ranges::any_of(configuration.notes, tells_of_it)) continue;
    lines.push_back(harmless(
        fmt::format("agent {}: {}, as {} says", name, backend_text(agent), configuration.source)));
  }
  return lines;
}

// The agent that the lines to try go to, and whether they have to name it.
struct AgentToTry {
  const turns::Agent* agent{};
  bool needs_name = false;
};

AgentToTry agent_to_try(const turns::Settings& settings) {
  const turns::Agent* usual = settings.find_agent(turns::kDefaultAgent);
  if (usual != nullptr || settings.agents.empty()) return {usual, false};
  return {&settings.agents.begin()->second, true};
}

// A body between single quotes: nothing in it is the shell's.
std::string curl_line(const config::Configuration& configuration, std::string_view url,
                      std::string_view session, std::string_view turn, std::string_view instruction,
                      bool streaming) {
  json::ObjectText body{{"SessionId", session}, {"TurnId", turn}};
  const auto [agent, needs_name] = agent_to_try(configuration.turns);
  if (needs_name) body.add("AgentContextId", agent->name);
  body.add("Instruction", instruction);
  if (streaming) body.add("Streaming", true);
  const std::string_view key =
      configuration.keys.empty() ? "" : " -H \"Authorization: Bearer $TREATY_KEY\"";
  return fmt::format(
      "  curl -s{} {}/v1/agent/execute{} -H 'Content-Type: application/json' -d {}\n",
      streaming ? "N" : "", url, key, shell_word(body.text()));
}

std::string lines_to_try(const config::Configuration& configuration, std::string_view url,
                         std::string_view session) {
  std::string out;
  if (!configuration.keys.empty()) {
    out +=
        "\nEvery request needs a key: export TREATY_KEY=… (one that `keys` has the SHA-256 of).\n";
  }
  if (configuration.turns.explicit_sessions) {
    out += fmt::format(
        "\nSessions are opened first (sessions.open: explicit): POST {}/v1/sessions\n", url);
    return out;
  }
  out += "\nTry it:\n" + curl_line(configuration, url, session, "t1", "Hello!", false);
  out += "As a stream:\n" + curl_line(configuration, url, session, "t2", "And again?", true);
  return out;
}

// The demo's agent declares a tool that any machine can run.
std::string chat_line(const config::Configuration& configuration, std::string_view url,
                      std::string_view program) {
  std::string line = fmt::format("  {} chat --url {}", program, url);
  if (!configuration.keys.empty()) line += " --key-env TREATY_KEY";
  const auto [agent, needs_name] = agent_to_try(configuration.turns);
  if (needs_name) line += " --agent " + shell_word(agent->name);
  const bool tells_time =
      agent != nullptr && std::ranges::any_of(agent->role.tools, [](const turns::ClientTool& tool) {
        return tool.declaration.name == "get_time";
      });
  return line + (tells_time ? " --tool get_time=date\n" : "\n");
}

}  // namespace

std::string url_of(const config::Listen& listen, std::uint16_t port) {
  std::string address = listen.address;
  if (address == "0.0.0.0") address = "127.0.0.1";
  if (address == "::") address = "::1";
  return "http://" + config::text_of({.address = std::move(address), .port = port});
}

std::string welcome(const config::Configuration& configuration, std::uint16_t port,
                    std::string_view session, std::string_view program) {
  const std::string url = url_of(configuration.listen, port);
  std::string out = fmt::format("treaty {} listens on http://{}\n", TREATY_VERSION,
                                config::text_of({configuration.listen.address, port}));
  for (const std::string& line : agent_lines(configuration)) out += fmt::format("  {}\n", line);
  out += fmt::format("  journal: {}\n", harmless(path_of_store(configuration.store)));
  out += lines_to_try(configuration, url, session);
  out += "In a terminal, with tools:\n" + chat_line(configuration, url, program);
  if (configuration.backends_of<config::HttpProvider>().empty()) {
    out +=
        "\nA real model: export OPENAI_API_KEY=… (or ANTHROPIC_API_KEY, GEMINI_API_KEY…) and "
        "start\n"
        "again, or write treaty.yaml; `treaty config check` tells what it makes of it.\n";
  }
  out += "Ctrl-C stops it; SIGHUP reads the configuration again.\n";
  return out;
}

std::string ready_line(const config::Configuration& configuration, std::uint16_t port, int pid) {
  const json::ObjectText ready{{"url", url_of(configuration.listen, port)},
                               {"address", configuration.listen.address},
                               {"port", port},
                               {"pid", pid},
                               {"store", configuration.store}};
  return ready.text() + "\n";
}

}  // namespace treaty::cli::serve
