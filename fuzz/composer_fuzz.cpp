// Fuzzes the composer: whatever the input, there is a response, and the strict one keeps the
// contract of Assistant Response v1.
#include <algorithm>

#include "require.h"
#include "treaty/assistant/composer.h"

using namespace treaty;  // NOLINT: a target is one file.
using assistant::ComposeProfile;
using assistant::Composition;
using contracts::AssistantResponse;
using fuzz::require;

namespace {

Composition compose_once(const json::Document& input, ComposeProfile profile) {
  int count = 0;
  return assistant::compose(input.root(), profile,
                            [&count] { return "new-" + std::to_string(++count); });
}

void check_text_of(const Composition& composition) {
  const AssistantResponse& response = composition.response;
  require(!assistant::name_of(composition.state).empty());
  require(!composition.why_state.empty() && !composition.why_confidence.empty());
  require(!composition.why_trace_id.empty());
  require(!response.assistant_message.empty() && !response.action_taken.empty());
}

void check_strict(const AssistantResponse& response) {
  const auto decoded = contracts::decode_assistant_response(contracts::encode(response));
  require(static_cast<bool>(decoded));
  require(*decoded == response);
}

// Compat repeats what it was given: it may leak, and a trace_id may be blank. Else it is in order.
void check_compat(const AssistantResponse& response) {
  const auto decoded = contracts::decode_assistant_response(contracts::encode(response));
  if (decoded) require(*decoded == response);
  require(std::ranges::all_of(decoded.error(), [](const contracts::Finding& finding) {
    return finding.rule == "ARL-09" || finding.rule == "ARL-07";
  }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const json::Document input(fuzz::as_text(data, size));
  for (const ComposeProfile profile : {ComposeProfile::strict, ComposeProfile::compat}) {
    const Composition composition = compose_once(input, profile);
    check_text_of(composition);
    require(compose_once(input, profile).response == composition.response);
    profile == ComposeProfile::strict ? check_strict(composition.response)
                                      : check_compat(composition.response);
  }
  return 0;
}
