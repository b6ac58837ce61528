#include "estimator/step/input.hpp"

#include <algorithm>

namespace ddl {

bool fits_local_storage(const Job& job) {
  const Storage& storage = job.machine.storage;
  return !storage.local_capacity || job.dataset_bytes <= *storage.local_capacity;
}

bool fits_host_memory(const Job& job) {
  // Assumption: half of the host's memory is available as file cache.
  constexpr double left_to_files = 0.5;
  const std::optional<Bytes>& memory = job.machine.storage.host_memory;
  return memory && job.dataset_bytes <= *memory * left_to_files;
}

namespace {

/// Returns the number of ranks of one split group, which need the same samples. In a pipeline, only
/// the first stage reads samples.
double split_group(const Plan& plan) {
  return static_cast<double>(plan.mesh.devices()) / plan.mesh.product(batch_axes) / plan.mesh[Axis::pipeline];
}

}  // namespace

Seconds file_time(const Job& job, const Plan& plan) {
  const Storage& storage = job.machine.storage;
  // Every epoch except the first reads the files from memory.
  if (job.sample_bytes.value() <= 0 || fits_host_memory(job)) return {};
  // Either each rank of a split group reads all samples, or one leader reads the samples and sends them to the other ranks
  // [ParaDL, section VII: I/O and staging]. If samples are stored item by item, a rank reads only its tile.
  const double tiles = job.stored_raw ? static_cast<double>(plan.mesh[Axis::spatial]) : 1.0;
  const double readers = job.assumptions.input_mode == InputMode::leader ? 1.0 : split_group(plan) / tiles;
  const Bytes everything = job.sample_bytes * (static_cast<double>(plan.global_batch) * readers);
  const double nodes =
      std::max(1.0, static_cast<double>(plan.mesh.devices()) / job.machine.devices_per_node() / plan.mesh[Axis::pipeline]);
  const Bytes per_node = everything / nodes;

  if (storage.local_bandwidth && fits_local_storage(job)) return per_node / *storage.local_bandwidth;
  Seconds read{};
  if (storage.shared_per_node) read = per_node / *storage.shared_per_node;
  if (storage.shared_total) read = max(read, everything / *storage.shared_total);
  return read;
}

Term input_time(const Job& job, const Plan& plan, const ExchangeTimes& exchanges, bool with_slopes) {
  if (job.sample_bytes.value() <= 0) return {};
  Term reading(file_time(job, plan));
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
