#include "profiler/backends/cuda/backend.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <type_traits>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/management.hpp"
#include "profiler/backends/cuda/status.hpp"
#include "profiler/backends/cuda/stopwatch.hpp"
#include "profiler/backends/cuda/supported_device.hpp"
#include "profiler/backends/unmeasured.hpp"

namespace ddl {
namespace cuda {
namespace {

constexpr std::array kinds{DDL_KERNEL_KINDS(DDL_ADDRESS_OF_KIND)};

/// The stream and the handles of the libraries. If a handle cannot be created, the handles that
/// were created before it are destroyed.
struct Stream {
  Stream() { check(cudaStreamCreate(&stream), "a stream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream)); }
  cudaStream_t stream = nullptr;
};
struct Dnn {
  explicit Dnn(cudaStream_t stream) {
    check(cudnnCreate(&handle), "cuDNN");
    check(cudnnSetStream(handle, stream), "cuDNN");
  }
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;
  ~Dnn() { static_cast<void>(cudnnDestroy(handle)); }
  cudnnHandle_t handle = nullptr;
};
struct Blas {
  Blas() { check(cublasLtCreate(&handle), "cuBLASLt"); }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;
  ~Blas() { static_cast<void>(cublasLtDestroy(handle)); }
  cublasLtHandle_t handle = nullptr;
};
struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};
using GraphHandle = std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph>;
using ReadyGraphHandle = std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraph>;

/// Makes `device` the device of this thread.
cudaDeviceProp use_device(int device) {
  const int count = count_cuda_devices();
  if (device < 0 || device >= count) {
    throw Error(fmt::format("there is no GPU {}: {}", device, cudaGetErrorName(cudaErrorInvalidDevice)),
                fmt::format("CUDA has {}, numbered from 0", count));
  }
  // If another process uses the device exclusively, no context can be created here. The error is
  // ignored at this point, because it occurs again later.
  if (const cudaError_t status = cudaSetDevice(device); status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw Error(fmt::format("GPU {}: {} ({})", device, cudaGetErrorName(status), cudaGetErrorString(status)),
                "another process may use the GPU: see nvidia-smi");
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), fmt::format("GPU {}", device));
  if (const std::string why = device_refusal(compiled_architectures(), properties.major, properties.minor); !why.empty()) {
    int runtime = 0;
    check(cudaRuntimeGetVersion(&runtime), "CUDA's runtime");
    throw Error(fmt::format("GPU {}, {}: {}", device, properties.name, why),
                device_hint(properties.major, properties.minor, runtime));
  }
  return properties;
}

/// Converts CUDA's number of a version to text: 13000 to `13.0`.
std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }
/// Converts a library's number of its version to text: cuDNN's 91900 to `9.19.0`, cuBLASLt's 130002 to `13.0.2`.
std::string library_version(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

/// The highest clock of the device in Hz; 1 GHz if the driver does not report it.
double highest_clock(int device) {
  int kilohertz = 0;
  const bool known = cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device) == cudaSuccess && kilohertz > 0;
  return known ? 1e3 * kilohertz : 1e9;
}

/// The device's PCI bus id as CUDA prints it; empty if CUDA does not report it.
std::string bus_of(int device) {
  constexpr int room = 32;
  std::array<char, room> bus{};
  return cudaDeviceGetPCIBusId(bus.data(), room, device) == cudaSuccess ? bus.data() : "";
}

class Backend final : public KernelBackend {
 public:
  explicit Backend(const CudaOptions& options)
      : properties_(use_device(options.device)),
        management_(bus_of(options.device)),
        dnn_(stream_.stream),
        stopwatch_(stream_.stream, highest_clock(options.device)),
        device_{.options = options,
                .stream = stream_.stream,
                .products = blas_.handle,
                .target = Target(dnn_.handle),
                .stopwatch = &stopwatch_} {}
  ~Backend() override { static_cast<void>(cudaStreamSynchronize(stream_.stream)); }

