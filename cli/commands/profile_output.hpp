#pragma once

#include <optional>
#include <string>

#include "profiler/profile_file.hpp"

namespace ddl {

/// A profile that grows row by row: what is written survives whatever ends the program.
class ProfileOutput {
 public:
  /// Nowhere.
  ProfileOutput() = default;
  /// Writes what is known so far, whole or not at all, and opens the file for more. An Error naming the path where that
  /// cannot be done.
  ProfileOutput(std::string path, const Profile& known);
  ProfileOutput(const ProfileOutput&) = delete;
  ProfileOutput& operator=(const ProfileOutput&) = delete;
  ~ProfileOutput();

  /// An Error where another process has put a file of its own in this one's place.
  void add(const ProfileRow& row);

 private:
  [[nodiscard]] bool is_in_place() const;

  std::string path_{};
  ProfileHead head_{};
  int file_ = -1;
};

/// The profile at this path, to go on with; nothing where there is none. An Error where there is one, and nobody
/// asked to `resume`.
[[nodiscard]] std::optional<Profile> existing_profile(const std::string& path, bool resume);

/// Where a model's profile of this device lies among the user's own (data_directory), its folder made:
/// `profiles/resnet50-fp32@Tesla-V100.profile`, and `-autocast` behind the precision where that is the recipe. A shard's
/// has `.3-of-16` behind it, so that it is not taken for the profile of the model. An Error where no variable says where
/// that is, or it cannot be made.
[[nodiscard]] std::string usual_profile_path(const ProfileHead& head, Precision precision, const std::string& recipe = {});

}  // namespace ddl
