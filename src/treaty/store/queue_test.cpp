#include "treaty/store/queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <thread>

namespace treaty::store {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::hours kForever{1};

// Says who it is when it is done, and what it was told.
class Numbered final : public Operation<int> {
 public:
  struct Done {
    int number;
    bool failed;
    bool operator==(const Done&) const = default;
  };

  Numbered(int number, boost::asio::io_context& loop, std::vector<Done>& done)
      : number_(number), executor_(loop.get_executor()), done_(done) {}

  void run(int& /*context*/) override {}
  void fail(const Error& /*error*/) override { failed_ = true; }
  const boost::asio::any_io_executor& executor() const override { return executor_; }
  void complete() override { done_.push_back({number_, failed_}); }

 private:
  int number_;
  boost::asio::any_io_executor executor_;
  std::vector<Done>& done_;
  bool failed_ = false;
};

struct QueueFixture {
  boost::asio::io_context loop{};
  boost::asio::io_context other{};
  std::vector<Numbered::Done> done{};
  std::vector<Numbered::Done> done_elsewhere{};
  OperationQueue<int> queue{4};

  OperationQueue<int>::Item item(int number) {
    return std::make_unique<Numbered>(number, loop, done);
  }
  OperationQueue<int>::Item item_elsewhere(int number) {
    return std::make_unique<Numbered>(number, other, done_elsewhere);
  }
};

TEST_CASE_FIXTURE(QueueFixture, "an operation that yields is taken when no other waits") {
  queue.add(item(1), Priority::yielding);
  queue.add(item(2), Priority::yielding);
  queue.add(item(3));

  CHECK(queue.take(64).size() == 1);
  CHECK(queue.take(64).size() == 1);
  CHECK(queue.take(64).size() == 1);
}

TEST_CASE_FIXTURE(QueueFixture,
                  "an operation that yields is taken alone, after seven batches of others") {
  queue.add(item(0), Priority::yielding);
  queue.add(item(0), Priority::yielding);
  std::vector<std::size_t> sizes;
  for (int i = 0; i < 17; ++i) {
    if (i % 8 != 0) queue.add(item(1));
    queue.add(item(1));
    auto taken = queue.take(64);
    sizes.push_back(taken.size());
    complete(std::move(taken));
  }
  loop.run();

  CHECK(sizes == std::vector<std::size_t>{1, 2, 2, 2, 2, 2, 2, 1, 3, 2, 2, 2, 2, 2, 2, 1, 3});
  CHECK(std::ranges::count(done, Numbered::Done{0, false}) == 2);
}

TEST_CASE_FIXTURE(QueueFixture, "gather returns as soon as enough operations wait") {
  queue.add(item(1));
  std::jthread later([&] {
    queue.add(item(2));
    queue.add(item(3));
  });
  queue.gather(3, kForever);
  CHECK(queue.take(64).size() == 3);
}

TEST_CASE_FIXTURE(QueueFixture, "gather returns at its time limit") {
  queue.add(item(1));
  queue.gather(2, 1ms);
  CHECK(queue.take(64).size() == 1);
}

TEST_CASE_FIXTURE(QueueFixture,
                  "take wakes up for the first operation, also after gather timed out") {
  queue.gather(2, 1ms);
  std::jthread later([&] { queue.add(item(1)); });
  CHECK(queue.take(64).size() == 1);
}

TEST_CASE_FIXTURE(QueueFixture,
                  "closing a queue ends gather; take returns what waits, then nothing") {
  queue.add(item(1));
  std::jthread later([&] { queue.close(); });
  queue.gather(2, kForever);
  CHECK(queue.take(64).size() == 1);
  CHECK(queue.take(64).empty());
}

TEST_CASE_FIXTURE(QueueFixture, "an operation that does not fit is refused on its own loop") {
  for (int number = 1; number <= 5; ++number) queue.add(item(number));
  CHECK(done.empty());
  loop.run();
  CHECK(done == std::vector<Numbered::Done>{{5, true}});
}

TEST_CASE_FIXTURE(QueueFixture, "every loop is woken once, for its own operations in their order") {
  std::vector<OperationQueue<int>::Item> items;
  for (int number = 1; number <= 2; ++number) {
    items.push_back(item(number));
    items.push_back(item_elsewhere(number));
  }
  complete(std::move(items));
  CHECK(loop.run() == 1);
  CHECK(done == std::vector<Numbered::Done>{{1, false}, {2, false}});
  CHECK(other.run() == 1);
  CHECK(done_elsewhere == done);
}

}  // namespace
}  // namespace treaty::store
