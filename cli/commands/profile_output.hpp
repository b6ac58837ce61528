#pragma once

#include <optional>
#include <string>

#include "profiler/profiles/profile_file.hpp"

namespace ddl {

/// Keeps other processes from measuring into the same profile, on this machine and on machines that share the folder of the
/// profile by NFS. The file stays locked until this process ends for any reason. This class locks no profile that does not
/// exist yet: ProfileOutput locks the file that it creates.
class ProfileLock {
 public:
  /// Locks no file.
  ProfileLock() = default;
  /// Throws Error if another process measures into the profile, or if the profile was read as an
  /// input. If the other process runs on this machine, the message contains its process id.
  explicit ProfileLock(const std::string& profile);
  ProfileLock(const ProfileLock&) = delete;
  ProfileLock& operator=(const ProfileLock&) = delete;
  ~ProfileLock();

 private:
  int file_ = -1;
};

/// A profile that grows row by row. Written rows are kept, even if the program crashes.
class ProfileOutput {
 public:
  /// Writes to no file.
  ProfileOutput() = default;
  /// Writes the known rows atomically, and keeps the file open and locked for further rows. Throws Error with the path if
  /// the file cannot be written.
  ProfileOutput(std::string path, const Profile& known);
  ProfileOutput(const ProfileOutput&) = delete;
  ProfileOutput& operator=(const ProfileOutput&) = delete;
  ~ProfileOutput();

  /// Throws Error if another process has replaced the file.
  void add(const ProfileRow& row);
  /// Called after all rows. Throws Error if the file at the path does not contain the rows.
  void finish() const;

 private:
  [[nodiscard]] bool is_in_place() const;

  std::string path_{};
  ProfileHead head_{};
  int file_ = -1;
};

/// Reads the profile at this path, so that its measurement can continue; empty if the file does not
/// exist. Throws Error if the file exists and `resume` is false.
[[nodiscard]] std::optional<Profile> existing_profile(const std::string& path, bool resume);

/// Returns the default path for a model's profile on this device: `profiles/resnet50-fp32@Tesla-V100.profile` in the data
/// directory (data_directory). Creates the folder. With the autocast recipe, `-autocast` follows the precision. The name of
/// a shard ends in `.3-of-16`, so that the shard is not mistaken for the whole profile. Throws Error if no environment
/// variable gives the data directory, or if the folder cannot be created.
[[nodiscard]] std::string usual_profile_path(const ProfileHead& head, Precision precision, const std::string& recipe = {});

}  // namespace ddl
