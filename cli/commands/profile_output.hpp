#pragma once

#include <optional>
#include <string>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// Keeps other processes from measuring into the same profile, on this machine and on others that share its folder by NFS.
/// The file itself is locked until the process ends, in whatever way it ends. A profile that does not exist yet is locked by
/// the ProfileOutput that creates it.
class ProfileLock {
 public:
  /// Of nothing.
  ProfileLock() = default;
  /// Throws Error if another process measures into the profile, with its number if it runs on this machine, or if the
  /// profile was read as an input.
  explicit ProfileLock(const std::string& profile);
  ProfileLock(const ProfileLock&) = delete;
  ProfileLock& operator=(const ProfileLock&) = delete;
  ~ProfileLock();

 private:
  int file_ = -1;
};

/// A profile that grows row by row. Rows that are written are kept, even if the program crashes.
class ProfileOutput {
 public:
  /// Nowhere.
  ProfileOutput() = default;
  /// Writes the known rows atomically, and keeps the file open and locked for more. Throws Error with the path if that
  /// fails.
  ProfileOutput(std::string path, const Profile& known);
  ProfileOutput(const ProfileOutput&) = delete;
  ProfileOutput& operator=(const ProfileOutput&) = delete;
  ~ProfileOutput();

  /// Throws Error if another process has replaced the file.
  void add(const ProfileRow& row);
  /// Called after all rows. Throws Error if the file at the path does not contain them.
  void finish() const;

 private:
  [[nodiscard]] bool is_in_place() const;

  std::string path_{};
  ProfileHead head_{};
  int file_ = -1;
};

/// The profile at this path, to be continued; empty if there is none. Throws Error if there is one and `resume` is false.
[[nodiscard]] std::optional<Profile> existing_profile(const std::string& path, bool resume);

/// The default path of a model's profile of this device in the data directory (data_directory), whose folder is created:
/// `profiles/resnet50-fp32@Tesla-V100.profile`. With the autocast recipe, the precision is followed by `-autocast`. The name
/// of a shard ends in `.3-of-16`, so that it is not mistaken for the profile of the model. Throws Error if no environment
/// variable gives the data directory, or if the folder cannot be created.
[[nodiscard]] std::string usual_profile_path(const ProfileHead& head, Precision precision, const std::string& recipe = {});

}  // namespace ddl
