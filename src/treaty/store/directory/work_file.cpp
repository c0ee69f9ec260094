#include "treaty/store/directory/work_file.h"

#include <fmt/format.h>

#include <limits>

#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/try.h"
#include "treaty/store/directory/files.h"

namespace treaty::store::directory {
namespace {

struct Encoder {
  json::Writer& writer;

  void operator()(const WorkPushed& event) const {
    writer.member("event", "pushed")
        .member("item", event.item)
        .member("max_retries", event.max_retries)
        .member("data", event.data);
  }
  void operator()(const WorkClaimed& event) const {
    writer.member("event", "claimed")
        .member("item", event.item)
        .member("worker", event.worker)
        .member("at", event.at);
  }
  void operator()(const WorkCompleted& event) const {
    writer.member("event", "completed").member("item", event.item).member("result", event.result);
  }
  void operator()(const WorkFailed& event) const {
    writer.member("event", "failed").member("item", event.item).member("error", event.error);
  }
  void operator()(const WorkReleased& event) const {
    writer.member("event", "released").member("worker", event.worker);
  }
  void operator()(const WorkExcused& event) const {
    writer.member("event", "excused").member("item", event.item);
  }
  void operator()(const WorkerSeen& event) const {
    writer.member("event", "seen").member("worker", event.worker).member("at", event.at);
  }
};

std::int64_t integer_of(json::Value object, std::string_view name) {
  return json::find_integer(object, name).value_or(0);
}

std::string text_in(json::Value object, std::string_view name) {
  return std::string(json::find_text(object, name));
}

}  // namespace

std::string encode(const WorkEvent& event) {
  json::Writer writer;
  writer.begin_object();
  std::visit(Encoder{writer}, event);
  writer.end_object();
  return writer.take();
}

std::optional<WorkEvent> decode_work_event(std::string_view line) {
  const json::Document document(line, {.max_size = std::numeric_limits<std::uint32_t>::max()});
  const auto root = document.root();
  if (!root || !root->is_object() || !document.faults().empty()) return std::nullopt;
  const std::string_view name = json::find_text(root, "event");
  std::string item = text_in(*root, "item");
  std::string worker = text_in(*root, "worker");
  const Milliseconds at = integer_of(*root, "at");
  if (name == "pushed") {
    return WorkPushed{.item = std::move(item),
                      .data = text_in(*root, "data"),
                      .max_retries = static_cast<int>(integer_of(*root, "max_retries"))};
  }
  if (name == "claimed") return WorkClaimed{std::move(item), std::move(worker), at};
  if (name == "completed") return WorkCompleted{std::move(item), text_in(*root, "result")};
  if (name == "failed") return WorkFailed{std::move(item), text_in(*root, "error")};
  if (name == "released") return WorkReleased{std::move(worker)};
  if (name == "excused") return WorkExcused{std::move(item)};
  if (name == "seen") return WorkerSeen{std::move(worker), at};
  return std::nullopt;
}

WorkFile::WorkFile(const std::string& store, const std::string& pool)
    : folder_(fmt::format("{}/.work", store)),
      path_(fmt::format("{}/{}", folder_, file_name_of(pool))) {}

std::expected<void, Error> WorkFile::catch_up() {
  auto log = read_lines(path_, read_);
  if (log && log->end < read_) {  // Another file than the one that was read.
    pool_ = {};
    log = read_lines(path_);
  }
  if (!log) return std::unexpected(log.error());
  for (const std::string& line : log->lines) {
    auto event = decode_work_event(line);
    if (!event) {
      return fail(ErrorCode::corrupt, "the file of a work pool is damaged; restore it from a copy",
                  path_);
    }
    pool_.apply(*std::move(event));
  }
  read_ = log->end;
  return {};
}

std::expected<void, Error> WorkFile::add(std::vector<WorkEvent> events) {
  if (events.empty()) return {};
  TREATY_TRY_VOID(make_directory(folder_));
  std::string lines;
  for (const WorkEvent& event : events) lines.append(encode(event)).push_back('\n');
  TREATY_TRY(const LogEnd end, append_lines(path_, lines));
  read_ = end.after;
  for (WorkEvent& event : events) pool_.apply(std::move(event));
  return {};
}

}  // namespace treaty::store::directory
