#include "treaty/bridge/diagnosis/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace treaty::bridge {

Words bridge_command(const DirectoryView& view, std::string_view verb, const Words& more) {
  Words words = {"treaty", "bridge", std::string(verb)};
  if (view.directory != ".") words.insert(words.end(), {"--dir", view.directory});
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::vector<Words> run_again(const DirectoryView& view, const RunMemory& run) {
  const bool is_elsewhere = !run.from.empty() && !view.here.empty() && view.here != run.from;
  const std::filesystem::path named(view.directory);
  const auto directory =
      (is_elsewhere ? std::filesystem::path(view.here) / named : named).lexically_normal().string();
  Words words = {"treaty", "bridge", "run"};
  if (directory != ".") words.insert(words.end(), {"--dir", directory});
  words.insert(words.end(), run.options.begin(), run.options.end());
  words.emplace_back("--");
  words.insert(words.end(), run.command.begin(), run.command.end());
  if (!is_elsewhere) return {words};
  return {{"cd", run.from}, words};
}

std::string duration_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  constexpr double kDay = 24 * kHour;
  seconds = std::max(seconds, 0.0);
  if (seconds < 2 * kMinute) return fmt::format("{} s", std::floor(seconds));
  if (seconds < 2 * kHour) return fmt::format("{} min", std::floor(seconds / kMinute));
  if (seconds < 2 * kDay) return fmt::format("{} h", std::floor(seconds / kHour));
  return fmt::format("{} d", std::floor(seconds / kDay));
}

Diagnosis make_diagnosis(Ailment ailment, std::string what, std::string why,
                         std::vector<Words> mend) {
  const AilmentKind& kind = kind_of(ailment);
  return {.ailment = ailment,
          .what = what.empty() ? std::string(kind.what) : std::move(what),
          .why = why.empty() ? std::string(kind.why) : std::move(why),
          .mend = std::move(mend)};
}

}  // namespace treaty::bridge
