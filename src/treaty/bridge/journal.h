// What happened in a directory, a line each: requests, answers, repairs, exits. It is written
// before what it tells is acted on, and read when a driver goes on after a crash.
//
//   bridge::append_to_journal(path, {.at = timestamp_now(), .event = "run.continued"});
//   const auto journal = bridge::read_journal(path);
//   for (const bridge::Entry& entry : journal->entries) std::cout << entry.event << '\n';
//
// Threads: any thread may read and append at any time; an entry is appended by one write.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/error.h"
#include "treaty/base/json_text.h"

namespace treaty::bridge {

struct Entry {
  std::string at{};            // RFC 3339.
  std::string event;           // "answer.written".
  json::ObjectText details{};  // Everything else of the line.
  bool operator==(const Entry&) const = default;
};

// The member of run.ended that names the directory where the program wrote a request, when that is
// not the one that was driven.
constexpr std::string_view kRequestIn = "request_in";

// The text of that member; empty when it has none.
std::string text_in(const Entry& entry, std::string_view name);

// Tells of a request that was answered, by us or by somebody else.
bool is_answer(const Entry& entry);

// Tells of the answer to this request: that it was written, found, repaired or moved.
bool answers(const Entry& entry, std::string_view request_id);

// Whether a program was started after the last news of the answer to this request: it has had its
// answer.
bool was_taken(std::span<const Entry> entries, std::string_view request_id);

struct JournalText {
  std::vector<Entry> entries{};
  std::size_t damaged_lines = 0;  // Lines that are no entries; a crash leaves at most the last.
};

// One line, without its end. Bytes that are not UTF-8 become U+FFFD.
std::string encode(const Entry& entry);
JournalText decode_journal(std::string_view text);

// Empty when there is none yet.
std::expected<JournalText, Error> read_journal(const std::string& path);

// Appends the entry and flushes it to the disk. A line that a crash cut off is ended first.
std::expected<void, Error> append_to_journal(const std::string& path, const Entry& entry);

// Replaces the journal by the entries that `choose` keeps of it, in their order; nothing: it stays
// as it is. Lines that are no entries stay, byte for byte: they may be mended by hand. Nothing that
// others append meanwhile is lost.
using ChooseEntries = std::function<std::optional<std::vector<Entry>>(const std::vector<Entry>&)>;
std::expected<void, Error> rewrite_journal(const std::string& path, const ChooseEntries& choose);

}  // namespace treaty::bridge
