// How the values of a machine file are taken: each function notes what is wrong with its value and
// answers nothing then, so that reading goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "treaty/base/yaml.h"
#include "treaty/machines/machine.h"
#include "treaty/machines/reading/findings.h"
#include "treaty/machines/reading/place.h"

namespace treaty::machines {

using Names = std::set<std::string, std::less<>>;

// "did you mean X?", or nothing.
std::string hint_nearest(const Names& names, std::string_view word);
std::string hint_nearest(std::span<const std::string_view> names, std::string_view word);

// Foreign text in a message: in quotes, cut when it is long.
std::string quote(std::string_view text);

Dynamic to_value(const yaml::Node& node);

// true, false, and what YAML 1.1 calls them: yes, on, no, off.
std::optional<bool> boolean_in(const yaml::Node& node);

class Reader {
 public:
  Reader(Findings& found, const LoadOptions& options) : findings(found), options(options) {}

  Findings& findings;
  const LoadOptions& options;

  // Of the machine that is being read.
  Names states{};
  Names agents{};
  Names machines{};

  // MCH-05, unless it is one.
  std::optional<std::string> text(const Place& place, std::string_view what);
  std::optional<bool> boolean(const Place& place, std::string_view what);
  std::optional<std::int64_t> integer(const Place& place, std::string_view what, std::int64_t least,
                                      std::int64_t most);
  std::optional<double> number(const Place& place, std::string_view what, double least,
                               double most);
  std::optional<std::size_t> word(const Place& place, std::string_view what,
                                  std::span<const std::string_view> words);
  bool is_map(const Place& place, std::string_view what);
  bool is_list(const Place& place, std::string_view what);
  void wrong(const Place& place, std::string_view what, std::string_view expected);

  // The name of something that `known` lists, else `rule`. Keys of YAML may be written as numbers
  // (`1:`), and so may names of them.
  std::optional<std::string> name(const Place& place, std::string_view what, const Names& known,
                                  std::string_view rule);

  // MCH-04.
  void refuse_unknown_keys(const Place& map, std::string_view what,
                           std::span<const std::string_view> known);
};

}  // namespace treaty::machines
