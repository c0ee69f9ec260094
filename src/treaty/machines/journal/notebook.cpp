#include "treaty/machines/journal/notebook.h"

namespace treaty::machines {

namespace asio = boost::asio;

Notebook::Notebook(store::MachineStore& store, Owner owner,
                   std::optional<std::set<std::string>> events, AfterWrite after_write)
    : store_(store),
      is_kept_(true),
      events_(std::move(events)),
      after_write_(std::move(after_write)),
      owner_(std::move(owner)) {}

bool Notebook::keeps(std::string_view event) const {
  return is_kept_ && (!events_ || events_->contains(std::string(event)));
}

asio::awaitable<std::expected<void, Error>> Notebook::add(store::Checkpoint checkpoint) {
  if (!keeps(checkpoint.event)) co_return std::expected<void, Error>();
  const std::string event = checkpoint.event;
  const std::int64_t step = checkpoint.step;
  pending_.checkpoints.push_back(std::move(checkpoint));
  if (!after_write_) co_return std::expected<void, Error>();
  auto written = co_await flush();
  if (written) after_write_(event, step);
  co_return written;
}

asio::awaitable<std::expected<void, Error>> Notebook::add_line(std::string_view event,
                                                               std::int64_t step,
                                                               std::string line) {
  if (!is_kept_) co_return std::expected<void, Error>();
  pending_.journal.push_back(std::move(line));
  if (!after_write_) co_return std::expected<void, Error>();
  auto written = co_await flush();
  if (written) after_write_(event, step);
  co_return written;
}

asio::awaitable<std::expected<void, Error>> Notebook::flush() {
  if (!has_news()) co_return std::expected<void, Error>();
  co_return co_await store_.write(take());
}

asio::awaitable<std::expected<void, Error>> Notebook::release() {
  if (!is_kept_) co_return std::expected<void, Error>();
  store::MachineWrite write = take();
  write.releases = true;
  co_return co_await store_.write(std::move(write));
}

store::MachineWrite Notebook::take() {
  store::MachineWrite write = std::exchange(pending_, {});
  write.execution = owner_.execution;
  write.machine = owner_.machine;
  write.token = owner_.token;
  return write;
}

}  // namespace treaty::machines
