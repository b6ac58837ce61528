#include "profiler/backends/onednn/backend.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <vector>

#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "core/error.hpp"
#include "model_zoo/operations/cast.hpp"
#include "profiler/backends/onednn/blas.hpp"
#include "profiler/backends/onednn/kernels.hpp"
#include "profiler/backends/unmeasured.hpp"

namespace ddl {
namespace onednn {
namespace {

constexpr std::array kinds{DDL_KERNEL_KINDS(DDL_ADDRESS_OF_KIND)};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "processor";
}

std::size_t size_of_cache(int level, std::size_t otherwise) {
  const long bytes = sysconf(level);  // NOLINT(google-runtime-int): the system's type
  return bytes > 0 ? static_cast<std::size_t>(bytes) : otherwise;
}
std::size_t last_level_cache() { return size_of_cache(_SC_LEVEL3_CACHE_SIZE, 32U << 20U); }
std::size_t second_level_cache() { return size_of_cache(_SC_LEVEL2_CACHE_SIZE, 2U << 20U); }

constexpr std::size_t line = 64;  ///< bytes of a cache line

/// Evicts line by line, by an instruction that does not wait for each line. Returns false if the CPU lacks it.
#ifdef __x86_64__
__attribute__((target("clflushopt"))) void flush_lines(const char* bytes, std::size_t size) {
  // const_cast is safe here: the instruction takes a pointer to non-const, but writes nothing.
  for (std::size_t i = 0; i < size; i += line) _mm_clflushopt(const_cast<char*>(bytes + i));
}

bool evict_lines(std::span<DeviceBuffer* const> buffers) {
  static const bool has_instruction = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned leaf = 7, clflushopt = 1U << 23U;  // Intel SDM, volume 2, CPUID
    return __get_cpuid_count(leaf, 0, &a, &b, &c, &d) != 0 && (b & clflushopt) != 0;
  }();
  if (!has_instruction) return false;
  for (const DeviceBuffer* buffer : buffers) {
    const auto& host = static_cast<const HostBuffer&>(*buffer);
    flush_lines(static_cast<const char*>(host.data()), host.bytes());
  }
  _mm_mfence();
  return true;
}
#else
bool evict_lines(std::span<DeviceBuffer* const> /*buffers*/) { return false; }
#endif

class Backend final : public KernelBackend {
 public:
  Backend(int threads, const std::string& blas)
      : threads_(threads), device_{dnnl::engine(dnnl::engine::kind::cpu, 0), {}, std::make_shared<onednn::Workspace>()} {
    omp_set_num_threads(threads);  // for loops started by this thread
    device_.stream = dnnl::stream(device_.engine);
    device_.threads = threads;
    if (!blas.empty()) device_.blas = std::make_shared<const Blas>(blas, threads);
  }

  DeviceInfo info() const override {
    const dnnl_version_t* version = dnnl_version();
    DeviceInfo info{.backend = "onednn",
                    .device = processor_name(),
                    .details = {{"library", fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch)},
                                {"threads", fmt::format("{}", threads_)}}};
    if (device_.blas != nullptr) info.details.emplace_back("blas", device_.blas->description());
    return info;
  }

  std::string refusal(const Problem& problem) const override {
    const Kind* kind = find_kind(kinds, problem.operation->type());
    if (kind == nullptr) return fmt::format("{} is not supported by this back end", problem.operation->type());
    if (std::string why = unmeasured_variant(problem); !why.empty()) return why;
    if (problem.precision != Precision::fp32 && problem.precision != Precision::bf16) {
      return fmt::format("processors have no {}", to_string(problem.precision));
    }
    const bool any_bf16 = problem.precision == Precision::bf16 || cast_format(*problem.operation) == Precision::bf16;
    if (any_bf16 && !has_bf16()) {
      return "bf16 needs a processor with AVX-512";
    }
    if (problem.operation->adapters() > 0) return "matrices with adapters are not measured";
    if (problem.operation->contexts() > 1) return "attention to keys and values of other ranks is not measured";
    return kind->refusal(problem);
  }
  std::string refusal(const UpdateProblem& problem) const override {
    return problem.precision == Precision::fp32
               ? ""
               : fmt::format("updates are supported in fp32 only here, not {}", to_string(problem.precision));
  }

