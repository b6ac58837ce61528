#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/cuda/backend.hpp"
#include "profiler/measurement/measurement.hpp"
#include "tests/catch.hpp"
#include "tests/contract/kernel_contract.hpp"

using namespace ddl;

// Tests the real back end over an emulation of CUDA's runtime, of the two libraries, and of the grid that its own kernels
// run on. The tests cover our own kernels, and which tensors are passed in which order, format and size. Only a GPU can show
// whether the emulation matches the real libraries.

namespace {

using Layout = ImageLayout;
using Algorithm = AlgorithmPreference;

int check_all(const CudaOptions& options, Precision precision, double tolerance) {
  const auto backend = make_cuda_backend(options);
  int ran = 0;
  for (const std::string& line : contract_problems()) ran += check_computes(*backend, line, precision, tolerance);
  return ran;
}

std::string refusal_of(KernelBackend& backend, const std::string& line) {
  return backend.refusal(parse_problem(line + " samples=2", "contract"));
}

int all_it_runs() {
  const auto backend = make_cuda_backend({});
  const std::vector<std::string> lines = contract_problems();
  return static_cast<int>(std::count_if(lines.begin(), lines.end(),
                                        [&](const std::string& line) { return refusal_of(*backend, line).empty(); }));
}

}  // namespace

TEST_CASE("over an emulated device the cuda back end computes by the definitions, in both layouts") {
  const int problems = all_it_runs();
  CHECK(check_all({.layout = Layout::channels_last, .algorithm = Algorithm::fastest}, Precision::fp32, 2e-4) == problems);
  CHECK(check_all({.layout = Layout::channels_first, .algorithm = Algorithm::smallest}, Precision::fp32, 2e-4) == problems);
}

TEST_CASE("the cuda back end refuses none of the contract's problems") {
  const auto backend = make_cuda_backend({});
  for (const std::string& line : contract_problems()) {
    INFO(line);
    CHECK(refusal_of(*backend, line).empty());
  }
}

TEST_CASE("over an emulated device the cuda back end computes in tf32, fp16 and bf16") {
  const int problems = all_it_runs();
  CHECK(check_all({.layout = Layout::channels_last, .algorithm = Algorithm::first}, Precision::tf32, 5e-3) == problems);
  CHECK(check_all({.layout = Layout::channels_last, .algorithm = Algorithm::first}, Precision::fp16, 1e-2) == problems);
  CHECK(check_all({.layout = Layout::channels_first, .algorithm = Algorithm::first}, Precision::bf16, 4e-2) == problems);
}

TEST_CASE("over an emulated device fp32 is multiplied in fp32, and tf32 with 10 bits") {
  const auto backend = make_cuda_backend({.algorithm = Algorithm::first});
  const ProductBits fp32 = product_bits_of(*backend, Precision::fp32);
  CHECK(fp32.ran == 5);
  CHECK(fp32.rounded == 0);
  CHECK(product_bits_of(*backend, Precision::tf32).rounded == 5);
}

// Our own kernels read several elements at once if sizes divide, use a block for long rows, and divide
// large sums. The problems of the contract are too small to test this.
TEST_CASE("over an emulated device the cuda back end computes wide, long and large problems") {
  std::string vectors = "interaction in=1";  // a problem that more than one kernel supports
  for (int i = 1; i < 66; ++i) vectors += ",1";
  const std::vector<std::string> lines{
      "rotary_embedding heads=1 in=48x2t",
      "rotary_embedding heads=1 turned=8 in=36x2t",
      "class_token in=8x2t",
      "space_to_depth block=2x2 in=8x2x4",
      "channel_shuffle groups=2 in=16x2x4",
      "slice first=8 channels=8 in=24x2t",
      "slice first=8 channels=8 in=24x2x4",
      "crop size=2x2 in=8x4x3",
      "resize kind=linear size=4x6 in=8x2x3",
      "resize kind=nearest size=4x6 in=8x2x3",
      "scale factor=0.5 in=8x2x4",
      "scale factor=trained bias=yes in=8x2x4",
      "scale factor=trained in=3x10x10",
      "norm kind=group groups=2 in=16x2x4",
      "norm kind=instance in=3x10x10",
      "norm kind=instance scale=no bias=no in=1x32x36",
      "norm kind=rms in=1041x1t",
      "norm kind=rms in=3x70t",
      "dropout rate=0.5 of=samples in=8x2x4",
      "loss kind=cross_entropy in=4x2x4",
      "window_attention heads=1 window=2x2 in=24x2x4",
      "window_attention heads=1 window=2x2 shift=1 in=6x4x8",
      "attention heads=4 kv_heads=2 causal=yes fused=yes in=64x4t",
      "attention heads=2 kv_heads=1 fused=yes in=16x3t,16x5t",
      "dispatch active=2 in=8x2t,5x2t",
      "dispatch active=2 in=1x150t,5x150t",
      "combine in=8x4t,5x2t",
      "interaction in=8,8,8",
      vectors,
  };
  for (const Layout layout : {Layout::channels_last, Layout::channels_first}) {
    const auto backend = make_cuda_backend({.layout = layout, .algorithm = Algorithm::first});
    for (const std::string& line : lines) {
      CHECK(check_computes(*backend, line, Precision::fp32, 2e-4) == 1);
      CHECK(check_computes(*backend, line, Precision::bf16, 4e-2) == 1);
    }
  }
}

