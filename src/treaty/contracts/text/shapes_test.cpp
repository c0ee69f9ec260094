#include "treaty/contracts/text/shapes.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

using treaty::contracts::ShapeCategories;
using treaty::contracts::ShapeCategory;
using treaty::contracts::ShapeSet;

namespace {

bool is_shape_in(std::string_view shape, std::string_view text) {
  const std::array<std::string_view, 1> shapes = {shape};
  return ShapeSet(shapes).is_in(text);
}

}  // namespace

TEST_CASE("a lower-case letter of a shape is either case, an upper-case one is itself") {
  CHECK(is_shape_in("abc", "xABCx"));
  CHECK(is_shape_in("ABC", "xABCx"));
  CHECK(!is_shape_in("ABC", "abc"));
}

TEST_CASE("a shape takes white space, digits and words of any length") {
  CHECK(is_shape_in("a # b", "a\t 123\n b"));
  CHECK(!is_shape_in("a # b", "a x b"));
  CHECK(is_shape_in("at @.@\\(", "at foo_1.bar("));
}

TEST_CASE("a hyphen of a shape is a hyphen or an underscore") {
  CHECK(is_shape_in("a-b", "a-b"));
  CHECK(is_shape_in("a-b", "a_b"));
  CHECK(is_shape_in("-b", "a_b"));
  CHECK(!is_shape_in("a_b", "a-b"));
}

TEST_CASE("a shape may begin and end where a word does") {
  CHECK(is_shape_in("<cat>", "a cat."));
  CHECK(!is_shape_in("<cat>", "concat"));
  CHECK(!is_shape_in("<cat>", "cats"));
}

TEST_CASE("a group is one of its alternatives, also where it stands first") {
  CHECK(is_shape_in("<(cat|dog|)s>", "dogs"));
  CHECK(is_shape_in("a(b|bc|)d", "abcd"));
  CHECK(is_shape_in("a(b|bc|)d", "ad"));
  CHECK(!is_shape_in("a(b|c)d", "ad"));
}

TEST_CASE("a gap stays on its line and is bounded") {
  CHECK(is_shape_in("a*b", "a some b"));
  CHECK(!is_shape_in("a*b", "a some\nb"));
  CHECK(!is_shape_in("a*b", "a" + std::string(100, ' ') + "b"));
}

TEST_CASE("a set begins a text only at its first character") {
  constexpr std::array<std::string_view, 2> kShapes = {":#", " on line #"};
  const ShapeSet set(kShapes);

  CHECK(set.begins(":12"));
  CHECK(set.begins(" on line 3 of it"));
  CHECK(!set.begins("x:12"));
}

TEST_CASE("the category of the first match is what a text shows") {
  constexpr std::array<std::string_view, 2> kAnimals = {"<cat>", "<dog>"};
  constexpr std::array<std::string_view, 1> kFruits = {"<apple>"};
  const std::array<ShapeCategory, 2> categories = {{{"an animal", kAnimals}, {"a fruit", kFruits}}};
  const ShapeCategories all(categories);

  CHECK(all.find("an apple for the dog") == "a fruit");
  CHECK(all.find("a dog and an apple") == "an animal");
  CHECK(all.find("nothing").empty());
}
