// A compiled schema: nodes that refer to each other by their place, and values that stay in the
// document of the schema.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "treaty/base/json.h"
#include "treaty/base/schema/decimal.h"
#include "treaty/base/schema/pattern.h"
#include "treaty/base/schema/schema.h"

namespace treaty::schema {

using NodeIndex = std::uint32_t;
constexpr NodeIndex kNone = std::numeric_limits<NodeIndex>::max();

// The types of JSON Schema, one bit each. `number` has the integers too.
enum TypeBit : std::uint8_t {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,
  kString = 16,
  kArray = 32,
  kObject = 64,
  kAnyType = 127,
};

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// `enum`. Strings are apart and in order: there may be many.
struct ChoiceRules {
  json::Value values;  // The array itself.
  std::vector<std::string_view> strings;
  std::vector<json::Value> others;
};

struct Bound {
  Decimal number;
  std::optional<std::int64_t> whole;  // When it fits: most comparisons need no more.
  std::string_view source;
};

struct NumberRules {
  std::optional<Bound> minimum;
  std::optional<Bound> maximum;
  std::optional<Bound> exclusive_minimum;
  std::optional<Bound> exclusive_maximum;
  std::optional<Bound> multiple_of;
};

struct TextRules {
  std::uint64_t least = 0;  // In code points.
  std::uint64_t most = kNoLimit;
  std::optional<Pattern> pattern;
  std::string_view pattern_source;
};

struct ArrayRules {
  std::vector<NodeIndex> prefix;
  NodeIndex items = kNone;
  NodeIndex contains = kNone;
  std::uint64_t least_contained = 1;
  std::uint64_t most_contained = kNoLimit;
  std::uint64_t least = 0;
  std::uint64_t most = kNoLimit;
  bool unique = false;
};

struct KnownName {
  std::string_view name;
  NodeIndex property = kNone;
  bool required = false;
};

struct PatternProperty {
  Pattern pattern;
  NodeIndex property;
};

// What the presence of one member asks for.
struct Dependence {
  std::string_view name;
  std::vector<std::string_view> required{};
  NodeIndex schema = kNone;
};

struct ObjectRules {
  std::vector<KnownName> names;  // In the order of is_before.
  std::vector<PatternProperty> patterns;
  NodeIndex additional = kNone;
  NodeIndex name_schema = kNone;
  std::uint64_t least = 0;
  std::uint64_t most = kNoLimit;
  std::vector<Dependence> dependences;

  static bool is_before(std::string_view left, std::string_view right) {
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  }
  const KnownName* find(std::string_view name) const;
};

// What is asked of the same value by other schemas.
struct Combination {
  NodeIndex reference = kNone;
  std::vector<NodeIndex> all_of;
  std::vector<NodeIndex> any_of;
  std::vector<NodeIndex> one_of;
  NodeIndex negated = kNone;
  NodeIndex condition = kNone;
  NodeIndex consequence = kNone;
  NodeIndex alternative = kNone;
};

// One schema; what it does not speak of is not there.
struct SchemaNode {
  std::uint8_t types = kAnyType;
  bool refuses_all = false;  // The schema `false`.
  std::optional<json::Value> constant;
  std::unique_ptr<ChoiceRules> choice;
  std::unique_ptr<NumberRules> number;
  std::unique_ptr<TextRules> text;
  std::unique_ptr<ArrayRules> array;
  std::unique_ptr<ObjectRules> object;
  std::unique_ptr<Combination> combination;
};

struct Schema::Program {
  std::string source;
  json::Document document;  // Of the source; the nodes point into it.
  std::vector<SchemaNode> nodes;
};

}  // namespace treaty::schema
