// Fuzzes the seal: whatever a model says, what leaves keeps the contract, and sealing it again
// changes nothing.
#include <string>

#include "require.h"
#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/turns/seal.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

namespace {

void check_contract(const std::string& text) {
  const contracts::AgentExecuteResponse response{
      .session_id = "s",
      .turn_id = "t",
      .mode_display_name = "m",
      .kind = contracts::FinalResponse{.primary_output_text = text}};
  const auto decoded = contracts::decode_agent_execute_response(encode(response));
  require(static_cast<bool>(decoded));
  require(*decoded == response);
}

void check_seal(const std::string& text) {
  const turns::Sealed sealed = turns::seal(text);
  check_contract(sealed.text);
  require(sealed.notes.empty() == (sealed.text == text));
  for (const std::string& warning : sealed.user_warnings) require(!is_blank(warning));
  const turns::Sealed again = turns::seal(sealed.text);
  require(again.text == sealed.text);
  require(again.notes.empty() && again.user_warnings.empty());
}

// A run of base64 is longer than what a fuzzer comes upon: `#` stands for a part of one.
std::string with_runs(const std::string& text) {
  std::string out;
  for (const char c : text) c == '#' ? out.append(512, 'A') : out.append(1, c);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::as_text(data, size));
  check_seal(text);
  check_seal(with_runs(text));
  return 0;
}
