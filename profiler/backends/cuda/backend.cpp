#include "profiler/backends/cuda/backend.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/units.hpp"
#include "profiler/backends/cuda/kernels.hpp"
#include "profiler/backends/cuda/management.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl {
namespace cuda {
namespace {

constexpr std::array<const Kind*, 20> kinds{&activation,         &add,     &attention, &cast,    &concat,
                                            &convolution,        &dropout, &embedding, &flatten, &fully_connected,
                                            &identity,           &loss,    &multiply,  &norm,    &pool,
                                            &position_embedding, &reshape, &select,    &softmax, &transposed_convolution};

const Kind* find_kind(std::string_view type) {
  const auto* found = std::find_if(kinds.begin(), kinds.end(), [type](const Kind* kind) { return kind->type == type; });
  return found == kinds.end() ? nullptr : *found;
}

/// The libraries' handles, each ended when a later one cannot be made.
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
struct Events {
  Events() {
    check(cudaEventCreate(&start), "an event");
    check(cudaEventCreate(&end), "an event");
  }
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;
  ~Events() {
    static_cast<void>(cudaEventDestroy(start));
    static_cast<void>(cudaEventDestroy(end));
  }
  cudaEvent_t start = nullptr, end = nullptr;
};

/// Makes it the device of this thread.
cudaDeviceProp use_device(int device) {
  const int count = count_cuda_devices();
  if (device < 0 || device >= count) {
    throw Error(fmt::format("there is no GPU {}: {}", device, cudaGetErrorName(cudaErrorInvalidDevice)),
                fmt::format("CUDA sees {}, counted from 0", count));
  }
  check(cudaSetDevice(device), fmt::format("GPU {}", device));
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), fmt::format("GPU {}", device));
  return properties;
}

/// `13.0` of CUDA's 13000.
std::string cuda_version(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }
/// `9.19.0` of cuDNN's 91900, `13.0.2` of cuBLASLt's 130002.
std::string library_version(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

class Backend final : public KernelBackend {
 public:
  explicit Backend(const CudaOptions& options)
      : properties_(use_device(options.device)),
        dnn_(stream_.stream),
        device_{.options = options,
                .stream = stream_.stream,
                .products = blas_.handle,
                .target = Target(dnn_.handle),
                .choices = {}} {}
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
    constexpr int room = 32;
    std::array<char, room> bus{};
    if (cudaDeviceGetPCIBusId(bus.data(), room, device_.options.device) == cudaSuccess) {
      for (auto& detail : management_details(bus.data())) info.details.push_back(std::move(detail));
    }
    return info;
  }

  std::string refusal(const Problem& problem) const override {
    const Kind* kind = find_kind(problem.operation->type());
    if (kind == nullptr) return fmt::format("{} is not in this back end", problem.operation->type());
    if (std::string why = refusal_of(problem.precision); !why.empty()) return why;
    return kind->refusal(problem);
  }
  std::string refusal(const UpdateProblem& problem) const override {
    if (is_of_list(problem.implementation) && is_mixed(problem.precision)) return "lists of tensors are updated in fp32";
    return refusal_of(problem.precision);
  }

  std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override {
    if (std::string why = refusal(problem); !why.empty()) throw Error(why);
    return find_kind(problem.operation->type())->prepare(device_, problem);
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

  // The device is held busy while the host starts the kernels, so that what lies between the events is theirs alone and not
  // the host's time to start them.
  Seconds time(const std::function<void()>& work) override {
    using Clock = std::chrono::steady_clock;
    started(device::hold(stream_.stream, static_cast<std::int64_t>(hold_ * clock_rate())));
    check(cudaEventRecord(events_.start, stream_.stream), "an event");
    const auto before = Clock::now();
    work();
    const double taken = std::chrono::duration<double>(Clock::now() - before).count();
    check(cudaEventRecord(events_.end, stream_.stream), "an event");
    check(cudaEventSynchronize(events_.end), "running a kernel");
    hold_ = std::clamp(2 * taken, shortest_hold, longest_hold);
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, events_.start, events_.end), "an event");
    return Seconds(static_cast<double>(milliseconds) / 1e3);
  }

  // Writing twice the cache leaves nothing else in it, whatever its replacement: what is asked for goes with all the rest.
  void evict(std::span<DeviceBuffer* const> /*buffers*/) override {
    if (flushed_.bytes() == 0) {
      constexpr int least = 1 << 20;
      flushed_ = DeviceMemory(2 * static_cast<std::size_t>(std::max(properties_.l2CacheSize, least)));
    }
    check(cudaMemsetAsync(flushed_.data(), 0, flushed_.bytes(), stream_.stream), "clearing the cache");
  }
  void touch(DeviceBuffer& buffer) override {
    const auto& memory = static_cast<const CudaBuffer&>(buffer);
    started(device::touch(stream_.stream, memory.data(), memory.bytes(), nullptr));
  }

 private:
  static constexpr double shortest_hold = 20e-6;  ///< seconds: the start of one kernel takes a few µs
  static constexpr double longest_hold = 20e-3;

  std::string refusal_of(Precision precision) const {
    // Tensor cores multiply bf16 and tf32 from Ampere on.
    constexpr int ampere = 8;
    if ((precision == Precision::bf16 || precision == Precision::tf32) && properties_.major < ampere) {
      return fmt::format("{} needs compute capability 8.0, and the device has {}.{}", to_string(precision),
                         properties_.major, properties_.minor);
    }
    return {};
  }
  /// Cycles in a second, 1 GHz where the driver does not say.
  double clock_rate() const {
    int kilohertz = 0;
    const bool known =
        cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, device_.options.device) == cudaSuccess && kilohertz > 0;
    return known ? 1e3 * kilohertz : 1e9;
  }

  cudaDeviceProp properties_;
  Stream stream_;
  Blas blas_;
  Dnn dnn_;
  Events events_;
  Device device_;
  DeviceMemory flushed_;
  double hold_ = shortest_hold;
};

}  // namespace
}  // namespace cuda

int count_cuda_devices() {
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw Error(fmt::format("no GPU that CUDA can use: {} ({})", cudaGetErrorName(status), cudaGetErrorString(status)),
                "it needs an NVIDIA GPU and its driver: look at nvidia-smi");
  }
  return count;
}

std::unique_ptr<KernelBackend> make_cuda_backend(const CudaOptions& options) {
  return std::make_unique<cuda::Backend>(options);
}

}  // namespace ddl
