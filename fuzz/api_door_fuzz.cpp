// Fuzzes what the server reads of a request before its body: the first line is the target, each
// other one a header, then an empty line and the body. Whatever comes, the answer can be written.
#include <string>

#include "require.h"
#include "treaty/api/access.h"
#include "treaty/api/answers.h"
#include "treaty/api/negotiation.h"
#include "treaty/api/records_json.h"
#include "treaty/api/routes.h"
#include "treaty/api/target.h"
#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/invoke_result.h"

using namespace treaty;       // NOLINT: a target is one file.
using namespace treaty::api;  // NOLINT
using fuzz::require;

namespace {

// A refusal is an InvokeResult that keeps its own contract.
void require_writable(const turns::Refusal& refusal) {
  const http::Response response = refusal_response(refusal, invoke_result_renderer());
  require(response.status >= 400);
  require(static_cast<bool>(contracts::decode_invoke_result(response.body)));
}

void require_writable(const auto& expected) {
  if (!expected) require_writable(expected.error());
}

void read_target(std::string_view text, const Headers& headers) {
  const auto target = Target::parse(text);
  if (!target) {
    require_writable(wrong_value(target.error().message, ""));
    return;
  }
  require(!target->segments().empty());
  std::string again;
  for (const std::string& segment : target->segments()) {
    require(is_utf8(segment));
    again += "/" + path_segment(segment);
  }
  require(Target::parse(again)->segments() == target->segments());
  require_writable(last_event_id_in(headers, *target));
  const Route* route = find_path(target->segments());
  if (route == nullptr) return;
  for (const std::string& name : names_in(*route, target->segments())) require(!name.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::as_text(data, size);
  const auto take_line = [&] {
    const std::size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    return line;
  };
  const std::string_view target = take_line();
  Headers headers;
  while (!input.empty()) {
    const std::string_view line = take_line();
    if (line.empty()) break;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    headers.add(folded(line.substr(0, colon)), line.substr(colon + 1));
  }
  read_target(target, headers);
  require_writable(require_json(headers));
  require_writable(idempotency_key_in(headers));
  require_writable(refuse_web_pages(headers));
  require_writable(tenant_of(headers, {}));
  stream_form_in(headers);
  dialect_of_text(input);
  require_writable(read_texts(input, {"TurnId", "AgentContextId"}));
  const auto decoded = contracts::decode_agent_execute_request(input, {.ids_optional = true});
  if (!decoded) require_writable(violation_refusal(decoded.error()));
  return 0;
}