  std::unique_ptr<PreparedKernel> prepare(const Problem& problem) override {
    if (std::string why = refusal(problem); !why.empty()) throw Error(why);
    try {
      return find_kind(kinds, problem.operation->type())->prepare(device_, problem);
    } catch (const dnnl::error& error) {
      throw Error(fmt::format("oneDNN: {} ({})", error.what(), print_problem(problem)));
    }
  }
  std::unique_ptr<PreparedKernel> prepare(const UpdateProblem& problem) override {
    if (std::string why = refusal(problem); !why.empty()) throw Error(why);
    return prepare_update(device_, problem);
  }

  std::unique_ptr<DeviceBuffer> allocate(std::int64_t items, Precision precision) override {
    return std::make_unique<HostBuffer>(items, precision);
  }

  Seconds time(const std::function<void()>& work) override {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    work();
    device_.stream.wait();
    return Seconds(std::chrono::duration<double>(Clock::now() - start).count());
  }

  void evict(std::span<DeviceBuffer* const> buffers) override {
    if (evict_lines(buffers)) {
      forget_pages();
      return;
    }
    // Evicts everything by writing twice the size of the last-level cache, with any replacement policy.
    if (flushed_.empty()) flushed_.resize(2 * last_level_cache() / sizeof(float));
    for (std::size_t i = 0; i < flushed_.size(); i += line / sizeof(float)) flushed_[i] += 1.0F;
  }
  void touch(DeviceBuffer& buffer) override {
    const auto& host = static_cast<const HostBuffer&>(buffer);
    float sum = 0;
    for (std::size_t i = 0; i < host.bytes() / sizeof(float); i += line / sizeof(float)) sum += host.floats()[i];
    volatile float used = sum;
    static_cast<void>(used);
  }

  bool maps_pages() const override { return true; }
  Seconds first_touch(Bytes bytes) override {
    const auto size = static_cast<std::size_t>(bytes.value());
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return time([&] {
      void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapped == MAP_FAILED) throw Error("the system cannot map memory: " + std::string(std::strerror(errno)));
      auto* const words = static_cast<volatile char*>(mapped);
      for (std::size_t i = 0; i < size; i += page) words[i] = 1;
      munmap(mapped, size);
    });
  }

 private:
  /// Reads many pages and lines, because evicting the lines of tensors leaves their pages in the TLB and the kernel's own
  /// code in the caches. In a training step, the kernels in between displace both. The pages exceed the second-level TLB
  /// (2,048 entries: Intel, "Optimization Reference Manual", Golden Cove). The lines exceed the second-level cache, which
  /// also contains instructions.
  void forget_pages() {
    constexpr std::size_t pages = 8192, page = 4096;
    static const std::size_t lines = 2 * second_level_cache() / line;
    if (pages_.empty()) pages_.resize(pages * page);
    std::size_t sum = 0;
    const std::size_t rounds = (lines + pages - 1) / pages;
    for (std::size_t i = 0; i < pages; ++i) {
      for (std::size_t round = 0; round < rounds; ++round) {
        sum += static_cast<unsigned char>(pages_[i * page + (i * rounds + round) * line % page]);
      }
    }
    volatile std::size_t used = sum;
    static_cast<void>(used);
  }

  static bool has_bf16() {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return isa == dnnl::cpu_isa::avx512_core || isa == dnnl::cpu_isa::avx512_core_vnni ||
           isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  }

  int threads_;
  onednn::Device device_;
  std::vector<char> pages_{};
  std::vector<float> flushed_{};  ///< memory that is written to evict all caches, if single buffers cannot be evicted
};

}  // namespace
}  // namespace onednn

std::unique_ptr<KernelBackend> make_onednn_backend(int threads, const std::string& blas) {
  return std::make_unique<onednn::Backend>(threads, blas);
}

}  // namespace ddl
