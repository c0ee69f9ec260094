#include "treaty/bridge/invoke.h"

#include <fmt/format.h>

#include <filesystem>
#include <tuple>
#include <utility>

#include "treaty/base/files.h"
#include "treaty/base/ids.h"
#include "treaty/base/timestamp.h"
#include "treaty/bridge/driver.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/names.h"
#include "treaty/bridge/quarantine.h"

namespace treaty::bridge {
namespace {

using contracts::BridgeRequest;

std::unexpected<NeedAgent> cannot_ask(std::string_view why) {
  return std::unexpected(NeedAgent{1, fmt::format("no agent can be asked: {}", why)});
}

std::unexpected<NeedAgent> cannot_ask(const Error& error) {
  return cannot_ask(fmt::format("{}: {}", error.where, error.message));
}

std::unexpected<NeedAgent> need_agent(const RequestFile& request) {
  return std::unexpected(NeedAgent{
      kNeedAgent, fmt::format("an agent is needed: {} waits for its answer; `treaty bridge run` "
                              "gets it and runs this program again with {}",
                              request.path, kResumeFlag)});
}

BridgeRequest request_of(const BridgeQuestion& question, const std::string& response_file) {
  return {.request_id = new_uuid(),
          .version = "1.0",
          .agent_name = question.agent_name,
          .prompt = question.prompt,
          .created_at = timestamp_now(),
          .phase = question.phase,
          .phase_name = question.phase_name,
          .timeout_seconds = question.timeout_seconds,
          .context = question.context,
          .model = question.model,
          .response_file = response_file};
}

// A directory that was moved or copied has a request whose answer would go elsewhere: that one is
// asked again. Compared as text: what cannot be written, such as NaN, is no difference.
bool asks_the_same(BridgeRequest one, const BridgeRequest& other) {
  one.request_id = other.request_id;
  one.version = other.version;
  one.created_at = other.created_at;
  return encode(one) == encode(other);
}

// Why no driver would take the request; nothing when it is in order.
std::optional<std::string> fault_of(const std::string& text) {
  const auto checked = contracts::decode_bridge_request(text);
  if (checked) return std::nullopt;
  const contracts::Finding& first = checked.error().front();
  return fmt::format("{} {}: {}", first.rule.text(), first.where, first.message);
}

// Nobody would take it for the answer to the new request, so it may also stay.
void clear_away(const std::string& directory, const std::string& answer) {
  std::error_code ignored;
  if (std::filesystem::exists(std::filesystem::symlink_status(answer, ignored))) {
    std::ignore = move_to_quarantine(directory, answer, "superseded");
  }
}

}  // namespace

std::expected<contracts::BridgeResponse, NeedAgent> invoke(const BridgeQuestion& question,
                                                           const std::string& directory) {
  const auto resolved = resolve_directory(directory);
  if (!resolved) return cannot_ask(resolved.error());
  const std::string suffix = question.phase ? suffix_of_phase(*question.phase) : "";
  if (question.phase && phase_of_suffix(suffix) != question.phase) {
    return cannot_ask(fmt::format("a phase is 0 to 999,999,999, not {}", *question.phase));
  }
  const std::string place = path_in(*resolved, response_name(suffix));
  const BridgeRequest request = request_of(question, place);
  const std::string text = encode(request);
  if (const auto fault = fault_of(text)) return cannot_ask(*fault);
  Exchange exchange = read_exchange(*resolved, suffix);
  if (exchange.is_asked() && asks_the_same(*exchange.request.document, request)) {
    if (exchange.waits()) return need_agent(exchange.request);
    return *std::move(exchange.response.document);
  }
  clear_away(*resolved, place);
  if (const auto written = replace_file(exchange.request.path, text, Links::replace); !written) {
    return cannot_ask(written.error());
  }
  return need_agent(exchange.request);
}

}  // namespace treaty::bridge
