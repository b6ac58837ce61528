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

/// A profile and where it was read.
struct FoundProfile {
  std::string path;
  Profile profile;
};

/// A profile at hand that is of another device than the machine's.
struct OtherProfile {
  std::string path, model, device;
  int threads = 0;  ///< of a processor, where it says so
};

struct FoundProfiles {
  std::vector<FoundProfile> profiles;
  std::vector<OtherProfile> others{};  ///< looked up, and not used
  bool looked_up = false;              ///< they were not named
  std::vector<std::string> warnings;   ///< of files at hand that cannot be read, and of those that were cut off
};

/// Which profiles a study uses.
struct ProfileChoice {
  std::vector<std::string> files;  ///< paths, or `none` alone; empty: those of the machine's device that are at hand
  bool any_device = false;         ///< those of other devices, too
};

/// Those that are named. Else those of the machine's device in the folder `profiles` of the user's data directory
/// (data_directory), files named `*.profile` or `*.csv`. Throws Error on a named one that cannot be read or is of another
/// device.
[[nodiscard]] FoundProfiles find_profiles(const ProfileChoice& choice, const Machine& machine);

/// Says of each profile at hand that is of another device why it is not used, and how it would be. `model`: of that alone;
/// empty for all.
[[nodiscard]] std::vector<std::string> unused_profiles_text(const FoundProfiles& found, const Machine& machine,
                                                            std::string_view model = {});

/// Whether a profile of a device of this name is of the machine's.
[[nodiscard]] bool is_device(const Device& device, std::string_view name);

/// The kernels and updates that the profiles know, of every precision, and nothing of whole steps.
[[nodiscard]] MeasuredKernels measured_kernels(std::span<const FoundProfile> profiles);
/// What the profiles know at this precision: kernels, updates, what first touches of fresh memory take, and what whole steps
/// take outside their kernels and that: steps of a framework before those of the profiler, and in each of these steps of the
/// model before those of other bundled models. A framework's steps count where the kernels of its model are in any of the
/// profiles.
[[nodiscard]] MeasuredKernels measured_kernels(std::span<const FoundProfile> profiles, const Model& model,
                                               Precision precision);

}  // namespace ddl
