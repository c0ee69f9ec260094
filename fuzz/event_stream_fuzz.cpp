// Fuzzes the reader of event streams: however the bytes are cut, the events are the same. The first
// two bytes choose the limit of an event and the seed of the cuts.
#include <memory>
#include <string>
#include <vector>

#include "require.h"
#include "treaty/http/event_stream.h"

using namespace treaty;        // NOLINT: a target is one file.
using namespace treaty::http;  // NOLINT
using fuzz::require;

namespace {

// What a reader said, as text: one entry an event, then how it ended.
using Record = std::vector<std::string>;

void add(Record& record, const StreamedEvent& event) {
  require(!event.name.empty());
  require(event.name.find_first_of("\r\n") == std::string_view::npos);
  require(!event.data.contains('\r'));
  require(!event.last_event_id.contains('\0'));
  record.push_back(std::string(event.name) + '\n' + std::string(event.last_event_id) + '\n' +
                   std::string(event.data));
}

Record read(std::string_view text, std::size_t limit, unsigned seed) {
  EventStreamReader reader(limit);
  Record record;
  while (!text.empty()) {
    seed = seed * 1664525U + 1013904223U;
    const std::size_t size = std::size_t{1} + (seed >> 24U) % 13U;
    const auto piece = std::make_unique<std::string>(text.substr(0, size));  // Gone after its turn.
    text.remove_prefix(piece->size());
    reader.feed(*piece);
    while (const auto event = reader.next()) {
      require(event->data.size() <= limit);
      add(record, *event);
    }
  }
  if (const auto event = reader.rest()) add(record, *event);
  record.push_back(reader.overflowed() ? "overflowed" : "whole");
  record.push_back(std::to_string(reader.retry().value_or(-1)));
  return record;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  if (input.size() < 2) return 0;
  const std::size_t limit = 8U * (1U + static_cast<unsigned char>(input[0]));
  const std::string_view text = input.substr(2);
  EventStreamReader whole(limit);
  Record expected;
  const std::string copy(text);
  whole.feed(copy);
  while (const auto event = whole.next()) add(expected, *event);
  if (const auto event = whole.rest()) add(expected, *event);
  expected.push_back(whole.overflowed() ? "overflowed" : "whole");
  expected.push_back(std::to_string(whole.retry().value_or(-1)));
  require(read(text, limit, static_cast<unsigned char>(input[1])) == expected);
  return 0;
}
