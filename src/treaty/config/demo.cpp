#include "treaty/config/demo.h"

extern "C" const char treaty_demo_script_begin[];
extern "C" const char treaty_demo_script_end[];
extern "C" const char treaty_demo_agent_begin[];
extern "C" const char treaty_demo_agent_end[];

namespace treaty::config {

std::string_view demo_script() { return {treaty_demo_script_begin, treaty_demo_script_end}; }
std::string_view demo_agent() { return {treaty_demo_agent_begin, treaty_demo_agent_end}; }

}  // namespace treaty::config