TEST_CASE("over an emulated device the cuda back end casts between fp32 and 16 bits") {
  const auto backend = make_cuda_backend({});
  for (const Precision half : {Precision::fp16, Precision::bf16}) CHECK(check_casts(*backend, half) == 2);
}

TEST_CASE("over an emulated device the cuda back end steps optimizers") { check_updates(*make_cuda_backend({})); }

TEST_CASE("over an emulated device the library runs the operations that it supports, and our own kernels the rest") {
  const auto backend = make_cuda_backend({.algorithm = AlgorithmPreference::first});
  const auto algorithm = [&](const std::string& line) { return backend->prepare(parse_problem(line, "test"))->algorithm(); };
  // The emulation has batch norms, except in bf16, and engines for even numbers of channels.
  CHECK(algorithm("norm kind=batch in=3x3x3 samples=2 precision=fp16 pass=forward") == "cudnn:batch_norm:persistent");
  CHECK(algorithm("norm kind=batch in=4x3x3 samples=2 precision=bf16 pass=forward") == "cudnn:engine0");
  CHECK(algorithm("norm kind=batch in=3x3x3 samples=2 precision=bf16 pass=forward") == "own:batch_norm");
  CHECK(algorithm("activation kind=relu in=4 samples=2 precision=bf16 pass=forward") == "cudnn:activation");
  CHECK(algorithm("softmax in=4 samples=2 precision=bf16 pass=forward") == "cudnn:softmax");
  CHECK(algorithm("activation kind=hardswish in=4 samples=2 precision=bf16 pass=forward") == "own:activation");
  CHECK(algorithm("pool kind=average adaptive=3x3 in=2x7x7 samples=2 precision=bf16 pass=forward") == "own:pool");
  const std::string attention = "attention heads=2 fused=yes in=48x6t samples=2 pass=forward precision=";
  // The first engine rounds its inputs to fewer bits than their format has.
  CHECK(algorithm(attention + "bf16") == "cudnn:engine1");
  CHECK(algorithm(attention + "fp32").starts_with("cublaslt"));
  // The library supports heads that share keys and values, but not windows.
  const std::string grouped =
      "attention heads=4 kv_heads=2 causal=yes fused=yes in=64x6t samples=2 pass=forward precision=bf16";
  CHECK(algorithm(grouped) == "cudnn:engine1");
  CHECK(algorithm("attention heads=2 causal=yes window=3 fused=yes in=48x6t samples=2 pass=forward precision=bf16")
            .starts_with("cublaslt"));
  // The second engine has tensor cores, so strict fp32 uses the third.
  const std::string convolution = "convolution filters=4 kernel=3x3 in=3x6x5 samples=2 bias=no pass=forward precision=";
  CHECK(algorithm(convolution + "tf32") == "cudnn:engine1");
  CHECK(algorithm(convolution + "fp32") == "cudnn:engine2");
}

// With too little memory, tuning would write out of bounds, which the emulation detects.
TEST_CASE("over an emulated device engines of packed tensors are tried with enough memory") {
  const auto backend = make_cuda_backend({.algorithm = Algorithm::fastest});
  for (const char* pass : {"forward", "backward-data"}) {
    const std::string line = "attention heads=4 kv_heads=2 causal=yes fused=yes in=64x6t samples=2 precision=bf16 pass=";
    CHECK(backend->prepare(parse_problem(line + pass, "test"))->algorithm().starts_with("cudnn:engine"));
  }
}

TEST_CASE("over an emulated device the algorithm with the smallest workspace is used if requested") {
  const Problem problem =
      parse_problem("convolution filters=4 kernel=3x3 in=3x6x5 samples=2 bias=no pass=forward precision=bf16", "test");
  const auto workspace = [&](AlgorithmPreference algorithm) {
    return make_cuda_backend({.algorithm = algorithm})->prepare(problem)->workspace().value();
  };
  CHECK(workspace(AlgorithmPreference::first) == 512);
  CHECK(workspace(AlgorithmPreference::smallest) == 0);
}

TEST_CASE("over an emulated device running out of memory gives a reason, and the device stays usable") {
  const auto backend = make_cuda_backend({});
  const Measurement large = measure(*backend, "activation kind=relu in=4096 samples=2147483648", {}, CacheState::warm);
  CHECK(large.reason.find("cudaErrorMemoryAllocation") != std::string::npos);
  const Measurement small = measure(*backend, "activation kind=relu in=4096 samples=2", {.most = 10}, CacheState::step);
  CHECK(small.reason.empty());
  CHECK(small.samples.seconds.size() >= 6);
}

TEST_CASE("a kernel does not run on memory that is too small for it") {
  const auto backend = make_cuda_backend({});
  const auto kernel = backend->prepare(parse_problem("activation kind=relu in=40 samples=2", "test"));
  const auto small = backend->allocate(80, Precision::bf16);
  const std::array<DeviceBuffer*, 2> buffers{small.get(), small.get()};
  CHECK_THROWS_WITH(kernel->run(buffers), "a tensor was given memory of another size");
}