  DeviceInfo info() const override {
    DeviceInfo info{.backend = "cuda", .device = properties_.name, .details = {}};
    const auto add = [&](const char* name, std::string value) { info.details.emplace_back(name, std::move(value)); };
    add("compute capability", fmt::format("{}.{}", properties_.major, properties_.minor));
    add("multiprocessors", fmt::format("{}", properties_.multiProcessorCount));
    add("memory", print_quantity(Bytes(static_cast<double>(properties_.totalGlobalMem))));
    add("L2 cache", print_quantity(Bytes(static_cast<double>(properties_.l2CacheSize))));
    int version = 0;
    if (cudaDriverGetVersion(&version) == cudaSuccess) add("CUDA of the driver", cuda_version(version));
    if (cudaRuntimeGetVersion(&version) == cudaSuccess) add("CUDA runtime", cuda_version(version));
    add("cuDNN", library_version(cudnnGetVersion()));
    add("cuBLASLt", library_version(cublasLtGetVersion()));
    add("layout", std::string(to_string(device_.options.layout)));
    add("algorithms", std::string(to_string(device_.options.algorithm)));
    add("event floor", fmt::format("{:.2f} us", 1e6 * stopwatch_.floor().value()));
    for (auto& detail : management_.details()) info.details.push_back(std::move(detail));
    return info;
  }

  std::string refusal(const Problem& problem) const override {
    const Kind* kind = find_kind(kinds, problem.operation->type());
    if (kind == nullptr) return fmt::format("{} is not supported by this back end", problem.operation->type());
    if (std::string why = unmeasured_variant(problem); !why.empty()) return why;
    if (std::string why = refusal_of(problem.precision); !why.empty()) return why;
    if (problem.operation->adapters() > 0) return "matrices with adapters are not measured";
    if (problem.operation->contexts() > 1) return "attention to keys and values of other ranks is not measured";
    return kind->refusal(problem);
  }
  std::string refusal(const UpdateProblem& problem) const override {
    if (is_of_list(problem.implementation) && is_mixed(problem.precision)) return "lists of tensors are updated in fp32";
    return refusal_of(problem.precision);
  }

  std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override {
    if (std::string why = refusal(problem); !why.empty()) throw Error(why);
    return find_kind(kinds, problem.operation->type())->prepare(device_, problem);
  }
  std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) override {
    if (std::string why = refusal(problem); !why.empty()) throw Error(why);
    return prepare_update(device_, problem);
  }

  std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) override {
    return std::make_unique<CudaBuffer>(flat(TensorRole::input, 0, items, false, precision));
  }
  std::unique_ptr<DeviceBuffer> allocate_for(const KernelTensor& tensor) override {
    return std::make_unique<CudaBuffer>(tensor);
  }

  Seconds time(const std::function<void()>& work) override {
    TimedWork once(work);
    return stopwatch_.time(once);
  }
  Seconds time_again(TimedWork& work) override { return stopwatch_.time(work); }
  Seconds shortest_alone() const override { return cuda::shortest_alone; }
  Bytes cache_size() const override { return Bytes(static_cast<double>(properties_.l2CacheSize)); }

  // A recording contains the address of the shared workspace. After the workspace has moved, the work is recorded again.
  std::function<void()> record(const std::function<void()>& work) override {
    struct Recorded {
      ReadyGraphHandle graph;
      int moves = 0;
    };
    const auto recorded = std::make_shared<Recorded>(Recorded{record_once(work), moves()});
    return [this, recorded, work] {
      if (recorded->moves != moves()) *recorded = {record_once(work), moves()};
      check(cudaGraphLaunch(recorded->graph.get(), stream_.stream), "launching a graph");
    };
  }

  // Reading twice the size of the cache evicts everything, including the requested buffers, with any replacement policy.
  // Dirty lines of the previous kernel are written back now, and not while the next kernel is timed.
  void evict(std::span<DeviceBuffer* const> /*buffers*/) override {
    if (flushing_.bytes() == 0) {
      constexpr int least = 1 << 20;
      flushing_ = DeviceMemory(2 * static_cast<std::size_t>(std::max(properties_.l2CacheSize, least)));
      check(cudaMemsetAsync(flushing_.data(), 0, flushing_.bytes(), stream_.stream), "filling a buffer");
    }
    started(device::touch(stream_.stream, flushing_.data(), flushing_.bytes(), nullptr));
  }
  void touch(DeviceBuffer& buffer) override {
    const auto& memory = static_cast<const CudaBuffer&>(buffer);
    started(device::touch(stream_.stream, memory.data(), memory.bytes(), nullptr));
  }

