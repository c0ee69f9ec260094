#include "treaty/base/schema/pattern.h"

#include <fmt/format.h>

#include <utility>

#include "treaty/base/text.h"

namespace treaty::schema {

// Turns a tree into instructions. Repetitions are written out, hence the bound.
class PatternWriter {
 public:
  explicit PatternWriter(const PatternTree& tree) : tree_(tree) {}

  std::expected<Pattern, std::string> write() {
    write_part(tree_.root);
    put(Operation::found);
    if (full_) return std::unexpected(std::string("repeats too much to be checked quickly"));
    return std::move(pattern_);
  }

 private:
  using Kind = PatternTree::Kind;
  using Operation = Pattern::Operation;

  static constexpr std::size_t kMostInstructions = 4096;
  static constexpr std::size_t kMostVisits = 65536;  // A repetition of nothing writes nothing.

  std::uint32_t here() const { return static_cast<std::uint32_t>(pattern_.code_.size()); }

  std::uint32_t put(Operation operation, std::uint32_t first = 0, std::uint32_t second = 0) {
    if (here() >= kMostInstructions) full_ = true;
    if (!full_) pattern_.code_.push_back({operation, first, second});
    return full_ ? 0 : here() - 1;
  }

  void write_part(std::uint32_t index) {
    const PatternTree::Part& part = tree_.parts[index];
    if (++visits_ > kMostVisits) full_ = true;
    if (full_) return;
    switch (part.kind) {
      case Kind::character: return write_set(part.set);
      case Kind::text_begin: put(Operation::text_begin); return;
      case Kind::text_end: put(Operation::text_end); return;
      case Kind::word_boundary: put(Operation::word_boundary); return;
      case Kind::inside_word: put(Operation::inside_word); return;
      case Kind::sequence:
        for (const std::uint32_t child : part.children) write_part(child);
        return;
      case Kind::choice: return write_choice(part);
      case Kind::repetition: return write_repetition(part);
    }
  }

  void write_set(const CharacterSet& set) {
    if (set.size() == 1) {
      put(Operation::range, set[0].first, set[0].last);
    } else {
      put(Operation::set, static_cast<std::uint32_t>(pattern_.sets_.size()));
      if (!full_) pattern_.sets_.push_back(set);
    }
  }

  void write_choice(const PatternTree::Part& part) {
    std::vector<std::uint32_t> jumps;
    for (std::size_t i = 0; i + 1 < part.children.size(); ++i) {
      const std::uint32_t fork = put(Operation::fork, here() + 1);
      write_part(part.children[i]);
      jumps.push_back(put(Operation::jump));
      if (full_) return;
      pattern_.code_[fork].second = here();
    }
    write_part(part.children.back());
    if (full_) return;
    for (const std::uint32_t jump : jumps) pattern_.code_[jump].first = here();
  }

  void write_repetition(const PatternTree::Part& part) {
    const std::uint32_t child = part.children[0];
    const bool endless = part.most == PatternTree::kEndless;
    const std::uint32_t certain = endless && part.least > 0 ? part.least - 1 : part.least;
    for (std::uint32_t i = 0; i < certain && !full_; ++i) write_part(child);
    if (endless && part.least > 0) {
      const std::uint32_t again = here();
      write_part(child);
      put(Operation::fork, again, here() + 1);
    } else if (endless) {
      const std::uint32_t fork = put(Operation::fork, here() + 1);
      write_part(child);
      put(Operation::jump, fork);
      if (!full_) pattern_.code_[fork].second = here();
    } else {
      write_optional(child, part.most - part.least);
    }
  }

  void write_optional(std::uint32_t child, std::uint32_t times) {
    std::vector<std::uint32_t> forks;
    for (std::uint32_t i = 0; i < times && !full_; ++i) {
      forks.push_back(put(Operation::fork, here() + 1));
      write_part(child);
    }
    if (full_) return;
    for (const std::uint32_t fork : forks) pattern_.code_[fork].second = here();
  }

