#include "treaty/testing/vectors.h"

#include <doctest/doctest.h>

#include <fstream>

#include "treaty/base/base64.h"
#include "treaty/contracts/bridge_request.h"

namespace treaty::testing {
namespace {

// The text of the document, however the vector spells it.
std::string document_of(const VectorLine& line) {
  if (const auto base64 = line.find("document_base64")) {
    return base64_decode(base64->text()).value();
  }
  const auto parts = line.find("document_parts");
  if (!parts) return line.text("document");
  std::string document;
  for (const json::Value part : parts->elements()) {
    auto piece = part.elements().begin();
    const std::string_view text = (*piece).text();
    const auto times = (*++piece).integer().value();
    for (std::int64_t i = 0; i < times; ++i) document += text;
  }
  return document;
}

std::vector<RuleAndPlace> findings_of(json::Value list) {
  std::vector<RuleAndPlace> findings;
  for (const json::Value pair : list.elements()) {
    auto piece = pair.elements().begin();
    const std::string rule((*piece).text());
    findings.emplace_back(rule, (*++piece).text());
  }
  return findings;
}

contracts::DecodeOptions options_of(const VectorLine& line) {
  contracts::DecodeOptions options;
  if (line.text("profile") == "lenient") options.profile = contracts::Profile::lenient;
  if (line.text("role") == "consumer") options.role = contracts::Role::consumer;
  if (line.text("inner") == "json") options.inner = contracts::Inner::json;
  if (const std::string request = line.text("request"); !request.empty()) {
    options.request_id = contracts::decode_bridge_request(request)->request_id;
  }
  return options;
}

CheckVector check_vector_of(const VectorLine& line) {
  const json::Value expect = line["expect"];
  CheckVector vector{.id = line.text("id"),
                     .contract = contracts::contract_named(line.text("contract")).value(),
                     .covers = {},
                     .document = document_of(line),
                     .options = options_of(line),
                     .valid = expect.members().find("valid")->boolean(),
                     .violations = findings_of(*expect.members().find("violations")),
                     .warnings = findings_of(*expect.members().find("warnings")),
                     .more = expect.members().find("more").has_value(),
                     .kind = std::nullopt};
  for (const json::Value rule : line["covers"].elements()) vector.covers.emplace_back(rule.text());
  if (const auto kind = expect.members().find("kind")) vector.kind = std::string(kind->text());
  return vector;
}

}  // namespace

std::optional<json::Value> VectorLine::find(std::string_view name) const {
  return document_->root()->members().find(name);
}

std::string VectorLine::text(std::string_view name) const {
  const auto value = find(name);
  return value && value->is_string() ? std::string(value->text()) : std::string();
}

std::vector<VectorLine> read_vector_lines(const std::string& file) {
  std::ifstream stream(std::string(TREATY_SOURCE_DIR) + "/tests/vectors/" + file);
  std::vector<VectorLine> lines;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.emplace_back(std::move(line));
  }
  REQUIRE_MESSAGE(!lines.empty(), file, " has no vectors");
  return lines;
}

std::string bytes_of(const VectorLine& line) {
  const auto base64 = line.find("bytes_base64");
  return base64 ? base64_decode(base64->text()).value() : line.text("text");
}

std::vector<CheckVector> read_check_vectors() {
  std::vector<CheckVector> vectors;
  for (const char* file : {"json.ndjson", "request.ndjson", "response.ndjson",
                           "invoke_result.ndjson", "agent_result.ndjson", "bridge_request.ndjson",
                           "bridge_response.ndjson", "assistant.ndjson", "tools.ndjson"}) {
    for (const VectorLine& line : read_vector_lines(file)) vectors.push_back(check_vector_of(line));
  }
  return vectors;
}

}  // namespace treaty::testing
