#include "treaty/backends/protocols/models.h"

#include <charconv>
#include <optional>

#include "treaty/base/text.h"

namespace treaty::backends {
namespace {

constexpr int kNewest = 9999;

// A number of one or two digits at the beginning of `text`: longer ones are dates.
std::optional<int> small_number(std::string_view text) {
  int number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = end - text.data();
  if (failure != std::errc() || number < 0 || digits > 2) return std::nullopt;
  return number;
}

std::size_t digits_of(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  return digits;
}

// "4-5-20251101" is 405, "5" is 500; 0 when there is no number.
int version_at(std::string_view text, std::string_view separators) {
  const auto major = small_number(text);
  if (!major) return 0;
  text.remove_prefix(digits_of(text));
  if (text.size() < 2 || !separators.contains(text.front())) return 100 * *major;
  return 100 * *major + small_number(text.substr(1)).value_or(0);
}

}  // namespace

std::string_view without_vendor(std::string_view model) {
  const std::size_t slash = model.rfind('/');
  return slash == std::string_view::npos ? model : model.substr(slash + 1);
}

int gemini_generation(std::string_view model) {
  constexpr std::string_view kName = "gemini-";
  const std::size_t at = model.find(kName);
  return at == std::string_view::npos ? 0 : version_at(model.substr(at + kName.size()), ".");
}

int gpt_version(std::string_view model) {
  constexpr std::string_view kName = "gpt-";
  model = without_vendor(model);
  return model.starts_with(kName) ? version_at(model.substr(kName.size()), ".") : 0;
}

Claude claude_of(std::string_view model) {
  const std::size_t at = model.find("claude");
  if (at == std::string_view::npos) return {};
  Claude claude{.version = kNewest, .is_opus = model.contains("opus")};
  // The first small number that begins a part of the name.
  for (std::size_t i = model.find('-', at); i != std::string_view::npos; i = model.find('-', i)) {
    ++i;
    const int version = version_at(model.substr(i), "-.");
    if (version == 0) continue;
    claude.version = version;
    break;
  }
  return claude;
}

bool Claude::binds_thoughts() const { return version >= 501 && version < kNewest; }

std::int64_t Claude::most_output_tokens() const {
  if (version == 0 || version > 406) return 0;
  if (version < 305) return 4'096;
  if (version < 307) return 8'192;
  if (is_opus && version < 405) return 32'000;
  return version == 406 ? 128'000 : 64'000;
}

bool is_openai_reasoner(std::string_view model) {
  const std::string_view name = without_vendor(model);
  const bool is_o_series = name.size() > 1 && name[0] == 'o' && is_digit(name[1]);
  const bool is_new = gpt_version(name) >= 500 && !name.contains("chat");
  return is_o_series || is_new || name.starts_with("gpt-oss") || name.starts_with("codex");
}

bool is_openai_plain(std::string_view model) {
  const std::string_view name = without_vendor(model);
  return name.starts_with("chatgpt") || (gpt_version(name) > 0 && !is_openai_reasoner(name));
}

bool is_served_by_openai(std::string_view model) {
  return is_openai_plain(model) || has_fixed_sampling(model);
}

bool has_fixed_sampling(std::string_view model) {
  return is_openai_reasoner(model) && !without_vendor(model).starts_with("gpt-oss");
}

bool is_llama(std::string_view model) {
  const std::string name = folded(model);
  return name.contains("llama") && !name.contains("deepseek") && !name.contains("nemotron");
}

bool is_deepseek(std::string_view model) { return folded(model).contains("deepseek"); }

GroqSchema groq_schema_of(std::string_view model) {
  if (model.starts_with("openai/gpt-oss-20b") || model.starts_with("openai/gpt-oss-120b")) {
    return GroqSchema::strict;
  }
  for (const std::string_view known :
       {"openai/gpt-oss", "moonshotai/kimi-k2", "meta-llama/llama-4"}) {
    if (model.starts_with(known)) return GroqSchema::best_effort;
  }
  return GroqSchema::none;
}

bool is_gemini(std::string_view model) { return model.contains("gemini"); }

bool encrypts_reasoning(std::string_view model) {
  constexpr std::string_view kGrok = "grok-";
  const std::string_view name = without_vendor(model);
  const bool is_grok = name.starts_with(kGrok) &&
                       version_at(name.substr(kGrok.size()), ".") >= 400 &&
                       !name.contains("non-reasoning");
  return is_grok || (is_openai_reasoner(name) && !name.starts_with("gpt-oss"));
}

}  // namespace treaty::backends
