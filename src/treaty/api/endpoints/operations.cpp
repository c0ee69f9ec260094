// What operators and clients ask about the server itself.
#include <fmt/format.h>

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/base/json_write.h"

namespace treaty::api {
namespace {

void write_role(json::Writer& writer, const turns::Role& role) {
  writer.member("ModeDisplayName", role.mode);
  writer.name("Tools").begin_array();
  for (const turns::ClientTool& tool : role.tools) {
    writer.begin_object().member("Name", tool.declaration.name);
    writer.member("Description", tool.declaration.description);
    writer.end_object();
  }
  writer.end_array();
}

// Neither providers nor models nor system texts: those are the server's own.
void write_agent(json::Writer& writer, const turns::Agent& agent) {
  writer.begin_object().member("AgentContextId", agent.name);
  if (!agent.description.empty()) writer.member("Description", agent.description);
  write_role(writer, agent.role);
  writer.name("Conversations").begin_array();
  for (const auto& [name, role] : agent.conversations) {
    writer.begin_object().member("ConversationContextId", name);
    write_role(writer, role);
    writer.end_object();
  }
  writer.end_array().end_object();
}

}  // namespace

Reply list_agents(const Visit& visit) {
  json::Writer writer;
  writer.begin_object().name("Agents").begin_array();
  for (const auto& [name, agent] : visit.worker.settings->agents) write_agent(writer, agent);
  co_return json_response(200, writer.end_array().end_object().take());
}

Reply tell_health(const Visit&) { co_return json_response(200, R"({"Status":"ok"})"); }

Reply tell_readiness(const Visit& visit) {
  const auto probed = co_await visit.engine.store().probe();
  if (probed) co_return json_response(200, R"({"Status":"ready"})");
  co_return refusal_response({turns::Reason::store_unavailable,
                              "the store cannot be written to; the server's log tells why"});
}

Reply tell_version(const Visit&) {
  co_return json_response(200,
                          fmt::format(R"({{"Name":"treaty","Version":"{}"}})", TREATY_VERSION));
}

}  // namespace treaty::api
