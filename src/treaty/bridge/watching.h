// What a watcher does about the requests that it sees in one directory: each is answered once,
// however often it is looked at. Pure.
//
//   bridge::RequestTracker seen(driver.history());
//   auto step = seen.look(bridge::read_exchange(directory, suffix));
//   if (std::holds_alternative<bridge::Ask>(step)) start_answering();
//   seen.answered(suffix);  // Later.
//
// Threads: one thread at a time may use a RequestTracker.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/run_state.h"

namespace treaty::bridge {

// Nothing to do: there is no request, it is being answered, or it was.
struct Leave {
  bool operator==(const Leave&) const = default;
};

// To be put to an agent; `earlier` when somebody was killed while he waited for it.
struct Ask {
  std::optional<AskedRequest> earlier{};
  bool operator==(const Ask&) const = default;
};

// Somebody else has answered it, and the journal does not know.
struct NoteAnswer {
  bool operator==(const NoteAnswer&) const = default;
};

// Half of it is there: to be looked at again in a while, if nothing is heard of it before.
struct AwaitRest {
  bool operator==(const AwaitRest&) const = default;
};

// The rest has not come.
struct TellTorn {
  bool operator==(const TellTorn&) const = default;
};

// It cannot be answered as it is; told once for each time that it is written.
struct Refuse {
  std::string problem{};
  bool is_journalled = false;  // It was told before, by a watcher that has left.
  bool operator==(const Refuse&) const = default;
};

// What is being asked is not wanted any more: the request was withdrawn, or replaced by another one
// that is to be looked at when the old one has ended.
struct Cancel {
  bool operator==(const Cancel&) const = default;
};

using WatchStep = std::variant<Leave, Ask, NoteAnswer, AwaitRest, TellTorn, Refuse, Cancel>;

class RequestTracker {
 public:
  explicit RequestTracker(std::span<const Entry> history);

  // What is to be done now. After Ask the request counts as being answered until one of the
  // functions below is called for its suffix.
  WatchStep look(const Exchange& exchange);

  // The same after some time without news of it: what is torn stays so, what failed is tried again.
  WatchStep look_again(const Exchange& exchange);

  // How it ended: the answer is on the disk, and says that it was created then;
  bool answered(const std::string& suffix, const std::string& created_at = {});
  // nobody can answer it as it is;
  bool refused(const std::string& suffix);
  // it may go well another time: look_again() asks again, with what the journal says by now;
  bool failed(const std::string& suffix, std::span<const Entry> history);
  // or it was not wanted any more. True when something happened to the request meanwhile, so that
  // it is to be looked at.
  bool cancelled(const std::string& suffix);

  bool is_asking(const std::string& suffix) const;

 private:
  // A name that a request may have.
  struct Place {
    std::string told{};                      // The problem that was told last,
    std::optional<FileVersion> told_of{};    // and of which writing.
    std::optional<FileVersion> awaited{};    // The writing that was torn when it was first seen,
    std::optional<FileVersion> given_up{};   // that nobody can answer,
    std::optional<FileVersion> postponed{};  // that waits for another try.
    std::string asking{};                    // request_id of what is being answered,
    FileVersion version{};                   // which writing of it,
    Question question{};                     // and what it asks.
    bool is_outdated = false;
  };

  WatchStep look_at(const Exchange& exchange, bool again);
  WatchStep look_at_torn(const RequestFile& request, Place& place, bool again);
  WatchStep look_at_whole(const Exchange& exchange, Place& place, bool again);
  WatchStep look_at_known(const Exchange& exchange, Place& place, AnsweredQuestion& known);
  WatchStep refuse(const RequestFile& request, Place& place, std::string problem);
  const Place* other_asking(const std::string& request_id) const;
  bool end(Place& place);

  AnsweredQuestions answered_{};                    // By request_id.
  std::map<std::string, AskedRequest> open_{};      // Likewise.
  std::map<std::string, std::int64_t> refusals_{};  // When the journal told of a file's problem.
  std::map<std::string, Place> places_{};           // By suffix.
};

}  // namespace treaty::bridge
