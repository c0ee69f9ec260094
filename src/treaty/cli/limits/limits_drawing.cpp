#include "treaty/cli/limits/limits_drawing.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "treaty/base/text.h"
#include "treaty/cli/terminal.h"

namespace treaty::cli::limits_watch {
namespace {

struct Piece {
  std::string text;
  Color color = Color::plain;
};

// A window, or what a budget leaves of the day.
struct Row {
  std::string name{};
  std::optional<double> level{};  // 0 to 1; absent: nobody knows.
  std::string amount{};
  std::string tail{};
};

struct Section {
  std::vector<Piece> title{};
  std::vector<Row> rows{};
  std::string note{};  // Below the rows; empty: none.
};

constexpr std::string_view kHideCursor = "\x1b[?25l";
constexpr std::string_view kShowCursor = "\x1b[?25h";
// A line that is wider than it was taken for is cut by the terminal, and does not move the others.
constexpr std::string_view kStopWrapping = "\x1b[?7l";
constexpr std::string_view kWrap = "\x1b[?7h";
constexpr std::string_view kClearRestOfLine = "\x1b[K";
constexpr std::string_view kClearBelow = "\x1b[J";

constexpr std::size_t kWidestBar = 40;
constexpr std::size_t kNarrowestBar = 4;

std::string spaces(std::size_t count) { return std::string(count, ' '); }

std::string padded(std::string_view text, std::size_t width) {
  const std::string cut = fitted(text, width);
  return cut + spaces(width - columns_of(cut));
}

std::string padded_left(std::string_view text, std::size_t width) {
  const std::string cut = fitted(text, width);
  return spaces(width - columns_of(cut)) + cut;
}

std::string line_of(const std::vector<Piece>& pieces, std::size_t width, bool colors) {
  std::string line;
  for (std::size_t at = 0; at < pieces.size() && width > 0; ++at) {
    const bool fits = columns_of(pieces[at].text) <= width;
    const std::string text = fitted(pieces[at].text, width);
    line += pieces[at].color == Color::plain ? text : painted(text, pieces[at].color, colors);
    width = fits ? width - columns_of(text) : 0;
  }
  return line;
}

std::string count_text(double number) {
  std::string digits = fmt::format("{:.0f}", std::floor(number));
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string dollars_text(double number) { return fmt::format("${:.4f}", number); }

std::optional<double> level_of(double remaining, const std::optional<double>& limit) {
  if (!limit) return std::nullopt;
  return *limit > 0 ? std::clamp(remaining / *limit, 0.0, 1.0) : 0.0;
}

Row row_of(const LimitsView::Window& window, double elapsed) {
  const std::string most = window.limit ? " / " + count_text(*window.limit) : "";
  return {.name = window.name,
          .level = level_of(window.remaining, window.limit),
          .amount = count_text(window.remaining) + most,
          .tail = fmt::format("{} in {}", window.refills ? "full" : "resets",
                              countdown_text(window.resets_in - elapsed))};
}

Row row_of(std::string name, const LimitsView::Allowance& allowance,
           std::string (*text)(double number)) {
  const double left = std::max(0.0, *allowance.per_day - allowance.spent - allowance.reserved);
  return {.name = std::move(name),
          .level = level_of(left, allowance.per_day),
          .amount = fmt::format("{} / {}", text(left), text(*allowance.per_day)),
          .tail = fmt::format("{} spent, {} reserved", text(allowance.spent),
                              text(allowance.reserved))};
}

// What keeps callers from a pool, in words.
Piece state_of(const LimitsView::Pool& pool, double elapsed) {
  if (pool.breaker == "open") {
    return {fmt::format("breaker open, probe in {}", countdown_text(pool.probe_in - elapsed)),
            Color::red};
  }
  if (pool.breaker == "probing") return {"breaker probing", Color::yellow};
  if (pool.obstacle.empty()) return {"free", Color::green};
  return {
      fmt::format("free in {} ({})", countdown_text(pool.next_free_in - elapsed), pool.obstacle),
      Color::yellow};
}

Section section_of(const LimitsView::Pool& pool, double elapsed) {
  Section section;
  section.title = {{fmt::format("{} · {}", pool.provider, pool.model), Color::bold},
                   {"  "},
                   state_of(pool, elapsed),
                   {fmt::format(" · {} waiting · {} running", pool.waiting, pool.running)}};
  if (pool.failures > 0) {
    section.title.push_back({fmt::format(" · {} failed in a row", pool.failures), Color::red});
  }
  for (const LimitsView::Window& window : pool.windows) {
    section.rows.push_back(row_of(window, elapsed));
  }
  if (pool.windows.empty()) section.rows.push_back({.name = "no rate limits reported"});
  if (const auto& made = pool.decision) {
    section.note = fmt::format("  {} ago: {}, {} (rule {})", countdown_text(made->ago + elapsed),
                               made->act, made->reason, made->rule);
  }
  return section;
}

Section section_of(const LimitsView::Budget& budget, double elapsed) {
  Section section;
  section.title = {{fmt::format("budget of {} {}", budget.scope, budget.name), Color::bold},
                   {fmt::format("  resets in {}", countdown_text(budget.resets_in - elapsed))}};
  if (budget.tokens.per_day) section.rows.push_back(row_of("tokens", budget.tokens, count_text));
  if (budget.dollars.per_day) {
    section.rows.push_back(row_of("dollars", budget.dollars, dollars_text));
  }
  return section;
}

// Columns of a row; the same for all of them, so that they stand below each other.
struct Columns {
  std::size_t name = 0;
  std::size_t bar = 0;
  std::size_t amount = 0;
};

Columns columns_for(const std::vector<Section>& sections, const Canvas& canvas) {
  Columns columns;
  std::size_t tail = 0;
  for (const Section& section : sections) {
    for (const Row& row : section.rows) {
      if (row.amount.empty()) continue;
      columns.name = std::max(columns.name, columns_of(row.name));
      columns.amount = std::max(columns.amount, columns_of(row.amount));
      tail = std::max(tail, columns_of(row.tail));
    }
  }
  if (!canvas.has_bars) return columns;
  columns.name = std::min(columns.name, std::max<std::size_t>(canvas.width / 3, 8));
  const std::size_t taken = 2 + columns.name + 2 + columns.amount + 2 + tail + 2;
  const std::size_t left = canvas.width > taken ? canvas.width - taken : 0;
  columns.bar = left < kNarrowestBar ? 0 : std::min(left, kWidestBar);
  return columns;
}

Color color_of(double level) {
  if (level > 0.5) return Color::green;
  return level > 0.2 ? Color::yellow : Color::red;
}

// A bit that is left is seen, and so is a bit that is gone.
std::size_t filled_cells(double level, std::size_t width) {
  const auto cells = static_cast<std::size_t>(std::lround(level * static_cast<double>(width)));
  if (level > 0 && cells == 0) return 1;
  return level < 1 && cells == width ? width - 1 : cells;
}

std::vector<Piece> pieces_of(const Row& row, const Columns& columns) {
  if (row.amount.empty()) return {{"  " + row.name}};
  std::vector<Piece> pieces = {{"  " + padded(row.name, columns.name)}};
  if (columns.bar > 0) {
    const std::size_t filled = filled_cells(row.level.value_or(0), columns.bar);
    Piece full{"", color_of(row.level.value_or(0))};
    Piece rest;
    for (std::size_t at = 0; at < columns.bar; ++at) {
      if (row.level) (at < filled ? full : rest).text += at < filled ? "█" : "░";
      if (!row.level) rest.text += ' ';
    }
    pieces.insert(pieces.end(), {{"  "}, std::move(full), std::move(rest)});
  }
  pieces.push_back({"  " + padded_left(row.amount, columns.amount)});
  pieces.push_back({"  " + row.tail});
  return pieces;
}

}  // namespace

std::string fitted(std::string_view text, std::size_t width) {
  if (columns_of(text) <= width) return std::string(text);
  return width == 0 ? std::string() : std::string(fitting(text, width - 1)) + "…";
}

std::string countdown_text(double seconds) {
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  const auto whole = static_cast<std::int64_t>(std::ceil(std::clamp(seconds, 0.0, 1e15)));
  if (whole < kMinute) return fmt::format("{} s", whole);
  if (whole < kHour) return fmt::format("{} m {:02} s", whole / kMinute, whole % kMinute);
  if (whole < kDay) return fmt::format("{} h {:02} m", whole / kHour, whole % kHour / kMinute);
  return fmt::format("{} d {:02} h", whole / kDay, whole % kDay / kHour);
}

std::vector<std::string> draw_limits(const LimitsView& view, double elapsed, const Canvas& canvas) {
  std::vector<Section> sections;
  sections.reserve(view.pools.size() + view.budgets.size());
  for (const auto& pool : view.pools) sections.push_back(section_of(pool, elapsed));
  for (const auto& budget : view.budgets) sections.push_back(section_of(budget, elapsed));
  const Columns columns = columns_for(sections, canvas);
  const std::size_t width = canvas.has_bars ? canvas.width : SIZE_MAX;
  std::vector<std::string> lines;
  for (const Section& section : sections) {
    lines.push_back(line_of(section.title, width, canvas.has_colors));
    for (const Row& row : section.rows) {
      lines.push_back(line_of(pieces_of(row, columns), width, canvas.has_colors));
    }
    if (!section.note.empty()) lines.push_back(fitted(section.note, width));
  }
  if (view.pools.empty()) {
    lines.insert(lines.begin(), fitted("no pools yet: nothing was asked of a provider", width));
  }
  if (canvas.height > 0 && lines.size() > canvas.height) {
    const std::size_t shown = canvas.height - 1;
    const std::string more = fmt::format("… and {} more lines", lines.size() - shown);
    lines.resize(shown);
    lines.push_back(fitted(more, width));
  }
  return lines;
}

ScreenSize screen_size() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {.width = size.ws_col, .height = size.ws_row};
}

bool stdout_is_screen() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string frame_text(std::span<const std::string> lines, std::size_t lines_before) {
  std::string out(kStopWrapping);
  if (lines_before > 0) out += fmt::format("\r\x1b[{}A", lines_before);
  for (const std::string& line : lines) out += fmt::format("{}{}\n", line, kClearRestOfLine);
  return out + fmt::format("{}{}", kClearBelow, kWrap);
}

void LiveScreen::draw(std::span<const std::string> lines) {
  print("{}", frame_text(lines, drawn_));
  std::fflush(stdout);
  drawn_ = lines.size();
}

void LiveScreen::put_aside() {
  print("\r{}{}", kClearRestOfLine, kShowCursor);  // The keys that were pressed are on the screen.
  std::fflush(stdout);
}

void LiveScreen::take_up() {
  drawn_ = 0;
  print("{}", kHideCursor);
}

}  // namespace treaty::cli::limits_watch
