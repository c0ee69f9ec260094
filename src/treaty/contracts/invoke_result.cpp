#include "treaty/contracts/invoke_result.h"

#include <fmt/format.h>

#include "treaty/contracts/inspection/inspection.h"
#include "treaty/contracts/text/leaks.h"

namespace treaty::contracts {
namespace {

constexpr std::string_view kInvokeNames[] = {"Successful", "Result", "Errors", "Warnings",
                                             "ResultId"};
using InvokeMembers = KnownMembers<kInvokeNames>;

constexpr std::string_view kInvokeErrorNames[] = {"ErrorCode",   "Message", "FatalError",
                                                  "SystemError", "Context", "Details"};

bool flag(Inspection& inspection, const Place* place) {
  return inspection.is_boolean("INV-04", place) && place->value.boolean();
}

InvokeError inspect_error(Inspection& inspection, const Place& place) {
  InvokeError error;
  if (!inspection.is_object("INV-04", &place)) return error;
  const KnownMembers<kInvokeErrorNames> members(inspection, place);
  error.error_code = inspection.optional_text("INV-04", members.not_null("ErrorCode")).value_or("");
  error.message = members.required_text("INV-04", "Message");
  error.fatal_error = flag(inspection, members.not_null("FatalError"));
  error.system_error = flag(inspection, members.not_null("SystemError"));
  error.context = inspection.optional_text("INV-04", members.not_null("Context"));
  error.details = inspection.optional_text("INV-04", members.not_null("Details"));
  if (error.details) {
    const std::string_view leak = find_leak(*error.details);
    if (!leak.empty()) {
      inspection.refuse("INV-04", *members["Details"], fmt::format("Details shows {}", leak),
                        "keep it in the server's log");
    }
  }
  return error;
}

std::vector<InvokeError> inspect_errors(Inspection& inspection, const Place* list) {
  if (!inspection.is_array("INV-04", list)) return {};
  return inspect_entries(inspection, *list, inspect_error);
}

// INV-01. Nothing when the document does not say.
std::optional<bool> inspect_successful(Inspection& inspection, const InvokeMembers& members,
                                       bool has_errors) {
  const Place* place = members.required("INV-01", "Successful");
  if (!inspection.is_boolean("INV-01", place)) return std::nullopt;
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
  const Place* place = members.not_null("Result");
  if (successful == false) {
    if (place != nullptr) {
      inspection.refuse("INV-02", *place, "there is a Result although the call did not succeed",
                        "leave Result out, or null");
    }
    return std::nullopt;
  }
  if (place == nullptr) {
    if (successful) inspection.refuse_missing("INV-03", members.object(), "Result");
    return std::nullopt;
  }
  if (!inspection.is_object("INV-03", place)) return std::nullopt;
  const Inspection::InnerDocument inner(inspection, *place);
  return inspect_agent_execute_response(inspection, *place);
}

std::optional<InvokeResult> inspect_invoke_result(Inspection& inspection, const Place& root) {
  const InvokeMembers members(inspection, root);
  std::vector<InvokeError> errors = inspect_errors(inspection, members.not_null("Errors"));
  const std::optional<bool> successful = inspect_successful(inspection, members, !errors.empty());
  std::optional<AgentExecuteResponse> response = inspect_result(inspection, members, successful);
  inspection.set_kind(!successful ? "" : *successful ? "success" : "failure");
  InvokeResult result{
      .outcome = Failure{std::move(errors)},
      .warnings = inspect_errors(inspection, members.not_null("Warnings")),
      .result_id = inspection.optional_text("INV-04", members.not_null("ResultId"))};
  if (response) result.outcome = std::move(*response);
  return result;
}

void write_errors(json::Writer& writer, const std::vector<InvokeError>& errors, Dialect dialect) {
  const auto name = [&](std::string_view field) { return spelled(field, dialect); };

  writer.objects(errors, [&](const InvokeError& error) {
    writer.member(name("ErrorCode"), error.error_code);
    writer.member(name("Message"), error.message);
    writer.member(name("FatalError"), error.fatal_error);
    writer.member(name("SystemError"), error.system_error);
    writer.member_or_null(name("Context"), error.context);
    writer.member_or_null(name("Details"), error.details);
  });
}

}  // namespace

Decoded<InvokeResult> decode_invoke_result(std::string_view bytes, const DecodeOptions& options) {
  return decode_by<InvokeResult>(inspect_invoke_result, bytes, options, json::NameCase::folded,
                                 kInvokeNames);
}

std::string encode(const InvokeResult& result, Dialect dialect) {
  const auto name = [&](std::string_view field) { return spelled(field, dialect); };
  const auto* response = std::get_if<AgentExecuteResponse>(&result.outcome);
  json::Writer writer;
  writer.begin_object();
  writer.member(name("Successful"), response != nullptr);
  if (response != nullptr) {
    writer.name(name("Result"));
    write(writer, *response, dialect);
  }
  writer.name(name("Errors"));
  write_errors(
      writer,
      response != nullptr ? std::vector<InvokeError>() : std::get<Failure>(result.outcome).errors,
      dialect);
  writer.name(name("Warnings"));
  write_errors(writer, result.warnings, dialect);
  if (result.result_id) writer.member(name("ResultId"), *result.result_id);
  return writer.end_object().take();
}

}  // namespace treaty::contracts
