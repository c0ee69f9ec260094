// The project's own vectors, and the walk over the ledger that keeps them complete.
#include "treaty/contracts/contract.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "treaty/contracts/continuation.h"
#include "treaty/contracts/rule_examples.h"
#include "treaty/contracts/rules.h"
#include "treaty/contracts/text/content_hash.h"
#include "treaty/testing/vectors.h"

using namespace treaty;
using namespace treaty::contracts;
using treaty::testing::CheckVector;
using treaty::testing::RuleAndPlace;

namespace {

std::set<RuleAndPlace> pairs_of(const Findings& findings) {
  std::set<RuleAndPlace> pairs;
  for (const Finding& finding : findings) pairs.emplace(finding.rule.text(), finding.where);
  return pairs;
}

std::string listed(const std::set<RuleAndPlace>& pairs) {
  std::string out;
  for (const auto& [rule, where] : pairs) out += fmt::format("{} {}; ", rule, where);
  return out;
}

bool as_stated(const std::vector<RuleAndPlace>& stated, const Findings& found, bool more) {
  const std::set<RuleAndPlace> expected(stated.begin(), stated.end());
  const std::set<RuleAndPlace> got = pairs_of(found);
  return more ? std::ranges::includes(got, expected) : got == expected;
}

bool names_rule(const Verdict& verdict, std::string_view rule) {
  const auto is_it = [&](const Finding& finding) { return finding.rule == rule; };
  return std::ranges::any_of(verdict.violations, is_it) ||
         std::ranges::any_of(verdict.warnings, is_it);
}

// How often a rule was seen kept and broken.
struct Coverage {
  int accepting = 0;
  int refusing = 0;
};

// A rule that speaks through others is broken when the document is.
bool breaks(const Rule& rule, const Verdict& verdict) {
  if (rule.effect == Effect::delegates) return !verdict.valid();
  return names_rule(verdict, rule.id);
}

void count_check_vectors(std::map<std::string, Coverage>& coverage) {
  for (const CheckVector& vector : testing::read_check_vectors()) {
    const Verdict verdict = check(vector.contract, vector.document, vector.options);
    for (const std::string& id : vector.covers) {
      const Rule* rule = find_rule(id);
      REQUIRE_MESSAGE(rule != nullptr, vector.id, " covers ", id,
                      ", which the ledger does not have");
      if (rule->effect == Effect::tells) {
        // Kept and broken are the two kinds it tells.
        (verdict.kind == "user_turn" ? coverage[id].accepting : coverage[id].refusing)++;
      } else {
        // What another rule refuses proves nothing about this one.
        if (breaks(*rule, verdict)) coverage[id].refusing++;
        if (verdict.valid() && !names_rule(verdict, id)) coverage[id].accepting++;
      }
    }
  }
}

void count_continuation_vectors(std::map<std::string, Coverage>& coverage) {
  for (const auto& line : testing::read_vector_lines("continuation.ndjson")) {
    const auto verdict = check_continuation(line.text("pending"), line.text("submitted"));
    for (const json::Value rule : line["covers"].elements()) {
      const bool broken = names_rule(verdict.submitted, rule.text());
      Coverage& seen = coverage[std::string(rule.text())];
      (broken ? seen.refusing : seen.accepting)++;
    }
  }
}

}  // namespace

TEST_CASE("every check vector gets exactly the verdict that it states") {
  for (const CheckVector& vector : testing::read_check_vectors()) {
    const Verdict verdict = check(vector.contract, vector.document, vector.options);

    CAPTURE(vector.id);
    CHECK(verdict.valid() == vector.valid);
    CHECK_MESSAGE(as_stated(vector.violations, verdict.violations, vector.more),
                  listed(pairs_of(verdict.violations)));
    CHECK_MESSAGE(as_stated(vector.warnings, verdict.warnings, vector.more),
                  listed(pairs_of(verdict.warnings)));
    if (vector.kind) CHECK(verdict.kind == *vector.kind);
  }
}

