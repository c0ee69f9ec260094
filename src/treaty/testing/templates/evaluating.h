// Conditions and templates in tests: texts in, texts out.
#pragma once

#include <string>
#include <string_view>

#include "treaty/base/json.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/templates/template.h"

namespace treaty::testing {

// The value that a JSON text holds.
inline templates::Dynamic value_of(std::string_view json) {
  const json::Document document(json, {.max_depth = 1'000});
  return document.root() ? json::to_dynamic(*document.root()) : templates::Dynamic();
}

// A scope whose values live as long as it does.
struct Room {
  explicit Room(std::string_view json) : values(value_of(json)) {
    for (const auto& member : values.as_object()) {
      if (member.key() == "context") scope.context = &member.value();
      if (member.key() == "input") scope.input = &member.value();
      if (member.key() == "output") scope.output = &member.value();
      if (member.key() == "result") scope.result = &member.value();
      bound.push_back({member.key(), &member.value()});
    }
    std::erase_if(bound, [](const templates::Binding& binding) {
      return binding.name == "context" || binding.name == "input" || binding.name == "output" ||
             binding.name == "result";
    });
    scope.bound = bound;
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  templates::Dynamic values;
  std::vector<templates::Binding> bound;
  templates::Scope scope;
};

// What a condition comes to, as JSON; "parse: …" or "error: …" when it does not come to anything.
inline std::string evaluated(std::string_view expression, const templates::Scope& scope) {
  const auto parsed = templates::Expression::parse(expression);
  if (!parsed) return "parse: " + parsed.error().message;
  const auto value = parsed->evaluate(scope);
  return value ? templates::print_json(*value) : "error: " + value.error();
}
inline std::string evaluated(std::string_view expression, std::string_view scope = "{}") {
  return evaluated(expression, Room(scope).scope);
}

// The same for a template, which is a text here; the result is printed as `{{ }}` does.
inline std::string rendered(std::string_view source, const templates::Scope& scope) {
  const auto parsed = templates::Template::parse(boost::json::string(source));
  if (!parsed) return "parse: " + parsed.error().message;
  const auto value = parsed->render(scope);
  return value ? templates::print(*value) : "error: " + value.error();
}
inline std::string rendered(std::string_view source, std::string_view scope = "{}") {
  return rendered(source, Room(scope).scope);
}

}  // namespace treaty::testing
