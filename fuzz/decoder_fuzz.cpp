// Fuzzes one decoder, the one of TREATY_FUZZ_CONTRACT: the first byte chooses the options, the rest
// is the document. What comes out is held against the promises of decoded.h and of `check --fix`.
#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "require.h"
#include "treaty/base/text.h"
#include "treaty/contracts/agent_execute_request.h"
#include "treaty/contracts/agent_execute_response.h"
#include "treaty/contracts/assistant_response.h"
#include "treaty/contracts/bridge_request.h"
#include "treaty/contracts/bridge_response.h"
#include "treaty/contracts/contract.h"
#include "treaty/contracts/decode_agent_result.h"
#include "treaty/contracts/inspection/edits.h"
#include "treaty/contracts/invoke_result.h"
#include "treaty/contracts/repair.h"

using namespace treaty;             // NOLINT: a target is one file.
using namespace treaty::contracts;  // NOLINT
using fuzz::require;

namespace {

constexpr std::string_view kName = TREATY_FUZZ_CONTRACT;

constexpr auto kDecode = [] {
  if constexpr (kName == "request") return decode_agent_execute_request;
  if constexpr (kName == "response") return decode_agent_execute_response;
  if constexpr (kName == "invoke-result") return decode_invoke_result;
  if constexpr (kName == "agent-result") return decode_agent_result;
  if constexpr (kName == "bridge-request") return decode_bridge_request;
  if constexpr (kName == "bridge-response") return decode_bridge_response;
  if constexpr (kName == "assistant") return decode_assistant_response;
}();

using Answer = decltype(kDecode({}, {}));
using Document = std::remove_cvref_t<decltype(*std::declval<Answer>())>;

Contract this_contract() {
  const auto contract = contract_named(kName);
  require(contract.has_value());
  return *contract;
}

// Seeds begin with a letter: @ is all defaults, A lenient, B consumer, D inner JSON, P a request.
DecodeOptions options_from(std::uint8_t byte) {
  constexpr Inner kInners[] = {Inner::automatic, Inner::json, Inner::text, Inner::automatic};
  DecodeOptions options{.profile = (byte & 1U) != 0 ? Profile::lenient : Profile::strict,
                        .role = (byte & 2U) != 0 ? Role::consumer : Role::producer,
                        .inner = kInners[(byte >> 2U) & 3U]};
  if ((byte & 16U) != 0) options.request_id = "2f0c7a52-8d0e-4a8e-9d6c-3b1f5e7a9c11";
  return options;
}

DecodeOptions with_profile(DecodeOptions options, Profile profile) {
  options.profile = profile;
  return options;
}

bool is_pointer(std::string_view where) {
  if (!where.empty() && where[0] != '/') return false;
  for (std::size_t at = where.find('~'); at != std::string_view::npos;
       at = where.find('~', at + 1)) {
    if (at + 1 == where.size() || (where[at + 1] != '0' && where[at + 1] != '1')) return false;
  }
  return is_utf8(where);
}

void check_place(const Finding& finding, std::string_view text) {
  require(finding.offset <= text.size());
  const std::string_view before = text.substr(0, finding.offset);
  const auto lines = std::ranges::count(before, '\n');
  const std::size_t line_begin = lines == 0 ? 0 : before.rfind('\n') + 1;
  const auto characters = std::ranges::count_if(before.substr(line_begin), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  });
  require(finding.line == static_cast<std::size_t>(lines) + 1);
  require(finding.column == static_cast<std::size_t>(characters) + 1);
}

void check_findings(const Findings& findings, std::string_view text) {
  require(std::ranges::is_sorted(findings, {}, &Finding::offset));
  for (const Finding& finding : findings) {
    require(is_pointer(finding.where));
    require(!finding.message.empty() && is_utf8(finding.message) && is_utf8(finding.hint));
    check_place(finding, text);
  }
}

void check_verdict(const Answer& answer, std::string_view text, const DecodeOptions& options) {
  const Verdict& verdict = answer.verdict();
  require(static_cast<bool>(answer) == verdict.violations.empty());
  check_findings(verdict.violations, text);
  check_findings(verdict.warnings, text);
  const bool repaired = std::ranges::any_of(verdict.warnings, &Finding::repaired);
  require(options.profile == Profile::lenient || (!repaired && verdict.edits.empty()));
  require(repaired == !verdict.edits.empty());
  for (const Edit& edit : verdict.edits) {
    require(edit.begin <= edit.end && edit.end <= text.size());
  }
}

