#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/measured_kernels.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// A profile, and the file that it was read from.
struct FoundProfile {
  std::string path;
  Profile profile;
};

/// A profile in the data directory that belongs to another device than the machine's.
struct OtherProfile {
  std::string path, model, device;
  int threads = 0;  ///< number of CPU threads; 0 if the profile does not state the number
};

struct FoundProfiles {
  std::vector<FoundProfile> profiles;
  std::vector<OtherProfile> others{};  ///< profiles that were found but are not used
  bool looked_up = false;              ///< whether the profiles were found in the data directory, and not named by the user
  std::vector<std::string> warnings;   ///< warnings about files that cannot be read, and about truncated files
};

/// The profiles that a study uses.
struct ProfileChoice {
  std::vector<std::string> files;  ///< paths, or `none`; empty: the data directory's profiles of the device
  bool any_device = false;         ///< whether profiles of other devices are used, too
};

/// Reads the named profiles. If none is named, reads all profiles of the machine's device in the folder `profiles` of the
/// user's data directory (data_directory), from files named `*.profile` or `*.csv`. Throws Error if a named profile cannot
/// be read, or is of another device.
[[nodiscard]] FoundProfiles find_profiles(const ProfileChoice& choice, const Machine& machine);

/// Returns one sentence for each profile of another device: why the profile is not used, and how
/// the user can use it. `model`: only profiles of this model; empty for all.
[[nodiscard]] std::vector<std::string> unused_profiles_text(const FoundProfiles& found, const Machine& machine,
                                                            std::string_view model = {});

/// Whether a profile of a device with this name belongs to the machine's device.
[[nodiscard]] bool is_device(const Device& device, std::string_view name);

/// Returns the kernels and updates in the profiles, in every precision, without whole steps.
[[nodiscard]] MeasuredKernels measured_kernels(std::span<const FoundProfile> profiles);
/// Returns the data of the profiles in this precision: kernels, updates, the time of first touches of fresh memory, and the
/// time of whole steps outside their kernels and first touches. Steps of a framework are preferred to steps of the profiler.
/// Second, steps of this model are preferred to steps of other bundled models. Steps of a framework are only used if some
/// profile has the kernels of their model.
[[nodiscard]] MeasuredKernels measured_kernels(std::span<const FoundProfile> profiles, const Model& model,
                                               Precision precision);

}  // namespace ddl
