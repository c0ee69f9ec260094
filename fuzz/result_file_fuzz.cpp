// Any response file: it becomes a result and the same response again, and the result, written as
// the answer to another request, comes back.
#include "require.h"
#include "treaty/bridge/result_file.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

constexpr const char* kTime = "2026-03-01T08:30:00Z";

// Apart from the record of the exchange.
contracts::AgentResult without_metadata(contracts::AgentResult result) {
  result.metadata.reset();
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto response = contracts::decode_bridge_response(fuzz::as_text(data, size));
  if (!response) return 0;
  const auto result = bridge::result_of(*response);
  require(bridge::response_of(result, {response->request_id, kTime}, {.agent = "other"}) ==
          *response);
  const auto passed_on = bridge::response_of(result, {response->request_id + "x", kTime}, {});
  const auto read = contracts::decode_bridge_response(contracts::encode(passed_on));
  require(static_cast<bool>(read));
  require(without_metadata(bridge::result_of(*read)) == without_metadata(result));
  return 0;
}
