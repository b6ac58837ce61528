#include "profiler/backends/backends.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/module_loader.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "profiler/backends/backend_module.hpp"
#include "profiler/backends/linked_backends.hpp"
#include "profiler/backends/simulated/backend.hpp"
#include "profiler/backends/simulated/device_text.hpp"

namespace ddl {
namespace {

/// The default is the first back end of this list that runs here, except the simulated one.
constexpr std::array<BackendKind, 3> kinds{{
    {"cuda", "NVIDIA GPUs, by cuDNN, cuBLASLt and kernels of its own", "the CUDA toolkit, cuDNN and a driver of the GPU",
     false},
    {"onednn", "the processor, by oneDNN", "libdnnl-dev and ocl-icd-opencl-dev", true},
    {"simulated", "a simulated device with given values, for demos", "", true},
}};

int count_simulated() { return 1; }
std::unique_ptr<KernelBackend> open_simulated(const BackendOptions& options) {
  return make_simulated_backend(parse_simulated_device(options.simulated, "--simulated"));
}
constexpr BackendModule simulated{.devices = count_simulated, .open = open_simulated};

const BackendModule& module_of(const BackendKind& kind) {
  if (kind.name == "simulated") return simulated;
  for (const LinkedBackend& linked : linked_backends()) {
    if (linked.name == kind.name) return *linked.module;
  }
  return load_module<BackendModule>(fmt::format("backend-{}", kind.name), fmt::format("ddl_backend_{}", kind.name),
                                    std::string(kind.packages));
}

}  // namespace

std::span<const BackendKind> backend_kinds() { return kinds; }

const BackendKind& backend_kind(std::string_view name) {
  const auto* found =
      std::find_if(kinds.begin(), kinds.end(), [name](const BackendKind& kind) { return kind.name == name; });
  if (found != kinds.end()) return *found;
  std::vector<std::string_view> names;
  for (const BackendKind& kind : kinds) names.push_back(kind.name);
  throw Error(fmt::format("unknown back end {}", quote(name)), suggest(name, names));
}

std::unique_ptr<KernelBackend> open_backend(std::string_view name, const BackendOptions& options) {
  const BackendKind& kind = backend_kind(name);
  if (options.threads < 1) throw Error(fmt::format("--threads must be at least 1, not {}", options.threads));
  const BackendModule& module = module_of(kind);
  const int devices = kind.one_device ? 1 : module.devices();
  if (options.device < 0 || options.device >= devices) {
    throw Error(fmt::format("there is no device {} for {}", options.device, kind.name),
                devices == 1 ? "there is one, number 0" : fmt::format("there are {}, numbered from 0", devices));
  }
  return module.open(options);
}

int count_devices(std::string_view name) { return module_of(backend_kind(name)).devices(); }

BackendStatus backend_status(std::string_view name) {
  const BackendKind& kind = backend_kind(name);
  BackendStatus status;
  try {
    const BackendModule& module = module_of(kind);
    for (int device = 0, devices = module.devices(); device < devices; ++device) {
      status.devices.push_back(module.open({.device = device})->info());
    }
  } catch (const Error& error) {
    status.problem = error.what();
    status.hint = error.hint();
  } catch (const std::exception& error) {
    status.problem = fmt::format("{} does not start: {}", kind.name, error.what());
    status.hint = "check the installation of its libraries";
  }
  return status;
}

std::string default_backend() {
  std::string problems;
  for (const BackendKind& kind : kinds) {
    if (kind.name == "simulated") continue;
    try {
      if (module_of(kind).devices() > 0) return std::string(kind.name);
    } catch (const Error& error) {
      problems += fmt::format("\n  {}: {}", kind.name, error.what());
    }
  }
  throw Error(fmt::format("no measurement back end is available:{}", problems),
              "'ddl-oracle backends' shows what each needs; --backend simulated is for demos");
}

}  // namespace ddl
