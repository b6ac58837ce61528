#include "estimator/step/input.hpp"

#include <algorithm>
#include <cmath>

namespace ddl {
namespace {

bool fits_disk(const Storage& storage, Bytes held) { return !storage.local_capacity || held <= *storage.local_capacity; }

bool fits_memory(const Storage& storage, Bytes held) {
  // Assumption: half of the host's memory is available as file cache.
  constexpr double left_to_files = 0.5;
  return storage.host_memory && held <= *storage.host_memory * left_to_files;
}

/// Returns the number of ranks of one split group, which need the same samples. In a pipeline, only
/// the first stage reads samples.
double split_group(const Plan& plan) {
  return static_cast<double>(plan.mesh.devices()) / plan.mesh.product(batch_axes) / plan.mesh[Axis::pipeline];
}

/// Returns how often the samples of a split group are read. Either each rank of the group reads all samples, or one leader
/// reads the samples and sends them to the other ranks [ParaDL, section VII: I/O and staging]. If samples are stored item by
/// item, a rank reads only its tile.
double readers_of(const Job& job, const Plan& plan) {
  if (job.assumptions.input_mode == InputMode::leader) return 1;
  return split_group(plan) / (job.stored_raw ? static_cast<double>(plan.mesh[Axis::spatial]) : 1.0);
}

/// The share of its samples that a rank exchanges with other ranks in each epoch.
double exchanged_share(const Job& job, const Plan& plan) {
  const bool exchanges = job.assumptions.staging == Staging::shards && plan.mesh[Axis::data] > 1;
  return exchanges ? job.assumptions.exchanged_samples : 0;
}

/// Returns the time of sending the samples that a rank exchanges during a step, each to one other rank. The ranks use their
/// links as in an All-to-all, with one message for each sample [Nguyen et al., IPDPS 2022, section III: Q·b samples a step].
Seconds shuffle_time(const Job& job, const Plan& plan, const ExchangeTimes& exchanges) {
  const double samples = exchanged_share(job, plan) * static_cast<double>(plan.global_batch) / plan.mesh.product(batch_axes);
  if (samples <= 0) return {};
  const Family axes = family_bit(Axis::data);
  const Bytes sent = job.sample_bytes * samples;
  const Seconds startups = exchanges.startup(Collective::all_to_all, sent, axes, Purpose::halo);
  const double messages = std::min(1.0, samples / (plan.mesh[Axis::data] - 1.0));
  return exchanges.time(Collective::all_to_all, sent, axes, Purpose::halo) - startups * (1 - messages);
}

}  // namespace

std::optional<Bandwidth> shared_rate_of_node(const Machine& machine) {
  const Storage& storage = machine.storage;
  if (storage.shared_per_node) return storage.shared_per_node;
  if ((!storage.shared_total && !storage.shared_files) || machine.levels.size() < 2) return std::nullopt;
  return machine.levels[1].bandwidth * machine.levels[1].rails;
}

double reading_nodes(const Job& job, const Plan& plan) {
  return std::max(1.0,
                  static_cast<double>(plan.mesh.devices()) / job.machine.devices_per_node() / plan.mesh[Axis::pipeline]);
}

Bytes bytes_on_node(const Job& job, const Plan& plan) {
  if (job.assumptions.staging != Staging::shards) return job.dataset_bytes;
  const double share = readers_of(job, plan) * (1 + exchanged_share(job, plan)) / reading_nodes(job, plan);
  return job.dataset_bytes * std::min(1.0, share);
}

SamplePlace sample_place(const Job& job, const Plan& plan) {
  const Storage& storage = job.machine.storage;
  const Bytes held = bytes_on_node(job, plan);
  if (fits_memory(storage, held)) return SamplePlace::host_memory;
  return storage.local_bandwidth && fits_disk(storage, held) ? SamplePlace::local_disk : SamplePlace::shared_storage;
}

bool fits_local_storage(const Job& job) { return fits_disk(job.machine.storage, job.dataset_bytes); }
bool fits_host_memory(const Job& job) { return fits_memory(job.machine.storage, job.dataset_bytes); }

bool reads_in_no_time(const Job& job, const Plan& plan) {
  const Storage& storage = job.machine.storage;
  if (!job.assumptions.include_input || job.sample_bytes <= Bytes{}) return false;
  // Tokens have a few bytes each.
  if (job.facts.model->input.sequence && fits_local_storage(job)) return false;
  const bool is_known = storage.shared_per_node || storage.shared_total || storage.shared_files;
  return !is_known && sample_place(job, plan) == SamplePlace::shared_storage;
}

Seconds file_time(const Job& job, const Plan& plan) {
  const Storage& storage = job.machine.storage;
  // Every epoch except the first reads the files from memory.
  if (job.sample_bytes.value() <= 0) return {};
  const SamplePlace place = sample_place(job, plan);
  if (place == SamplePlace::host_memory) return {};
  const double samples = static_cast<double>(plan.global_batch) * readers_of(job, plan);
  const Bytes everything = job.sample_bytes * samples;
  const Bytes per_node = everything / reading_nodes(job, plan);
  // Received samples are written to the disk, assumed as fast as they are read.
  if (place == SamplePlace::local_disk) return per_node * (1 + exchanged_share(job, plan)) / *storage.local_bandwidth;
  Seconds read{};
  if (const auto rate = shared_rate_of_node(job.machine)) read = per_node / *rate;
  if (storage.shared_total) read = max(read, everything / *storage.shared_total);
  if (storage.shared_files) read = max(read, Seconds(samples * job.files_per_sample / *storage.shared_files));
  return read;
}

Term input_time(const Job& job, const Plan& plan, const ExchangeTimes& exchanges, bool with_slopes) {
  if (job.sample_bytes.value() <= 0) return {};
  Term reading(file_time(job, plan));
  if (sample_place(job, plan) != SamplePlace::shared_storage) reading.add(shuffle_time(job, plan, exchanges));
  if (job.assumptions.input_mode == InputMode::leader && split_group(plan) > 1) {
    // Tiles are scattered with one message to each rank, which takes as long as a ring Allgather. Ranks that split layers
    // need the same tile, so each tile is broadcast to the ranks that need it.
    const double per_sample = job.facts.sample_items * item_bytes(plan.precision);
    const Bytes share(per_sample * static_cast<double>(plan.global_batch) / plan.mesh.product(batch_axes));
    const auto add = [&](Collective operation, Bytes message, Family axes) {
      const Seconds time = exchanges.time(operation, message, axes, Purpose::halo);
      if (!with_slopes) return reading.add(time);
      const Seconds startups = exchanges.startup(operation, message, axes, Purpose::halo);
      reading.add_exchange(path_coefficients(Purpose::halo), time, startups, exchanges.learned());
    };
    add(Collective::allgather, share, family_bit(Axis::spatial));
    add(Collective::broadcast, share / plan.mesh[Axis::spatial], weight_axes);
  }
  return reading;
}

}  // namespace ddl
