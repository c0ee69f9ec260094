// The places of a directory in which a server asks: `.agent-request.json`, then those of phases 1,
// 2, 3…, each for one question at a time. All of it is file work that may wait for the disk.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/bridge/lock.h"
#include "treaty/bridge/names.h"
#include "treaty/contracts/agent_result.h"
#include "treaty/contracts/bridge_request.h"

namespace treaty::backends {

// Which server asks, told in a request's `context.asked_by`: whether anybody waits for its answer
// can be seen by those who come after a crash.
using bridge::kAskedBy;

struct Asker {
  std::string host{};
  bridge::Process process{};
  double until = 0;  // When it will have given up; seconds since 1970.

  // Whether the waiting process has certainly ended. Processes of other machines cannot be checked.
  bool is_gone() const;
};

Asker this_asker(double until);

void set_asker(contracts::BridgeRequest& request, const Asker& asker);

// Nothing when it was not a server that asked.
std::optional<Asker> find_asker(const contracts::BridgeRequest& request);

// Where a question waits.
struct BridgePlace {
  std::string directory{};  // Absolute.
  std::string suffix{};
  std::string request_id{};
};

// Belongs to one thread. Several in one directory, in this process and in others, never take each
// other's places.
class BridgeSlots {
 public:
  explicit BridgeSlots(std::string directory) : directory_(std::move(directory)) {}

  // Asks in the first free place. A question that a server which is gone has left, and that is the
  // same, is taken over with whatever answer it has, instead of being asked again.
  // `until`: when the asker will have given up, in seconds since 1970.
  std::expected<BridgePlace, Error> ask(contracts::BridgeRequest request, double until);

  // The answer, which frees the place; nothing while there is none. An answer that breaks its
  // contract goes to the quarantine and is an error.
  static std::optional<contracts::AgentResult> collect(const BridgePlace& place);

  // Takes the question back.
  static void withdraw(const BridgePlace& place);

 private:
  // A question that a server left when it died, and when nobody would have waited for it any more.
  struct AbandonedRequest {
    std::string suffix;
    std::size_t question;  // The hash of what was asked.
    double until;
  };

  void find_abandoned(const std::string& directory);
  void clear_expired(const std::string& directory);
  std::optional<BridgePlace> take_over(const std::string& directory,
                                       const contracts::BridgeRequest& request, double until);

  std::string directory_;
  Asker self_ = this_asker(0);
  bool has_looked_ = false;
  std::vector<AbandonedRequest> abandoned_{};
};

}  // namespace treaty::backends