  // The reference kernel is a product of square matrices on the tensor cores. It takes about 0.2 ms, which is long enough to
  // draw the same power as training. A multiprocessor does up to 7.5e12 operations per second (132 of them do 989 TFLOP/s
  // [NVIDIA H100 Tensor Core GPU Architecture, table 2]). Older devices take longer.
  std::string speed_problem() const override {
    constexpr double seconds = 0.2e-3;
    constexpr double rate_of_one = 7.5e12;
    constexpr double step = 128;
    constexpr int volta = 7;
    const double operations = seconds * rate_of_one * properties_.multiProcessorCount;
    const auto edge = static_cast<int>(std::max(1.0, std::floor(std::cbrt(operations / 2) / step)) * step);
    const Precision precision = refusal_of(Precision::bf16).empty() ? Precision::bf16
                                : properties_.major >= volta        ? Precision::fp16
                                                                    : Precision::fp32;
    return fmt::format("fully_connected features={0} bias=no in={0} samples={0} precision={1}", edge, to_string(precision));
  }
  // Clocks settle within about a second of full load.
  Seconds warm_up() const override { return Seconds(1); }
  DeviceState state() override { return management_.state(); }

 private:
  std::string refusal_of(Precision precision) const {
    if (is_narrow(precision)) return "matrix products with 8 bits or fewer are not measured";
    // Tensor cores support bf16 and tf32 from Ampere on.
    constexpr int ampere = 8;
    if ((precision == Precision::bf16 || precision == Precision::tf32) && properties_.major < ampere) {
      return fmt::format("{} needs compute capability 8.0, but the device has {}.{}", to_string(precision),
                         properties_.major, properties_.minor);
    }
    return {};
  }
  /// Changes when the address of one of the shared workspaces changes.
  [[nodiscard]] int moves() const { return device_.workspace.moves() + device_.between.moves(); }
  [[nodiscard]] ReadyGraphHandle record_once(const std::function<void()>& work) const {
    check(cudaStreamBeginCapture(stream_.stream, cudaStreamCaptureModeThreadLocal), "recording a graph");
    cudaGraph_t raw = nullptr;
    try {
      work();
    } catch (...) {
      // The error of the recorded call is more informative than the error at the end of the capture.
      static_cast<void>(cudaStreamEndCapture(stream_.stream, &raw));
      static_cast<void>(cudaGetLastError());
      if (raw != nullptr) static_cast<void>(cudaGraphDestroy(raw));
      throw;
    }
    check(cudaStreamEndCapture(stream_.stream, &raw), "recording a graph");
    const GraphHandle graph(raw);
    cudaGraphExec_t ready = nullptr;
    check(cudaGraphInstantiate(&ready, graph.get(), 0), "instantiating a graph");
    return ReadyGraphHandle(ready);
  }

  cudaDeviceProp properties_;
  Management management_;
  Stream stream_;
  Blas blas_;
  Dnn dnn_;
  Stopwatch stopwatch_;
  Device device_;
  DeviceMemory flushing_;
};

}  // namespace
}  // namespace cuda

int count_cuda_devices() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    const std::string name = fmt::format("no GPU that CUDA can use: {}", cudaGetErrorName(status));
    if (status == cudaErrorInsufficientDriver) {
      int driver = 0;
      int runtime = 0;
      static_cast<void>(cudaDriverGetVersion(&driver));
      static_cast<void>(cudaRuntimeGetVersion(&runtime));
      throw Error(fmt::format("{}: {}", name, cuda::driver_refusal(driver, runtime, cuda::Management::driver_version())),
                  cuda::driver_hint(driver, runtime));
    }
    throw Error(fmt::format("{} ({})", name, cudaGetErrorString(status)),
                "the back end needs an NVIDIA GPU and its driver: see nvidia-smi");
  }
  return count;
}

std::unique_ptr<KernelBackend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<cuda::Backend>(options);
}

}  // namespace ddl
