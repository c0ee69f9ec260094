#include "treaty/machines/run/journal_writer.h"

#include "treaty/base/try.h"

namespace treaty::machines {

namespace {

using Result = std::expected<void, Error>;

}  // namespace

bool JournalWriter::keeps(std::string_view event) const {
  return is_kept() && (!events_ || events_->contains(std::string(event)));
}

JournalWriter::Written JournalWriter::add(store::Checkpoint checkpoint) {
  if (!keeps(checkpoint.event)) co_return Result();
  const std::string event = checkpoint.event;
  const std::int64_t step = checkpoint.step;
  pending_.checkpoints.push_back(std::move(checkpoint));
  if (!after_write_) co_return Result();
  co_return co_await flush_event(event, step);
}

JournalWriter::Written JournalWriter::add_line(std::string_view event, std::int64_t step,
                                               std::string line) {
  if (!is_kept()) co_return Result();
  pending_.journal.push_back(std::move(line));
  if (!after_write_) co_return Result();
  co_return co_await flush_event(event, step);
}

JournalWriter::Written JournalWriter::flush_event(std::string_view event, std::int64_t step) {
  TREATY_CO_TRY_VOID(co_await flush());
  after_write_(event, step);
  co_return Result();
}

JournalWriter::Written JournalWriter::flush() {
  if (!has_news()) co_return Result();
  co_return co_await write(take());
}

JournalWriter::Written JournalWriter::release() {
  if (!is_kept()) co_return Result();
  store::MachineWrite last = take();
  last.releases = true;
  co_return co_await write(std::move(last));
}

JournalWriter::Written JournalWriter::write(store::MachineWrite write) {
  TREATY_CO_TRY_VOID(check_lease());
  const bool releases = write.releases;
  auto written = co_await store_.write(std::move(write));
  if (written && releases) lease_->mark_released();
  if (!written && written.error().code == ErrorCode::conflict) lease_->mark_lost();
  co_return written;
}

Result JournalWriter::check_lease() const { return lease_ == nullptr ? Result() : lease_->check(); }

store::MachineWrite JournalWriter::take() {
  store::MachineWrite write = std::exchange(pending_, {});
  if (lease_ == nullptr) return write;
  write.execution = lease_->execution();
  write.machine = machine_;
  write.session = session_;
  write.token = lease_->token();
  return write;
}

}  // namespace treaty::machines
