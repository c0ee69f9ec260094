#include "treaty/contracts/rule_examples.h"

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/contracts/bridge_request.h"

TREATY_ASSET(treaty_rule_examples);

namespace treaty::contracts {
namespace {

RuleExample read_example(std::string_view line) {
  const json::Document document(line);
  const auto text = [&](std::string_view name) {
    const auto member = document.root()->members().find(name);
    return member ? std::string(member->text()) : std::string();
  };
  RuleExample example{.rule = text("rule"),
                      .contract = text("contract"),
                      .passes = text("passes"),
                      .fails = text("fails"),
                      .pending = text("pending"),
                      .request = text("request")};
  if (text("profile") == "lenient") example.options.profile = Profile::lenient;
  if (text("role") == "consumer") example.options.role = Role::consumer;
  if (text("inner") == "json") example.options.inner = Inner::json;
  if (!example.request.empty()) {
    if (const auto request = decode_bridge_request(example.request)) {
      example.options.request_id = request->request_id;
    }
  }
  return example;
}

}  // namespace

std::vector<RuleExample> rule_examples() {
  std::string_view text = treaty_rule_examples();
  std::vector<RuleExample> examples;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) examples.push_back(read_example(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return examples;
}

std::optional<RuleExample> example_of(std::string_view rule) {
  for (RuleExample& example : rule_examples()) {
    if (example.rule == rule) return std::move(example);
  }
  return std::nullopt;
}

}  // namespace treaty::contracts
