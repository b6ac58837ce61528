// Tests that mutations of a text result in a text of its language, and reach every part of the text.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/yaml_node.hpp"
#include "tests/catch.hpp"
#include "tests/fuzz/structure/language.hpp"
#include "tests/fuzz/structure/mutation.hpp"

namespace {

using namespace ddl;

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr const char* test_networks = "../../data/onnx";  ///< seeds of the fuzzer onnx_file, from FUZZ_CORPUS on

/// Returns the stored inputs of a fuzzer that its parser accepts, by name.
std::vector<std::string> inputs(const std::string& fuzzer, const std::string& part_of_name = "valid") {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(FUZZ_CORPUS) / fuzzer)) {
    if (entry.path().filename().string().find(part_of_name) != std::string::npos) texts.push_back(content(entry.path()));
  }
  std::sort(texts.begin(), texts.end());
  REQUIRE_FALSE(texts.empty());
  return texts;
}

bool is_yaml(const std::string& text) {
  try {
    static_cast<void>(YamlNode::parse(text, "text.yaml"));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_json(const std::string& text) { return nlohmann::json::accept(text); }

bool is_protobuf(const std::string& text) { return protobuf_language.read(text).has_value(); }

/// The percentage of changed texts that `is_one` accepts as texts of the language, and the number of distinct texts.
struct Changed {
  int of_the_language = 0;
  std::size_t different = 0;
};

template <class IsOne>
Changed change(const Language& language, const std::vector<std::string>& texts, const IsOne& is_one) {
  constexpr unsigned tries = 2000;
  std::set<std::string> seen;
  unsigned good = 0;
  for (unsigned seed = 1; seed <= tries; ++seed) {
    const std::string& text = texts[seed % texts.size()];
    MutationRandom random(seed);
    Piece whole = *language.read(text);
    mutate(whole, random, [](std::string& value) { value += "7"; });
    if (seed % 5 == 0) cross(whole, *language.read(texts[(seed + 1) % texts.size()]), random);
    const std::string changed = language.write(whole);
    good += is_one(changed) ? 1U : 0U;
    seen.insert(changed);
  }
  return {static_cast<int>(good * 100 / tries), seen.size()};
}

}  // namespace

TEST_CASE("the elements of a text are written unchanged, except blanks and comments") {
  const std::string yaml =
      "format: 1\nmodel: m\nlayers:\n  - convolution: {filters: 8, kernel: [3, 3]}\n    name: \"a, b: c\"\n  - relu\n";
  REQUIRE(yaml_language.write(*yaml_language.read(yaml)) == yaml);
  const std::string csv = "model,note\nalexnet,\"a, b\n c\"\n,\n";
  REQUIRE(csv_language.write(*csv_language.read(csv)) == csv);
  const std::string json = R"({"a":[1,{"b":"c\",]"},[]],"d":{},"e":-1.5e3})";
  REQUIRE(json_language.write(*json_language.read(json)) == json);
  // Field 1: the varint 300; field 2: a message whose field 1 is the text "abc"; field 3: four bytes.
  const std::string protobuf(
      "\x08\xAC\x02\x12\x05\x0A\x03"
      "abc\x1D\x00\x00\x80\x3F",
      15);
  REQUIRE(protobuf_language.write(*protobuf_language.read(protobuf)) == protobuf);
  REQUIRE(protobuf_language.read(protobuf)->pieces[1].pieces[0].value == "abc");
  const std::string profile = "format: 1\ndevice: d\n---\nkernel,time_s\nk,1\n";
  REQUIRE(profile_language.write(*profile_language.read(profile)) == profile);
}

TEST_CASE("bundled files have the same content after they are divided into pieces and written") {
  for (const std::string& text : inputs("model_file")) {
    INFO(text);
    REQUIRE(is_yaml(text));
    REQUIRE(is_yaml(yaml_language.write(*yaml_language.read(text))));
  }
  for (const std::string& text : inputs(test_networks, "_op17"))
    REQUIRE(protobuf_language.write(*protobuf_language.read(text)) == text);
}

TEST_CASE("invalid texts of the language are only changed bytewise") {
  REQUIRE_FALSE(json_language.read("{\"a\":"));
  REQUIRE_FALSE(json_language.read(std::string(1000, '[') + std::string(1000, ']')));
  REQUIRE_FALSE(csv_language.read("a,\"b"));
  REQUIRE_FALSE(
      protobuf_language.read("\x0A\x7F"
                             "a"));
  REQUIRE_FALSE(profile_language.read("format: 1\n"));
  REQUIRE_FALSE(yaml_language.read(std::string(5000, ' ') + "a"));
}

// The minimum percentages are observed values, rounded down.
TEST_CASE("most changes of a text give a valid text, and few of these texts are equal") {
  const Changed json = change(json_language, inputs("plan_file"), is_json);
  CHECK(json.of_the_language >= 80);
  CHECK(json.different > 800);
  const Changed yaml = change(yaml_language, inputs("machine_file"), is_yaml);
  CHECK(yaml.of_the_language >= 60);
  CHECK(yaml.different > 1000);
  const Changed onnx = change(protobuf_language, inputs(test_networks, "_op17"), is_protobuf);
  CHECK(onnx.of_the_language == 100);
  CHECK(onnx.different > 1000);
  const Changed csv =
      change(csv_language, inputs("runs_file"), [](const std::string& text) { return csv_language.read(text).has_value(); });
  CHECK(csv.of_the_language >= 95);
  CHECK(csv.different > 800);
}

TEST_CASE("a column of a table is removed, doubled or moved as a whole") {
  const std::string table = "a,b,c\n1,2,3\n4,5,6\n";
  std::set<std::string> seen;
  for (unsigned seed = 1; seed < 3000; ++seed) {
    MutationRandom random(seed);
    Piece whole = *csv_language.read(table);
    mutate(whole, random, [](std::string&) {});
    seen.insert(csv_language.write(whole));
  }
  CHECK(seen.count("a,c\n1,3\n4,6\n") == 1);
  CHECK(seen.count("c,b,a\n3,2,1\n6,5,4\n") == 1);
  CHECK(seen.count("a,a,b,c\n1,1,2,3\n4,4,5,6\n") == 1);
}
