#include "treaty/store/sqlite/machines/signals.h"

#include "treaty/base/ids.h"
#include "treaty/base/timestamp.h"

namespace treaty::store::sqlite {
namespace {

struct Signal {
  std::int64_t row = 0;
  std::string data{};
};

// Rows of this table are numbered as they come, whatever was deleted meanwhile.
std::optional<Signal> oldest_signal(Database& database, const std::string& channel,
                                    const std::string& execution) {
  Statement row(database,
                "SELECT rowid, data_json FROM signals WHERE rowid = (SELECT min(number) FROM ("
                "SELECT min(rowid) AS number FROM signals WHERE channel = ?1 AND addressee = ?2 "
                "UNION ALL "
                "SELECT min(rowid) FROM signals WHERE channel = ?1 AND addressee IS NULL))",
                channel, execution);
  if (!row.next()) return std::nullopt;
  Signal signal{.row = row.integer()};
  signal.data = row.text();
  return signal;
}

std::vector<std::string> waiters_of(Database& database, const std::string& channel) {
  std::vector<std::string> waiters;
  Statement rows(database,
                 "SELECT l.execution_id FROM machine_checkpoints c JOIN machine_latest l ON "
                 "l.execution_id = c.execution_id AND l.latest_key = c.checkpoint_key "
                 "WHERE c.waiting_channel = ? AND c.event = 'waiting' ORDER BY l.execution_id",
                 channel);
  while (rows.next()) waiters.push_back(rows.text());
  return waiters;
}

// Without an addressee it is anyone's.
void add_signal(const Transaction& transaction, const std::string& channel, const std::string& data,
                const std::string& addressee) {
  const std::string id = new_uuid();
  const std::string at = timestamp_of(transaction.now);
  Statement(transaction.database,
            "INSERT INTO signals (id, channel, data_json, created_at, addressee) "
            "VALUES (?, ?, ?, ?, nullif(?, ''))",
            id, channel, data, at, addressee)
      .run();
}

}  // namespace

std::expected<std::optional<std::string>, Error> take_signal(const Transaction& transaction,
                                                             const std::string& channel,
                                                             const MachineStore::Taken& taken,
                                                             const MachineWrite& waiting,
                                                             const std::string& owner) {
  Database& database = transaction.database;
  if (auto ok = check_token(database, waiting, owner); !ok) return std::unexpected(ok.error());
  auto signal = oldest_signal(database, channel, waiting.execution);
  if (!signal) {
    apply(transaction, waiting);
    return std::nullopt;
  }
  const MachineWrite write = taken(signal->data);
  if (auto ok = check_write(write); !ok) return std::unexpected(ok.error());
  if (auto ok = check_token(database, write, owner); !ok) return std::unexpected(ok.error());
  Statement(database, "DELETE FROM signals WHERE rowid = ?", signal->row).run();
  apply(transaction, write);
  return std::move(signal->data);
}

std::vector<std::string> send_signal(const Transaction& transaction, const std::string& channel,
                                     const std::string& data) {
  std::vector<std::string> waiters = waiters_of(transaction.database, channel);
  for (const std::string& waiter : waiters) add_signal(transaction, channel, data, waiter);
  if (waiters.empty()) add_signal(transaction, channel, data, "");
  return waiters;
}

}  // namespace treaty::store::sqlite