  const PatternTree& tree_;
  Pattern pattern_;
  std::size_t visits_ = 0;
  bool full_ = false;
};

// All the ways at once, character by character (Thompson): an instruction is at most once in the
// list of those that wait for the next character.
class PatternRun {
 public:
  PatternRun(const Pattern& pattern, std::string_view text)
      : pattern_(pattern), rest_(text), marks_(pattern.code_.size(), 0) {}

  bool matches(Budget& budget) {
    const bool anchored = pattern_.code_[0].operation == Operation::text_begin;
    todo_.push_back(0);
    while (true) {
      following_ = read_code_point(rest_);
      ++position_;
      if (follow()) return true;
      if (work_ > 1024 && !budget.spend(std::exchange(work_, 0) / 8)) return false;
      if (rest_.empty() || (anchored && waiting_.empty())) break;
      step();
      if (!anchored) todo_.push_back(0);
    }
    budget.spend(work_ / 8);
    return false;
  }

 private:
  using Operation = Pattern::Operation;

  // From the instructions in todo_ to those that wait for a character; true when it is found.
  bool follow() {
    waiting_.clear();
    while (!todo_.empty()) {
      const std::uint32_t at = todo_.back();
      todo_.pop_back();
      if (marks_[at] == position_) continue;
      marks_[at] = position_;
      ++work_;
      const Pattern::Instruction& instruction = pattern_.code_[at];
      switch (instruction.operation) {
        case Operation::range:
        case Operation::set: waiting_.push_back(at); break;
        case Operation::fork: todo_.push_back(instruction.second); [[fallthrough]];
        case Operation::jump: todo_.push_back(instruction.first); break;
        case Operation::text_begin: go_on(at, position_ == 1); break;
        case Operation::text_end: go_on(at, rest_.empty()); break;
        case Operation::word_boundary: go_on(at, is_boundary()); break;
        case Operation::inside_word: go_on(at, !is_boundary()); break;
        case Operation::found: return true;
      }
    }
    return false;
  }

  void go_on(std::uint32_t at, bool allowed) {
    if (allowed) todo_.push_back(at + 1);
  }

  void step() {
    for (const std::uint32_t at : waiting_) {
      const Pattern::Instruction& instruction = pattern_.code_[at];
      const bool fits =
          instruction.operation == Operation::range
              ? following_.value >= instruction.first && following_.value <= instruction.second
              : contains(pattern_.sets_[instruction.first], following_.value);
      if (fits) todo_.push_back(at + 1);
    }
    before_ = following_.value;
    // Text of documents is UTF-8; a byte that is not counts as a character of its own.
    rest_.remove_prefix(following_.length == 0 ? 1 : following_.length);
  }

  bool is_boundary() const {
    const auto is_word = [](char32_t c) {
      return c < 0x80 && is_word_character(static_cast<char>(c));
    };
    const bool left = position_ > 1 && is_word(before_);
    const bool right = !rest_.empty() && is_word(following_.value);
    return left != right;
  }

  const Pattern& pattern_;
  std::string_view rest_;
  std::vector<std::uint64_t> marks_;  // At which position an instruction was last followed.
  std::vector<std::uint32_t> todo_;
  std::vector<std::uint32_t> waiting_;
  CodePoint following_;
  char32_t before_ = 0;
  std::uint64_t position_ = 0;  // Counts from 1.
  std::uint64_t work_ = 0;
};

std::expected<Pattern, std::string> Pattern::compile(std::string_view pattern) {
  const auto tree = read_pattern(pattern);
  if (!tree) return std::unexpected(tree.error());
  return PatternWriter(*tree).write();
}

bool Pattern::matches(std::string_view text, Budget& budget) const {
  return PatternRun(*this, text).matches(budget);
}

}  // namespace treaty::schema
