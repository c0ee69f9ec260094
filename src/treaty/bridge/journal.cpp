#include "treaty/bridge/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "treaty/base/files.h"
#include "treaty/base/json.h"
#include "treaty/base/json_dynamic.h"
#include "treaty/base/json_write.h"
#include "treaty/base/text.h"

namespace treaty::bridge {
namespace {

constexpr std::size_t kLargest = std::size_t{256} << 20U;
constexpr std::string_view kAt = "at";
constexpr std::string_view kEvent = "event";

std::optional<Entry> decode_line(std::string_view line) {
  const json::Document document(line);
  const auto root = document.root();
  if (!root || !root->is_object() || !document.faults().empty()) return std::nullopt;
  Entry entry{.at = std::string(json::find_text(root, kAt)),
              .event = std::string(json::find_text(root, kEvent)),
              .details = json::to_dynamic_object(*root)};
  if (entry.event.empty()) return std::nullopt;
  for (const std::string_view name : {kAt, kEvent}) {
    if (const auto* found = entry.details.find(name); found != entry.details.end()) {
      entry.details.stable_erase(found);  // The others keep their order.
    }
  }
  return entry;
}

// Whether the last byte is there and ends no line.
bool ends_in_a_line(int file) {
  struct stat status{};
  if (fstat(file, &status) != 0 || status.st_size == 0) return false;
  char last = '\n';
  return pread(file, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

std::string encode(const Entry& entry) {
  json::Writer writer;
  writer.begin_object().member(kAt, entry.at).member(kEvent, entry.event);
  for (const auto& [name, value] : entry.details) {
    writer.name(std::string_view(name));
    json::write(writer, value);
  }
  return writer.end_object().take();
}

JournalText decode_journal(std::string_view text) {
  JournalText journal;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (is_blank(line)) continue;
    if (auto entry = decode_line(line)) {
      journal.entries.push_back(*std::move(entry));
    } else {
      ++journal.damaged_lines;
    }
  }
  return journal;
}

std::expected<JournalText, Error> read_journal(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path, ignored)))
    return JournalText{};
  const auto text = read_file(path, kLargest);
  if (!text) return std::unexpected(text.error());
  return decode_journal(*text);
}

std::expected<void, Error> append_to_journal(const std::string& path, const Entry& entry) {
  const int file = open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  std::string line = encode(entry) + "\n";
  if (file >= 0 && ends_in_a_line(file)) line.insert(0, 1, '\n');
  // One write: whoever reads meanwhile finds the line, or nothing of it.
  bool good =
      file >= 0 && write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  good = good && fdatasync(file) == 0;
  const Error error{ErrorCode::unwritable,
                    fmt::format("cannot be written: {}", std::strerror(errno)), path};
  if (file >= 0) close(file);
  if (!good) return std::unexpected(error);
  return {};
}

}  // namespace treaty::bridge
