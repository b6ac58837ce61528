#include "core/error.hpp"
#include "profiler/backends/onednn/backend.hpp"
#include "profiler/measurement.hpp"
#include "tests/catch.hpp"
#include "tests/contract/kernel_contract.hpp"

using namespace ddl;

TEST_CASE("oneDNN behaves as every back end does") { check_behaves(*make_onednn_backend(1)); }

TEST_CASE("oneDNN computes what the definitions say, gradients too") {
  const auto backend = make_onednn_backend(1);
  int ran = 0;
  for (const std::string& line : contract_problems()) ran += check_computes(*backend, line, Precision::fp32, 2e-4);
  CHECK(ran >= 50);
}

TEST_CASE("oneDNN computes in bf16 where the processor has it") {
  const auto backend = make_onednn_backend(1);
  const Problem problem = parse_problem("fully_connected features=5 precision=bf16 in=7", "test");
  int ran = 0;
  for (const std::string& line : contract_problems()) ran += check_computes(*backend, line, Precision::bf16, 3e-2);
  CHECK((ran > 0) == backend->refusal(problem).empty());
}

// Hidden: for a processor without AVX-512, or an environment in which the library takes it for one.
TEST_CASE("oneDNN refuses bf16 on a processor with AVX2 alone", "[.][avx2]") {
  const auto backend = make_onednn_backend(1);
  for (const std::string& line : contract_problems()) {
    Problem problem = parse_problem(line, "test");
    problem.precision = Precision::bf16;
    INFO(line);
    CHECK_FALSE(backend->refusal(problem).empty());
    CHECK_THROWS_AS(static_cast<void>(backend->prepare(problem)), Error);
  }
  const Problem product = parse_problem("fully_connected features=5 precision=bf16 in=7", "test");
  CHECK(backend->refusal(product) == "bf16 needs a processor with AVX-512");
  CHECK(check_computes(*backend, "fully_connected features=5 in=7", Precision::fp32, 2e-4) == 1);
}

TEST_CASE("oneDNN steps optimizers") { check_updates(*make_onednn_backend(1)); }

TEST_CASE("oneDNN's tensors lie in memory that is mapped page by page") {
  const auto backend = make_onednn_backend(1);
  REQUIRE(backend->maps_pages());
  CHECK(backend->first_touch(Bytes(1 << 20)).value() > 0);
  const Measurement measured = measure(*backend, "fresh_memory bytes=1048576", {.limit = Seconds(0.01)}, CacheState::step);
  CHECK(measured.reason.empty());
  CHECK(measured.samples.count >= 6);
}
