#include "treaty/cli/shared/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

namespace treaty::cli {

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> lines;
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text(*line);
    const auto replaced = [&](const auto& variable) {
      return text.starts_with(variable.first) &&
             text.substr(variable.first.size()).starts_with('=');
    };
    if (std::ranges::none_of(variables, replaced)) lines.emplace_back(text);
  }
  for (const auto& [name, value] : variables) lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace treaty::cli