TEST_CASE("every continuation vector gets the rules and differences that it states") {
  for (const auto& line : testing::read_vector_lines("continuation.ndjson")) {
    const auto verdict = check_continuation(line.text("pending"), line.text("submitted"));
    const auto expect = line["expect"].members();

    CAPTURE(line.text("id"));
    CHECK(verdict.valid() == expect.find("valid")->boolean());
    std::set<std::string> rules;
    for (const json::Value rule : expect.find("rules")->elements()) rules.emplace(rule.text());
    for (const std::string& rule : rules) CHECK(names_rule(verdict.submitted, rule));
    for (const char* matching : {"TOOL-10", "TOOL-11", "TOOL-12", "TOOL-13"}) {
      CHECK(names_rule(verdict.submitted, matching) == rules.contains(matching));
    }
    std::multiset<RuleAndPlace> stated;
    std::multiset<RuleAndPlace> found;
    for (const json::Value difference : expect.find("differences")->elements()) {
      const auto id = difference.members().find("id");
      stated.emplace(difference.members().find("kind")->text(), id ? id->text() : "");
    }
    for (const Difference& difference : verdict.differences) {
      const bool free = difference.kind == Difference::Kind::out_of_order;
      found.emplace(name_of(difference.kind), free ? "" : difference.id);
    }
    CHECK(stated == found);
  }
}

TEST_CASE("D7: every hash vector gets the digest that it states") {
  for (const auto& line : testing::read_vector_lines("hash.ndjson")) {
    CAPTURE(line.text("id"));
    CHECK(content_hash(testing::bytes_of(line)) == line.text("expect"));
  }
}

TEST_CASE("every rule of the ledger has accepting and refusing vectors") {
  std::map<std::string, Coverage> coverage;
  count_check_vectors(coverage);
  count_continuation_vectors(coverage);

  for (const Rule& rule : rules()) {
    CAPTURE(rule.id);
    CHECK(coverage[std::string(rule.id)].accepting > 0);
    CHECK(coverage[std::string(rule.id)].refusing > 0);
  }
}

TEST_CASE("every rule of the ledger has an example that keeps it and one that does not") {
  const std::vector<RuleExample> examples = rule_examples();
  REQUIRE(examples.size() == rules().size());

  for (std::size_t i = 0; i < examples.size(); ++i) {
    const RuleExample& example = examples[i];
    CAPTURE(example.rule);
    CHECK(example.rule == rules()[i].id);
    if (example.contract == "continuation") {
      CHECK(check_continuation(example.pending, example.passes).valid());
      CHECK(names_rule(check_continuation(example.pending, example.fails).submitted, example.rule));
      continue;
    }
    const Contract contract = contract_named(example.contract).value();
    const Verdict passes = check(contract, example.passes, example.options);
    const Verdict fails = check(contract, example.fails, example.options);
    CHECK(passes.valid());
    CHECK(!names_rule(passes, example.rule));
    if (rules()[i].effect == Effect::tells) {
      CHECK(passes.kind != fails.kind);
    } else {
      CHECK(breaks(rules()[i], fails));
    }
  }
}

TEST_CASE("a document tells its contract by its members, in either dialect") {
  CHECK(detect_contract(R"({"successful": true, "result": {}})") == Contract::invoke_result);
  CHECK(detect_contract(R"({"Kind": "final", "SessionId": "s", "TurnId": "t"})") ==
        Contract::response);
  CHECK(detect_contract(R"({"sessionId": "s", "turnId": "t", "toolResults": []})") ==
        Contract::request);
  CHECK(detect_contract(R"({"SessionId": "s", "TurnId": "t", "ModeDisplayName": "x"})") ==
        Contract::request);
  CHECK(detect_contract(R"({"request_id": "r", "prompt": "p"})") == Contract::bridge_request);
  CHECK(detect_contract(R"({"request_id": "r", "status": "error"})") == Contract::bridge_response);
  CHECK(detect_contract(R"({"assistant_message": "m"})") == Contract::assistant);
  CHECK(detect_contract(R"({"content": "c", "usage": {}})") == Contract::agent_result);
  CHECK(!detect_contract(R"({"a": 1})"));
  CHECK(!detect_contract("[]"));
  CHECK(!detect_contract("nothing"));
}

TEST_CASE("every contract is found by its name") {
  for (const Contract contract : kContracts) CHECK(contract_named(name_of(contract)) == contract);
  CHECK(!contract_named("Response"));
}

TEST_CASE("ARL-05: a list with many faults is replaced by one edit") {
  const Verdict verdict = check(Contract::assistant, R"({"assistant_message": "m",
      "action_taken": "a", "next_steps": [1, "x", 2, 3], "confidence_level": "low",
      "trace_id": "t", "response_version": "v1"})",
                                {.profile = Profile::mending});

  CHECK(verdict.valid());
  CHECK(verdict.warnings.size() == 3);
  CHECK(verdict.edits.size() == 1);
}
