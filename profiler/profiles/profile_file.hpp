#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/measurement/measurement.hpp"

namespace ddl {

/// Which part of a plan a profile has that one of several processes measured (profiler/profiles/shard.hpp).
struct ProfileShard {
  int index = 0, count = 1;   ///< counted from 0
  std::int64_t problems = 0;  ///< that this part is to have
  std::string plan{};         ///< names all that the parts measure together (plan_name)
  [[nodiscard]] bool operator==(const ProfileShard&) const = default;
};

/// What holds for every row of a profile: what was measured, on what, and how.
struct ProfileHead {
  std::string model{};    ///< name of the model whose problems these are; empty where they are of none in particular
  std::string backend{};  ///< `onednn`
  std::string device{};   ///< the vendor's name
  std::string caches{};   ///< `warm`, `cold` or `step`; empty where nobody knows
  std::string layout{};   ///< of images: `channels-last` or `channels-first`; empty where the device has no choice of both
  std::string date{};     ///< `2026-11-21T20:26:49Z`
  std::string host{}, command{};
  std::string source{};                                        ///< of an imported or merged profile: what it was made of
  std::optional<ProfileShard> shard{};                         ///< nothing: this is all that was asked for
  std::vector<std::pair<std::string, std::string>> details{};  ///< libraries, driver, clocks, threads
};

/// One measurement, and how many layers of the model run it in an iteration. The line of a problem is that of a kernel
/// (print_problem) or, for the model run as a whole, that of a sequence (profiler/measurement/sequence.hpp).
struct ProfileRow {
  Measurement measurement{};
  int layers = 0;  ///< 0: of no model in particular
  Seconds
      reference_kernel{};  ///< of the speed watch around it (profiler/measurement/speed_watch.hpp); 0 where nobody looked
  DeviceState state{};     ///< just after it
  std::int64_t place = 0;  ///< in the plan that several parts measure; only in a shard
};

struct Profile {
  ProfileHead head{};
  std::vector<ProfileRow> rows{};
  int cut_line = 0;  ///< the last line of the file where it has no end, which is not read; 0: it has one
};

/// Takes the layout out of the details, among which devices and older profiles have it.
void move_layout(ProfileHead& head);

/// The rows as they would have been had the device run at full speed all the time: each time is multiplied by what the speed
/// watch saw at full speed over what it saw around the row, where that is less than one. Full speed is the fastest tenth of
/// all looks.
[[nodiscard]] Profile at_full_speed(Profile profile);

/// A profile is text: a YAML head, a line `---`, and a CSV table with one row a problem, which grows as problems are
/// measured. The head with the name of the columns:
[[nodiscard]] std::string print_profile_head(const ProfileHead& head);
/// One line of the table, with its line break.
[[nodiscard]] std::string print_profile_row(const ProfileHead& head, const ProfileRow& row);
[[nodiscard]] std::string print_profile(const Profile& profile);

/// Seconds of one problem: what is shorter counts as no time, what is longer is refused. Sums and ratios of times between
/// them are numbers.
inline constexpr double shortest_time = 1e-18;
inline constexpr double longest_time = 1e15;

/// Reads one. A last line without its line break is what a crash left: it is not read, and named in `cut_line`. Where a
/// problem has several rows the last one stands. Errors are placed: another version, unknown keys and columns, malformed
/// numbers, times that are none, an interval that does not hold its median.
[[nodiscard]] Profile parse_profile(const std::string& text, const std::string& origin);
[[nodiscard]] Profile load_profile(const std::string& path);

/// The part of a profile's text that is whole: up to its last line break.
[[nodiscard]] std::string_view whole_lines(std::string_view text);

}  // namespace ddl
