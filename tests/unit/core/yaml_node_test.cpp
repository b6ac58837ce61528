#include "core/yaml_node.hpp"

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

YamlNode parsed(const std::string& text) { return YamlNode::parse(text, "f.yaml"); }

std::string yaml_error(const std::string& text) {
  return error_of([&] { (void)parsed(text); });
}

std::pair<int, int> place(const YamlNode& node) { return {node.line(), node.column()}; }

/// Returns the error of a use of the value of `x` in the map `text`.
template <class F>
std::string error_at_x(const std::string& text, F use) {
  return error_of([&] { use(parsed(text).at("x")); });
}

std::string repeated(const std::string& piece, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += piece;
  return result;
}

}  // namespace

// ---- valid files ----

TEST_CASE("maps, lists, texts and null are distinguished") {
  const YamlNode root =
      parsed("map: {a: 1}\nlist: [1, 2]\ntext: hello\nempty:\ntilde: ~\nnull word: null\nquoted: 'null'\n");
  CHECK(root.is_map());
  CHECK(root.at("map").kind() == "map");
  CHECK(root.at("list").is_sequence());
  CHECK(root.at("list").kind() == "list");
  CHECK(root.at("text").is_scalar());
  CHECK(root.at("text").kind() == "text");
  CHECK(root.at("empty").is_null());
  CHECK(root.at("empty").kind() == "nothing");
  CHECK(root.at("tilde").is_null());
  CHECK(root.at("null word").is_null());
  CHECK(root.at("quoted").is_scalar());
}

TEST_CASE("entries and items come in file order") {
  const YamlNode root = parsed("b: [3, 1, 2]\na:\n  - x\n  - y\n");
  const auto entries = root.entries();
  REQUIRE(entries.size() == 2);
  CHECK(entries[0].first.text() == "b");
  CHECK(entries[1].first.text() == "a");
  const auto items = entries[0].second.items();
  REQUIRE(items.size() == 3);
  CHECK(items[0].integer() == 3);
  CHECK(items[2].integer() == 2);
  CHECK(entries[1].second.items()[1].text() == "y");
}

TEST_CASE("an existing key is found, and a missing key is not") {
  const YamlNode root = parsed("a: 1\n");
  CHECK(root.find("a").has_value());
  CHECK_FALSE(root.find("b"));
  CHECK_FALSE(root.find("A"));
}

TEST_CASE("a node remains valid after its root is destroyed") {
  const YamlNode inner = parsed("a: {b: deep}").at("a").at("b");
  CHECK(inner.text() == "deep");
  CHECK(inner.origin() == "f.yaml");
}

TEST_CASE("texts are read as written, with quotes and escapes resolved") {
  const YamlNode root =
      parsed("a: two words # comment\nb: 'it''s'\nc: \"tab\\there\"\nd: |\n  one\n  two\ne: >-\n  one\n  two\nf: 1.50\n");
  CHECK(root.at("a").text() == "two words");
  CHECK(root.at("b").text() == "it's");
  CHECK(root.at("c").text() == "tab\there");
  CHECK(root.at("d").text() == "one\ntwo\n");
  CHECK(root.at("e").text() == "one two");
  CHECK(root.at("f").text() == "1.50");
}

TEST_CASE("a root may be a list or a text") {
  CHECK(parsed("- a\n- b\n").items().size() == 2);
  CHECK(parsed("hello").text() == "hello");
}

TEST_CASE("yes, no, true and false are booleans") {
  const YamlNode root = parsed("[yes, true, no, false]");
  CHECK(root.items()[0].boolean());
  CHECK(root.items()[1].boolean());
  CHECK_FALSE(root.items()[2].boolean());
  CHECK_FALSE(root.items()[3].boolean());
}

