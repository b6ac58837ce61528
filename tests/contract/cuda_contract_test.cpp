#include "core/error.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/measurement/measurement.hpp"
#include "tests/catch.hpp"
#include "tests/contract/kernel_contract.hpp"
#include "tests/skip.hpp"

using namespace ddl;

namespace {

using Layout = ImageLayout;
using Algorithm = AlgorithmPreference;

/// Returns the back end, or null on a machine without a GPU. There, the back end must throw with CUDA's name of the status.
std::unique_ptr<KernelBackend> backend_of(const CudaOptions& options) {
  try {
    return make_cuda_backend(options);
  } catch (const Error& error) {
    const std::string text = error.what();
    INFO(text);
    REQUIRE(text.find("cudaError") != std::string::npos);
    REQUIRE_FALSE(error.hint().empty());
    cannot_run(text);
    return nullptr;
  }
}

/// Returns options that choose the first candidate of the heuristics, which takes no time.
CudaOptions quick(Layout layout) { return {.device = 0, .layout = layout, .algorithm = Algorithm::first}; }

/// Returns the number of the contract's problems, because the back end refuses none of them.
int all_problems() { return static_cast<int>(contract_problems().size()); }

int check_all(KernelBackend& backend, Precision precision, double tolerance) {
  int ran = 0;
  for (const std::string& line : contract_problems()) ran += check_computes(backend, line, precision, tolerance);
  return ran;
}

}  // namespace

TEST_CASE("the cuda back end passes the contract of all back ends") {
  if (const auto backend = backend_of(quick(Layout::channels_last))) check_behaves(*backend);
}

TEST_CASE("the cuda back end computes outputs and gradients by their definitions, in both layouts") {
  for (const Layout layout : {Layout::channels_last, Layout::channels_first}) {
    INFO((layout == Layout::channels_last ? "nhwc" : "nchw"));
    const auto backend = backend_of(quick(layout));
    if (!backend) return;
    CHECK(check_all(*backend, Precision::fp32, 2e-4) == all_problems());
  }
}

TEST_CASE("the cuda back end multiplies fp32 in fp32, and tf32 on tensor cores") {
  const auto backend = backend_of(quick(Layout::channels_last));
  if (!backend) return;
  const ProductBits fp32 = product_bits_of(*backend, Precision::fp32);
  CHECK(fp32.ran == 5);
  CHECK(fp32.rounded == 0);
  // A library may use no tensor cores for a small problem, but not for all of them.
  const ProductBits tf32 = product_bits_of(*backend, Precision::tf32);
  if (tf32.ran > 0) CHECK(tf32.rounded > 0);
}

TEST_CASE("the cuda back end computes in tf32, fp16 and bf16") {
  const auto backend = backend_of(quick(Layout::channels_last));
  if (!backend) return;
  // The inputs are numbers with 10, 10 and 7 bits after the binary point. The last two formats have as many.
  CHECK(check_all(*backend, Precision::tf32, 5e-3) == all_problems());
  CHECK(check_all(*backend, Precision::fp16, 1e-2) == all_problems());
  CHECK(check_all(*backend, Precision::bf16, 4e-2) == all_problems());
}

TEST_CASE("the fastest and the smallest algorithm compute the same") {
  for (const Algorithm algorithm : {Algorithm::fastest, Algorithm::smallest}) {
    const auto backend = backend_of({.device = 0, .layout = Layout::channels_last, .algorithm = algorithm});
    if (!backend) return;
    for (const char* line : {"convolution filters=4 kernel=3x3 padding=1 in=3x6x5", "fully_connected features=5 in=7"}) {
      CHECK(check_computes(*backend, line, Precision::fp32, 2e-4) == 1);
    }
  }
}

TEST_CASE("the smallest algorithm needs no more workspace than the fastest") {
  const auto fastest = backend_of({.device = 0, .layout = Layout::channels_last, .algorithm = Algorithm::fastest});
  if (!fastest) return;
  const auto smallest = backend_of({.device = 0, .layout = Layout::channels_last, .algorithm = Algorithm::smallest});
  const Problem problem = parse_problem(
      "convolution filters=64 kernel=3x3 padding=1 bias=no in=64x56x56 samples=8 precision=fp32 pass=forward", "test");
  CHECK(smallest->prepare(problem)->workspace() <= fastest->prepare(problem)->workspace());
}

TEST_CASE("the cuda back end casts between fp32 and 16 bits") {
  const auto backend = backend_of(quick(Layout::channels_last));
  if (!backend) return;
  for (const Precision half : {Precision::fp16, Precision::bf16}) CHECK(check_casts(*backend, half) == 2);
}

TEST_CASE("the cuda back end steps optimizers") {
  if (const auto backend = backend_of(quick(Layout::channels_last))) check_updates(*backend);
}

TEST_CASE("a problem that does not fit in memory gets a reason, and the device stays usable") {
  const auto backend = backend_of(quick(Layout::channels_last));
  if (!backend) return;
  // 2^31 samples of 4096 elements: 32 TiB.
  const Measurement large = measure(*backend, "activation kind=relu in=4096 samples=2147483648", {}, CacheState::warm);
  CHECK(large.reason.find("cudaErrorMemoryAllocation") != std::string::npos);
  const Measurement small = measure(*backend, "activation kind=relu in=4096 samples=2", {}, CacheState::warm);
  CHECK(small.reason.empty());
  CHECK(small.samples.median.value() > 0);
}
