// From the text of a schema to its program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/schema/program.h"

namespace treaty::schema {

// True for keywords that inform people and programs but refuse no value; and for `x-…`.
bool is_annotation(std::string_view keyword);

enum class Draft { draft_07, draft_2019_09, draft_2020_12 };

// The draft of which `$schema` gives the URI, if its schemas can be read here.
std::optional<Draft> draft_of(std::string_view uri);

// Why the keyword is refused and what to write instead. `checked` are those that are supported.
std::string why_refused(std::string_view keyword, std::span<const std::string_view> checked);

// Makes the nodes of a schema that was read without faults; the root becomes the first. The error
// is the first thing that is wrong.
std::optional<Error> compile(json::Value root, std::vector<SchemaNode>& nodes);

}  // namespace treaty::schema
