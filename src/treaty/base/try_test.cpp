// TREATY_TRY: errors go to the caller, values get a name.
#include "treaty/base/try.h"

#include <doctest/doctest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <memory>

#include "treaty/base/error.h"

namespace treaty {
namespace {

using Owned = std::unique_ptr<int>;

std::expected<Owned, Error> positive(int number) {
  if (number > 0) return std::make_unique<int>(number);
  return std::unexpected(Error{ErrorCode::wrong_usage, "not positive"});
}

std::expected<void, Error> small(int number) {
  if (number < 10) return {};
  return std::unexpected(Error{ErrorCode::wrong_usage, "not small"});
}

std::expected<int, Error> sum(int left, int right) {
  TREATY_TRY(const Owned first, positive(left));
  TREATY_TRY(const auto second, positive(right));
  TREATY_TRY_VOID(small(*first));
  return *first + *second;
}

boost::asio::awaitable<std::expected<Owned, Error>> awaited(int number) {
  co_return positive(number);
}

boost::asio::awaitable<std::expected<int, Error>> awaited_sum(int left, int right) {
  TREATY_CO_TRY(const auto first, co_await awaited(left));
  TREATY_CO_TRY(auto second, co_await awaited(right));
  TREATY_CO_TRY_VOID(small(*first));
  co_return *first + *second;
}

std::string outcome(const std::expected<int, Error>& result) {
  return result ? std::to_string(*result) : result.error().message;
}

std::string outcome_awaited(int left, int right) {
  boost::asio::io_context loop;
  auto future = boost::asio::co_spawn(loop, awaited_sum(left, right), boost::asio::use_future);
  loop.run();
  return outcome(future.get());
}

TEST_CASE("TREATY_TRY names the value, also one that can only be moved, or returns the error") {
  CHECK(outcome(sum(1, 2)) == "3");
  CHECK(outcome(sum(0, 2)) == "not positive");
  CHECK(outcome(sum(1, 0)) == "not positive");
  CHECK(outcome(sum(10, 2)) == "not small");
}

TEST_CASE("map_error keeps a value and tells an error in another way") {
  const auto told = [](const Error& error) { return error.message + "!"; };
  CHECK(map_error(sum(1, 2), told).value() == 3);
  CHECK(map_error(sum(0, 2), told).error() == "not positive!");
  CHECK(map_error(small(2), told).has_value());
  CHECK(map_error(small(10), told).error() == "not small!");
}

TEST_CASE("TREATY_CO_TRY does the same in a coroutine") {
  CHECK(outcome_awaited(1, 2) == "3");
  CHECK(outcome_awaited(1, 0) == "not positive");
  CHECK(outcome_awaited(10, 2) == "not small");
}

}  // namespace
}  // namespace treaty
