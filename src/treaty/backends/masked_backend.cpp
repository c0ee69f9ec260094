#include "treaty/backends/masked_backend.h"

#include <boost/asio/this_coro.hpp>
#include <boost/json/value.hpp>

namespace treaty::backends {
namespace {

using contracts::AgentResult;

class MaskedSink final : public Sink {
 public:
  MaskedSink(Sink& sink, const KnownSecrets& secrets)
      : sink_(sink), secrets_(secrets), pieces_(secrets) {}

  void on_text(std::string_view delta) override { give(pieces_.feed(delta)); }
  void on_progress(std::string_view kind, std::string_view data) override {
    const auto masked = secrets_.masked(data);
    sink_.on_progress(kind, masked ? *masked : data);
  }
  void finish() { give(pieces_.finish()); }

 private:
  void give(std::string_view text) {
    if (!text.empty()) sink_.on_text(text);
  }

  Sink& sink_;
  const KnownSecrets& secrets_;
  MaskedPieces pieces_;
};

class Masking {
 public:
  explicit Masking(const KnownSecrets& secrets) : secrets_(secrets) {}

  void mask(std::string& text) const {
    if (auto masked = secrets_.masked(text)) text = *std::move(masked);
  }

  void mask(boost::json::object& object) const {
    std::vector<std::string> told;  // Names that are secrets themselves.
    for (auto& [name, value] : object) {
      mask(value);
      if (secrets_.masked(name)) told.emplace_back(name);
    }
    for (const std::string& name : told) {
      boost::json::value value = std::move(object.at(name));
      object.erase(name);
      object.insert_or_assign(*secrets_.masked(name), std::move(value));
    }
  }

  template <class T>
  void mask(std::optional<T>& perhaps) const {
    if (perhaps) mask(*perhaps);
  }

  void mask(contracts::AgentToolCall& call) const {
    mask(call.id);
    mask(call.name);
    mask(call.arguments);
  }

  void mask(contracts::AgentError& error) const {
    mask(error.message);
    mask(error.code);
    mask(error.type);
  }

  void mask(contracts::RateLimitState& state) const {
    for (auto& window : state.windows) {
      mask(window.name);
      mask(window.resource);
    }
  }

  void mask(std::vector<contracts::AgentToolCall>& calls) const {
    for (auto& call : calls) mask(call);
  }

 private:
  void mask(boost::json::value& value) const {
    if (auto* text = value.if_string()) {
      if (const auto masked = secrets_.masked(*text)) *text = *masked;
    } else if (auto* array = value.if_array()) {
      for (auto& element : *array) mask(element);
    } else if (auto* object = value.if_object()) {
      mask(*object);
    }
  }

  const KnownSecrets& secrets_;
};

}  // namespace

void mask(AgentResult& result, const KnownSecrets& secrets) {
  const Masking masking(secrets);
  masking.mask(result.output);
  masking.mask(result.content);
  masking.mask(result.metadata);
  masking.mask(result.finish_reason);
  masking.mask(result.error);
  masking.mask(result.rate_limit);
  masking.mask(result.provider_data);
  masking.mask(result.tool_calls);
  masking.mask(result.rendered_user_prompt);
}

boost::asio::awaitable<AgentResult> MaskedBackend::run(const Call& call, Sink& sink) {
  co_await boost::asio::this_coro::throw_if_cancelled(false);  // A cancelled call has its result.
  MaskedSink masked(sink, *secrets_);
  AgentResult result = co_await backend_->run(call, masked);
  masked.finish();
  mask(result, *secrets_);
  co_return result;
}

}  // namespace treaty::backends
