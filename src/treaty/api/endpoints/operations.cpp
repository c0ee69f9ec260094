// What operators and clients ask about the server itself.

#include "treaty/api/endpoints/endpoints.h"
#include "treaty/api/limits_json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/dispatch/budgets/purchase.h"

namespace treaty::api {
namespace {

void write_role(json::Writer& writer, const turns::AgentRole& role) {
  writer.member("ModeDisplayName", role.mode);
  writer.name("Tools").objects(role.tools, [&](const turns::ClientTool& tool) {
    writer.member("Name", tool.declaration.name);
    writer.member("Description", tool.declaration.description);
  });
}

// Neither providers nor models nor system texts: those are the server's own.
void write_agent(json::Writer& writer, const turns::Agent& agent) {
  writer.begin_object().member("AgentContextId", agent.name);
  if (!agent.description.empty()) writer.member("Description", agent.description);
  write_role(writer, agent.role);
  writer.name("Conversations").objects(agent.conversations, [&](const auto& conversation) {
    const auto& [name, role] = conversation;
    write_role(writer.member("ConversationContextId", name), role);
  });
  writer.end_object();
}

}  // namespace

Reply list_agents(const RequestContext& context) {
  json::Writer writer;
  writer.begin_object().name("Agents").begin_array();
  for (const auto& [name, agent] : context.worker.settings->agents) write_agent(writer, agent);
  co_return json_response(200, writer.end_array().end_object().take());
}

Reply tell_health(const RequestContext&) { co_return json_response(200, R"({"Status":"ok"})"); }

Reply tell_readiness(const RequestContext& context) {
  const auto probed = co_await context.engine.store().probe();
  if (probed) co_return json_response(200, R"({"Status":"ready"})");
  co_return std::unexpected(
      turns::Refusal{turns::Reason::store_unavailable,
                     "the store cannot be written to; the server's log tells why"});
}

Reply tell_version(const RequestContext&) {
  json::Writer writer;
  writer.begin_object().member("Name", "treaty").member("Version", TREATY_VERSION).end_object();
  co_return json_response(200, writer.take());
}

Reply show_limits(const RequestContext& context) {
  // A reload may replace them while the store is asked.
  const auto dispatcher = context.worker.dispatcher;
  const auto settings = context.worker.settings;
  const dispatch::Pools& pools = dispatcher->pools();
  const auto today = dispatch::day_of(pools.unix_now());
  TREATY_CO_TRY(const auto spending, stored(co_await context.engine.store().spending(today)));
  co_return json_response(
      200, limits_json(pools.view(), budgets_for(*settings, context.tenant, spending),
                       pools.unix_now()));
}

}  // namespace treaty::api
