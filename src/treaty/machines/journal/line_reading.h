// Lines of a journal as values. A member that is missing or of another kind is 0, empty or null.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/machines/journal/history.h"

namespace treaty::machines::lines {

// The error is for people.
// Contexts within contexts: what is deeper is neither written nor read.
constexpr std::size_t kDeepestLine = 1000;

std::expected<Object, std::string> parse_line(std::string_view text);

std::int64_t whole(const Object& line, std::string_view name);
double number(const Object& line, std::string_view name);
Object object(const Object& line, std::string_view name);
Dynamic value(const Object& line, std::string_view name);
std::optional<std::string> optional_text(const Object& line, std::string_view name);
List list(const Object& line, std::string_view name);
std::vector<double> numbers(const Object& line, std::string_view name);

Outcome outcome_of(const Object& line);
Beginning beginning_of(const Object& line);

}  // namespace treaty::machines::lines
