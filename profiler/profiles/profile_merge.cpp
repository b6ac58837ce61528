#include "profiler/profiles/profile_merge.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// Details that describe a device at one moment, and may differ between shards. All other details
/// describe what was measured, and with which software.
constexpr std::array<std::string_view, 7> passing_details{
    "event floor", "SM clock", "SM clock of applications", "memory clock", "temperature", "power limit", "slowed down by"};

bool is_passing(const std::string& key) {
  return std::find(passing_details.begin(), passing_details.end(), key) != passing_details.end();
}

struct Part {
  std::string path, text;
  Profile profile;

  [[nodiscard]] const ProfileHead& head() const { return profile.head; }
  [[nodiscard]] const ProfileShard& shard() const { return *profile.head.shard; }
  [[nodiscard]] std::string name() const { return fmt::format("shard {}/{}", shard().index, shard().count); }
  /// An error that points to a key of the header, or to the start of the file if the header does not have the key.
  [[nodiscard]] Error error(std::string_view key, const std::string& message, const std::string& hint) const {
    std::size_t at = text.find(fmt::format("\n{}:", key));
    if (at == std::string::npos) at = text.find(fmt::format("\n  \"{}\":", key));
    return SourceText(text, path).error(at == std::string::npos ? 0 : text.find_first_not_of("\n ", at), message, hint);
  }
};

Part load_part(const std::string& path) {
  Part part{.path = path, .text = read_file(path, CsvTable::max_bytes), .profile = {}};
  part.profile = parse_profile(part.text, path);
  if (!part.profile.head.shard) {
    throw part.error(
        "format", "this profile is not a shard",
        "'profile MODEL --shard 0/4' measures shards; whole profiles can be used together: --profile A --profile B");
  }
  return part;
}

/// Throws Error if two headers belong to different measurements.
void require_same_question(const Part& part, const Part& first) {
  const auto same = [&](std::string_view key, std::string_view what, const std::string& value, const std::string& expected) {
    if (value == expected) return;
    const auto shown = [](const std::string& text) { return text.empty() ? std::string("none") : quote(text); };
    throw part.error(
        key, fmt::format("the {} is {}, but that of {} is {}", what, shown(value), first.path, shown(expected)),
        "the shards of a profile must be measured on the same kind of device, with the same libraries and options");
  };
  same("backend", "back end", part.head().backend, first.head().backend);
  same("device", "device", part.head().device, first.head().device);
  same("model", "model", part.head().model, first.head().model);
  same("caches", "state of the caches", part.head().caches, first.head().caches);
  same("layout", "layout", part.head().layout, first.head().layout);
  std::map<std::string, std::string> details, expected;
  for (const auto& [key, value] : part.head().details) details[key] = value;
  for (const auto& [key, value] : first.head().details) expected[key] = value;
  for (const auto& [key, value] : expected) details.try_emplace(key);
  for (const auto& [key, value] : details) {
    if (!is_passing(key)) same(key, key, value, expected[key]);
  }
  if (part.shard().plan != first.shard().plan || part.shard().count != first.shard().count) {
    throw part.error("shard", fmt::format("{} and {} are shards of different lists of kernels", part.path, first.path),
                     fmt::format("use the same options except --shard: {} was measured by '{}', {} by '{}'", part.path,
                                 part.head().command, first.path, first.head().command));
  }
}

/// Joins the distinct values, in the order of the parts.
template <class ValueOf>
std::string listed(std::span<const Part> parts, const ValueOf& value_of) {
  std::vector<std::string> values;
  for (const Part& part : parts) {
    std::string value = value_of(part);
    if (!value.empty() && std::find(values.begin(), values.end(), value) == values.end()) values.push_back(std::move(value));
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

ProfileHead merged_head(std::span<const Part> parts) {
  ProfileHead head = parts.front().head();
  head.shard.reset();
  for (const Part& part : parts) head.date = std::max(head.date, part.head().date);
  head.host = listed(parts, [](const Part& part) { return part.head().host; });
  head.source = fmt::format("{} of {} shards", parts.size(), parts.front().shard().count);
  for (auto& [key, value] : head.details) {
    if (!is_passing(key)) continue;
    value = listed(parts, [&wanted = key](const Part& part) {
      for (const auto& [name, its] : part.head().details) {
        if (name == wanted) return its;
      }
      return std::string();
    });
  }
  return head;
}

/// A list of up to five indices for a message.
std::string list_of(const std::vector<int>& indices) {
  constexpr std::size_t shown = 5;
  const std::size_t count = std::min(shown, indices.size());
  std::string text =
      fmt::format("{}", fmt::join(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(count), ", "));
  if (count < indices.size()) text += fmt::format(" and {} more", indices.size() - count);
  return text;
}

}  // namespace

MergedProfile merge_profiles(const std::vector<std::string>& paths, bool partial) {
  std::vector<Part> parts;
  for (const std::string& path : paths) {
    Part part = load_part(path);
    if (!parts.empty()) require_same_question(part, parts.front());
    const auto same = std::find_if(parts.begin(), parts.end(),
                                   [&](const Part& other) { return other.shard().index == part.shard().index; });
    if (same != parts.end()) {
      throw part.error("shard", fmt::format("{} was already given in {}", part.name(), same->path), "pass each shard once");
    }
    parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.shard().index < b.shard().index; });

  MergedProfile merged;
  std::map<std::int64_t, const ProfileRow*> rows;
  for (const Part& part : parts) {
    for (const ProfileRow& row : part.profile.rows) {
      const auto [found, is_new] = rows.emplace(row.place, &row);
      if (!is_new) {
        throw part.error("shard",
                         fmt::format("two rows have the index {} in the list of problems: {} and {}", row.place,
                                     quote(found->second->measurement.problem), quote(row.measurement.problem)),
                         "measure this shard again, with --overwrite");
      }
    }
    const auto there = static_cast<std::int64_t>(part.profile.rows.size());
    const std::int64_t missing = part.shard().problems - std::min(there, part.shard().problems);
    if (missing > 0 && !partial) {
      throw part.error("shard", fmt::format("{} has {} of its {} problems", part.name(), there, part.shard().problems),
                       "measure the rest by its command with --resume, or merge the available rows with --partial");
    }
    merged.missing_problems += missing;
  }
  const int count = parts.front().shard().count;
  auto next = parts.begin();
  for (int index = 0; index < count; ++index) {
    if (next != parts.end() && next->shard().index == index) {
      ++next;
    } else {
      merged.missing_shards.push_back(index);
    }
  }
  if (!merged.missing_shards.empty() && !partial) {
    const bool one = merged.missing_shards.size() == 1;
    throw Error(fmt::format("{} {} of {} {} missing", one ? "shard" : "shards", list_of(merged.missing_shards), count,
                            one ? "is" : "are"),
                fmt::format("measure the shard like {}, with --shard {}/{}, or merge the available shards with --partial",
                            parts.front().path, merged.missing_shards.front(), count));
  }
  merged.profile.head = merged_head(parts);
  for (const auto& [place, row] : rows) {
    merged.profile.rows.push_back(*row);
    merged.profile.rows.back().place = 0;
  }
  return merged;
}

}  // namespace ddl
