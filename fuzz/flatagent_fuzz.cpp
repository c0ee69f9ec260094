// Fuzzes FlatAgent files: what is read can be asked and judged, and what is refused says why. The
// part before the first NUL is the agent, the part after it stands in every file that it names, and
// is what its model answers.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "require.h"
#include "treaty/backends/flatagent/read_flat_agent.h"
#include "treaty/backends/flatagent/render_flat_agent.h"
#include "treaty/base/json.h"
#include "treaty/dispatch/structured_answer.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  std::size_t cut = text.find('\0');
  if (cut == std::string_view::npos) cut = text.size();
  const std::string rest(cut < text.size() ? text.substr(cut + 1) : std::string_view());
  const auto document = backends::parse_document(text.substr(0, cut));
  if (!document) {
    require(!document.error().empty());
    return 0;
  }
  const auto agent = backends::read_flat_agent(
      *document, {.directory = "/a",
                  .parent_directory = "/m",
                  .read_text = [&rest](const std::string&) -> backends::Read<std::string> {
                    if (rest.empty()) return backends::Wrong("there is no such file");
                    return rest;
                  }});
  if (!agent) {
    require(!agent.error().empty());
    return 0;
  }
  const backends::Dynamic input = backends::Object{{"text", "x"}, {"list", backends::List{1, 2}}};
  const backends::List chain = {backends::Object{{"role", "assistant"}, {"content", "hm"}}};
  const auto call = backends::render(*agent, {.input = input, .chain = chain});
  if (!call) {
    require(!call.error().empty());
    return 0;
  }
  require(call->messages.size() >= 2);
  if (call->output) require(json::is_json(call->output->schema_json));
  contracts::AgentResult result;
  result.content = rest;
  if (!agent->output) return 0;
  const auto complaint = dispatch::judge_output(result, agent->output->schema);
  if (complaint) require(!complaint->empty() && !result.output);
  return 0;
}