// What a decoder let in is written as a document that strict lets in, and means the same.
void check_encoded(const Document& value, const std::string& text, const DecodeOptions& options) {
  const Answer again = kDecode(text, with_profile(options, Profile::strict));
  require(static_cast<bool>(again));
  require(*again == value);
  // An AgentResult may have no member at all, which tells nothing.
  if (kName != "agent-result") require(detect_contract(text) == this_contract());
}

// In either dialect, where the contract has two.
template <class Value>
void check_encodings(const Value& value, DecodeOptions options) {
  options.role = Role::producer;  // A consumer's extras are gone.
  check_encoded(value, encode(value), options);
  if constexpr (requires { encode(value, Dialect::camel); }) {
    check_encoded(value, encode(value, Dialect::camel), options);
  } else if constexpr (requires { value.dialect; }) {
    Value other = value;
    other.dialect = value.dialect == Dialect::camel ? Dialect::pascal : Dialect::camel;
    check_encoded(other, encode(other), options);
  }
}

// Strict and lenient differ in repairs alone.
void check_profiles(std::string_view text, const DecodeOptions& options) {
  const Answer strict = kDecode(text, with_profile(options, Profile::strict));
  const Answer lenient = kDecode(text, with_profile(options, Profile::lenient));
  require(lenient.error().size() <= strict.error().size());
  if (!strict) return;
  require(lenient && *lenient == *strict);
  require(lenient.verdict().edits.empty());
}

bool has_any(const Findings& violations, std::initializer_list<RuleId> rules) {
  return std::ranges::any_of(violations, [&](const Finding& finding) {
    return std::ranges::find(rules, finding.rule) != rules.end();
  });
}

bool is_bare_output(const Answer& answer) {
  return kName == "bridge-response" && has_any(answer.verdict().warnings, {"BRS-14"});
}

// Whether the repaired document means what lenient read. Two differences are allowed: the first
// member tells the dialect, and a repair may take just that one out; a trace_id that is made up is
// another one each time.
template <class Value>
bool means_the_same(Value repaired, const Value& read, [[maybe_unused]] const Answer& lenient) {
  if constexpr (requires { read.dialect; }) repaired.dialect = read.dialect;
  if constexpr (requires { read.trace_id; }) {
    const auto makes_up_trace_id = [](const Finding& finding) {
      return finding.repaired && finding.where == "/trace_id";
    };
    if (std::ranges::any_of(lenient.verdict().warnings, makes_up_trace_id)) {
      repaired.trace_id = read.trace_id;
    }
  }
  return repaired == read;
}

// `check --fix` writes what lenient read, makes nothing worse, and is done when it says so.
void check_repairs(const Answer& lenient, std::string_view text, const DecodeOptions& options) {
  const Repaired fixed = repair_text(this_contract(), text, options);
  const Answer strict = kDecode(fixed.text, with_profile(options, Profile::strict));
  // Lenient reads a bare output; --fix writes it as an answer only if the request is known.
  if (is_bare_output(lenient) && !options.request_id && !strict) return;
  require(!fixed.repairs.empty() && fixed.text != text);
  require(repair_text(this_contract(), fixed.text, options).text == fixed.text);
  if (lenient) require(strict && means_the_same(*strict, *lenient, lenient));
  // Nothing is repaired silently: a name that stands twice is not dropped by wrapping it.
  if (kName == "bridge-response" && has_any(lenient.error(), {"JSON-02", "JSON-05"})) {
    require(!strict);
  }
  // What cannot be read may well show more once its byte order mark is gone.
  if (has_any(lenient.error(), {"JSON-01"})) return;
  require(strict.error().size() <= lenient.error().size());
  const std::string once = apply_edits(text, lenient.verdict().edits);
  require(kDecode(once, options).error().size() <= lenient.error().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const DecodeOptions options = options_from(data[0]);
  const std::string_view text = fuzz::as_text(data, size).substr(1);
  const Answer answer = kDecode(text, options);
  check_verdict(answer, text, options);
  check_profiles(text, options);
  if (answer) check_encodings(*answer, options);
  if (!answer.verdict().edits.empty()) check_repairs(answer, text, options);
  return 0;
}
