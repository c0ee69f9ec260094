// What a child process is started with: this process's variables and some more, as exec takes them.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace treaty::cli {

// Variables for a child, beside those of this process, or in their place.
using Variables = std::vector<std::pair<std::string, std::string>>;

// A line for each variable, "NAME=value".
std::vector<std::string> environment_with(const Variables& variables);

// Pointers into the texts, with a null at the end.
std::vector<char*> pointers_to(std::vector<std::string>& texts);

}  // namespace treaty::cli
