// Tools as values, whoever runs them: what a model is told of one, a call, and what came of it.
// runner.h is the interface that runs one, and argument_check.h checks a call for whoever has
// declared the tool.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace treaty::tools {

// What a model is told.
struct ToolDeclaration {
  std::string name;
  std::string description{};
  std::string parameters_json{};  // JSON Schema of an object; empty: any object.
  bool operator==(const ToolDeclaration&) const = default;
};

// A call that a model has made.
struct ToolInvocation {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as the model wrote it.
  // The same for the same call, also after a crash. No two calls of an execution and its children
  // share it.
  std::string key{};
  bool is_offered = false;  // The tool is one of those that the caller declared.
};

struct ToolOutcome {
  std::string content;
  bool is_error = false;
};

bool declares(const std::vector<ToolDeclaration>& tools, std::string_view name);

ToolOutcome failed_outcome(std::string why);

// The outcome of a call of a tool that nobody here can run.
ToolOutcome no_provider_for(std::string_view tool);

}  // namespace treaty::tools
