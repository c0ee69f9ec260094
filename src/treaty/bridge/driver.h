// The right to answer in a directory: holds its lock, keeps its journal, writes its answers.
//
//   auto driver = bridge::Driver::open(directory, "answer");
//   if (!driver) return driver.error();  // ErrorCode::conflict: somebody else answers there.
//   for (const bridge::Exchange& exchange : *bridge::read_exchanges(driver->directory())) {
//     if (exchange.waits()) driver->write_answer(exchange, answer_of(exchange));
//   }
//
// Threads: several threads may call tidy(), note(), quarantine(), may_answer() and write_answer()
// of one driver at the same time, as long as each is about another request. No other
// thread may use a driver while it is moved or destroyed.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/bridge/exchange.h"
#include "treaty/bridge/journal.h"
#include "treaty/bridge/lock.h"

namespace treaty::bridge {

enum class Reach {
  anywhere,  // `response_file` may be any place that its owner may write to;
  inside,    // only one below the directory: for directories of other people.
};

enum class Existing { keep, replace };  // An answer that is valid, when another one comes.

// The directory as an absolute path without links; an error when it is none.
std::expected<std::string, Error> resolve_directory(const std::string& path);

// Whether what lies in an answer's place may be moved away: it is named like an answer, empty, or
// written as one. Everything else is somebody's own, named by mistake.
bool is_replaceable(const ResponseFile& file);

class Driver {
 public:
  // ErrorCode::conflict when another driver has the directory. What killed writers left behind is
  // cleared away.
  static std::expected<Driver, Error> open(const std::string& directory, const std::string& command,
                                           Reach reach = Reach::anywhere);

  const std::string& directory() const { return directory_; }

  // What the journal told when the directory was opened.
  const std::vector<Entry>& history() const { return history_; }

  // Deletes what the journal and the quarantine have kept for long enough; see pruning.h and
  // quarantine.h. open() does so, too.
  void tidy() const;

  // Journals it; on the disk when this is back.
  std::expected<void, Error> note(std::string event, json::ObjectText details = {});

  // Keeps a file in the quarantine and journals that.
  std::expected<std::string, Error> quarantine(const std::string& path, std::string_view reason);

  // Whether an answer could be written to its place, as far as that can be known before there is
  // one; ErrorCode::conflict as below.
  std::expected<void, Error> may_answer(const Exchange& exchange) const;

  // Whether what is in the answer's place now is the answer, by what the journal says now.
  AnswerState judge_now(const Exchange& exchange, const ResponseFile& there) const;

  // Writes the answer to its place and journals it. What is no answer to this request and stands
  // there goes to the quarantine first; the rest of half a file is waited for. ErrorCode::conflict
  // when the request has been answered meanwhile or another one has taken its place, when the file
  // there is still being written, and when the place holds something that never was an answer.
  std::expected<void, Error> write_answer(const Exchange& exchange,
                                          const contracts::BridgeResponse& response,
                                          Existing existing = Existing::keep);

 private:
  Driver(std::string directory, Lock lock, std::vector<Entry> history, Reach reach)
      : directory_(std::move(directory)),
        lock_(std::move(lock)),
        history_(std::move(history)),
        reach_(reach) {}

  std::expected<void, Error> may_replace(const ResponseFile& there) const;
  bool has_answered_at(const std::string& path) const;
  std::expected<void, Error> clear_place(const Exchange& exchange, Existing existing);

  std::string directory_;
  Lock lock_;
  std::vector<Entry> history_;
  Reach reach_;
};

}  // namespace treaty::bridge