TEST_CASE("whole numbers are read to the ends of their range") {
  const YamlNode root = parsed("[0, -7, 9223372036854775807, -9223372036854775808]");
  CHECK(root.items()[0].integer() == 0);
  CHECK(root.items()[1].integer(-7, -7) == -7);
  CHECK(root.items()[2].integer() == std::numeric_limits<std::int64_t>::max());
  CHECK(root.items()[3].integer() == std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("numbers are read to the ends of their range") {
  const YamlNode root = parsed("[0.5, -1e3, 7]");
  CHECK(root.items()[0].number(0.5, 0.5) == 0.5);
  CHECK(root.items()[1].number() == -1000.0);
  CHECK(root.items()[2].number() == 7.0);
}

TEST_CASE("quantities are read with their unit, in quotes or not") {
  const YamlNode root = parsed("size: 80 GiB\ntime: '5 us'\nband: 900 GB/s\nrate: 15.7 TFLOP/s\nzero: 0 s\n");
  CHECK(root.at("size").bytes() == 80_GiB);
  CHECK(root.at("time").seconds() == 5.0_us);
  CHECK(root.at("band").bandwidth() == 900.0_GBps);
  CHECK(root.at("rate").flop_rate() == 15.7_TFLOPS);
  CHECK(root.at("zero").seconds(true) == 0.0_s);
}

TEST_CASE("line breaks of both kinds and a byte-order mark make no difference") {
  const YamlNode root = parsed(
      "\xEF\xBB\xBF"
      "a: 1\r\nb:\r\n  - x\r\n");
  CHECK(root.at("b").items()[0].text() == "x");
  CHECK(place(root.entries()[0].first) == std::pair(1, 1));
  CHECK(place(root.at("b").items()[0]) == std::pair(3, 5));
}

TEST_CASE("a document may have start and end markers") {
  CHECK(parsed("%YAML 1.2\n---\na: 1\n...\n").at("a").integer() == 1);
}

// ---- positions of nodes ----

TEST_CASE("the place of a value is its first letter, quote or bracket") {
  const YamlNode root = parsed(
      "plain: x\n"           // 1
      "single: 'x'\n"        // 2
      "double:   \"x\"\n"    // 3
      "block: |\n  x\n"      // 4, 5
      "list:\n  - x\n"       // 6, 7
      "flow: [x, {y: z}]\n"  // 8
      "map:\n  key: x\n"     // 9, 10
      "nothing: ~\n");       // 11
  CHECK(place(root) == std::pair(1, 1));
  CHECK(place(root.at("plain")) == std::pair(1, 8));
  CHECK(place(root.at("single")) == std::pair(2, 9));
  CHECK(place(root.at("double")) == std::pair(3, 11));
  CHECK(place(root.at("block")) == std::pair(4, 8));
  CHECK(place(root.at("list")) == std::pair(7, 3));
  CHECK(place(root.at("list").items()[0]) == std::pair(7, 5));
  CHECK(place(root.at("flow")) == std::pair(8, 7));
  CHECK(place(root.at("flow").items()[1]) == std::pair(8, 11));
  CHECK(place(root.at("flow").items()[1].at("y")) == std::pair(8, 15));
  CHECK(place(root.at("map")) == std::pair(10, 3));
  CHECK(place(root.at("nothing")) == std::pair(11, 10));
}

TEST_CASE("the place of a missing value is its key") {
  const YamlNode root = parsed("a:\nb:   # nothing\n\n\nc: {d: , e: 1}\nnullable: 1\nf:");
  CHECK(place(root.at("a")) == std::pair(1, 1));
  CHECK(place(root.at("b")) == std::pair(2, 1));
  CHECK(place(root.at("c").at("d")) == std::pair(5, 5));
  CHECK(place(root.at("f")) == std::pair(7, 1));
}

TEST_CASE("the place of a missing item is its dash") {
  const YamlNode root = parsed("list:\n  -\n  - # none - here\n  - x-y\n  -\n\nnext: 1\n");
  const auto items = root.at("list").items();
  REQUIRE(items.size() == 4);
  CHECK(place(items[0]) == std::pair(2, 3));
  CHECK(place(items[1]) == std::pair(3, 3));
  CHECK(place(items[3]) == std::pair(5, 3));
  CHECK(items[3].is_null());
}

TEST_CASE("an empty key before a key that starts with null is not read as null") {
  CHECK(place(parsed("a:\nnullable: 1\n").at("a")) == std::pair(1, 1));
}

TEST_CASE("columns count bytes and the caret counts characters") {
  CHECK(error_of([] { parsed("\u00FC\u00FC: x\n").at("\u00FC\u00FC").fail("bad"); }) ==
        "f.yaml:1:7: bad\n  \u00FC\u00FC: x\n      ^");
}

TEST_CASE("an error of the caller has the place, the line, the caret and the hint") {
  CHECK(error_of([] { parsed("a: 1\nspeed:  900\n").at("speed").fail("too fast", "brake"); }) ==
        "f.yaml:2:9: too fast\n"
        "  speed:  900\n"
        "          ^\n"
        "hint: brake");
}

// ---- errors of accessors ----

TEST_CASE("a missing key is reported at the map, with a similar key") {
  CHECK(error_of([] { (void)parsed("a: 1\nm:\n  x: 1\n").at("m").at("speed"); }) ==
        "f.yaml:3:3: the key 'speed' is missing\n    x: 1\n    ^\nhint: add 'speed: ...'");
  CHECK(error_of([] { (void)parsed("sped: 1\n").at("speed"); }) ==
        "f.yaml:1:1: the key 'speed' is missing\n  sped: 1\n  ^\nhint: there is 'sped': did you mean that?");
}

TEST_CASE("an unknown key is reported at the key") {
  const YamlNode root = parsed("name: x\nbandwith: 1\n");
  CHECK(error_of([&] {
          root.only_keys({"name", "bandwidth"});
        }) == "f.yaml:2:1: unknown key 'bandwith'\n  bandwith: 1\n  ^\nhint: did you mean 'bandwidth'?");
  CHECK(error_of([&] { root.only_keys(std::vector<std::string_view>{"name"}); }).ends_with("hint: known: name"));
  CHECK(error_of([&] { root.only_keys({"name", "bandwith", "more"}); }) == "no error");
}

TEST_CASE("every accessor refuses a value of another type") {
  const std::string head = "f.yaml:1:4: ";
  CHECK(error_at_x("x: hello", [](const YamlNode& x) { (void)x.at("a"); }) ==
        head + "expected a map, found text\n  x: hello\n     ^\nhint: write one 'key: value' per line");
  CHECK(
      error_at_x("x: [1]", [](const YamlNode& x) { (void)x.find("a"); }).starts_with(head + "expected a map, found a list"));
  CHECK(
      error_at_x("x: [1]", [](const YamlNode& x) { (void)x.entries(); }).starts_with(head + "expected a map, found a list"));
  CHECK(
      error_at_x("x: ~", [](const YamlNode& x) { x.only_keys({"a"}); }).starts_with(head + "expected a map, found nothing"));
  CHECK(error_at_x("x: {}", [](const YamlNode& x) { (void)x.items(); }).starts_with(head + "expected a list, found a map"));
  CHECK(error_at_x("x: {}", [](const YamlNode& x) {
          (void)x.items();
        }).ends_with("\nhint: write one '- item' per line, or [first, second]"));
  CHECK(error_at_x("x: {}", [](const YamlNode& x) { (void)x.text(); }).ends_with("\nhint: write a single value"));
  CHECK(
      error_at_x("x:", [](const YamlNode& x) { (void)x.text(); }).ends_with("\nhint: write a value, or leave the key out"));
  CHECK(error_at_x("x: {}", [](const YamlNode& x) { (void)x.text(); }).starts_with(head + "expected text, found a map"));
  CHECK(error_at_x("x:", [](const YamlNode& x) { (void)x.text(); }).starts_with("f.yaml:1:1: expected text, found nothing"));
  CHECK(error_at_x("x: []", [](const YamlNode& x) {
          (void)x.boolean();
        }).starts_with(head + "expected yes or no, found a list"));
  CHECK(error_at_x("x: []", [](const YamlNode& x) {
          (void)x.integer();
        }).starts_with(head + "expected a whole number, found a list"));
  CHECK(error_at_x("x: []", [](const YamlNode& x) {
          (void)x.number();
        }).starts_with(head + "expected a number, found a list"));
  CHECK(error_at_x("x: []", [](const YamlNode& x) { (void)x.bytes(); }).starts_with(head + "expected a size, found a list"));
  CHECK(
      error_at_x("x: []", [](const YamlNode& x) { (void)x.seconds(); }).starts_with(head + "expected a time, found a list"));
  CHECK(error_at_x("x: []", [](const YamlNode& x) {
          (void)x.bandwidth();
        }).starts_with(head + "expected a bandwidth, found a list"));
  CHECK(error_at_x("x: []", [](const YamlNode& x) {
          (void)x.flop_rate();
        }).starts_with(head + "expected a compute rate, found a list"));
}

TEST_CASE("an empty text is refused") {
  CHECK(error_at_x("x: ''", [](const YamlNode& x) {
          (void)x.text();
        }).starts_with("f.yaml:1:4: expected text, found none between the quotes"));
}

TEST_CASE("a boolean is one of four words") {
  const std::string word = GENERATE("on", "True", "y", "1", "nope");
  CHECK(error_at_x("x: " + word, [](const YamlNode& x) { (void)x.boolean(); }) ==
        "f.yaml:1:4: '" + word + "' is neither yes nor no\n  x: " + word + "\n     ^\nhint: use yes, no, true or false");
}

TEST_CASE("a number in quotes is text") {
  CHECK(error_at_x("x: '5'", [](const YamlNode& x) { (void)x.integer(); }) ==
        "f.yaml:1:4: expected a whole number, found text in quotes\n  x: '5'\n     ^\nhint: remove the quotes");
  CHECK(error_at_x("x: \"5\"", [](const YamlNode& x) {
          (void)x.number();
        }).find("expected a number, found text in quotes") != std::string::npos);
  CHECK(error_at_x("x: 'yes'", [](const YamlNode& x) {
          (void)x.boolean();
        }).find("expected yes or no, found text in quotes") != std::string::npos);
}

TEST_CASE("a value that is not a whole number is refused") {
  const std::string word = GENERATE("1.0", "1e3", "0x10", "1_000", "12 GB", "+5", "ten", "1,5");
  CHECK(error_at_x("x: " + word, [](const YamlNode& x) { (void)x.integer(); }) ==
        "f.yaml:1:4: '" + word + "' is not a whole number\n  x: " + word +
            "\n     ^\nhint: use only digits, without unit, point or separators");
}

TEST_CASE("a whole number out of its range is refused with the limit") {
  const auto in_range = [](const YamlNode& x) { (void)x.integer(1, 8); };
  CHECK(error_at_x("x: 0", in_range).starts_with("f.yaml:1:4: '0' is too small: at least 1"));
  CHECK(error_at_x("x: 9", in_range).starts_with("f.yaml:1:4: '9' is too large: at most 8"));
  CHECK(error_at_x("x: 99999999999999999999", in_range).find("is too large: at most 8") != std::string::npos);
  CHECK(error_at_x("x: -99999999999999999999", in_range).find("is too small: at least 1") != std::string::npos);
}

TEST_CASE("a value that is not a finite number is refused") {
  const auto use = [](const YamlNode& x) { (void)x.number(); };
  CHECK(error_at_x("x: fast", use) ==
        "f.yaml:1:4: 'fast' is not a number\n  x: fast\n     ^\nhint: use a decimal number without unit or separators");
  CHECK(error_at_x("x: 9 GB", use).starts_with("f.yaml:1:4: '9 GB' is not a number"));
  CHECK(error_at_x("x: .nan", use).starts_with("f.yaml:1:4: '.nan' is not a number"));
  CHECK(error_at_x("x: nan", use).starts_with("f.yaml:1:4: 'nan' is not a finite number"));
  CHECK(error_at_x("x: -inf", use).starts_with("f.yaml:1:4: '-inf' is not a finite number"));
  CHECK(error_at_x("x: 1e999", use).starts_with("f.yaml:1:4: '1e999' is out of range"));
}

TEST_CASE("a number out of its range is refused with the limit") {
  const auto in_range = [](const YamlNode& x) { (void)x.number(0.5, 1.0); };
  CHECK(error_at_x("x: 0.4", in_range).starts_with("f.yaml:1:4: '0.4' is too small: at least 0.5"));
  CHECK(error_at_x("x: 1.1", in_range).starts_with("f.yaml:1:4: '1.1' is too large: at most 1"));
}

TEST_CASE("an invalid quantity is refused with its position and the hint of its unit") {
  CHECK(error_at_x("x: 900", [](const YamlNode& x) { (void)x.bandwidth(); }) ==
        "f.yaml:1:4: '900' has no unit\n  x: 900\n     ^\nhint: use for example '900 GB/s'");
  CHECK(error_at_x("x: 5 MS", [](const YamlNode& x) { (void)x.seconds(); }).ends_with("hint: did you mean 'ms'?"));
}

TEST_CASE("zero is refused if a quantity must be positive") {
  CHECK(error_at_x("x: 0 GB", [](const YamlNode& x) {
          (void)x.bytes();
        }).starts_with("f.yaml:1:4: '0 GB' must be greater than zero"));
  CHECK(error_at_x("x: 0 GB/s", [](const YamlNode& x) {
          (void)x.bandwidth();
        }).ends_with("\nhint: use a larger value; an optional key may be left out"));
  CHECK(error_at_x("x: 0 s", [](const YamlNode& x) {
          (void)x.seconds();
        }).starts_with("f.yaml:1:4: '0 s' must be greater than zero"));
  CHECK(error_at_x("x: 0 B/s", [](const YamlNode& x) { (void)x.bandwidth(); }).find("greater than zero") !=
        std::string::npos);
  CHECK(error_at_x("x: 0 FLOPS", [](const YamlNode& x) { (void)x.flop_rate(); }).find("greater than zero") !=
        std::string::npos);
}

// ---- errors of the parser ----

TEST_CASE("an empty file is refused, also if it contains only spaces, comments or markers") {
  const std::string text = GENERATE("", "\n", "# only a comment\n", "---\n", "...\n", "   ", "~\n", "--- # x\n...\n");
  CHECK(yaml_error(text).find(": the file is empty") != std::string::npos);
}

TEST_CASE("a file that is not text is refused at its first bad byte") {
  CHECK(yaml_error(std::string("a: 1\nb: \0", 9)).starts_with("f.yaml:2:4: not a text file"));
  CHECK(yaml_error("a: caf\xE9\n").starts_with("f.yaml:1:7: not a text file"));
  CHECK(yaml_error("a: x\x04y\n").starts_with("f.yaml:1:5: not a text file"));
}

TEST_CASE("a duplicate key is refused, with the line of the first one") {
  CHECK(yaml_error("a: 1\nb: 2\n\"a\": 3\n") ==
        "f.yaml:3:1: duplicate key 'a', already at line 1\n  \"a\": 3\n  ^\nhint: remove one of them");
  CHECK(yaml_error("x: {a: 1, b: 2, a: 3}\n").starts_with("f.yaml:1:17: duplicate key 'a'"));
  CHECK(yaml_error("- a: 1\n- a: 2\n") == "no error");
  CHECK(yaml_error("a: {a: {a: 1}}\n") == "no error");
}

TEST_CASE("anchors and aliases are refused") {
  CHECK(yaml_error("a: &x 1\nb: *x\n") ==
        "f.yaml:1:4: anchors (&) and aliases (*) are not allowed\n  a: &x 1\n     ^\n"
        "hint: write the value out, or put text that starts with '&' or '*' into 'quotes'");
  CHECK(yaml_error("a: &x\n").starts_with("f.yaml:1:4: anchors"));
  CHECK(yaml_error("a: &x [1]\n").starts_with("f.yaml:1:4: anchors"));
  CHECK(yaml_error("&x a: 1\n").starts_with("f.yaml:1:1: anchors"));
  CHECK(yaml_error("a: 1\nb: *y\n").starts_with("f.yaml:2:4: anchors"));
  CHECK(yaml_error("a: x&y*z\n") == "no error");
}

TEST_CASE("tags are refused") {
  CHECK(yaml_error("a: !!str 1\n") ==
        "f.yaml:1:4: tags are not allowed\n  a: !!str 1\n     ^\nhint: put text that starts with '!' into 'quotes'");
  for (const std::string text : {"a: !x {b: 1}", "a: !x [1]", "a: ! 'x'", "a: !x", "!x a: 1", "a: !<y> z"}) {
    CHECK(yaml_error(text).find("tags are not allowed") != std::string::npos);
  }
  CHECK(yaml_error("!x").find("tags are not allowed") != std::string::npos);
}

TEST_CASE("a second document is refused where it starts") {
  CHECK(yaml_error("a: 1\n---\nb: 2\n") ==
        "f.yaml:2:1: a second document starts here\n  ---\n  ^\nhint: keep each document in a file of its own");
  CHECK(yaml_error("--- \na: 1\n---\n").starts_with("f.yaml:3:1: a second document starts here"));
}

TEST_CASE("text after the root is refused where it starts") {
  CHECK(yaml_error("- a\nb: 1\n") ==
        "f.yaml:2:1: this does not belong to the value before it\n  b: 1\n  ^\nhint: check the indentation of this line");
  CHECK(yaml_error("{a: 1} b\n").starts_with("f.yaml:1:8: this does not belong to the value before it"));
  CHECK(yaml_error("- a\n-b\n").starts_with("f.yaml:2:1: this does not belong to the value before it"));
}

TEST_CASE("a key that is not text is refused") {
  CHECK(yaml_error("? [a]\n: b\n") == "f.yaml:1:3: a key must be text\n  ? [a]\n    ^\nhint: put the key into 'quotes'");
  CHECK(yaml_error("{a: 1}: 2\n").starts_with("f.yaml:1:1: a key must be text"));
  CHECK(yaml_error("null: a\n").starts_with("f.yaml:1:1: a key must be text"));
}

TEST_CASE("a key without a colon is refused") {
  CHECK(yaml_error("a: 1\ngpus\n") ==
        "f.yaml:2:1: 'gpus' has no ':' after it\n  gpus\n  ^\nhint: write 'key: value', with a space after the ':'");
  CHECK(yaml_error("x: {a:1}\n").starts_with("f.yaml:1:5: 'a:1' has no ':' after it"));
  CHECK(yaml_error("x: {a, b}\n").starts_with("f.yaml:1:5: 'a' has no ':' after it"));
  CHECK(yaml_error("x: {\"a\"}\n").starts_with("f.yaml:1:5: 'a' has no ':' after it"));
  CHECK(yaml_error("? a\n: b\n").starts_with("f.yaml:1:3: 'a' has no ':' after it"));
  CHECK(yaml_error("{a : 1, 'b' : 2, \"c\":3, d:\n 4}\n") == "no error");
  CHECK(yaml_error("a : 1\n'b' : 2\n\"c\\\"d\": 3\n'e''f': 4\n") == "no error");
}

TEST_CASE("a missing key is refused") {
  CHECK(yaml_error(": a\n") == "f.yaml:1:1: a key is expected here\n  : a\n  ^\nhint: write 'key: value' on one line");
  CHECK(yaml_error("x: {a: 1, , b: 2}\n").starts_with("f.yaml:1:11: a key is expected here"));
}

TEST_CASE("a key of several lines is refused") {
  CHECK(yaml_error("? a\n  b\n: c\n") ==
        "f.yaml:1:3: a key must be on one line\n  ? a\n    ^\nhint: write 'key: value' on one line");
  CHECK(yaml_error("x: {a\n b: 1}\n").starts_with("f.yaml:1:5: a key is expected here"));
  CHECK(yaml_error("a\n b: 1\n").starts_with("f.yaml:2:3: a ':' where no key is possible"));
}

TEST_CASE("an unclosed quote is refused with the position of its start") {
  CHECK(yaml_error("a: \"x\nb: 2\n") ==
        "f.yaml:1:4: this quote is never closed\n  a: \"x\n     ^\nhint: put text that starts with a quote into the other "
        "kind of quotes");
  CHECK(yaml_error("a: 'it''s\nb: 2\n").starts_with("f.yaml:1:4: this quote is never closed"));
  CHECK(yaml_error("a: \"x\\\"\n").starts_with("f.yaml:1:4: this quote is never closed"));
  CHECK(yaml_error("a: [\"x, y]\n").starts_with("f.yaml:1:5: this quote is never closed"));
}

TEST_CASE("an unclosed bracket is refused with the position of its start") {
  CHECK(yaml_error("a: 1\nb: [1, 2") == "f.yaml:2:4: this bracket is never closed\n  b: [1, 2\n     ^");
  CHECK(yaml_error("{a: 1").starts_with("f.yaml:1:1: this bracket is never closed"));
  CHECK(yaml_error("[").starts_with("f.yaml:1:1: this bracket is never closed"));
  CHECK(yaml_error("{").starts_with("f.yaml:1:1: this bracket is never closed"));
  CHECK(yaml_error("- [a, b\n- c\n").starts_with("f.yaml:1:3: this bracket is never closed"));
  CHECK(yaml_error("a: [x, {y: [1, 2], z\n").starts_with("f.yaml:1:8: this bracket is never closed"));
}

TEST_CASE("a missing ',' or closing bracket is refused") {
  CHECK(yaml_error("x:\n  - {a: 1\n     b: 2}\n") ==
        "f.yaml:3:7: a ',' or '}' is missing before this\n       b: 2}\n        ^\nhint: the bracket opened at line 2, "
        "column 5");
  CHECK(yaml_error("x: [a 'b' [c]]\n").find("a ',' or ']' is missing before this") != std::string::npos);
}

TEST_CASE("a colon where no key is possible is refused") {
  CHECK(yaml_error("a: b: c\n") ==
        "f.yaml:1:5: a ':' where no key is possible\n  a: b: c\n      ^\n"
        "hint: put text that contains ': ' into 'quotes', and check the indentation of this line");
  CHECK(yaml_error("a: 1\n b: 2\n").starts_with("f.yaml:2:3: a ':' where no key is possible"));
}

TEST_CASE("a dash where no list item is possible is refused") {
  CHECK(yaml_error("a: - b\n") ==
        "f.yaml:1:4: a '-' where no list item is possible\n  a: - b\n     ^\n"
        "hint: start the list on a new line, and put text that starts with '- ' into 'quotes'");
}

TEST_CASE("a character that cannot start a value is refused") {
  for (const std::string text : {"a: @x", "a: `x", "a: %x"}) {
    CHECK(yaml_error(text).starts_with("f.yaml:1:4: a value cannot start with this character"));
    CHECK(yaml_error(text).ends_with("hint: put it into 'quotes'"));
  }
}

TEST_CASE("a bracket that was never opened is refused") {
  CHECK(
      yaml_error("a: {b: [1, 2}}\n") ==
      "f.yaml:1:13: this bracket was never opened\n  a: {b: [1, 2}}\n              ^\nhint: put text that contains brackets "
      "into 'quotes'");
  CHECK(yaml_error("}").starts_with("f.yaml:1:1: this bracket was never opened"));
}

TEST_CASE("wrong indentation is refused") {
  CHECK(yaml_error("a:\n    - b\n  c: 1\n") ==
        "f.yaml:3:3: this does not belong to the map before it\n    c: 1\n    ^\n"
        "hint: check the indentation of this line, and put text that contains quotes or brackets into 'quotes'");
  CHECK(yaml_error("- - a\n  b\n").starts_with("f.yaml:2:3: this does not belong to the list before it"));
  CHECK(yaml_error("a: 'it's'\n").starts_with("f.yaml:1:8: this does not belong to the map before it"));
}

TEST_CASE("a tab in the indentation is refused with its position") {
  CHECK(yaml_error("a:\n\tb: 1\n") == "f.yaml:2:1: a tab in the indentation\n      b: 1\n  ^\nhint: indent with spaces");
  CHECK(yaml_error("a:\n  \t- b\n").starts_with("f.yaml:2:3: a tab in the indentation"));
  CHECK(yaml_error("a: 1\n\tb: 1\n").starts_with("f.yaml:2:1: a tab in the indentation"));
}

TEST_CASE("other syntax errors are reported in the parser's words") {
  CHECK(yaml_error("a: \"\\q\"\n") == "f.yaml:1:7: not valid YAML: unknown escape character: q\n  a: \"\\q\"\n        ^");
}

TEST_CASE("deep nesting is refused at the level that is too deep") {
  const int limit = YamlNode::max_depth;
  CHECK(yaml_error(repeated("[", limit) + repeated("]", limit)) == "no error");
  CHECK(yaml_error(repeated("[", limit + 1) + repeated("]", limit + 1))
            .starts_with("f.yaml:1:65: nested deeper than 64 levels"));
  CHECK(yaml_error(repeated("{a: ", limit + 1) + repeated("}", limit + 1))
            .starts_with("f.yaml:1:257: nested deeper than 64 levels"));
  CHECK(yaml_error(repeated("- ", limit) + "x") == "no error");
  CHECK(yaml_error(repeated("- ", limit + 1) + "x").starts_with("f.yaml:1:129: nested deeper than 64 levels"));
  std::string steps;
  for (int i = 0; i < 100; ++i) steps += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  CHECK(yaml_error(steps).starts_with("f.yaml:65:65: nested deeper than 64 levels"));
}

TEST_CASE("extreme nesting is refused at once") {
  const std::string piece =
      GENERATE("[", "{", "- ", "? ", "[{", "{a: ", "[[],", "- [", "!", "&", "*", "\"\"", "|", ": ", "a: ");
  CHECK(yaml_error(repeated(piece, 300000)) != "no error");
}

TEST_CASE("many brackets side by side do not count as nesting") {
  CHECK(parsed("[" + repeated("[1], {a: 2}, ", 20000) + "]").items().size() == 40000);
}

TEST_CASE("a long map is read in good time") {
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  CHECK(parsed(text).entries().size() == 50000);
}

TEST_CASE("a text that is too long is refused") {
  CHECK(yaml_error(std::string(YamlNode::max_bytes + 1, '#')) ==
        "f.yaml: longer than 16 MiB\nhint: check the name of the file");
}

TEST_CASE("a file that cannot be read is named") {
  CHECK(error_of([] { (void)YamlNode::load("no/such.yaml"); }) ==
        "cannot read 'no/such.yaml': No such file or directory\nhint: check the spelling; a path is relative to the current "
        "folder, or starts with /");
  CHECK(error_of([] { (void)YamlNode::load("/"); }) == "cannot read '/': Is a directory\nhint: name a file in this folder");
  CHECK(error_of([] { (void)YamlNode::load("/dev/zero"); }) ==
        "cannot read '/dev/zero': the file is longer than 16 MiB\nhint: check the name of the file, or use a part of the "
        "file");
}

// ---- properties ----

namespace {

/// Writes a random tree, and records it as the reader should return it: `kind text line:column` for each node, depth first.
class RandomFile {
 public:
  explicit RandomFile(std::uint64_t seed) : random_(seed) { write_block_map(0, 0); }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::vector<std::string>& expected() const { return expected_; }

  static void describe(const YamlNode& node, std::vector<std::string>& out) {
    const std::string where = " " + std::to_string(node.line()) + ":" + std::to_string(node.column());
    if (node.is_scalar()) {
      out.push_back("text " + node.text() + where);
      return;
    }
    out.push_back(std::string(node.kind()) + where);
    if (node.is_map()) {
      for (const auto& [key, value] : node.entries()) {
        describe(key, out);
        describe(value, out);
      }
    } else if (node.is_sequence()) {
      for (const YamlNode& item : node.items()) describe(item, out);
    }
  }

 private:
  int choose(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  void put(const std::string& piece) { text_ += piece; }
  [[nodiscard]] std::string where() const {
    const std::size_t line_start = text_.rfind('\n') == std::string::npos ? 0 : text_.rfind('\n') + 1;
    return " " + std::to_string(1 + std::count(text_.begin(), text_.end(), '\n')) + ":" +
           std::to_string(text_.size() - line_start + 1);
  }
  void noise(int indent) {
    if (choose(4) == 0)
      put(choose(2) == 0 ? "\n" : std::string(static_cast<std::size_t>(indent), ' ') + "# [it's {a comment\n");
  }
  void write_scalar() {
    // Each pair is a text as written, and as read.
    static const std::vector<std::pair<std::string, std::string>> scalars{{"plain", "plain"},
                                                                          {"two  words", "two  words"},
                                                                          {"900 GB/s", "900 GB/s"},
                                                                          {"'it''s'", "it's"},
                                                                          {"\"a\\\"b\"", "a\"b"},
                                                                          {"'# no'", "# no"},
                                                                          {"\"\u00FC\\t\"", "\u00FC\t"},
                                                                          {"\u00FCber", "\u00FCber"},
                                                                          {"a#b", "a#b"},
                                                                          {"-1", "-1"},
                                                                          {"x:y", "x:y"},
                                                                          {"'[{'", "[{"}};
    const auto& [written, read] = scalars[static_cast<std::size_t>(choose(static_cast<int>(scalars.size())))];
    expected_.push_back("text " + read + where());
    put(written);
  }
  void write_key() {
    const std::string name = "key" + std::to_string(++keys_);
    expected_.push_back("text " + name + where());
    put(choose(4) == 0 ? "'" + name + "'" : name);
    put(choose(6) == 0 ? " :" : ":");
  }
  void write_flow(int depth) {
    const int kind = depth > 3 ? 0 : choose(4);
    if (kind < 2) return write_scalar();
    const int count = choose(4);
    expected_.push_back((kind == 2 ? "list" : "map") + where());
    put(kind == 2 ? "[" : "{");
    for (int i = 0; i < count; ++i) {
      put(i == 0 ? "" : choose(3) == 0 ? " ,\n          " : ", ");
      if (kind == 3) {
        write_key();
        put(" ");
      }
      write_flow(depth + 1);
    }
    put(kind == 2 ? "]" : "}");
  }
  /// Writes the rest of a line after "key:" or "-".
  void write_value(int indent, int depth, const std::string& place_of_nothing) {
    switch (depth > 3 ? choose(3) : choose(5)) {
      case 0:
        expected_.push_back("nothing" + place_of_nothing);
        break;
      case 1:
        put("  ");
        write_scalar();
        break;
      case 2:
        put(" ");
        write_flow(0);
        break;
      case 3:
        put("\n");
        return write_block_map(indent + 1 + choose(3), depth + 1);
      default:
        put(choose(2) == 0 ? " # comment\n" : "\n");
        return write_block_list(indent + 1 + choose(3), depth + 1);
    }
    put(choose(4) == 0 ? "  # comment\n" : "\n");
  }
  void write_block_map(int indent, int depth) {
    noise(indent);
    for (int i = 0; i <= choose(4); ++i) {
      if (i > 0) noise(indent);
      put(std::string(static_cast<std::size_t>(indent), ' '));
      if (i == 0) expected_.push_back("map" + where());
      const std::string key_place = where();
      write_key();
      write_value(indent, depth, key_place);
    }
  }
  void write_block_list(int indent, int depth) {
    noise(indent);
    for (int i = 0; i <= choose(4); ++i) {
      if (i > 0) noise(indent);
      put(std::string(static_cast<std::size_t>(indent), ' '));
      if (i == 0) expected_.push_back("list" + where());
      const std::string dash_place = where();
      put("-");
      write_value(indent, depth, dash_place);
    }
  }

  std::mt19937_64 random_;
  std::string text_;
  std::vector<std::string> expected_;
  int keys_ = 0;
};

}  // namespace

TEST_CASE("every node of a written file is read with its text and its position") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomFile file(seed);
    CAPTURE(seed, file.text());
    std::vector<std::string> seen;
    RandomFile::describe(parsed(file.text()), seen);
    REQUIRE(seen == file.expected());
  }
}

TEST_CASE("the error for a broken file states a position inside the file") {
  std::mt19937_64 random(7);
  const std::string alphabet = "ab:1- \n\n  []{},\"'#&*!|>%@?~\t\r\\.\xC3\xA9";
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    // Half of the texts are pure noise, and half are a valid file with a few letters changed.
    std::string text = seed % 2 == 0 ? std::string(random() % 40, ' ') : RandomFile(seed).text();
    const std::size_t changes = seed % 2 == 0 ? text.size() : 1 + random() % 4;
    for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
      const std::size_t at = seed % 2 == 0 ? i : random() % text.size();
      text[at] = alphabet[random() % alphabet.size()];
    }
    CAPTURE(seed, text);
    const std::string error = yaml_error(text);
    if (error != "no error") REQUIRE(error.starts_with("f.yaml:"));
  }
}

