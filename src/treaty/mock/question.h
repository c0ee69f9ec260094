// A request's body as the played provider understands it.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "treaty/backends/scripted/asked.h"
#include "treaty/mock/endpoint.h"

namespace treaty::mock {

struct Question {
  backends::Asked asked{};
  bool include_usage = false;  // Chat completions: a stream says its usage only when asked to.
};

// The error is what the provider would say about the request.
std::expected<Question, std::string> read_question(const Route& route, std::string_view target,
                                                   std::string_view body);

}  // namespace treaty::mock
