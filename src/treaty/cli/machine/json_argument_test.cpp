#include "treaty/cli/machine/json_argument.h"

#include <doctest/doctest.h>

namespace treaty::cli {

using Items = std::vector<std::string>;

TEST_CASE("a list is its elements, anything else a value a line") {
  CHECK(*read_items("[1,\n {\"a\": [2]}]\n") == Items{"1", "{\"a\":[2]}"});
  CHECK(*read_items("1\n\n {\"a\": 2} \r\n\"x\"") == Items{"1", "{\"a\":2}", "\"x\""});
  CHECK(*read_items("[1]\n[2]\n") == Items{"[1]", "[2]"});
  CHECK(read_items("  \n")->empty());
  CHECK(read_items("[]")->empty());
}

TEST_CASE("a line that is no JSON is named, and nothing is an item then") {
  const auto items = read_items("1\n\nword\n2\n");

  REQUIRE(!items);
  CHECK(items.error().starts_with("line 3 "));
  CHECK(!read_items("[1,\n2"));
}

TEST_CASE("an item that is no object gets a name") {
  CHECK(input_of_item("{\"a\":1}") == machines::Object{{"a", 1}});
  CHECK(input_of_item("[1]") == machines::Object{{"item", machines::List{1}}});
  CHECK(input_of_item("null") == machines::Object{{"item", nullptr}});
}

TEST_CASE("a pool's name leaves room for the item in the id of its execution") {
  CHECK(is_pool_name("letters"));
  CHECK(!is_pool_name(""));
  CHECK(!is_pool_name("a/b"));
  CHECK(!is_pool_name(".hidden"));
  CHECK(!is_pool_name(std::string(101, 'x')));
  CHECK(execution_of("letters", "7") == "letters-7");
}

}  // namespace treaty::cli
