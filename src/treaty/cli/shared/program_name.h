// How this program is called: for lines that people copy.
#pragma once

#include <string>

namespace treaty::cli {

// "treaty" when that is what the shell would start; else the path to it, relative when it is below
// the current directory.
std::string program_name();

// The same, from what the process would ask the system: the program's own file, the variable PATH,
// the current directory.
std::string program_name(const std::string& file, const std::string& path_variable,
                         const std::string& directory);

}  // namespace treaty::cli
