#include "treaty/contracts/invoke_result.h"

#include <fmt/format.h>

#include "treaty/contracts/inspection/fields.h"
#include "treaty/contracts/text/leaks.h"

namespace treaty::contracts {
namespace {

enum InvokeField { kSuccessful, kResult, kErrors, kWarnings, kInvokeResultId, kInvokeFieldCount };
constexpr std::array<std::string_view, kInvokeFieldCount> kInvokeNames = {
    "Successful", "Result", "Errors", "Warnings", "ResultId"};
using InvokeMembers = KnownMembers<kInvokeFieldCount>;

enum InvokeErrorField {
  kErrorCode,
  kInvokeMessage,
  kFatalError,
  kSystemError,
  kInvokeContext,
  kDetails,
  kInvokeErrorFieldCount
};
constexpr std::array<std::string_view, kInvokeErrorFieldCount> kInvokeErrorNames = {
    "ErrorCode", "Message", "FatalError", "SystemError", "Context", "Details"};

std::optional<std::string> nullable_text(Inspection& inspection, const Place* place) {
  return optional_text(inspection, "INV-04", unless_null(place));
}

bool nullable_flag(Inspection& inspection, const Place* place) {
  return unless_null(place) != nullptr && is_boolean_field(inspection, "INV-04", *place) &&
         place->value.boolean();
}

InvokeError inspect_error(Inspection& inspection, const Place& place) {
  InvokeError error;
  if (!is_object_field(inspection, "INV-04", place)) return error;
  const KnownMembers members(place, kInvokeErrorNames, inspection.name_case());
  error.error_code = nullable_text(inspection, members[kErrorCode]).value_or("");
  error.message = required_text(inspection, "INV-04", members[kInvokeMessage], place,
                                kInvokeErrorNames[kInvokeMessage]);
  error.fatal_error = nullable_flag(inspection, members[kFatalError]);
  error.system_error = nullable_flag(inspection, members[kSystemError]);
  error.context = nullable_text(inspection, members[kInvokeContext]);
  error.details = nullable_text(inspection, members[kDetails]);
  if (error.details) {
    const std::string_view leak = find_leak(*error.details);
    if (!leak.empty()) {
      inspection.refuse("INV-04", *members[kDetails], fmt::format("Details shows {}", leak),
                        "keep it in the server's log");
    }
  }
  return error;
}

std::vector<InvokeError> inspect_errors(Inspection& inspection, const Place* list) {
  if (unless_null(list) == nullptr || !is_array_field(inspection, "INV-04", *list)) return {};
  return inspect_entries(inspection, *list, inspect_error);
}

// INV-01. Nothing when the document does not say.
std::optional<bool> inspect_successful(Inspection& inspection, const InvokeMembers& members,
                                       bool has_errors) {
  const Place* place = members[kSuccessful];
  if (place == nullptr) {
    inspection.refuse_missing("INV-01", members.object(), kInvokeNames[kSuccessful]);
    return std::nullopt;
  }
  if (!is_boolean_field(inspection, "INV-01", *place)) return std::nullopt;
  const bool successful = place->value.boolean();
  if (successful == has_errors) {
    inspection.refuse("INV-01", *place,
                      successful ? "Successful is true although there are errors"
                                 : "Successful is false although there is no error");
  }
  return successful;
}

// INV-02, INV-03.
std::optional<AgentExecuteResponse> inspect_result(Inspection& inspection,
                                                   const InvokeMembers& members,
                                                   std::optional<bool> successful) {
  const Place* place = unless_null(members[kResult]);
  if (successful == false) {
    if (place != nullptr) {
      inspection.refuse("INV-02", *place, "there is a Result although the call did not succeed",
                        "leave Result out, or null");
    }
    return std::nullopt;
  }
  if (place == nullptr) {
    if (successful) inspection.refuse_missing("INV-03", members.object(), kInvokeNames[kResult]);
    return std::nullopt;
  }
  if (!is_object_field(inspection, "INV-03", *place)) return std::nullopt;
  return inspect_agent_execute_response(inspection, *place);
}

std::optional<InvokeResult> inspect_invoke_result(Inspection& inspection, const Place& root) {
  const InvokeMembers members(root, kInvokeNames, inspection.name_case());
  std::vector<InvokeError> errors = inspect_errors(inspection, members[kErrors]);
  const std::optional<bool> successful = inspect_successful(inspection, members, !errors.empty());
  std::optional<AgentExecuteResponse> response = inspect_result(inspection, members, successful);
  inspection.set_kind(!successful ? "" : *successful ? "success" : "failure");
  InvokeResult result{.outcome = Failure{std::move(errors)},
                      .warnings = inspect_errors(inspection, members[kWarnings]),
                      .result_id = nullable_text(inspection, members[kInvokeResultId])};
  if (response) result.outcome = std::move(*response);
  return result;
}

void write_errors(json::Writer& writer, const std::vector<InvokeError>& errors, Dialect dialect) {
  const auto name = [&](InvokeErrorField field) {
    return spelled(kInvokeErrorNames[field], dialect);
  };
  const auto nullable = [&](InvokeErrorField field, const std::optional<std::string>& text) {
    writer.name(name(field));
    text ? writer.value(*text) : writer.null();
  };
  writer.begin_array();
  for (const InvokeError& error : errors) {
    writer.begin_object();
    writer.member(name(kErrorCode), error.error_code);
    writer.member(name(kInvokeMessage), error.message);
    writer.member(name(kFatalError), error.fatal_error);
    writer.member(name(kSystemError), error.system_error);
    nullable(kInvokeContext, error.context);
    nullable(kDetails, error.details);
    writer.end_object();
  }
  writer.end_array();
}

}  // namespace

Decoded<InvokeResult> decode_invoke_result(std::string_view bytes, const DecodeOptions& options) {
  return decode_by<InvokeResult>(inspect_invoke_result, bytes, options, json::NameCase::folded,
                                 kInvokeNames);
}

std::string encode(const InvokeResult& result, Dialect dialect) {
  const auto name = [&](InvokeField field) { return spelled(kInvokeNames[field], dialect); };
  const auto* response = std::get_if<AgentExecuteResponse>(&result.outcome);
  json::Writer writer;
  writer.begin_object();
  writer.member(name(kSuccessful), response != nullptr);
  if (response != nullptr) {
    writer.name(name(kResult));
    write(writer, *response, dialect);
  }
  writer.name(name(kErrors));
  write_errors(
      writer,
      response != nullptr ? std::vector<InvokeError>() : std::get<Failure>(result.outcome).errors,
      dialect);
  writer.name(name(kWarnings));
  write_errors(writer, result.warnings, dialect);
  if (result.result_id) writer.member(name(kInvokeResultId), *result.result_id);
  return writer.end_object().take();
}

}  // namespace treaty::contracts
