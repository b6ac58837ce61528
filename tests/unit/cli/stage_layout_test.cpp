#include "cli/options/configurations/stage_layout.hpp"

#include <numeric>

#include "tests/catch.hpp"

namespace {

using namespace ddl;

TEST_CASE("layouts of virtual stages are written out") {
  CHECK(blocks_of_layout("Ett|tt|tL") == std::vector<int>{2, 2, 1});
  CHECK(blocks_of_layout("Et*3|(tt|)*2,m|L") == std::vector<int>{3, 2, 2, 0, 0});
  // The layout of DeepSeek-V3 on 16 stages of two virtual stages has 61 blocks [NVIDIA-NeMo/Megatron-Bridge, recipes].
  const std::vector<int> chunks = blocks_of_layout("Et*3|(tt|)*29,m|L");
  CHECK(chunks.size() == 32);
  CHECK(std::accumulate(chunks.begin(), chunks.end(), 0) == 61);
  CHECK(blocks_of_layout("(t*2|)*3L") == std::vector<int>{2, 2, 2, 0});
}

TEST_CASE("long and broken layouts end") {
  CHECK(blocks_of_layout("t*99999999999999999999").front() <= 100'000);
  CHECK(blocks_of_layout("(t*99999|)*99999").size() <= 100'001);
  CHECK(blocks_of_layout("(tt").size() == 1);
  CHECK(blocks_of_layout("").size() == 1);
  CHECK(blocks_of_layout("t*") == std::vector<int>{0});
}

}  // namespace
