#include "treaty/http/server_state.h"

#include <fmt/format.h>

#include <ctime>

#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"

namespace treaty::http {

std::string_view ServerState::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_second_) {
    date_second_ = now;
    date_ = http_date(now);
  }
  return date_;
}

Response ServerState::refusal(int status, std::string_view message) const {
  Response response{.status = status};
  if (options.refusal) {
    response = options.refusal(status, message);
  } else {
    response.body = fmt::format("{{\"error\":{{\"status\":{},\"message\":", status);
    json::append_quoted(response.body, message);
    response.body += "}}\n";
    response.headers.add("content-type", "application/json");
  }
  if (status == 503 && response.headers.find("retry-after") == nullptr) {
    response.headers.add("retry-after", "1");
  }
  return response;
}

}  // namespace treaty::http
