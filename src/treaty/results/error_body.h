// The body of a failed answer, whatever shape a provider gave it: nested, bare, a string, a list, a
// page of HTML or nothing. Finds the message and the names that tell what went wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/results/reset_time.h"

namespace treaty::results {

// The body is borrowed.
class ErrorBody {
 public:
  explicit ErrorBody(std::string_view body);
  ErrorBody(const ErrorBody&) = delete;
  ErrorBody& operator=(const ErrorBody&) = delete;

  // The top object, when the body is one (or a list that begins with one).
  std::optional<json::Value> root() const { return root_; }

  // The object that describes the error: inside the top one, or that itself.
  std::optional<json::Value> error() const { return error_; }

  // For people; empty when the body has none. Of a page of HTML its title.
  const std::string& message() const { return message_; }

  // Every code, type, status and reason that is a text, most telling first.
  const std::vector<std::string_view>& names() const { return names_; }

  // The HTTP status that the body names itself, 400 to 599.
  std::optional<int> status() const { return status_; }

  // The provider's own name for the error, on one line; empty when it has none.
  const std::string& type() const { return type_; }

 private:
  void find_error();
  void read_names(json::Value object);
  void read_details(json::Value details);
  void add_name(json::Value object, std::string_view member);
  void read_status(json::Value object, std::string_view member);
  void read_message();

  std::string_view body_;
  json::Document document_;
  std::optional<json::Value> root_{};
  std::optional<json::Value> error_{};
  std::string message_{};
  std::vector<std::string_view> names_{};
  std::optional<int> status_{};
  std::string type_{};
};

// Gemini tells its limits in the body of an error: google.rpc.RetryInfo and QuotaFailure.
struct QuotaFailure {
  std::optional<Duration> retry_delay{};
  std::vector<contracts::RateLimitWindow> windows{};
};

QuotaFailure read_quota(const ErrorBody& body);

// True for HTML and XML: what proxies and gateways send.
bool is_page(std::string_view body);

}  // namespace treaty::results
