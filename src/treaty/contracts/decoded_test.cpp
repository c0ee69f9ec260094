// Properties of every decoder and encoder.
#include "treaty/contracts/decoded.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include "treaty/contracts/contract.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/testing/generators.h"

using namespace treaty;
using namespace treaty::contracts;
using namespace treaty::testing;

namespace rc {

// Shown when a property fails.
template <class T>
  requires requires(const T& value) { encode(value); }
void showValue(const T& value, std::ostream& out) {
  out << encode(value);
}

}  // namespace rc

namespace {

template <class T>
void is_the_same(const Decoded<T>& decoded, const T& value) {
  for (const Finding& finding : decoded.error()) {
    RC_LOG() << finding.rule.text() << " " << finding.where << " " << finding.message << "\n";
  }
  RC_ASSERT(bool(decoded));
  RC_ASSERT(*decoded == value);
}

std::vector<std::string> member_names(std::string_view text) {
  const json::Document document(text);
  std::vector<std::string> names;
  for (const json::Member member : document.root()->members()) {
    names.emplace_back(member.name.text());
  }
  return names;
}

bool is_all_of(Dialect dialect, json::Value value) {
  if (value.is_array()) {
    for (const json::Value element : value.elements()) {
      if (!is_all_of(dialect, element)) return false;
    }
  } else if (value.is_object()) {
    for (const json::Member member : value.members()) {
      const bool camel = is_lower(member.name.text()[0]);
      if (camel != (dialect == Dialect::camel) || !is_all_of(dialect, member.value)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a request that was encoded decodes to itself, in its dialect") {
  CHECK(rc::check([] {
    const AgentExecuteRequest request = *any_request();
    is_the_same(decode_agent_execute_request(encode(request)), request);
  }));
}

TEST_CASE("a response that was encoded decodes to itself, in either dialect") {
  CHECK(rc::check([] {
    const AgentExecuteResponse response = *any_response();
    is_the_same(decode_agent_execute_response(encode(response, *any_dialect())), response);
  }));
}

TEST_CASE("an InvokeResult that was encoded decodes to itself, in either dialect") {
  CHECK(rc::check([] {
    const InvokeResult result = *any_invoke_result();
    is_the_same(decode_invoke_result(encode(result, *any_dialect())), result);
  }));
}

TEST_CASE("an AgentResult that was encoded decodes to itself") {
  CHECK(rc::check([] {
    const AgentResult result = *any_agent_result();
    is_the_same(decode_agent_result(encode(result)), result);
  }));
}

TEST_CASE("a bridge request that was encoded decodes to itself") {
  CHECK(rc::check([] {
    const BridgeRequest request = *any_bridge_request();
    is_the_same(decode_bridge_request(encode(request)), request);
  }));
}

TEST_CASE("a bridge response that was encoded decodes to itself") {
  CHECK(rc::check([] {
    const BridgeResponse response = *any_bridge_response();
    is_the_same(decode_bridge_response(encode(response), {.inner = Inner::text}), response);
  }));
}

TEST_CASE("an assistant response that was encoded decodes to itself") {
  CHECK(rc::check([] {
    const AssistantResponse response = *any_assistant_response();
    is_the_same(decode_assistant_response(encode(response)), response);
  }));
}

TEST_CASE("AGN-033 §3.5: what is encoded never has a bucket that its kind forbids") {
  CHECK(rc::check([] {
    const AgentExecuteResponse response = *any_response();
    const bool final = std::holds_alternative<FinalResponse>(response.kind);
    const std::vector<std::string> forbidden =
        final ? std::vector<std::string>{"ToolCalls", "ToolContinuationMessage"}
              : std::vector<std::string>{"PrimaryOutputText", "ToolResults", "Files",
                                         "UserWarnings", "Usage"};
    for (const std::string& name : member_names(encode(response))) {
      RC_ASSERT(std::ranges::find(forbidden, name) == forbidden.end());
    }
  }));
}

TEST_CASE("a document is never written in two dialects") {
  CHECK(rc::check([] {
    const Dialect dialect = *any_dialect();
    const std::string text = encode(*any_invoke_result(), dialect);
    const json::Document document(text);
    RC_ASSERT(is_all_of(dialect, *document.root()));
  }));
}

TEST_CASE("whatever the bytes, a decoder has a value or says why not") {
  CHECK(rc::check([] {
    const std::string bytes = *any_bytes();
    const auto decoded = decode_agent_result(bytes);
    RC_ASSERT(bool(decoded) == decoded.error().empty());
    for (const Contract contract : kContracts) {
      for (const Profile profile : {Profile::strict, Profile::lenient}) {
        const Verdict verdict = check(contract, bytes, {.profile = profile});
        for (const Finding& finding : verdict.violations) {
          RC_ASSERT(finding.offset <= bytes.size());
          RC_ASSERT(finding.where.empty() || finding.where[0] == '/');
        }
      }
    }
  }));
}

TEST_CASE("lenient never refuses what strict accepts") {
  CHECK(rc::check([] {
    const DecodeOptions lenient{.profile = Profile::lenient, .inner = Inner::text};
    RC_ASSERT(check(Contract::request, encode(*any_request()), lenient).valid());
    RC_ASSERT(check(Contract::response, encode(*any_response()), lenient).valid());
    RC_ASSERT(check(Contract::invoke_result, encode(*any_invoke_result()), lenient).valid());
    RC_ASSERT(check(Contract::agent_result, encode(*any_agent_result()), lenient).valid());
    RC_ASSERT(check(Contract::bridge_response, encode(*any_bridge_response()), lenient).valid());
    RC_ASSERT(check(Contract::assistant, encode(*any_assistant_response()), lenient).valid());
  }));
}
