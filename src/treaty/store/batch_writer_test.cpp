#include "treaty/store/batch_writer.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

#include "treaty/testing/stores/store_room.h"

namespace treaty::store {
namespace {

// What a batch writes to: the numbers of committed operations, and those that cannot be.
struct Numbers {
  std::vector<int> pending{};
  std::vector<int> committed{};
  std::set<int> bad{};
  bool is_broken = false;
};

using Writer = BatchWriter<Numbers>;

std::optional<BatchFailure> commit(Numbers& numbers, std::span<Writer::Item> batch) {
  numbers.pending.clear();
  for (const auto& item : batch) item->run(numbers);
  if (numbers.is_broken) {
    return BatchFailure{.error = {ErrorCode::unavailable, "broken"}};
  }
  for (const int number : numbers.pending) {
    if (!numbers.bad.contains(number)) continue;
    return BatchFailure{.error = {ErrorCode::conflict, std::to_string(number)}, .is_of_one = true};
  }
  numbers.committed.insert(numbers.committed.end(), numbers.pending.begin(), numbers.pending.end());
  return std::nullopt;
}

std::vector<std::expected<int, Error>> write_all(Numbers& numbers, int count) {
  Writer writer([&](std::span<Writer::Item> batch) { return commit(numbers, batch); });
  std::vector<Task<int>> tasks;
  tasks.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    tasks.push_back(submit<int>(writer, [i](Numbers& target) -> std::expected<int, Error> {
      target.pending.push_back(i);
      return i * 10;
    }));
  }
  return testing::wait_for_all(std::move(tasks));
}

}  // namespace

TEST_CASE("Every operation of a batch is answered with its own value, in the order they came") {
  Numbers numbers;

  const auto answers = write_all(numbers, 100);

  for (int i = 0; i < 100; ++i) {
    CHECK(answers[static_cast<std::size_t>(i)] == i * 10);
    CHECK(numbers.committed[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("An operation that cannot be committed does not take the others with it") {
  Numbers numbers{.bad = {3}};

  const auto answers = write_all(numbers, 10);

  for (int i = 0; i < 10; ++i) CHECK(answers[static_cast<std::size_t>(i)].has_value() == (i != 3));
  REQUIRE(!answers[3]);
  CHECK(answers[3].error().message == "3");
  CHECK(numbers.committed.size() == 9);
}

TEST_CASE("A database that fails as a whole fails every operation of the batch") {
  Numbers numbers{.is_broken = true};

  for (const auto& answer : write_all(numbers, 5)) {
    REQUIRE(!answer);
    CHECK(answer.error().code == ErrorCode::unavailable);
  }
  CHECK(numbers.committed.empty());
}

}  // namespace treaty::store
