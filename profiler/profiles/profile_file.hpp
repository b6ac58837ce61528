#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/measurement/measurement.hpp"

namespace ddl {

/// The part of a plan that a profile contains if several processes measure the plan (profiler/profiles/shard.hpp).
struct ProfileShard {
  int index = 0, count = 1;   ///< index of the part, counted from 0
  std::int64_t problems = 0;  ///< number of problems of the part
  std::string plan{};         ///< identifies the whole plan (plan_name)
  [[nodiscard]] bool operator==(const ProfileShard&) const = default;
};

/// Properties of all rows of a profile: what was measured, on what device, and how.
struct ProfileHead {
  std::string model{};    ///< name of the model that has these problems; empty if they belong to no particular model
  std::string backend{};  ///< `onednn`
  std::string device{};   ///< the vendor's name
  std::string caches{};   ///< `warm`, `cold` or `step`; empty if unknown
  std::string layout{};   ///< memory format of images: `channels-last` or `channels-first`; empty without a choice
  std::string date{};     ///< `2026-11-21T20:26:49Z`
  std::string host{}, command{};
  std::string source{};                                        ///< source of an imported or merged profile
  std::optional<ProfileShard> shard{};                         ///< unset: the profile is complete
  std::vector<std::pair<std::string, std::string>> details{};  ///< libraries, driver, clocks, threads
};

/// One measurement, and the number of the model's layers that run its problem in a step. For a kernel, the problem's line is
/// that of print_problem. For a part of a whole step, the line describes a sequence (profiler/measurement/sequence.hpp).
struct ProfileRow {
  Measurement measurement{};
  int layers = 0;              ///< 0: the problem belongs to no particular model
  Seconds reference_kernel{};  ///< time of the speed watch's kernel around this row (profiler/measurement/speed_watch.hpp);
                               ///< 0 if not measured
  DeviceState state{};         ///< state of the device just after the measurement
  std::int64_t place = 0;      ///< index in the plan that several processes measure; only in a shard
};

struct Profile {
  ProfileHead head{};
  std::vector<ProfileRow> rows{};
  int cut_line = 0;  ///< number of an incomplete last line of the file, which is ignored; 0: the last line is complete
};

/// Moves the layout of images from the details, where DeviceInfo and older profiles store it, to `layout`.
void move_layout(ProfileHead& head);

/// Returns the times that the device would have had at full speed. A reference kernel was timed
/// around each row. If this kernel took longer than at full speed, the times of the row are divided
/// by its slowdown. Full speed is the fastest tenth of readings.
[[nodiscard]] Profile at_full_speed(Profile profile);

/// Prints the header of a profile, with the names of the columns. A profile is text: a YAML header, a line `---`, and a CSV
/// table with one row per problem, which grows as problems are measured.
[[nodiscard]] std::string print_profile_head(const ProfileHead& head);
/// Prints one line of the table, including its line break.
[[nodiscard]] std::string print_profile_row(const ProfileHead& head, const ProfileRow& row);
[[nodiscard]] std::string print_profile(const Profile& profile);

/// The shortest and the longest time of a problem, in seconds. Shorter times count as zero, and
/// longer times are refused. Sums and ratios of times in this range are finite.
inline constexpr double shortest_time = 1e-18;
inline constexpr double longest_time = 1e15;

/// Parses a profile. An incomplete last line is the result of a crash; it is ignored, and reported in `cut_line`. If a
/// problem has several rows, the last one is used. Throws Error with a position in the file for another version, unknown
/// keys and columns, malformed numbers, invalid times, and an interval that does not contain its median.
[[nodiscard]] Profile parse_profile(const std::string& text, const std::string& origin);
[[nodiscard]] Profile load_profile(const std::string& path);

/// Returns a profile's text up to its last line break, which leaves out an incomplete last line.
[[nodiscard]] std::string_view whole_lines(std::string_view text);

}  // namespace ddl
