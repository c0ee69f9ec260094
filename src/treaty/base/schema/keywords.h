// The keywords of JSON Schema 2020-12: which of them are checked, which say nothing about a value,
// and what to tell whoever uses another.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace treaty::schema {

// True for keywords that inform people and programs but refuse no value; and for `x-…`.
bool is_annotation(std::string_view keyword);

enum class Draft { draft_07, draft_2019_09, draft_2020_12 };

// The draft of which `$schema` gives the URI, if its schemas can be read here.
std::optional<Draft> draft_of(std::string_view uri);

// Why the keyword is refused and what to write instead. `checked` are those that are supported.
std::string why_refused(std::string_view keyword, std::span<const std::string_view> checked);

}  // namespace treaty::schema
