// A hook that is a web server: each event is POSTed as JSON, the answer may be a reply.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "treaty/http/client.h"
#include "treaty/machines/hooks/hook.h"

namespace treaty::machines {

struct WebhookOptions {
  // Of the event loop on which the hooks run. One with a guard refuses addresses that are not
  // public (http::ClientOptions).
  std::shared_ptr<http::Client> client{};
  std::function<void(std::string_view)>
      log{};  // Told of failures that are passed over; may be none.
};

// args: {endpoint, api_key?, timeout: 5, required: false}.
std::expected<std::shared_ptr<Hook>, std::string> make_webhook(const HookOrder& order,
                                                               const WebhookOptions& options);

}  // namespace treaty::machines
