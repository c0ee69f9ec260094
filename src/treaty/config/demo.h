// The agent that is there without any key: scripted, with two tools for the client to run.
#pragma once

#include <string_view>

namespace treaty::config {

constexpr std::string_view kDemoBackend = "scripted:demo";

std::string_view demo_script();  // What it says: a script for the scripted backend.
std::string_view demo_agent();   // What it is: a treaty.yaml with nothing but `agents`.

}  // namespace treaty::config
