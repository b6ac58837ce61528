#include "core/error.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/cuda/graphs/attention.hpp"
#include "profiler/backends/cuda/graphs/convolution.hpp"
#include "profiler/backends/cuda/graphs/norm.hpp"
#include "profiler/backends/cuda/graphs/pool.hpp"
#include "profiler/measurement/problems.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace ddl;
using namespace ddl::cuda;

// cuDNN makes plans for a device that is only described. Its requests can therefore be checked
// without a device. Engines that are compiled during planning are only listed, because loading them
// needs the driver. A stub of the driver is used here.

namespace {

/// Describes an H100 SXM [NVIDIA H100 Tensor Core GPU Architecture, table 3; CUDA C++ Programming Guide, table of technical
/// specifications per compute capability], with the names that cuDNN 9 reads.
constexpr const char* h100 = R"({"deviceVer": 900, "multiProcessorCount": 132, "warpSize": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "l2CacheSize": 52428800, "totalGlobalMem": 85899345920, "smClockRateKHz": 1980000, "memClockRateKHz": 2619000,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "cudaDeviceId": 0, "deviceId": 0, "driverVer": 13000,
  "deviceName": "NVIDIA H100 80GB HBM3"})";

/// Returns nothing if this version of the library requires other properties of a device.
std::optional<Target> target() {
  try {
    return Target(h100);
  } catch (const Error& error) {
    cannot_run(error.what());
    return std::nullopt;
  }
}

/// Returns 1 if the library makes a plan from one of the sufficiently exact configurations,
/// otherwise 0. Throws if no configuration exists.
int plans(const Target& device, const Problem& problem, ImageLayout layout) {
  ConvolutionGraph made = convolution_graph(problem, layout);
  std::vector<Descriptor> configurations = made.graph.configurations(device);
  std::erase_if(configurations, [&](const Descriptor& one) { return !is_exact_enough(one, problem.precision); });
  int ready = 0;
  for (std::size_t i = 0; i < configurations.size() && ready == 0; ++i) {
    try {
      ready += Plan(device, configurations[i]).name().starts_with("cudnn:engine") ? 1 : 0;
    } catch (const Error&) {
      continue;
    }
  }
  return ready;
}

int check(const Target& device, const std::string& line) {
  int checked = 0;
  for (const auto layout : {ImageLayout::channels_last, ImageLayout::channels_first}) {
    for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16}) {
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
        Problem problem = parse_problem(line, "test");
        problem.precision = precision;
        problem.pass = pass;
        INFO(print_problem(problem) << (layout == ImageLayout::channels_last ? " nhwc" : " nchw"));
        CHECK(plans(device, problem, layout) == 1);
        ++checked;
      }
    }
  }
  return checked;
}

}  // namespace

TEST_CASE("cuDNN plans every kind of convolution for an H100, in each pass, layout and precision") {
  const std::optional<Target> device = target();
  if (!device) return;
  for (const char* line : {
           "convolution filters=64 kernel=7x7 stride=2 padding=3 bias=no in=3x224x224 samples=8",
           "convolution filters=64 kernel=3x3 padding=1 bias=no in=64x56x56 samples=8",
           "convolution filters=256 kernel=1x1 bias=no in=64x56x56 samples=8",
           "convolution filters=96 kernel=3x3 stride=2 padding=1 groups=96 bias=no in=96x112x112 samples=8",
           "convolution filters=16 kernel=3x3x3 padding=1 in=4x32x32x32 samples=2",
           "convolution filters=3 kernel=3 padding=1 in=2x9 samples=2",
           "convolution filters=3 kernel=3x3 dilation=2 in=2x7x7 samples=2",
           "convolution filters=3 kernel=3x3 stride=2 padding=same in=2x6x7 samples=2",
           "transposed_convolution filters=2 kernel=3x3 stride=2 padding=1 output_padding=1 bias=no in=3x3x4 samples=2",
           "transposed_convolution filters=64 kernel=2x2x2 stride=2 in=128x8x8x8 samples=2",
       }) {
    CHECK(check(*device, line) == 24);
  }
}

TEST_CASE("cuDNN plans every convolution of resnet50 and mobilenet_v2 for an H100 in bf16") {
  const std::optional<Target> device = target();
  if (!device) return;
  for (const char* name : {"resnet50", "mobilenet_v2"}) {
    int checked = 0;
    for (const CountedProblem& counted : problems_of(load_model(name), 16, Precision::bf16, Optimizer::sgd)) {
      if (!counted.line.starts_with("convolution")) continue;
      INFO(counted.line);
      CHECK(plans(*device, parse_problem(counted.line, name), ImageLayout::channels_last) == 1);
      ++checked;
    }
    CHECK(checked > 50);
  }
}

TEST_CASE("a convolution whose tensors do not match is refused with the library's message") {
  const std::optional<Target> device = target();
  if (!device) return;
  // Five channels cannot be read in groups of two.
  Problem problem = parse_problem("convolution filters=4 kernel=3x3 in=4x6x6", "test");
  problem.inputs.front().channels = 5;
  problem.inputs.front().extent[0] = 9;
  CHECK_THROWS_AS(plans(*device, problem, ImageLayout::channels_last), Error);
}

namespace {

/// Returns the number of engines that the library lists for a graph.
std::size_t engines(const Target& device, Graph graph) { return graph.configurations(device).size(); }

}  // namespace

TEST_CASE("cuDNN lists engines for norms, pooling and fused attention on an H100") {
  const std::optional<Target> device = target();
  if (!device) return;
  if (!HAS_DRIVER_STUB) {
    cannot_run("the toolkit has no stub of the driver's library");
    return;
  }
  const auto check_both = [&](const std::string& line, const auto& graph) {
    for (const Pass pass : {Pass::forward, Pass::backward_data}) {
      Problem problem = parse_problem(line, "test");
      problem.pass = pass;
      INFO(print_problem(problem));
      CHECK(engines(*device, graph(problem)) > 0);
    }
  };
  for (const char* precision : {"fp32", "fp16", "bf16"}) {
    const std::string rest = std::string(" samples=4 pass=forward precision=") + precision;
    for (const ImageLayout layout : {ImageLayout::channels_last, ImageLayout::channels_first}) {
      check_both("norm kind=batch in=64x56x56" + rest, [&](const Problem& p) { return norm_graph(p, layout).graph; });
    }
    for (const char* line : {"norm kind=layer in=768x197t", "norm kind=layer in=6x3x3", "norm kind=layer in=8x5t"}) {
      check_both(line + rest, [&](const Problem& p) { return norm_graph(p, ImageLayout::channels_last).graph; });
    }
    for (const char* line : {"pool kind=max kernel=3x3 stride=2 padding=1 in=64x112x112",
                             "pool kind=max kernel=2 ceil=yes in=8x5x5", "pool kind=average adaptive=1x1 in=2048x7x7"}) {
      check_both(line + rest,
                 [&](const Problem& p) { return pool_graph(p, pool_window(p), ImageLayout::channels_last).graph; });
    }
  }
  for (const char* precision : {"fp16", "bf16"}) {
    for (const char* line :
         {"attention heads=12 fused=yes in=2304x128t", "attention heads=12 causal=yes fused=yes in=2304x128t",
          "attention heads=16 dropout=0.1 fused=yes in=3072x128t",
          "attention heads=32 kv_heads=8 causal=yes fused=yes in=6144x512t",
          "attention heads=16 fused=yes in=1024x128t,2048x256t"}) {
      check_both(line + std::string(" samples=4 pass=forward precision=") + precision,
                 [](const Problem& p) { return attention_graph(p).graph; });
    }
  }
}
