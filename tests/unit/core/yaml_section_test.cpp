#include "core/yaml_section.hpp"

#include <string>

#include "core/yaml_node.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

TEST_CASE("a section is replaced in place, and the rest of the file does not change") {
  const std::string before = "# head\na: 1\nb:\n  - x\n  # inside\n  - y\n\n# of c\nc: {d: 2}\n";
  CHECK(replace_section(before, {"b"}, "b: [z]\n") == "# head\na: 1\nb: [z]\n\n# of c\nc: {d: 2}\n");
  CHECK(replace_section(before, {"c"}, "c: 3") == "# head\na: 1\nb:\n  - x\n  # inside\n  - y\n\n# of c\nc: 3\n");
  CHECK(replace_section("b:\n- x\n- y\nc: 1\n", {"b"}, "b: 2") == "b: 2\nc: 1\n");
}

TEST_CASE("a new section is appended to the file") {
  CHECK(replace_section("a: 1", {"b"}, "b: 2") == "a: 1\n\nb: 2\n");
  CHECK(replace_section("a: 1\n\n\n", {"b"}, "b: 2\n") == "a: 1\n\nb: 2\n");
  CHECK(replace_section("ab: 1\n", {"a"}, "a: 2") == "ab: 1\n\na: 2\n");
  CHECK(replace_section("a: 1\n", {"b", "c"}, "c: {d: 2}") == "a: 1\n\nb:\n  c: {d: 2}\n");
}

TEST_CASE("a section inside another is replaced or added with its indentation") {
  const std::string before = "a:\n    # of b\n    b: 1\n\n    c:\n      - 2\nd: 3\n";
  CHECK(replace_section(before, {"a", "b"}, "b: 5") == "a:\n    # of b\n    b: 5\n\n    c:\n      - 2\nd: 3\n");
  CHECK(replace_section(before, {"a", "c"}, "c:\n  - 6") == "a:\n    # of b\n    b: 1\n\n    c:\n      - 6\nd: 3\n");
  CHECK(replace_section(before, {"a", "e"}, "e: 7") == "a:\n    e: 7\n    # of b\n    b: 1\n\n    c:\n      - 2\nd: 3\n");
}

TEST_CASE("a map in brackets is written line by line when it is extended") {
  CHECK(replace_section("a: {}\nb: 1\n", {"a", "c"}, "c: 2") == "a:\n  c: 2\nb: 1\n");
  const std::string after = replace_section("a: {x: \"p: q\", y: [1, 2]}\nb: 1\n", {"a", "c"}, "c: 2");
  CHECK(after == "a:\n  c: 2\n  x: \"p: q\"\n  y: [1, 2]\nb: 1\n");
  CHECK(YamlNode::parse(after, "f").at("a").at("x").text() == "p: q");
  CHECK(replace_section("a: {x: 1, c: 1}\n", {"a", "c"}, "c: 2") == "a:\n  x: 1\n  c: 2\n");
}

TEST_CASE("sections that cannot be extended are refused") {
  CHECK(error_of([] {
          (void)replace_section("{a: 1}", {"b"}, "b: 2");
        }).starts_with("the file to be extended:1:1: a file in brackets cannot be extended"));
  CHECK(error_of([] { (void)replace_section("a: [", {"b"}, "b: 2"); }).starts_with("the file to be extended:"));
  CHECK(error_of([] { (void)replace_section("- a\n", {"b"}, "b: 2"); }).starts_with("the file to be extended:1:1:"));
  CHECK(error_of([] { (void)replace_section("a: [1]\n", {"a", "b"}, "b: 2"); }).starts_with("the file to be extended:1:4:"));
}
