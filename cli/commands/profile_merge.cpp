#include "profiler/profiles/profile_merge.hpp"

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/split_scaling.hpp"
#include "cli/commands/commands.hpp"
#include "cli/documents/profile.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/figures.hpp"
#include "core/find.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

struct MergeRequest {
  std::vector<std::string> parts;
  std::string output;
  bool partial = false, overwrite = false;
};

std::vector<std::string> warnings_of(const MergedProfile& merged) {
  std::vector<std::string> warnings;
  if (!merged.missing_shards.empty()) {
    warnings.push_back(fmt::format("{} missing: {}",
                                   merged.missing_shards.size() == 1 ? "this shard is" : "these shards are",
                                   fmt::join(merged.missing_shards, ", ")));
  }
  if (merged.missing_problems > 0)
    warnings.push_back(fmt::format("the other shards lack {}", count_text(merged.missing_problems, "problem")));
  return warnings;
}

Report merge(const MergeRequest& asked, const std::string& command) {
  MergedProfile merged = merge_profiles(asked.parts, asked.partial);
  auto result = std::make_shared<ProfileResult>();
  result->warnings = warnings_of(merged);
  result->profile = std::move(merged.profile);
  const Profile& profile = result->profile;
  result->profile.head.command = command;
  result->output = asked.output;
  result->items = profile.rows.size();
  result->merged_shards = static_cast<int>(asked.parts.size());
  result->asked.resize(profile.rows.size());
  std::iota(result->asked.begin(), result->asked.end(), std::size_t{0});
  result->steadiness = steadiness_of(profile);
  // If the model comes from a user's file, the profile contains only the name of the model.
  const std::vector<std::string> bundled = model_names();
  if (contains(bundled, profile.head.model.substr(0, profile.head.model.find('@')))) {
    const Model model = load_model(profile.head.model);
    result->sum_checks = sum_checks(profile, model);
    result->splits = split_scalings(profile, model);
  }
  if (is_file(asked.output)) {
    if (!asked.overwrite) refuse_existing(asked.output, "--overwrite replaces it");
    write_output(asked.output, print_profile(profile));
    return profile_report(result);
  }
  Report report = profile_report(result);
  report.document = {{Verbatim{print_profile(result->profile)}}};
  return report;
}

}  // namespace

void add_profile_merge(const Command& profile, Request& request) {
  const Command command = profile.add_subcommand("merge", "merge the shards of a profile");
  const auto asked = std::make_shared<MergeRequest>();
  command.examples(
      {{"ddl-oracle profile merge part-0.profile part-1.profile -o net.profile", "the shards of a profile in one file"},
       {"ddl-oracle profile merge part-0.profile --partial -o net.profile", "only the available shards"},
       {"ddl-oracle profile merge part-0.profile part-1.profile -o net.profile --overwrite", "overwrites a file"}});
  command.add_option("parts", asked->parts, "profiles of 'profile MODEL --shard 0/16' to '15/16', in any order")
      .required()
      .file();
  add_output_option(command, asked->output, "write the profile to this file; default: the standard output");
  command.add_switch("--partial", asked->partial, "merge the available shards, even if others are missing or incomplete");
  command.add_switch("--overwrite", asked->overwrite, "overwrite an existing profile");
  add_format_option(command, request.report, {Content::rows});
  request.on_choice(command, [asked, &request] { return merge(*asked, request.command); });
}

}  // namespace ddl
