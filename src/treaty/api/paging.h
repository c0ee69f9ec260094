// Lists in pages: how many, and whether there are more. Pure.
#pragma once

#include <charconv>
#include <expected>
#include <string_view>
#include <vector>

#include "treaty/api/answers.h"
#include "treaty/api/target.h"
#include "treaty/base/json_write.h"

namespace treaty::api {

inline constexpr std::int64_t kLongestPage = 1'000;

// A whole number of at least `least` and at most `most`.
inline std::expected<std::int64_t, turns::Refusal> number_in(const Target& target,
                                                             std::string_view name,
                                                             std::int64_t otherwise,
                                                             std::int64_t least,
                                                             std::int64_t most) {
  const auto text = target.parameter(name);
  if (!text) return otherwise;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  if (whole && number >= least && number <= most) return number;
  return std::unexpected(wrong_value(std::string(name) + " is a whole number from " +
                                         std::to_string(least) + " to " + std::to_string(most),
                                     std::string(name)));
}

inline std::expected<std::size_t, turns::Refusal> limit_in(const Target& target) {
  const auto limit = number_in(target, "limit", 100, 1, kLongestPage);
  if (!limit) return std::unexpected(limit.error());
  return static_cast<std::size_t>(*limit);
}

// `entries` has one more than `limit` when there are more.
template <class Entry, class Write>
http::Response page_response(std::string_view name, const std::vector<Entry>& entries,
                             std::size_t limit, Write write) {
  json::Writer writer;
  writer.begin_object().name(name).begin_array();
  for (std::size_t i = 0; i < entries.size() && i < limit; ++i) write(writer, entries[i]);
  writer.end_array().member("HasMore", entries.size() > limit);
  return json_response(200, writer.end_object().take());
}

}  // namespace treaty::api
