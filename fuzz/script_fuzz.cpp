// Fuzzes scripts: what is read can be played, and what is refused says where.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "require.h"
#include "treaty/backends/scripted/script.h"
#include "treaty/backends/scripted/script_player.h"

using namespace treaty;  // NOLINT: a target is one file.
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto script = backends::read_script(text);
  if (!script) {
    require(!script.error().empty());
    for (const auto& problem : script.error()) {
      require(problem.line >= 1 && problem.column >= 1 && !problem.message.empty());
    }
    return 0;
  }
  backends::ScriptPlayer player(*script);
  const backends::Asked asked{
      .path = "/v1/messages", .model = "m", .user_text = "{{user}} weather", .tool_results = {"a"}};
  for (int call = 0; call < 4; ++call) {
    const backends::Reply reply = player.next(asked);
    require(!reply.text.empty() || !reply.tool_calls.empty() || reply.refusal || reply.error ||
            reply.body);
    std::string joined;
    for (const auto& piece : reply.text) {
      for (const auto& word : backends::spoken_pieces(piece)) joined += word;
    }
    std::string whole;
    for (const auto& piece : reply.text) whole += piece;
    require(joined == whole);
  }
  return 0;
}
