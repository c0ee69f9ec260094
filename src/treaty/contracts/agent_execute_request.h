// AgentExecuteRequest: what a client may ask of an agent (AGN-034; § refers to it).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "treaty/contracts/decoded.h"
#include "treaty/contracts/inspection/names.h"
#include "treaty/contracts/tools.h"

namespace treaty::contracts {

enum class Origin { ide, user };
enum class Encoding { utf8, base64 };

// §4.2. A file that the client hands over.
struct InputArtifact {
  std::string relative_path;  // Relative and inside the root (REQ-31), as the client wrote it.
  std::string file_name;
  std::string contents;  // Encoded as `encoding` says; may be empty.
  Origin origin = Origin::ide;
  Encoding encoding = Encoding::utf8;
  std::optional<std::string> mime_type{};
  std::optional<std::string> language{};
  bool operator==(const InputArtifact&) const = default;
};

// §4.3. Decodes to one byte or more (REQ-42).
struct ClipboardImage {
  std::string id;
  std::string mime_type;
  std::string data_base64;
  bool operator==(const ClipboardImage&) const = default;
};

// §4.4. All conditions hold together; advisory.
struct RagCondition {
  enum class Operator { equal, not_equal, contains, does_not_contain };
  std::string key;
  Operator comparison = Operator::equal;
  std::vector<std::string> values;  // One or more.
  bool operator==(const RagCondition&) const = default;
};
struct RagScope {
  std::vector<RagCondition> conditions;
  bool operator==(const RagScope&) const = default;
};

// §2.1. At least one of instruction, input_artifacts and clipboard_images is there. On requests an
// empty list is an absent one, hence plain vectors.
struct UserTurn {
  std::optional<std::string> instruction{};
  std::vector<InputArtifact> input_artifacts{};
  std::vector<ClipboardImage> clipboard_images{};
  std::optional<RagScope> rag_scope{};
  std::optional<std::string> solution_context_text{};
  std::optional<std::string> workspace_id{};
  std::optional<std::string> repo{};
  std::optional<std::string> language{};
  bool streaming = false;
  std::optional<std::string> agent_context_id{};
  std::optional<std::string> conversation_context_id{};
  bool operator==(const UserTurn&) const = default;
};

// §2.2. Mechanical: the results and nothing else.
struct ToolContinuation {
  std::vector<ToolResult> tool_results;  // One or more.
  bool operator==(const ToolContinuation&) const = default;
};

struct AgentExecuteRequest {
  std::string session_id;
  std::string turn_id;
  std::variant<UserTurn, ToolContinuation> scenario;
  Dialect dialect = Dialect::pascal;  // How the client spells names; the answer follows it.
  bool operator==(const AgentExecuteRequest&) const = default;
};

Decoded<AgentExecuteRequest> decode_agent_execute_request(std::string_view bytes,
                                                          const DecodeOptions& options = {});

std::string encode(const AgentExecuteRequest& request);

}  // namespace treaty::contracts
