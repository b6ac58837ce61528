#include "core/json_source.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

std::string refusal_of(const std::string& text) {
  return error_of([&] { (void)JsonSource(text, "p.json", "read the manual"); });
}

/// Returns `line:col` of an error about the value, or the key, at `path`.
std::string place_in(const std::string& text, std::string_view path, bool at_key = false) {
  const JsonSource source(text, "p.json", "");
  const std::string message = at_key ? source.error_at_key(path, "x").what() : source.error(path, "x").what();
  const std::size_t begin = std::string("p.json:").size();
  return message.substr(begin, message.find(": ", begin) - begin);
}

}  // namespace

TEST_CASE("parsed values are in the order of the text") {
  const JsonSource source(R"({"b": 1, "a": [true, null]})", "p.json", "");
  CHECK(source.root().dump() == R"({"b":1,"a":[true,null]})");
}

TEST_CASE("an error points at the value, or at its key") {
  const std::string text =
      "{\n"
      "  \"degrees\" : {\"data\": 64},\n"
      "  \"batch\":\n"
      "    8}";
  CHECK(place_in(text, "") == "1:1");
  CHECK(place_in(text, "degrees") == "2:15");
  CHECK(place_in(text, "degrees", true) == "2:3");
  CHECK(place_in(text, "degrees/data") == "2:24");
  CHECK(place_in(text, "degrees/data", true) == "2:16");
  CHECK(place_in(text, "batch") == "4:5");
}

TEST_CASE("a key with escapes is found by its opening quote") {
  CHECK(place_in(R"({"a": 1, "b\"c\\": 2})", R"(b"c\)", true) == "1:10");
  CHECK(place_in(R"({"a": 1, "b\"c\\": 2})", R"(b"c\)") == "1:20");
  CHECK(place_in(R"({"a": "x\"", "b": 2})", "b", true) == "1:14");
}

TEST_CASE("a value without a position has the position of its parent") {
  const std::string text = R"({"a": {"b": [{"c": 1}]}})";
  CHECK(place_in(text, "a/b/c") == place_in(text, "a/b"));
  CHECK(place_in(text, "a/nothing") == place_in(text, "a"));
  CHECK(place_in(text, "nothing") == "1:1");
}

TEST_CASE("columns count from the first letter, not from a byte-order mark") {
  CHECK(place_in("\xEF\xBB\xBF{\"a\": 1}", "a") == "1:7");
}

TEST_CASE("invalid JSON is refused with its position and the hint") {
  CHECK(refusal_of("{\n \"a\": }") ==
        "p.json:2:7: not valid JSON\n"
        "   \"a\": }\n"
        "        ^\n"
        "hint: read the manual");
  CHECK(refusal_of("") == "p.json:1:1: the file is empty\nhint: read the manual");
  CHECK(refusal_of(" \n") == "p.json:1:1: the file is empty\nhint: read the manual");
  CHECK(refusal_of("[1] 2").starts_with("p.json:1:5: not valid JSON"));
  CHECK(refusal_of("[1").starts_with("p.json:1:3: not valid JSON"));
  CHECK(refusal_of("[nan]").starts_with("p.json:1:3: not valid JSON"));  // `n` could have been the beginning of `null`
}

TEST_CASE("a number that no double holds is refused at its first letter") {
  CHECK(refusal_of(R"({"a": [1, -1e999 ]})") ==
        "p.json:1:11: '-1e999' is too large\n"
        "  {\"a\": [1, -1e999 ]}\n"
        "            ^");
  CHECK(refusal_of("1e999").starts_with("p.json:1:1: '1e999' is too large"));
}

TEST_CASE("a duplicate key of an object is refused at any depth") {
  CHECK(refusal_of(R"({"a": 1, "a": 2})") ==
        "p.json:1:10: duplicate key 'a'\n"
        "  {\"a\": 1, \"a\": 2}\n"
        "           ^\n"
        "hint: remove one of them");
  CHECK(refusal_of(R"([{"a": 1}, {"b": {"a": 1, "\u0061": 2}}])").starts_with("p.json:1:27: duplicate key 'a'"));
  CHECK(refusal_of(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]})") == "no error");
}

TEST_CASE("an object with the maximum number of keys is read in order, and one with more keys is refused") {
  std::string object = "{";
  for (std::size_t i = 0; i < JsonSource::max_keys; ++i) object += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":1";
  const JsonSource source(object + "}", "p.json", "");
  CHECK(source.root().size() == JsonSource::max_keys);
  CHECK(source.root().begin().key() == "0");
  CHECK(std::prev(source.root().end()).key() == std::to_string(JsonSource::max_keys - 1));
  CHECK(refusal_of(object + ",\n \"more\": 1}").starts_with("p.json:2:2: an object of more than 100000 keys"));
}

TEST_CASE("values of every type have a position") {
  const std::string text = R"({"z":[1,-2,0.5,null,true,"x",{"b":{},"a":[]}],"a":{"c":18446744073709551615,"b":[[]]}})";
  CHECK(JsonSource(text, "p.json", "").root().dump() == text);
}

TEST_CASE("the error for a binary file states that the file is not text") {
  CHECK(refusal_of(std::string("[1]\0", 4)).starts_with("p.json:1:4: not a text file"));
  CHECK(refusal_of("[\"\xFF\"]").starts_with("p.json:1:3: not a text file"));
}

TEST_CASE("deeply nested JSON is refused without a crash") {
  const std::size_t limit = JsonSource::max_depth;
  CHECK(refusal_of(std::string(limit, '[') + std::string(limit, ']')) == "no error");
  const std::string refusal = "p.json:1:65: nested deeper than 64 levels";
  CHECK(refusal_of(std::string(limit + 1, '[') + std::string(limit + 1, ']')).starts_with(refusal));
  CHECK(refusal_of(std::string(200'000, '[')).starts_with(refusal));
  std::string objects;
  for (std::size_t i = 0; i <= limit; ++i) objects += "{\"a\":";
  CHECK(refusal_of(objects).find("nested deeper than 64 levels") != std::string::npos);
}

TEST_CASE("Infinity and NaN of Python are read only if the caller allows them, and positions do not change") {
  const std::string text = "{\"a\": [NaN, Infinity, -Infinity, 0, -1], \"b\": \"NaN, \\\"Infinity\", \"c\": 0, \"d\": NaN}";
  CHECK(refusal_of(text).find("not valid JSON") != std::string::npos);
  const JsonSource source(text, "p.json", "", JsonNumbers::of_python);
  const auto& list = source.root().at("a");
  CHECK(std::isnan(list[0].get<double>()));
  CHECK(list[1].get<double>() == std::numeric_limits<double>::infinity());
  CHECK(list[2].get<double>() == -std::numeric_limits<double>::infinity());
  CHECK(list[3].is_number_integer());
  CHECK(list[4].get<int>() == -1);
  CHECK(source.root().at("b") == "NaN, \"Infinity");
  CHECK(source.root().at("c").is_number_integer());
  CHECK(std::isnan(source.root().at("d").get<double>()));
  CHECK(std::string(source.error("c", "wrong").what()).starts_with("p.json:1:71: wrong\n  {\"a\": [NaN, Inf"));
  for (const std::string word : {"nan", "Inf", "Infinityy", "NaN0", "- Infinity", "+Infinity"}) {
    INFO(word);
    CHECK(error_of([&] {
            (void)JsonSource("[" + word + "]", "p.json", "", JsonNumbers::of_python);
          }).find("not valid JSON") != std::string::npos);
  }
}
