#include <fmt/format.h>

#include <algorithm>

#include "treaty/templates/blocks/blocks.h"
#include "treaty/templates/language/operations.h"
#include "treaty/templates/language/tree.h"

namespace treaty::templates::blocks {
namespace {

using language::ExpressionNode;

class NameCheck {
 public:
  explicit NameCheck(std::span<const std::string_view> bound)
      : known_(bound.begin(), bound.end()) {}

  // What is set counts everywhere: a template may set it in a branch before.
  void know_what_is_set(const Body& body) {
    for (const Statement& statement : body) {
      if (const auto* set = std::get_if<Set>(&statement.content)) {
        known_.push_back(set->name);
        know_what_is_set(set->body);
      } else if (const auto* choice = std::get_if<If>(&statement.content)) {
        for (const Branch& branch : choice->branches) know_what_is_set(branch.body);
        know_what_is_set(choice->otherwise);
      } else if (const auto* loop = std::get_if<For>(&statement.content)) {
        know_what_is_set(loop->body);
        know_what_is_set(loop->otherwise);
      }
    }
  }

  void check(const Body& body) {
    for (const Statement& statement : body) {
      std::visit([this](const auto& content) { check(content); }, statement.content);
    }
  }

  std::vector<SyntaxFault> take() { return std::move(faults_); }

 private:
  void check(const Text&) {}
  void check(const Print& print) { check(print.value); }
  void check(const If& block) {
    for (const Branch& branch : block.branches) {
      check(branch.condition);
      check(branch.body);
    }
    check(block.otherwise);
  }
  void check(const For& block) {
    check(block.items);
    const std::size_t before = known_.size();
    known_.insert(known_.end(), block.targets.begin(), block.targets.end());
    if (block.condition != nullptr) check(*block.condition);
    known_.push_back("loop");
    check(block.body);
    known_.resize(before);
    check(block.otherwise);
  }
  void check(const Set& block) {
    if (block.value != nullptr) check(*block.value);
    check(block.body);
  }

  void check(const ExpressionNode& node) {
    if (const auto* name = std::get_if<language::Name>(&node.content)) {
      check(*name, node.offset);
    } else {
      language::for_each_child(node, [this](const ExpressionNode& child) { check(child); });
    }
  }
  void check(const language::Name& name, std::size_t offset) {
    if (name.root != language::Root::other) return;
    if (std::ranges::find(known_, name.name) != known_.end()) return;
    if (std::ranges::find(told_, name.name) != told_.end()) return;
    told_.push_back(name.name);
    faults_.push_back(
        {fmt::format("unknown variable {}", language::quoted_name(name.name)), offset});
  }

  std::vector<std::string_view> known_;
  std::vector<std::string_view> told_;
  std::vector<SyntaxFault> faults_;
};

}  // namespace

std::vector<SyntaxFault> unknown_names(const Body& body, std::span<const std::string_view> bound) {
  NameCheck check(bound);
  check.know_what_is_set(body);
  check.check(body);
  return check.take();
}

}  // namespace treaty::templates::blocks
