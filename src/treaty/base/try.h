// Passes an error on to the caller, in one line.
//
//   std::expected<Port, Error> port_of(std::string_view text) {
//     TREATY_TRY(const auto address, parse_address(text));  // The value, or the error returned.
//     TREATY_TRY_VOID(check_host(address.host));            // The same without a value.
//     return address.port;
//   }
//
// Coroutines use TREATY_CO_TRY and TREATY_CO_TRY_VOID. map_error() converts the error:
// TREATY_TRY(const auto port, map_error(listen(), failure_of)).
#pragma once

#include <expected>
#include <type_traits>
#include <utility>

namespace treaty {

// The same value, or the error as `convert` returns it.
template <class T, class E, class Convert>
auto map_error(std::expected<T, E> answer, const Convert& convert)
    -> std::expected<T, decltype(convert(answer.error()))> {
  if (!answer) return std::unexpected(convert(answer.error()));
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return *std::move(answer);
  }
}

}  // namespace treaty

#define TREATY_TRY(declaration, ...) \
  TREATY_TRY_VALUE(return, declaration, TREATY_TRY_NAME(__LINE__), __VA_ARGS__)
#define TREATY_CO_TRY(declaration, ...) \
  TREATY_TRY_VALUE(co_return, declaration, TREATY_TRY_NAME(__LINE__), __VA_ARGS__)
#define TREATY_TRY_VOID(...) TREATY_TRY_CHECK(return, __VA_ARGS__)
#define TREATY_CO_TRY_VOID(...) TREATY_TRY_CHECK(co_return, __VA_ARGS__)

// NOLINTBEGIN(bugprone-macro-parentheses): a keyword and a declaration cannot stand in parentheses.
#define TREATY_TRY_VALUE(leave, declaration, tried, ...) \
  auto tried = (__VA_ARGS__);                            \
  if (!tried) [[unlikely]]                               \
    leave std::unexpected(std::move(tried).error());     \
  declaration = *std::move(tried)
#define TREATY_TRY_CHECK(leave, ...)                     \
  if (auto tried_ = (__VA_ARGS__); !tried_) [[unlikely]] \
  leave std::unexpected(std::move(tried_).error())
// NOLINTEND(bugprone-macro-parentheses)

#define TREATY_TRY_NAME(line) TREATY_TRY_JOIN(tried_, line)
#define TREATY_TRY_JOIN(left, line) left##line
