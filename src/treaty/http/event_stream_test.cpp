#include "treaty/http/event_stream.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <memory>
#include <vector>

using namespace treaty::http;

namespace {

struct Seen {
  std::string name;
  std::string data;
  std::string last_event_id;
  bool operator==(const Seen&) const = default;
};

using Events = std::vector<Seen>;

Seen seen(const StreamedEvent& event) {
  return {std::string(event.name), std::string(event.data), std::string(event.last_event_id)};
}

// Feeds pieces that are gone after next() gave nothing, as a network buffer is.
Events read_pieces(EventStreamReader& reader, const std::vector<std::string>& pieces) {
  Events events;
  for (const std::string& piece : pieces) {
    auto buffer = std::make_unique<std::string>(piece);
    reader.feed(*buffer);
    while (const auto event = reader.next()) events.push_back(seen(*event));
  }
  return events;
}

Events read_whole(const std::string& text) {
  EventStreamReader reader;
  return read_pieces(reader, {text});
}

Events with_rest(const std::vector<std::string>& pieces, std::size_t limit = 1U << 20U) {
  EventStreamReader reader(limit);
  Events events = read_pieces(reader, pieces);
  if (const auto event = reader.rest()) events.push_back(seen(*event));
  if (reader.overflowed()) events.push_back({"overflow", "", ""});
  return events;
}

std::string some_stream() {
  const auto part = rc::gen::element<std::string>("data", "event", "id", "retry", ":", ": ", " ",
                                                  "\n", "\r", "\r\n", "\n\n", "\r\r", "a", "10",
                                                  "data: x\n", "event: e\n", "data\n", "id: 7\r\n",
                                                  "\xEF\xBB\xBF", "\xEF", std::string(1, '\0'));
  std::string text;
  for (const std::string& piece : *rc::gen::container<std::vector<std::string>>(part))
    text += piece;
  return text;
}

}  // namespace

TEST_CASE("an event ends with a blank line, whichever way lines end") {
  const Events expected{{"message", "a", ""}, {"message", "b", ""}};
  CHECK(read_whole("data: a\n\ndata: b\n\n") == expected);
  CHECK(read_whole("data: a\r\rdata: b\r\r") == expected);
  CHECK(read_whole("data: a\r\n\r\ndata: b\r\n\r\n") == expected);
  CHECK(read_whole("data: a\n\r\ndata: b\r\n\r") == expected);
}

TEST_CASE("data lines are joined with line feeds, an empty one included") {
  CHECK(read_whole("data: a\ndata\ndata:b\n\n") == Events{{"message", "a\n\nb", ""}});
  CHECK(read_whole("data\n\n") == Events{{"message", "", ""}});
  CHECK(read_whole("data\ndata\n\n") == Events{{"message", "\n", ""}});
}

TEST_CASE("one space after the colon is dropped, a second one is data") {
  CHECK(read_whole("data:a\n\ndata:  a\n\n") ==
        Events{{"message", "a", ""}, {"message", " a", ""}});
}

TEST_CASE("an event without data is not dispatched, and its name is forgotten") {
  CHECK(read_whole("event: lost\n\ndata: a\n\n") == Events{{"message", "a", ""}});
  CHECK(read_whole("event: x\nevent: y\ndata: a\n\n") == Events{{"y", "a", ""}});
  CHECK(read_whole("event: x\nevent\ndata: a\n\n") == Events{{"message", "a", ""}});
}

TEST_CASE("comments and unknown fields are skipped, and names keep their case") {
  CHECK(read_whole(": ping\nDATA: b\nfoo: c\n data: d\ndata: a\n\n") ==
        Events{{"message", "a", ""}});
}

TEST_CASE("an id lasts until the next one; one with a zero byte is ignored") {
  const std::string text =
      "id: 1\ndata: a\n\ndata: b\n\nid: 2" + std::string(1, '\0') + "\ndata: c\n\nid\ndata: d\n\n";
  CHECK(read_whole(text) == Events{{"message", "a", "1"},
                                   {"message", "b", "1"},
                                   {"message", "c", "1"},
                                   {"message", "d", ""}});
}

