#include "profiler/backends/cuda/management.hpp"

#include <array>
#include <memory>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

namespace ddl::cuda {
namespace {

// The part of NVML that is used is declared here, because its header is only in toolkits; the library itself comes with
// every driver [NVML API Reference, "Device Queries"].
using Status = int;  ///< 0 is success
using Handle = void*;
enum class Clock : int { sm = 1, memory = 2 };
enum class Sensor : int { device = 0 };
constexpr unsigned version_room = 80;  ///< NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE

}  // namespace

/// The library, opened and initialized; shut down by the destructor.
struct Management::Library {
 public:
  Library() : opened_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    if (opened_) works_ = call<Status>("nvmlInit_v2");
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (works_) call<Status>("nvmlShutdown");
  }
  [[nodiscard]] bool works() const { return works_; }

  /// Returns whether the function exists and succeeds.
  template <class Result, class... Arguments>
  bool call(const char* name, Arguments... arguments) const {
    void* function = dlsym(opened_.get(), name);
    return function != nullptr && reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...) == 0;
  }

 private:
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };
  std::unique_ptr<void, Close> opened_;
  bool works_ = false;
};

namespace {

struct Reason {
  std::uint64_t bit;
  std::string_view name;
};
constexpr std::array<Reason, 9> reasons{{
    {0x1, "idle"},
    {0x2, "clocks set by applications"},
    {0x4, "power cap"},
    {0x8, "hardware slowdown"},
    {0x10, "sync boost"},
    {0x20, "software thermal slowdown"},
    {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},
    {0x100, "display clocks"},
}};

}  // namespace

std::string slowdown_names(std::uint64_t bits) {
  std::string names;
  for (const Reason& reason : reasons) {
    if ((bits & reason.bit) != 0) names += fmt::format("{}{}", names.empty() ? "" : ", ", reason.name);
  }
  return names.empty() ? "none" : names;
}

Management::Management(const std::string& bus) : library_(std::make_unique<Library>()) {
  if (!library_->works()) return;
  if (!library_->call<Status>("nvmlDeviceGetHandleByPciBusId_v2", bus.c_str(), &device_)) device_ = nullptr;
}

Management::~Management() = default;

std::vector<std::pair<std::string, std::string>> Management::details() const {
  std::vector<std::pair<std::string, std::string>> details;
  if (std::string version = driver_version(); !version.empty()) details.emplace_back("driver", std::move(version));
  if (device_ == nullptr) return details;
  const auto number = [&](const char* name, const char* function, std::string_view unit, auto... arguments) {
    unsigned value = 0;
    if (library_->call<Status>(function, device_, arguments..., &value)) {
      details.emplace_back(name, fmt::format("{} {}", value, unit));
    }
  };
  number("SM clock", "nvmlDeviceGetClockInfo", "MHz", Clock::sm);
  number("highest SM clock", "nvmlDeviceGetMaxClockInfo", "MHz", Clock::sm);
  // The clock of applications differs from its default if the user has set or locked clocks.
  number("SM clock of applications", "nvmlDeviceGetApplicationsClock", "MHz", Clock::sm);
  number("default SM clock of applications", "nvmlDeviceGetDefaultApplicationsClock", "MHz", Clock::sm);
  number("memory clock", "nvmlDeviceGetClockInfo", "MHz", Clock::memory);
  number("temperature", "nvmlDeviceGetTemperature", "degrees C", Sensor::device);
  number("power limit", "nvmlDeviceGetEnforcedPowerLimit", "mW");
  unsigned long long bits = 0;  // NOLINT(google-runtime-int): the library's type
  if (library_->call<Status>("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits)) {
    details.emplace_back("slowed down by", slowdown_names(bits));
  }
  return details;
}

DeviceState Management::state() const {
  DeviceState state;
  if (device_ == nullptr) return state;
  unsigned value = 0;
  if (library_->call<Status>("nvmlDeviceGetClockInfo", device_, Clock::sm, &value)) state.clock_hz = 1e6 * value;
  if (library_->call<Status>("nvmlDeviceGetPowerUsage", device_, &value)) state.power_w = 1e-3 * value;
  unsigned long long bits = 0;  // NOLINT(google-runtime-int): the library's type
  if (library_->call<Status>("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits)) {
    constexpr unsigned long long idle = 1;  // NOLINT(google-runtime-int): not a slowdown
    if ((bits & ~idle) != 0) state.slowed_by = slowdown_names(bits & ~idle);
  }
  return state;
}

std::string Management::driver_version() {
  const auto library = std::make_unique<Library>();
  std::array<char, version_room> version{};
  const bool known = library->works() && library->call<Status>("nvmlSystemGetDriverVersion", version.data(), version_room);
  return known ? version.data() : "";
}

}  // namespace ddl::cuda
