#include "estimator/step/input.hpp"

#include <algorithm>

namespace ddl {

bool fits_local_storage(const Job& job) {
  const Storage& storage = job.machine.storage;
  return !storage.local_capacity || job.dataset_bytes <= *storage.local_capacity;
}

bool fits_host_memory(const Job& job) {
  // Assumed: processes that load and train leave half of it to files.
  constexpr double left_to_files = 0.5;
  const std::optional<Bytes>& memory = job.machine.storage.host_memory;
  return memory && job.dataset_bytes <= *memory * left_to_files;
}

Term input_time(const Job& job, const Plan& plan, const ExchangePrices& exchanges, bool with_slopes) {
  const Storage& storage = job.machine.storage;
  const double samples = static_cast<double>(plan.global_batch);
  if (job.sample_bytes.value() <= 0) return {};

  // Ranks of one split group need the same samples. Either each of them reads them all, or one leader does and sends them on
  // [ParaDL, section VII: I/O and staging]. Only a pipeline's first stage reads.
  const double group = static_cast<double>(plan.mesh.devices()) / plan.mesh.product(batch_axes) / plan.mesh[Axis::pipeline];
  // Of a sample that is stored item by item, a rank reads its tile.
  const double tiles = job.stored_raw ? static_cast<double>(plan.mesh[Axis::spatial]) : 1.0;
  const double readers = job.assumptions.input_mode == InputMode::leader ? 1.0 : group / tiles;
  const Bytes everything = job.sample_bytes * (samples * readers);
  const double nodes =
      std::max(1.0, static_cast<double>(plan.mesh.devices()) / job.machine.devices_per_node() / plan.mesh[Axis::pipeline]);
  const Bytes per_node = everything / nodes;

  Seconds read{};
  if (fits_host_memory(job)) {
    // Every epoch but the first one finds the files in memory.
  } else if (storage.local_bandwidth && fits_local_storage(job)) {
    read = per_node / *storage.local_bandwidth;
  } else {
    if (storage.shared_per_node) read = per_node / *storage.shared_per_node;
    if (storage.shared_total) read = max(read, everything / *storage.shared_total);
  }
  Term reading(read);
  if (job.assumptions.input_mode == InputMode::leader && group > 1) {
    // Tiles are scattered, one message to each rank, which takes as long as an Allgather's ring; a rank that splits layers
    // needs all of its tile, which is broadcast.
    const double per_sample = job.facts.sample_items * item_bytes(plan.precision);
    const Bytes share(per_sample * samples / plan.mesh.product(batch_axes));
    const auto add = [&](Collective operation, Bytes message, Family axes) {
      const Seconds time = exchanges.price(operation, message, axes, Purpose::halo);
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
