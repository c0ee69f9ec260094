#include "treaty/bridge/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/process/file_descriptor.h"
#include "treaty/base/text.h"
#include "treaty/base/try.h"

namespace treaty::bridge {
namespace {

constexpr std::size_t kLargestJournal = std::size_t{256} << 20U;
constexpr std::string_view kAt = "at";
constexpr std::string_view kEvent = "event";

std::optional<Entry> decode_line(std::string_view line) {
  const json::Document document(line);
  const auto root = document.root();
  if (!root || !root->is_object() || !document.faults().empty()) return std::nullopt;
  Entry entry{.at = std::string(json::find_text(root, kAt)),
              .event = std::string(json::find_text(root, kEvent)),
              .details = json::ObjectText::of(*root)};
  if (entry.event.empty()) return std::nullopt;
  entry.details.erase(kAt);
  entry.details.erase(kEvent);
  return entry;
}

// Takes the next line off the text, with its end if it has one; nothing at the end of the text.
std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == std::string_view::npos ? end : end + 1);
  text.remove_prefix(line.size());
  return line;
}

// The lines of the entries that are kept, and those that are no entries, as they were written.
std::string lines_of(std::string_view text, const std::vector<Entry>& kept) {
  std::string lines;
  auto next = kept.begin();
  while (const auto line = next_line(text)) {
    if (is_blank(*line)) continue;
    const auto entry = decode_line(*line);
    const bool is_kept = entry && next != kept.end() && *entry == *next;
    if (is_kept) ++next;
    if (is_kept || !entry) lines += *line;
  }
  return lines;
}

// Whether the last byte is there and ends no line.
bool ends_in_a_line(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || status.st_size == 0) return false;
  char last = '\n';
  return pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

// A new one is durable by its name, too.
FileDescriptor open_journal(const std::string& path) {
  constexpr int kFlags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  FileDescriptor there(open(path.c_str(), kFlags));
  if (there || errno != ENOENT) return there;
  FileDescriptor made(open(path.c_str(), kFlags | O_CREAT, 0644));
  if (made && !flush_directory(std::filesystem::path(path).parent_path().string())) {
    made.close();
    errno = EIO;
  }
  return made;
}

// A shared lock to append, an exclusive one to replace the file. Where the system has no such
// locks, a line that is appended during a replacement may be lost.
void lock_journal(int file, int operation) {
  while (flock(file, operation) != 0 && errno == EINTR) {
  }
}

bool was_replaced(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && status.st_nlink == 0;
}

// Open, and locked until it is closed.
FileDescriptor open_to_append(const std::string& path) {
  for (;;) {
    FileDescriptor file = open_journal(path);
    if (!file) return file;
    lock_journal(file.get(), LOCK_SH);
    if (!was_replaced(file.get())) return file;
  }
}

// One write: whoever reads meanwhile finds the line, or nothing of it. The rest of one that was cut
// off would find its place taken: the next line ends it.
bool write_at_once(int file, std::string_view line) {
  ssize_t written = -1;
  do {
    written = write(file, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
  if (written >= 0) errno = ENOSPC;  // Should it not be all.
  return written == static_cast<ssize_t>(line.size());
}

// Empty when there is none yet.
std::expected<std::string, Error> read_journal_file(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored))) return {};
  const auto size = std::filesystem::file_size(path, ignored);
  if (!ignored && size > kLargestJournal) {  // What is last in it counts most.
    return fail(ErrorCode::unreadable,
                "is larger than 256 MiB: move the file elsewhere and a new one is started", path);
  }
  return read_file(path, kLargestJournal);
}

}  // namespace

std::string text_in(const Entry& entry, std::string_view name) {
  return entry.details.find_text(name).value_or("");
}

bool is_answer(const Entry& entry) {
  return entry.event == "answer.written" || entry.event == "answer.found";
}

bool answers(const Entry& entry, std::string_view request_id) {
  return entry.event.starts_with("answer.") && text_in(entry, "request_id") == request_id;
}

bool was_taken(std::span<const Entry> entries, std::string_view request_id) {
  bool is_answered = false;
  bool is_taken = false;
  for (const Entry& entry : entries) {
    if (answers(entry, request_id)) {
      is_answered = true;
      is_taken = false;
    } else if (entry.event == "program.started") {
      is_taken = is_answered;
    }
  }
  return is_taken;
}

std::string encode(const Entry& entry) {
  json::Writer writer;
  writer.begin_object().member(kAt, entry.at).member(kEvent, entry.event);
  const json::Document details = entry.details.read();
  for (const json::Member member : details.root()->members()) {
    json::write(writer.name(member.name.text()), member.value);
  }
  std::string line = writer.end_object().take();
  // Names of files and words of commands are any bytes; a line that is not UTF-8 would be lost.
  return is_utf8(line) ? line : repaired_utf8(line);
}

JournalText decode_journal(std::string_view text) {
  JournalText journal;
  while (const auto line = next_line(text)) {
    if (is_blank(*line)) continue;
    if (auto entry = decode_line(*line)) {
      journal.entries.push_back(*std::move(entry));
    } else {
      ++journal.damaged_lines;
    }
  }
  return journal;
}

std::expected<JournalText, Error> read_journal(const std::string& path) {
  TREATY_TRY(const auto text, read_journal_file(path));
  return decode_journal(text);
}

std::expected<void, Error> append_to_journal(const std::string& path, const Entry& entry) {
  const FileDescriptor file = open_to_append(path);
  std::string line = encode(entry) + "\n";
  if (file && ends_in_a_line(file.get())) line.insert(0, 1, '\n');
  if (file && write_at_once(file.get(), line) && fdatasync(file.get()) == 0) return {};
  return fail(ErrorCode::unwritable, fmt::format("cannot be written: {}", std::strerror(errno)),
              path);
}

std::expected<void, Error> rewrite_journal(const std::string& path, const ChooseEntries& choose) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return {};
  lock_journal(file.get(), LOCK_EX);
  if (was_replaced(file.get())) return {};
  TREATY_TRY(const auto text, read_journal_file(path));
  const auto kept = choose(decode_journal(text).entries);
  if (!kept) return {};
  return replace_file(path, lines_of(text, *kept), Links::replace);
}

}  // namespace treaty::bridge
