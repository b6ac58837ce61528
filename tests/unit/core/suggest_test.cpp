#include "core/suggest.hpp"

#include <cstddef>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.hpp"

using namespace ddl;

namespace {

using Names = std::vector<std::string_view>;

/// Returns `names` and further names, which are more than any hint lists.
Names long_list(Names names) {
  for (const std::string_view other : {"qqqqqq", "qqqqqw", "qqqqwq", "qqqwqq", "qqwqqq", "qwqqqq", "wqqqqq", "qqqqww",
                                       "qqqwqw", "qqwqqw", "qwqqqw", "wqqqqw"})
    names.push_back(other);
  return names;
}

std::string random_word(std::mt19937_64& random) {
  std::uniform_int_distribution<std::size_t> length(0, 6);
  std::uniform_int_distribution<int> letter('a', 'c');  // few letters, so that there are many matches and exchanges
  std::string word(length(random), ' ');
  for (char& c : word) c = static_cast<char>(letter(random));
  return word;
}

}  // namespace

TEST_CASE("an edit inserts, removes, replaces or exchanges neighbors") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("ring", "ring") == 0);
  CHECK(edit_distance("ring", "rings") == 1);
  CHECK(edit_distance("ring", "rng") == 1);
  CHECK(edit_distance("ring", "rung") == 1);
  CHECK(edit_distance("ring", "rign") == 1);
  CHECK(edit_distance("", "ring") == 4);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

// ca -> ac -> abc is an exchange, and an insertion between the exchanged letters. "Optimal string
// alignment" (3) forbids such an insertion.
TEST_CASE("letters may be inserted between exchanged letters") { CHECK(edit_distance("ca", "abc") == 2); }

TEST_CASE("the edit distance is a metric") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 3000; ++round) {
    const std::string a = random_word(random);
    const std::string b = random_word(random);
    const std::string c = random_word(random);
    CAPTURE(a, b, c);
    const int ab = edit_distance(a, b);
    REQUIRE((ab == 0) == (a == b));
    REQUIRE(ab == edit_distance(b, a));
    REQUIRE(edit_distance(a, c) <= ab + edit_distance(b, c));
    REQUIRE(ab >= std::abs(static_cast<int>(a.size()) - static_cast<int>(b.size())));
  }
}

TEST_CASE("bytes beyond ASCII are letters too") { CHECK(edit_distance("\xC3\xBC", "u") == 2); }

TEST_CASE("a near name is suggested") {
  const Names names{"bandwidth", "latency", "memory"};
  CHECK(suggest("bandwith", names) == "did you mean 'bandwidth'?");
  CHECK(suggest("ltaency", names) == "did you mean 'latency'?");
  CHECK(suggest("MEMORY", names) == "did you mean 'memory'?");
  CHECK(nearest("memori", names) == "memory");
}

TEST_CASE("for a name far from all known names, the hint lists the known names") {
  CHECK(suggest("colour", Names{"bandwidth", "latency"}) == "known: bandwidth, latency");
  CHECK_FALSE(nearest("colour", Names{"bandwidth", "latency"}));
}

TEST_CASE("in a long list, a part of a name suggests the names that contain this part, first the names that begin with it") {
  const Names names = long_list({"abci", "azure-nd-h100", "dgx-h100", "vela-a100", "vela-h100"});
  CHECK(suggest("vela", names) == "did you mean 'vela-a100' or 'vela-h100'?");
  CHECK(suggest("H100", names) == "did you mean 'dgx-h100', 'vela-h100' or 'azure-nd-h100'?");
  CHECK(suggest("nd", names).starts_with("known: "));
  CHECK(suggest("net", long_list({"big-net", "net-ab", "net-a"})) == "did you mean 'net-a', 'net-ab' or 'big-net'?");
}

TEST_CASE("a short list is printed completely") {
  CHECK(suggest("gather", Names{"allgather", "allreduce"}) == "known: allgather, allreduce");
  CHECK(suggest("h100x", Names{"dgx-h100", "vela-h100"}) == "known: dgx-h100, vela-h100");
}

TEST_CASE("a part of a name is preferred to a word that is two edits away") {
  CHECK(suggest("resnet", long_list({"resnet101", "resnet18"})) == "did you mean 'resnet18' or 'resnet101'?");
  CHECK(suggest("resnet1", long_list({"resnet18", "resnet101"})) == "did you mean 'resnet18'?");
}

TEST_CASE("names that have two thirds of the letters in a row are close") {
  const Names names = long_list({"abci", "dgx-h100", "vela-h100"});
  CHECK(suggest("h100x", names) == "did you mean 'dgx-h100' or 'vela-h100'?");
  CHECK(suggest("h100xyz", names).starts_with("known: "));
}

TEST_CASE("a few letters inside a word of a name do not identify it") {
  const Names names = long_list({"cosmoflow-mlperf", "frontera-rtx", "resmlp_12"});
  CHECK(suggest("hunter", names).starts_with("known: "));
  CHECK(suggest("nerf", names).starts_with("known: "));
  CHECK(suggest("sml", names).starts_with("known: "));
  CHECK(suggest("mlp", names) == "did you mean 'cosmoflow-mlperf'?");
}

TEST_CASE("of many close names a few are listed") {
  CHECK(suggest("net", long_list({"net-1a", "net-2a", "net-3a", "net-4a", "net-5a", "net-6a", "net-7a"})) ==
        "did you mean 'net-1a', 'net-2a', 'net-3a', 'net-4a', 'net-5a', 'net-6a', ...?");
}

TEST_CASE("a third of the letters may be wrong") {
  CHECK(nearest("abcxyf", Names{"abcdef"}) == "abcdef");
  CHECK_FALSE(nearest("abxyzf", Names{"abcdef"}));
}

TEST_CASE("a short word is suggested for one wrong letter, but not if no letter matches") {
  CHECK(nearest("gqu", Names{"gpu"}) == "gpu");
  CHECK(nearest("dp", Names{"pp"}) == "pp");
  CHECK_FALSE(nearest("d", Names{"p"}));
  CHECK(nearest("D", Names{"d"}) == "d");
  CHECK_FALSE(nearest("", Names{"a"}));
}

TEST_CASE("words too long to be mistyped are not compared") {
  CHECK(nearest(std::string(63, 'a') + "c", Names{std::string(63, 'a') + "b"}) == std::string(63, 'a') + "b");
  CHECK_FALSE(nearest(std::string(64, 'a') + "c", Names{std::string(64, 'a') + "b"}));
}

TEST_CASE("among equally near names, the name with the same case is suggested") {
  CHECK(nearest("GBps", Names{"Gb/s", "GB/s"}) == "GB/s");
  CHECK(nearest("Gbps", Names{"GB/s", "Gb/s"}) == "Gb/s");
}

TEST_CASE("a long list is cut after a dozen") {
  std::vector<std::string> names;
  for (char c = 'a'; c < 'n'; ++c) names.emplace_back(4, c);
  CHECK(suggest("zzzz", names) == "known: aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh, iiii, jjjj, kkkk, llll, ...");
  names.pop_back();
  CHECK(suggest("zzzz", names) == "known: aaaa, bbbb, cccc, dddd, eeee, ffff, gggg, hhhh, iiii, jjjj, kkkk, llll");
}

TEST_CASE("without known names, nothing is suggested") { CHECK(suggest("word", Names{}).empty()); }
