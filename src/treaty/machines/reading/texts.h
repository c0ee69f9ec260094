// The texts of a machine that are programs: conditions (MCH-13) and templates (MCH-14).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "treaty/machines/machine.h"
#include "treaty/machines/reading/place.h"
#include "treaty/machines/reading/reader.h"

namespace treaty::machines {

using Bound = std::span<const std::string_view>;  // Names beyond the four: of foreach.

// Any value; every string in it is looked at where it stands.
std::optional<Template> read_template(Reader& reader, const Place& place, Bound bound = {});

// MCH-05 unless it is a mapping.
std::optional<Template> read_template_map(Reader& reader, const Place& place, std::string_view what,
                                          Bound bound = {});

// MCH-05 unless it is a text.
std::optional<Template> read_template_text(Reader& reader, const Place& place,
                                           std::string_view what, Bound bound = {});

// A mapping whose members are rendered one after the other.
std::vector<std::pair<std::string, Template>> read_template_members(Reader& reader,
                                                                    const Place& place,
                                                                    std::string_view what);

// A text, or a literal that YAML has read already: `condition: true`.
void read_condition(Reader& reader, const Place& place, Transition& transition);

// Whether a text is more than text: has `{{` or `{%`, or refers to a value (`context.a`).
bool is_dynamic(std::string_view text);

}  // namespace treaty::machines
