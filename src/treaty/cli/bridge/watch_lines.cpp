#include "treaty/cli/bridge/watch_lines.h"

#include <fmt/format.h>

#include "treaty/base/json_write.h"
#include "treaty/bridge/names.h"
#include "treaty/cli/bridge/progress.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

void write_outcome(json::Writer& writer, const contracts::BridgeResponse& response) {
  if (const auto* error = std::get_if<contracts::BridgeError>(&response.outcome)) {
    writer.member("status", "error");
    if (error->error_type) writer.member("error_type", *error->error_type);
    writer.member("error_message", error->error_message);
  } else if (const auto* timeout = std::get_if<contracts::BridgeTimeout>(&response.outcome)) {
    writer.member("status", "timeout").member("error_message", timeout->error_message);
  } else {
    writer.member("status", "success");
  }
}

}  // namespace

std::string answer_line_of(const std::string& directory, const bridge::Exchange& exchange,
                           const contracts::BridgeResponse& response) {
  return fmt::format("{}: {}", harmless(directory), answer_line(exchange, response));
}

std::string answer_object_of(const std::string& directory, const bridge::Exchange& exchange,
                             const contracts::BridgeResponse& response) {
  json::Writer writer;
  writer.begin_object().member("directory", directory).member("request_id", response.request_id);
  const auto& request = exchange.request.document;
  auto phase = request ? request->phase : std::nullopt;
  if (!phase) phase = bridge::phase_of_suffix(exchange.suffix);
  if (phase) writer.member("phase", *phase);
  if (request && request->phase_name) writer.member("phase_name", *request->phase_name);
  write_outcome(writer, response);
  writer.member("seconds", response.duration_seconds).member("file", exchange.response.path);
  for (const std::string_view name :
       {"agent", "backend", "model", "input_tokens", "output_tokens"}) {
    if (const auto value = response.metadata.find(name)) writer.name(name).raw(value->text());
  }
  return writer.end_object().take();
}

}  // namespace treaty::cli
