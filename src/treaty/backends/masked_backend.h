// A backend without the secrets that this process holds: the one place where the words of models
// and providers enter the house, so that nothing behind it can show a key.
#pragma once

#include <memory>

#include "treaty/backends/backend.h"
#include "treaty/base/masking/known_secrets.h"

namespace treaty::backends {

// Masks every text of the result: what was said, calls, errors, data, names of members.
void mask(contracts::AgentResult& result, const KnownSecrets& secrets);

class MaskedBackend : public Backend {
 public:
  MaskedBackend(std::shared_ptr<Backend> backend, std::shared_ptr<const KnownSecrets> secrets)
      : backend_(std::move(backend)), secrets_(std::move(secrets)) {}

  // The deltas joined are the text of the result.
  boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) override;

 private:
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<const KnownSecrets> secrets_;
};

}  // namespace treaty::backends
