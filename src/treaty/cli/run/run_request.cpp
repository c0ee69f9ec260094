#include "treaty/cli/run/run_request.h"

#include <fmt/format.h>

#include <filesystem>

#include "treaty/base/base64.h"
#include "treaty/base/ids.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"
#include "treaty/cli/call/attachments.h"
#include "treaty/cli/input.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli {
namespace {

using contracts::InputArtifact;
using contracts::UserTurn;

// A request has to stay below the limit of a document.
constexpr std::size_t kLargestRequest = std::size_t{16} << 20U;

Result<std::string> read_text(const Arguments& arguments) {
  if (arguments.positionals.size() > 1) {
    return misused("one text at a time: put it in quotes");
  }
  std::string text = arguments.positionals.empty() ? "" : arguments.positionals[0];
  if (text == "-") {
    auto read = read_input("-", kLargestRequest);
    if (!read) return misused(fmt::format("standard input: {}", read.error().message));
    text = *std::move(read);
  }
  if (text.size() > kLargestRequest) return misused("the text is longer than 16 MiB");
  if (!is_utf8(text)) return misused("the text is not UTF-8");
  return text;
}

Result<InputArtifact> read_artifact(const std::string& path) {
  auto bytes = read_within(path, kLargestRequest);
  if (!bytes) return misused(fmt::format("--file {}: {}", path, bytes.error().message));
  InputArtifact artifact{.relative_path = artifact_path(path),
                         .file_name = std::filesystem::path(path).filename().string(),
                         .contents = "",
                         .origin = contracts::Origin::user};
  const bool is_text = is_utf8(*bytes) && !bytes->contains('\0');
  artifact.encoding = is_text ? contracts::Encoding::utf8 : contracts::Encoding::base64;
  artifact.contents = is_text ? *std::move(bytes) : base64_encode(*bytes);
  return artifact;
}

Result<void> read_attachments(const Arguments& arguments, UserTurn& turn) {
  for (const std::string& path : arguments.all("--file")) {
    TREATY_TRY(auto artifact, read_artifact(path));
    turn.input_artifacts.push_back(std::move(artifact));
  }
  for (const std::string& path : arguments.all("--image")) {
    TREATY_TRY(auto image, read_image(path));
    turn.clipboard_images.push_back(
        {.id = fmt::format("image-{}", turn.clipboard_images.size() + 1),
         .mime_type = std::move(image.media_type),
         .data_base64 = std::move(image.base64)});
  }
  return {};
}

}  // namespace

// Steps that lead outside are left out; a first name that reads as a home or a drive is kept apart.
std::string artifact_path(const std::string& path) {
  std::string out;
  for (const std::filesystem::path& step : std::filesystem::path(path).lexically_normal()) {
    const std::string name = step.string();
    if (name.empty() || name == "." || name == ".." || step.is_absolute()) continue;
    out += (out.empty() ? "" : "/") + name;
  }
  const bool is_drive = out.size() > 1 && is_letter(out[0]) && out[1] == ':';
  return out.starts_with('~') || is_drive ? "./" + out : out;
}

std::string violations_of(const contracts::AgentExecuteRequest& request) {
  const auto decoded = contracts::decode_agent_execute_request(contracts::encode(request));
  std::string out;
  for (const contracts::Finding& finding : decoded.error()) {
    out += fmt::format("{}{} {}: {}", out.empty() ? "" : "\n", finding.rule.text(),
                       harmless(finding.where), harmless(finding.message));
  }
  return out;
}

Result<std::optional<contracts::AgentExecuteRequest>> read_run_request(const Arguments& arguments) {
  const bool asks_nothing = arguments.positionals.empty() && arguments.all("--file").empty() &&
                            arguments.all("--image").empty();
  if (asks_nothing && arguments.has("--session") && !arguments.has("--agent")) return std::nullopt;
  UserTurn turn;
  TREATY_TRY(auto text, read_text(arguments));
  if (!is_blank(text)) turn.instruction = std::move(text);
  TREATY_TRY_VOID(read_attachments(arguments, turn));
  if (!turn.instruction && turn.input_artifacts.empty() && turn.clipboard_images.empty()) {
    return misused("say something: a text, or - for standard input");
  }
  if (arguments.has("--agent")) turn.agent_context_id = arguments.get("--agent");
  turn.streaming = !arguments.has("--no-stream") && arguments.get("--format") != "json";
  contracts::AgentExecuteRequest request{
      arguments.has("--session") ? arguments.get("--session") : new_uuid(), new_uuid(),
      std::move(turn)};
  if (const std::string broken = violations_of(request); !broken.empty()) return misused(broken);
  return request;
}

}  // namespace treaty::cli
