// A FlatAgent file as a value: prompts, the model that is asked, the output that is wanted.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "treaty/backends/call.h"
#include "treaty/base/schema/schema.h"
#include "treaty/templates/template.h"

namespace treaty::backends {

// Text of a prompt: as it is, or a template over `input`.
class PromptText {
 public:
  static std::expected<PromptText, templates::SyntaxFault> parse(const std::string& text);

  std::expected<std::string, std::string> render(const templates::Scope& scope) const;

 private:
  std::string text_{};
  std::optional<templates::Template> template_{};
};

// Which model is asked, and how.
struct ModelProfile {
  std::string model{};     // Empty: nobody said.
  std::string provider{};  // As the file names it; may be empty.
  std::string base_url{};
  std::optional<double> temperature{};
  std::optional<std::int64_t> max_tokens{};
  Sampling sampling{};
  templates::Object written{};  // All of it, for templates that name `model`.
};

// What `output` asks for.
struct WantedOutput {
  OutputSchema request{};
  schema::Schema schema;  // Much the same, to check answers with.
};

struct FlatAgent {
  std::string name = "agent";
  PromptText system{};
  PromptText user{};
  std::optional<PromptText> suffix{};        // After the user's prompt.
  std::optional<PromptText> post_history{};  // After everything that was said.
  ModelProfile profile{};
  std::optional<WantedOutput> output{};
  std::vector<Tool> tools{};
};

}  // namespace treaty::backends
