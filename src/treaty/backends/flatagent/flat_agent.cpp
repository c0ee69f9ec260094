#include "treaty/backends/flatagent/flat_agent.h"

#include "treaty/templates/value.h"

namespace treaty::backends {

std::expected<PromptText, templates::SyntaxFault> PromptText::parse(const std::string& text) {
  PromptText prompt;
  prompt.text_ = text;
  // What looks like a reference to a machine (`input.a` alone) is a text in a prompt.
  if (!text.contains("{{") && !text.contains("{%")) {
    if (prompt.text_.ends_with('\n')) prompt.text_.pop_back();  // As templates do.
    return prompt;
  }
  auto parsed = templates::Template::parse(templates::Dynamic(text));
  if (!parsed) return std::unexpected(parsed.error());
  prompt.template_ = *std::move(parsed);
  return prompt;
}

std::expected<std::string, std::string> PromptText::render(const templates::Scope& scope) const {
  if (!template_) return text_;
  const auto rendered = template_->render(scope);
  if (!rendered) return std::unexpected(rendered.error());
  if (rendered->is_string()) return std::string(rendered->get_string());
  return templates::print(*rendered);
}

}  // namespace treaty::backends
