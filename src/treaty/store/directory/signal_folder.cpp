#include "treaty/store/directory/signal_folder.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "treaty/base/ids.h"
#include "treaty/base/json.h"
#include "treaty/base/json_write.h"
#include "treaty/base/timestamp.h"
#include "treaty/base/try.h"
#include "treaty/store/directory/files.h"

namespace treaty::store::directory {
namespace {

constexpr const char* kFolder = ".signals";
constexpr std::string_view kAnyone = "_anyone_";

// In the middle of a name: number_addressee_id.json.
std::string mark_of(const std::string& addressee) {
  return addressee.empty() ? std::string(kAnyone) : fmt::format("_{}_", file_name_of(addressee));
}

bool has_mark(std::string_view name, std::string_view mark) {
  return name.find(mark) != std::string_view::npos;
}

std::uint64_t number_of(std::string_view name) {
  std::uint64_t number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

std::string encode(const std::string& id, const std::string& channel, const std::string& data,
                   const std::string& addressee, Milliseconds now) {
  json::Writer writer;
  writer.begin_object().member("id", id).member("channel", channel).member("data_json", data);
  writer.member("created_at", timestamp_of(now));
  if (!addressee.empty()) writer.member("addressee", addressee);
  writer.end_object();
  return writer.take();
}

}  // namespace

std::string SignalFolder::folder_of(const std::string& channel) const {
  return fmt::format("{}/{}", kFolder, file_name_of(channel));
}

std::expected<std::optional<SignalFile>, Error> SignalFolder::oldest(
    const std::string& channel, const std::string& execution) const {
  const std::string folder = folder_of(channel);
  const std::string mark = mark_of(execution);
  for (const std::string& file : names_in(fmt::format("{}/{}", store_, folder))) {
    if (!has_mark(file, mark) && !has_mark(file, kAnyone)) continue;
    SignalFile signal{.name = fmt::format("{}/{}", folder, file)};
    const std::string path = fmt::format("{}/{}", store_, signal.name);
    TREATY_TRY(const auto bytes, load_file(path));
    if (!bytes) continue;
    const json::Document document(*bytes, {.max_size = std::numeric_limits<std::uint32_t>::max()});
    const auto data = json::find_member(document.root(), "data_json");
    if (!data || !data->is_string()) {
      return std::unexpected(Error{.code = ErrorCode::corrupt,
                                   .message = "a signal of the store is damaged; remove its file",
                                   .where = path});
    }
    signal.data = data->text();
    return signal;
  }
  return std::nullopt;
}

std::expected<void, Error> SignalFolder::add(const std::string& channel, const std::string& data,
                                             const std::string& addressee, Milliseconds now) {
  const std::string folder = fmt::format("{}/{}", store_, folder_of(channel));
  TREATY_TRY_VOID(make_directory(folder));
  const auto names = names_in(folder);
  const std::uint64_t number = names.empty() ? 1 : number_of(names.back()) + 1;
  const std::string id = new_uuid();
  return save_file(fmt::format("{}/{:012}{}{}.json", folder, number, mark_of(addressee), id),
                   encode(id, channel, data, addressee, now));
}

std::expected<void, Error> SignalFolder::remove_all_of(const std::string& execution) {
  const std::string mark = mark_of(execution);
  const std::string all = fmt::format("{}/{}", store_, kFolder);
  for (const std::string& channel : names_in(all)) {
    const std::string folder = fmt::format("{}/{}", all, channel);
    for (const std::string& file : names_in(folder)) {
      if (!has_mark(file, mark)) continue;
      TREATY_TRY_VOID(remove_file(fmt::format("{}/{}", folder, file)));
    }
  }
  return {};
}

}  // namespace treaty::store::directory
