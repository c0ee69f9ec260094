// JSON that is given on the command line: as it is, or of @FILE, or of standard input.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "treaty/machines/machine.h"

namespace treaty::cli {

// `what` names it in the error, which is what to say.
std::expected<machines::Dynamic, std::string> read_json_argument(std::string_view what,
                                                                 const std::string& argument);

// On one line.
std::string json_text_of(const machines::Dynamic& value);

// Indented, for a terminal.
std::string json_lines_of(const machines::Dynamic& value);

}  // namespace treaty::cli
