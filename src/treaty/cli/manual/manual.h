// The manual page and completions, written from the table of commands: they cannot name an option
// that is not there, nor forget one that is.
#pragma once

#include <span>
#include <string>

#include "treaty/cli/command_line.h"

namespace treaty::cli::manual {

// treaty(1), for the man macros of groff and mandoc.
std::string man_page(std::span<const Command> commands);

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

// The names with a space between two of them.
std::string names_of(std::span<const Command> commands);

// What stands after an option, or in the place of an argument.
enum class Completes { nothing, words, files, directories };
Completes completes(const Option& option);

// Options that stand alone complete nothing after them.
bool takes_value(const Option& option);

// What is among the arguments. After a program come files: nobody knows what it takes.
bool takes_files(const Command& command);
bool takes_directories(const Command& command);
bool takes_program(const Command& command);

}  // namespace treaty::cli::manual
