// The one place that names what the program is made of.
#pragma once

namespace treaty::app {

// Runs the program and answers its exit code.
int run(int argc, const char* const* argv);

}  // namespace treaty::app
