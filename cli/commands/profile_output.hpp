#pragma once

#include <optional>
#include <string>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// Keeps other processes from measuring into the same profile, on this machine and on others that have its folder by NFS: a
/// lock on the file itself, which is gone when the process ends, however that happens. A profile that is not there yet is
/// locked by the ProfileOutput that makes it.
class ProfileLock {
 public:
  /// Of nothing.
  ProfileLock() = default;
  /// Throws Error, which names the process where it is on this machine, where another one measures into it; and where the
  /// profile is a file that was read.
  explicit ProfileLock(const std::string& profile);
  ProfileLock(const ProfileLock&) = delete;
  ProfileLock& operator=(const ProfileLock&) = delete;
  ~ProfileLock();

 private:
  int file_ = -1;
};

/// A profile that grows row by row: what is written survives whatever ends the program.
class ProfileOutput {
 public:
  /// Nowhere.
  ProfileOutput() = default;
  /// Writes what is known so far, whole or not at all, and keeps the file open and locked for more. An Error naming the path
  /// where that cannot be done.
  ProfileOutput(std::string path, const Profile& known);
  ProfileOutput(const ProfileOutput&) = delete;
  ProfileOutput& operator=(const ProfileOutput&) = delete;
  ~ProfileOutput();

  /// An Error where another process has put a file of its own in this one's place.
  void add(const ProfileRow& row);
  /// When all rows are added: an Error where they do not lie at the path.
  void finish() const;

 private:
  [[nodiscard]] bool is_in_place() const;

  std::string path_{};
  ProfileHead head_{};
  int file_ = -1;
};

/// The profile at this path, to go on with; empty if there is none. An Error if there is one, and it was not
/// asked to `resume`.
[[nodiscard]] std::optional<Profile> existing_profile(const std::string& path, bool resume);

/// Where a model's profile of this device lies among the user's own (data_directory), its folder made:
/// `profiles/resnet50-fp32@Tesla-V100.profile`, and `-autocast` behind the precision where that is the recipe. A shard's
/// has `.3-of-16` behind it, so that it is not taken for the profile of the model. An Error where no variable says where
/// that is, or it cannot be made.
[[nodiscard]] std::string usual_profile_path(const ProfileHead& head, Precision precision, const std::string& recipe = {});

}  // namespace ddl
