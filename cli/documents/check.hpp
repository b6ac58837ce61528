#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cli/commands/job_check.hpp"
#include "cli/formats/style.hpp"

namespace ddl {

// One file each: check_text, check_json, check_junit, check_github.

/// What each job needs, item by item, and what else would fit. Jobs with a problem are left out: it is told as an error.
[[nodiscard]] std::string checks_text(const std::vector<JobCheck>& checks, const Style& style);
/// An object for each job.
[[nodiscard]] nlohmann::ordered_json checks_to_json(const std::vector<JobCheck>& checks);
/// A test case for each job, as XML.
[[nodiscard]] std::string checks_junit(const std::vector<JobCheck>& checks);
/// An annotation for each job, as a workflow command of GitHub [docs.github.com, "Workflow commands for GitHub Actions"].
[[nodiscard]] std::string checks_github(const std::vector<JobCheck>& checks);

/// `needs 12.3 GiB, at most 14.0 GiB, of 79.3 GiB`
[[nodiscard]] std::string need_text(const JobCheck& check);
/// The item with most bytes: `23.7 GiB of it activations`
[[nodiscard]] std::string largest_item_text(const JobCheck& check);
/// Batch, devices and remedies, a sentence each.
[[nodiscard]] std::string largest_batch_text(const JobCheck& check);
[[nodiscard]] std::string fewest_gpus_text(const JobCheck& check);
/// What is to be changed, in the words of a job: `micro_batches: 4`.
[[nodiscard]] std::string remedy_text(const JobCheck& check, const Remedy& remedy);

}  // namespace ddl
