#include "profiler/backends/cuda/supported_device.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

namespace ddl::cuda {
namespace {

/// The oldest driver that runs programs of a major version of CUDA, on Linux [CUDA Toolkit Release Notes, table "CUDA
/// Toolkit and Minimum Required Driver Version for CUDA Minor Version Compatibility"].
struct OldestDriver {
  int cuda, driver;
};
constexpr std::array<OldestDriver, 3> oldest_drivers{{{11, 450}, {12, 525}, {13, 580}}};

int major_of(int cuda) { return cuda / 1000; }
std::string text_of(int cuda) { return fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10); }

/// Returns `580 or newer`; empty for a version that is not in the table.
std::string oldest_driver(int cuda) {
  const auto* found = std::find_if(oldest_drivers.begin(), oldest_drivers.end(),
                                   [&](const OldestDriver& each) { return each.cuda == major_of(cuda); });
  return found == oldest_drivers.end() ? std::string() : fmt::format(" ({} or newer)", found->driver);
}

}  // namespace

std::string_view compiled_architectures() { return DDL_CUDA_ARCHITECTURES; }

std::string device_refusal(std::string_view architectures, int major, int minor) {
  constexpr int ten = 10;
  const int device = ten * major + minor;
  for (std::size_t at = 0; at < architectures.size();) {
    const std::size_t end = std::min(architectures.find(' ', at), architectures.size());
    const std::string_view word = architectures.substr(at, end - at);
    int architecture = 0;
    const auto [stop, wrong] = std::from_chars(word.data(), word.data() + word.size(), architecture);
    const std::string_view kind(stop, static_cast<std::size_t>(word.data() + word.size() - stop));
    // A letter after the number marks code that runs on one architecture only.
    const bool is_general = wrong == std::errc() && (kind.empty() || kind.front() == '-');
    if (is_general && kind != "-real" && architecture <= device) return {};
    if (wrong == std::errc() && kind != "-virtual" && architecture / ten == major && architecture <= device) return {};
    at = end + 1;
  }
  return fmt::format("no kernel of this program runs on compute capability {}.{}: it was compiled for {}", major, minor,
                     architectures);
}

std::string device_hint(int major, int minor, int runtime) {
  constexpr int turing = 75;
  constexpr int first_without_volta = 13;
  constexpr int ten = 10;
  if (ten * major + minor < turing && major_of(runtime) >= first_without_volta) {
    return fmt::format("CUDA {} does not support compute capability below 7.5: build with CUDA 12 and cuDNN 9.10 or older",
                       text_of(runtime));
  }
  return fmt::format("build with -DCMAKE_CUDA_ARCHITECTURES={}{}", major, minor);
}

std::string driver_refusal(int driver, int runtime, std::string_view version) {
  if (driver == 0) return "there is no driver of an NVIDIA GPU";
  return fmt::format("the driver{}{} supports CUDA up to {}, but this program was built with {}", version.empty() ? "" : " ",
                     version, text_of(driver), text_of(runtime));
}

std::string driver_hint(int driver, int runtime) {
  if (driver == 0) return "the back end needs an NVIDIA GPU and its driver: see nvidia-smi";
  return fmt::format("install a driver of CUDA {}{}, or use a build with CUDA {}", major_of(runtime), oldest_driver(runtime),
                     major_of(driver));
}

}  // namespace ddl::cuda
