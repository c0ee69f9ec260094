#include "treaty/bridge/pruning.h"

#include <algorithm>
#include <numeric>

#include "treaty/base/timestamp.h"
#include "treaty/bridge/run_state.h"

namespace treaty::bridge {
namespace {

constexpr double kDay = 86'400;  // In seconds.

// The first entry of the run that can be resumed; the end when there is none.
std::size_t begin_of_open_run(std::span<const Entry> entries) {
  if (replay_run(entries).stage == Stage::none) return entries.size();
  std::size_t begin = entries.size();
  while (begin > 0 && entries[begin - 1].event != "run.started") --begin;
  return begin == 0 ? 0 : begin - 1;
}

bool is_about_run(const Entry& entry) {
  return entry.event.starts_with("run.") || entry.event.starts_with("program.") || is_answer(entry);
}

// An entry whose time cannot be read is as new as can be.
double age_of(const Entry& entry, double now) {
  const auto at = seconds_of_timestamp(entry.at);
  return at ? now - *at : 0;
}

std::vector<bool> needed_entries(std::span<const Entry> entries, const StillThere& there) {
  const std::size_t run = begin_of_open_run(entries);
  const auto open = open_requests(entries);
  std::set<std::string> seen_ids;
  std::set<std::string> seen_files;
  std::vector<bool> needed(entries.size());
  for (std::size_t i = entries.size(); i-- > 0;) {  // The newest first.
    const Entry& entry = entries[i];
    const std::string id = text_in(entry, "request_id");
    needed[i] = i >= run && is_about_run(entry);
    if (entry.event == "request.asked") {
      const auto asked = open.find(id);
      needed[i] = asked != open.end() && asked->second.turn_id == text_in(entry, "turn_id");
    } else if (is_answer(entry)) {
      const std::string file = text_in(entry, "file");
      if (seen_ids.insert(id).second && there.request_ids.contains(id)) needed[i] = true;
      if (!file.empty() && seen_files.insert(file).second && there.has_file(file)) {
        needed[i] = true;
      }
    }
  }
  return needed;
}

}  // namespace

std::optional<std::vector<Entry>> pruned(std::span<const Entry> entries, const StillThere& there,
                                         double now, const KeepingRules& rules) {
  std::vector<std::size_t> sizes(entries.size());
  std::ranges::transform(entries, sizes.begin(),
                         [](const Entry& entry) { return encode(entry).size() + 1; });
  std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const bool is_large = bytes > rules.most_bytes;
  const bool has_old = std::ranges::any_of(entries, [&](const Entry& entry) {
    return age_of(entry, now) > (rules.days + rules.days_between) * kDay;
  });
  if (!is_large && !has_old) return std::nullopt;
  const std::vector<bool> needed = needed_entries(entries, there);
  std::vector<Entry> kept;
  bool is_old = true;  // Only the beginning goes: the end of a run must not go before its start.
  for (std::size_t i = 0; i < entries.size(); ++i) {
    is_old = is_old && age_of(entries[i], now) > rules.days * kDay;
    if (!needed[i] && (is_old || (is_large && bytes > rules.bytes_after))) {
      bytes -= sizes[i];
    } else {
      kept.push_back(entries[i]);
    }
  }
  return kept.size() == entries.size() ? std::nullopt : std::optional(std::move(kept));
}

}  // namespace treaty::bridge
