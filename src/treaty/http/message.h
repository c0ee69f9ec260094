// HTTP messages as values.
#pragma once

#include <string>

#include "treaty/base/headers.h"

namespace treaty::http {

struct Request {
  std::string method = "GET";
  std::string target = "/";  // Path and query, as on the request line, or `*`.
  Headers headers{};
  std::string body{};
};

struct Response {
  int status = 200;
  Headers headers{};
  std::string body{};
};

}  // namespace treaty::http
