// A backend without the secrets that this process holds: the one place where the words of models
// and providers enter the house, so that nothing behind it can show a key.
#pragma once

#include <memory>

#include "treaty/backends/backend.h"
#include "treaty/base/masking/known_secrets.h"
#include "treaty/base/offload_pool.h"

namespace treaty::backends {

// Masks every text of the result: what was said, calls, errors, data, names of members.
void mask(contracts::AgentResult& result, const KnownSecrets& secrets);

class MaskedBackend : public Backend {
 public:
  // Large answers are masked on the pool; none: on the event loop, as small ones are.
  MaskedBackend(std::shared_ptr<Backend> backend, std::shared_ptr<const KnownSecrets> secrets,
                OffloadPool* pool = nullptr)
      : backend_(std::move(backend)), secrets_(std::move(secrets)), pool_(pool) {}

  // The deltas joined are the text of the result. A large delta, and what follows it, is given when
  // the answer is complete.
  boost::asio::awaitable<contracts::AgentResult> run(const Call& call, Sink& sink) override;

 private:
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<const KnownSecrets> secrets_;
  OffloadPool* pool_;
};

}  // namespace treaty::backends
