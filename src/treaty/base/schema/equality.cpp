// When two JSON values are the same.
#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "treaty/base/schema/decimal.h"
#include "treaty/base/schema/evaluation.h"

namespace treaty::schema {
namespace {

using json::Type;
using json::Value;

// Values nested deeper are not compared: the stack has an end.
constexpr int kDeepestComparison = 256;

class Comparison {
 public:
  explicit Comparison(Budget& budget) : budget_(budget) {}

  bool equal(Value left, Value right) {
    if (!enter()) return false;
    const bool same = left.is_number() ? right.is_number() && equal_numbers(left, right)
                                       : left.type() == right.type() && equal_inside(left, right);
    --depth_;
    return same;
  }

  // Equal values have equal hashes.
  std::size_t hash(Value value) {
    if (!enter()) return 0;
    const std::size_t result = hash_inside(value);
    --depth_;
    return result;
  }

 private:
  bool enter() {
    if (++depth_ > kDeepestComparison) budget_.end();
    if (budget_.spend()) return true;
    --depth_;
    return false;
  }

  static bool equal_numbers(Value left, Value right) {
    if (left.source() == right.source()) return true;
    const auto one = left.integer();
    const auto other = right.integer();
    if (one && other) return *one == *other;
    return Decimal(left.source()) == Decimal(right.source());
  }

  bool equal_inside(Value left, Value right) {
    switch (left.type()) {
      case Type::boolean: return left.boolean() == right.boolean();
      case Type::string: return left.text() == right.text();
      case Type::array: return equal_arrays(left, right);
      case Type::object: return equal_objects(left, right);
      default: return true;
    }
  }

  bool equal_arrays(Value left, Value right) {
    auto other = right.elements().begin();
    const auto end = right.elements().end();
    for (const Value element : left.elements()) {
      if (other == end || !equal(element, *other)) return false;
      ++other;
    }
    return other == end;
  }

  // Most often the members stand in the same order.
  bool equal_objects(Value left, Value right) {
    auto beside = right.members().begin();
    const auto end = right.members().end();
    for (const json::Member member : left.members()) {
      if (beside == end) return false;
      const std::string_view name = member.name.text();
      std::optional<Value> other;
      if ((*beside).name.text() == name) {
        other = (*beside).value;
      } else {
        // As many steps as there may be names to look at.
        if (!budget_.spend((right.end() - right.begin()) / 16)) return false;
        other = right.members().find(name);
      }
      if (!other || !equal(member.value, *other)) return false;
      ++beside;
    }
    return beside == end;
  }

  static std::size_t mixed(std::size_t seed, std::size_t next) {
    return (seed ^ next) * 0x9E3779B97F4A7C15U + (seed >> 29U);
  }

  std::size_t hash_inside(Value value) {
    switch (value.type()) {
      case Type::null: return 1;
      case Type::boolean: return value.boolean() ? 2 : 3;
      case Type::integer:
      case Type::decimal: return std::hash<double>()(value.number() + 0.0);  // -0 is 0.
      case Type::string: return std::hash<std::string_view>()(value.text());
      case Type::array: {
        std::size_t result = 4;
        for (const Value element : value.elements()) result = mixed(result, hash(element));
        return result;
      }
      case Type::object: break;
    }
    std::size_t result = 5;
    for (const json::Member member : value.members()) {
      result += mixed(hash(member.name), hash(member.value));
    }
    return result;
  }

  Budget& budget_;
  int depth_ = 0;
};

struct Hashed {
  std::size_t hash;
  std::size_t place;
  Value value;
};

}  // namespace

bool is_equal(Value left, Value right, Budget& budget) {
  return Comparison(budget).equal(left, right);
}

std::optional<std::pair<std::size_t, std::size_t>> find_repeated(Value array, Budget& budget) {
  Comparison comparison(budget);
  std::vector<Hashed> items;
  for (const Value element : array.elements()) {
    items.push_back({comparison.hash(element), items.size(), element});
    if (budget.is_spent()) return std::nullopt;
  }
  std::ranges::sort(items, {}, [](const Hashed& item) { return std::pair(item.hash, item.place); });
  std::optional<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (std::size_t j = i + 1; j < items.size() && items[j].hash == items[i].hash; ++j) {
      if (found && items[j].place >= found->first) break;
      if (budget.is_spent()) return std::nullopt;
      if (comparison.equal(items[i].value, items[j].value)) {
        found = {items[j].place, items[i].place};
        break;
      }
    }
  }
  return found;
}

}  // namespace treaty::schema
