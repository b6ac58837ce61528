#include "profiler/backends/cuda/backend.hpp"
#include "tests/catch.hpp"
#include "tests/contract/kernel_contract.hpp"

using namespace ddl;

// The back end as it is, over an emulation of CUDA's runtime, of the two libraries and of the grid that its own kernels run
// on: what is right here is which tensors go where, in which order, format and size, and those kernels. Whether the
// libraries mean what the emulation thinks they mean shows on a GPU alone.

namespace {

using Layout = CudaOptions::Layout;
using Algorithm = CudaOptions::Algorithm;

int check_all(const CudaOptions& options, Precision precision, double tolerance) {
  const auto backend = make_cuda_backend(options);
  int ran = 0;
  for (const std::string& line : contract_problems()) ran += check_computes(*backend, line, precision, tolerance);
  return ran;
}

}  // namespace

TEST_CASE("over an emulated device the cuda back end computes what the definitions say, in both layouts") {
  const auto problems = static_cast<int>(contract_problems().size());
  CHECK(check_all({.layout = Layout::nhwc, .algorithm = Algorithm::fastest}, Precision::fp32, 2e-4) == problems);
  CHECK(check_all({.layout = Layout::nchw, .algorithm = Algorithm::smallest}, Precision::fp32, 2e-4) == problems);
}

TEST_CASE("over an emulated device the cuda back end computes in tf32, fp16 and bf16") {
  const auto problems = static_cast<int>(contract_problems().size());
  CHECK(check_all({.layout = Layout::nhwc, .algorithm = Algorithm::first}, Precision::tf32, 2e-4) == problems);
  CHECK(check_all({.layout = Layout::nhwc, .algorithm = Algorithm::first}, Precision::fp16, 1e-2) == problems);
  CHECK(check_all({.layout = Layout::nchw, .algorithm = Algorithm::first}, Precision::bf16, 4e-2) == problems);
}

TEST_CASE("over an emulated device the cuda back end steps optimizers") { check_updates(*make_cuda_backend({})); }