TEST_CASE("texts and names have a maximum length, and a name is on one line") {
  const auto text = YamlNode::parse("a: " + std::string(YamlNode::max_text, 'x') + '\n', "f.yaml").at("a");
  CHECK(text.text().size() == YamlNode::max_text);
  CHECK(error_of([&] { (void)text.name(); }).starts_with("f.yaml:1:4: a name of more than 200 characters"));
  const auto longer = YamlNode::parse("a: " + std::string(YamlNode::max_text + 1, 'x') + '\n', "f.yaml").at("a");
  CHECK(error_of([&] { (void)longer.text(); }).starts_with("f.yaml:1:4: a text of more than 10000 characters"));
  CHECK(YamlNode::parse("a: " + std::string(YamlNode::max_name, 'x') + '\n', "f.yaml").at("a").name().size() ==
        YamlNode::max_name);
  CHECK(error_of([] {
          (void)YamlNode::parse("a: |\n  two\n  lines\n", "f.yaml").at("a").name();
        }).starts_with("f.yaml:1:4: a name of more than one line"));
}

TEST_CASE("a quantity that is too large is refused with the end of its range") {
  const auto bandwidth = [](const YamlNode& x) { (void)x.bandwidth(plausible_memory_bandwidth); };
  CHECK(error_at_x("x: 4e-324 B/s", bandwidth) ==
        "f.yaml:1:4: '4e-324 B/s' is too small for a memory bandwidth: at least 1 MB/s\n  x: 4e-324 B/s\n     ^\n"
        "hint: check its unit");
  CHECK(error_at_x("x: 1e300 B/s", bandwidth)
            .starts_with("f.yaml:1:4: '1e300 B/s' is too large for a memory bandwidth: at most 1000 PB/s"));
  CHECK(error_at_x("x: 1e-320 B", [](const YamlNode& x) {
          (void)x.bytes();
        }).starts_with("f.yaml:1:4: '1e-320 B' is too small for a size: at least 1 B"));
  CHECK(error_at_x("x: 1e308 s", [](const YamlNode& x) {
          (void)x.seconds();
        }).starts_with("f.yaml:1:4: '1e308 s' is too large for a time: at most "));
  CHECK(error_at_x("x: 0 s", [](const YamlNode& x) { (void)x.seconds(true); }) == "no error");
  CHECK(error_at_x("x: 1 MB/s", bandwidth) == "no error");
}

