// Recognises the stack traces of Python, Java, C#, Node, Go, Rust and gdb by their shapes.
#pragma once

#include <string_view>

namespace treaty::contracts {

bool has_stack_trace(std::string_view text);

}  // namespace treaty::contracts
