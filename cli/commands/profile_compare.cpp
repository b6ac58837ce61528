#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/commands/commands.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "profiler/profiles/profile_comparison.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {
namespace {

constexpr std::int64_t rows_of_each = 10, most_rows_of_each = 1'000'000;

struct CompareRequest {
  std::string first, second;
  std::optional<std::int64_t> top{};
};

/// Two profiles, and the result of comparing them.
struct ComparedProfiles {
  Profile first, second;
  ProfileComparison comparison;
};

/// Formats the second time divided by the first time, such as `6.0`.
std::string times_text(Seconds first, Seconds second) {
  return first > Seconds(0) ? fmt::format("{:.2f}", second / first) : "-";
}

/// Formats the second time minus the first time, such as `+35.1 ms`. Times that are equal after
/// rounding have a difference of zero.
std::string difference_text(Seconds first, Seconds second) {
  const Seconds difference = second - first;
  if (difference == Seconds(0) || std::abs(difference / first) < 1e-6) return "0 s";
  return difference < Seconds(0) ? "-" + humanize(difference * -1) : "+" + humanize(difference);
}

std::string profile_text(const Profile& profile) {
  return fmt::format("{} on {}", profile.head.backend.empty() ? "?" : profile.head.backend,
                     profile.head.device.empty() ? "?" : profile.head.device);
}

Table operations_table(const ProfileComparison& comparison, std::size_t most) {
  Table table({essential(words("operation")), essential(words("pass")), figures("layers"), essential(figures("first")),
               essential(figures("second")), essential(figures("times")), figures("difference")});
  for (std::size_t i = 0; i < std::min(most, comparison.operations.size()); ++i) {
    const ComparedOperation& each = comparison.operations[i];
    table.add({each.operation, each.pass, with_thousands(each.kernels), humanize(each.first), humanize(each.second),
               times_text(each.first, each.second), difference_text(each.first, each.second)});
  }
  return table;
}

Table kernels_table(const ProfileComparison& comparison, std::size_t most) {
  Table table({essential(figures("times")), figures("difference"), words("pass"), essential(prose("kernel of the first")),
               essential(prose("kernel of the second")), essential(prose("problem"))});
  for (std::size_t i = 0; i < std::min(most, comparison.kernels.size()); ++i) {
    const ComparedKernel& each = comparison.kernels[i];
    table.add({times_text(each.first, each.second), difference_text(each.first, each.second), each.pass,
               each.first_algorithm, each.second_algorithm, each.problem});
  }
  return table;
}

Document document_of(const ComparedProfiles& compared, std::size_t most) {
  const ProfileComparison& comparison = compared.comparison;
  Document document;
  document.line(compared.first.head.model,
                fmt::format("{}{} in both profiles", compared.first.head.model.empty() ? "" : ": ",
                            count_text(static_cast<std::int64_t>(comparison.kernels.size()), "kernel")));
  Table sums({words("profile"), words("measured by"), figures("kernel time"), figures("times"), figures("only here")});
  sums.add({"first", profile_text(compared.first), humanize(comparison.first), "1.00",
            with_thousands(static_cast<std::int64_t>(comparison.only_first))});
  sums.add({"second", profile_text(compared.second), humanize(comparison.second),
            times_text(comparison.first, comparison.second),
            with_thousands(static_cast<std::int64_t>(comparison.only_second))});
  document.apart(std::move(sums));
  document.section("Operations, largest difference first");
  document.add(operations_table(comparison, most));
  document.section("Kernels, largest difference first");
  document.add(kernels_table(comparison, most));
  return document;
}

Json profile_json(const Profile& profile, Seconds sum, std::size_t only_here) {
  return {{"model", profile.head.model},
          {"backend", profile.head.backend},
          {"device", profile.head.device},
          {"kernels_s", sum.value()},
          {"only_here", only_here}};
}

Json json_of(const ComparedProfiles& compared) {
  const ProfileComparison& comparison = compared.comparison;
  Json json = json_head();
  json["first"] = profile_json(compared.first, comparison.first, comparison.only_first);
  json["second"] = profile_json(compared.second, comparison.second, comparison.only_second);
  json["operations"] = json_list(comparison.operations, [](const ComparedOperation& each) -> Json {
    return {{"operation", each.operation},
            {"pass", each.pass},
            {"layers", each.kernels},
            {"first_s", each.first.value()},
            {"second_s", each.second.value()}};
  });
  json["kernels"] = json_list(comparison.kernels, [](const ComparedKernel& each) -> Json {
    return {{"problem", each.problem},
            {"pass", each.pass},
            {"layers", each.layers},
            {"first_s", each.first.value()},
            {"second_s", each.second.value()},
            {"first_algorithm", each.first_algorithm},
            {"second_algorithm", each.second_algorithm}};
  });
  return json;
}

Report compare_files(const CompareRequest& asked) {
  auto compared = std::make_shared<ComparedProfiles>();
  compared->first = load_profile(asked.first);
  compared->second = load_profile(asked.second);
  compared->comparison = compare_profiles(compared->first, compared->second);
  Report report;
  report.document = document_of(*compared, static_cast<std::size_t>(asked.top.value_or(rows_of_each)));
  report.json = [compared] { return json_of(*compared); };
  return report;
}

}  // namespace

void add_profile_compare(const Command& profile, Request& request) {
  const Command command = profile.add_subcommand("compare", "compare the kernel times of two profiles");
  const auto asked = std::make_shared<CompareRequest>();
  command.examples({{"ddl-oracle profile compare net.profile traced.profile", "kernels of this program and of a framework"},
                    {"ddl-oracle profile compare net.profile traced.profile --top 50", "50 rows of each table"},
                    {"ddl-oracle profile compare net.profile traced.profile --format json", "all kernels, for programs"}});
  command.add_option("first", asked->first, "profile from 'profile', 'profile import' or 'profile merge'").required().file();
  command.add_option("second", asked->second, "second profile, of the same model, samples and precision").required().file();
  add_whole_number(command, "--top", asked->top, 1, most_rows_of_each, "rows of each table")
      .default_str(std::to_string(rows_of_each));
  add_format_option(command, request.report);
  request.on_choice(command, [asked] { return compare_files(*asked); });
}

}  // namespace ddl