TEST_CASE("control characters and marks of direction are refused, also if they are escaped") {
  const auto text = [](const YamlNode& x) { (void)x.text(); };
  CHECK(error_at_x("x: \"a\\e[31m\"", text) ==
        "f.yaml:1:4: the character \\x1B is not allowed in text\n  x: \"a\\e[31m\"\n     ^\nhint: remove it");
  CHECK(error_at_x("x: \"a\\u202Eb\"", text).starts_with("f.yaml:1:4: the character \\u202E is not allowed in text"));
  CHECK(error_at_x("x: \"a\\u009Bb\"", text).starts_with("f.yaml:1:4: the character \\u009B is not allowed in text"));
  CHECK(error_at_x("x: a\u2066b", text).starts_with("f.yaml:1:4: the character \\u2066 is not allowed in text"));
  CHECK(error_at_x("x: \"two\\nlines\\tand \u00B5\"", text) == "no error");
}

TEST_CASE("long rows of numbers are read like other texts") {
  std::string row = "4 -12.5 0.033";
  while (row.size() < 300) row += "; 7 8 -12.32";
  const std::string after = "z: 1\n";
  const auto rows_of = [&](const std::string& text) {
    std::vector<std::string> rows;
    for (const YamlNode& each : parsed(text).at("x").items()) rows.push_back(each.text());
    return rows;
  };
  const std::vector<std::string> both{row, "-" + row};
  CHECK(rows_of("x:\n  - " + row + "\n  -   -" + row + "\n" + after) == both);
  CHECK(rows_of("x:\n- " + row + "\n- -" + row) == both);
  CHECK(rows_of("x:\n  - '" + row + "'\n  - -" + row + "\n") == both);
  // A row may continue on the next line.
  CHECK(rows_of("x:\n  - " + row + "\n    5 6\n") == std::vector<std::string>{row + " 5 6"});
  CHECK(rows_of("x:\n  - " + row + "\n\n    5 6\n") == std::vector<std::string>{row + "\n5 6"});
  // Rows in a block of text or in quotes are parts of the text.
  CHECK(rows_of("x:\n  - |\n    - " + row + "\n    - 5\n") == std::vector<std::string>{"- " + row + "\n- 5\n"});
  CHECK(rows_of("x:\n  - 'a\n    - " + row + "\n    - 5'\n  - " + row) ==
        std::vector<std::string>{"a - " + row + " - 5", row});
  // Places after a row are those of the file.
  const YamlNode map = parsed("x:\n  - " + row + "\n  - " + row + "\n  - b\n" + after);
  CHECK(place(map.at("x").items()[1]) == std::pair(3, 5));
  CHECK(place(map.at("x").items()[2]) == std::pair(4, 5));
  CHECK(place(map.at("z")) == std::pair(5, 4));
  CHECK(yaml_error("x:\n  - " + row + "\ny: [1\n").starts_with("f.yaml:3:4: this bracket is never closed"));
  CHECK(yaml_error("x:\n  - " + row + "\nx: 2\n").starts_with("f.yaml:3:1: duplicate key 'x', already at line 1"));
}
