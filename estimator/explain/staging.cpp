#include "estimator/explain/staging.hpp"

#include "estimator/step/input.hpp"

namespace ddl {

std::optional<StagedData> staged_data(const Job& job, const Plan& plan) {
  const Assumptions& assumptions = job.assumptions;
  if (assumptions.staging == Staging::none || !assumptions.include_input || job.dataset_bytes <= Bytes{})
    return std::nullopt;
  const Storage& storage = job.machine.storage;
  const SamplePlace place = sample_place(job, plan);
  StagedData staged{.per_node = bytes_on_node(job, plan), .fits = place != SamplePlace::shared_storage};
  if (!staged.fits || (!storage.shared_per_node && !storage.shared_total && !storage.shared_files)) return staged;
  // Samples that a rank receives during the training are not copied.
  const bool is_whole = assumptions.staging == Staging::whole;
  const Bytes copied = is_whole ? staged.per_node : staged.per_node / (1 + assumptions.exchanged_samples);
  const Bytes together = copied * reading_nodes(job, plan);
  Seconds time{};
  if (const auto rate = shared_rate_of_node(job.machine)) time = copied / *rate;
  if (storage.shared_total) time = max(time, together / *storage.shared_total);
  if (storage.shared_files)
    time = max(time, Seconds(together / job.sample_bytes * job.files_per_sample / *storage.shared_files));
  if (place == SamplePlace::local_disk) time = max(time, copied / *storage.local_bandwidth);
  staged.time = time;
  return staged;
}

}  // namespace ddl
