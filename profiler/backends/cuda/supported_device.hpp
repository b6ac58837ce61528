#pragma once

#include <string>
#include <string_view>

namespace ddl::cuda {

/// The architectures that the program was compiled for, as CMake lists them: `75-virtual 80-real 90-real`.
[[nodiscard]] std::string_view compiled_architectures();

/// Returns the reason why no kernel that was compiled for `architectures` runs on a device of that compute capability; empty
/// if some kernel runs. Machine code (`-real`, or no suffix) runs on later minor versions of the same major version. Code
/// that the driver compiles (`-virtual`, or no suffix) runs on all later versions [CUDA C++ Programming Guide, "Binary
/// compatibility" and "PTX compatibility"].
[[nodiscard]] std::string device_refusal(std::string_view architectures, int major, int minor);
/// A hint for the user if no kernel of this program runs on the device. `runtime`: the CUDA version
/// that the program was built with, such as 13000.
[[nodiscard]] std::string device_hint(int major, int minor, int runtime);

/// Returns the reason why the driver does not run a program that was built with CUDA version
/// `runtime`. `driver`: the newest CUDA version that the driver supports, such as 12040; 0 if there
/// is no driver. `version`: the driver's own version, empty if unknown.
[[nodiscard]] std::string driver_refusal(int driver, int runtime, std::string_view version);
/// A hint for the user: which driver to install.
[[nodiscard]] std::string driver_hint(int driver, int runtime);

}  // namespace ddl::cuda