TEST_CASE("retry is a number of digits alone") {
  EventStreamReader reader;
  CHECK(!reader.retry());
  read_pieces(reader, {"retry: 1500\nretry: 2s\nretry: -1\nretry\nretry: 99999999999999999999\n"});
  CHECK(reader.retry() == 1500);
}

TEST_CASE("a byte order mark is dropped once, at the start, even in pieces") {
  CHECK(read_whole("\xEF\xBB\xBF"
                   "data: a\n\n") == Events{{"message", "a", ""}});
  CHECK(with_rest({"\xEF", "\xBB", "\xBF", "data: a\n\n"}) == Events{{"message", "a", ""}});
  CHECK(read_whole("\xEF\xBB\xBF\xEF\xBB\xBF"
                   "data: a\n\n")
            .empty());
  CHECK(read_whole("\xEF\xBB"
                   "data: a\n\n")
            .empty());
}

TEST_CASE("a CRLF that is cut in two is one line end, and its event does not wait for the LF") {
  EventStreamReader reader;
  CHECK(read_pieces(reader, {"data: a\r\n\r"}) == Events{{"message", "a", ""}});
  CHECK(read_pieces(reader, {"\ndata: b\n"}).empty());
  CHECK(read_pieces(reader, {"\n"}) == Events{{"message", "b", ""}});
}

TEST_CASE("rest gives the event whose blank line never came, and gives it once") {
  EventStreamReader reader;
  CHECK(read_pieces(reader, {"event: e\ndata: a\nda", "ta: b"}).empty());
  const auto event = reader.rest();
  REQUIRE(event);
  CHECK(seen(*event) == Seen{"e", "a\nb", ""});
  CHECK(!reader.rest());
}

TEST_CASE("a whole event with one data line is a view of the fed bytes") {
  const std::string text = "event: delta\ndata: {\"a\":1}\n\n";
  EventStreamReader reader;
  reader.feed(text);
  const auto event = reader.next();
  REQUIRE(event);
  CHECK(event->data.data() == text.data() + text.find('{'));
  CHECK(event->name.data() == text.data() + text.find("delta"));
}

TEST_CASE("an event beyond the limit stops the reader for good") {
  EventStreamReader reader(16);
  CHECK(read_pieces(reader, {"data: 0123456789\n\n"}).size() == 1);
  CHECK(!reader.overflowed());
  CHECK(read_pieces(reader, {"data: 01234567890\n\n"}).empty());
  CHECK(reader.overflowed());
  CHECK(read_pieces(reader, {"data: a\n\n"}).empty());
  CHECK(!reader.rest());
}

TEST_CASE("a line that never ends overflows, comments without end do not") {
  EventStreamReader endless(16);
  for (int i = 0; i < 5 && !endless.overflowed(); ++i) read_pieces(endless, {"data"});
  CHECK(endless.overflowed());

  EventStreamReader pinged(16);
  for (int i = 0; i < 100; ++i) read_pieces(pinged, {": ping\n"});
  CHECK(!pinged.overflowed());
}

TEST_CASE("the events do not depend on how the bytes were cut") {
  CHECK(rc::check([] {
    const std::string text = some_stream();
    const std::size_t limit = *rc::gen::inRange<std::size_t>(1, 64);
    std::vector<std::string> bytes;
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = *rc::gen::inRange<std::size_t>(1, 9);
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    for (const char c : text) bytes.emplace_back(1, c);

    RC_ASSERT(with_rest({text}, limit) == with_rest(pieces, limit));
    RC_ASSERT(with_rest({text}, limit) == with_rest(bytes, limit));
  }));
}

TEST_CASE("what event_bytes writes reads back as it was, line ends made line feeds") {
  CHECK(event_bytes("", "a") == "data: a\n\n");
  CHECK(event_bytes("e\r\nx", "a\r\nb\rc\n") == "event: ex\ndata: a\ndata: b\ndata: c\ndata: \n\n");
  CHECK(read_whole(event_bytes("e", " a\n\nb")) == Events{{"e", " a\n\nb", ""}});
  CHECK(read_whole(event_bytes("", "")) == Events{{"message", "", ""}});
}
