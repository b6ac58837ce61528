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

/// Pixels that one core of a host of speed 1 decodes in a second. Pillow: a JPEG of 512 by 512 pixels takes 3.19 ms, one of
/// 1024 by 1024 12.29 ms, on an A10G instance of AWS [huggingface/transformers#45195], whose EPYC 7R32 has the cores of the
/// EPYC 7742 of DGX A100 (from memory). Others: their images per second relative to Pillow's 537 on an EPYC 9B14, OpenCV
/// 664, TensorFlow 596 [Iglovikov and Kosarevsky, arXiv 2605.08731].
double pixel_rate(ImageLoader loader) {
  constexpr double pillow = 84e6;
  switch (loader) {
    case ImageLoader::opencv:
      return pillow * 664 / 537;
    case ImageLoader::tensorflow:
      return pillow * 596 / 537;
    case ImageLoader::pillow:
    case ImageLoader::device:
      break;
  }
  return pillow;
}

/// Seconds of one core of a host of speed 1 for each element of a sample: torchvision's crop, resize, flip, conversion to
/// float and normalization of an image take 1,997 us for 3 * 224 * 224 elements [pytorch/vision#7497, tensors, v1, without
/// AutoAugment and erasing]. Assumed for other libraries.
constexpr double transform_time = 1997e-6 / (3 * 224 * 224);

/// Seconds of a host of speed 1 for each element of a sample that a policy changes by Pillow, in Python. Inferred from two
/// runs of mindspore-lab/mindcv whose steps take as long on Ascend 910 as on 910B, so that they wait for their host:
/// EfficientNet-B0 (AutoAugment, 128 images of 224 by 224 pixels in 173.5 ms) and Swin-T (RandAugment of two operations, 256
/// in 454 ms), at the host_speed of these machines.
double augmentation_time(Augmentation augmentation) {
  constexpr double host_speed = 0.72, items = 3 * 224 * 224;
  switch (augmentation) {
    case Augmentation::autoaugment:
      return 0.1735 / 128 * host_speed / items;
    case Augmentation::randaugment:
      return 0.454 / 256 * host_speed / items;
    case Augmentation::none:
      break;
  }
  return 0;
}

/// How much workers that decode images slow down each other: u workers on each core decode u / (1 + crowding * u) times as
/// many images as one worker on one core. Workers of Pillow are processes, which send their images to the rank: eight
/// processes of PyTorch's DataLoader on eight cores decode 2.2 (1,521 / 690, EPYC 9B14), 2.4 (1,754 / 735, Xeon 8581C)
/// and 3.2 (2,739 / 857, EPYC 9B45) times as many images as one thread, 0.32 for each core on average [Iglovikov and
/// Kosarevsky, arXiv 2605.08731, simplejpeg]. Workers of OpenCV and TensorFlow are assumed to be threads, which share
/// memory.
double crowding(ImageLoader loader) { return loader == ImageLoader::pillow ? 1 / 0.32 - 1 : 0; }

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

namespace {

/// The cores that decode a plan's images, and the workers on each of these cores.
struct Decoders {
  double cores = 0;  ///< cores of a node; 0 if no host decodes images, or if the datasheet does not state them
  double workers = 0;
  double ranks = 0;  ///< ranks of a node that read samples
};
Decoders decoders_of(const Job& job, const Plan& plan) {
  const Software& software = job.coefficients.software;
  const std::optional<HostPath>& host = job.machine.host;
  if (job.image_pixels <= 0 || !host || !host->cores_per_device) return {};
  if (!software.image_loader || *software.image_loader == ImageLoader::device) return {};
  const double ranks = static_cast<double>(plan.mesh.devices()) / plan.mesh[Axis::pipeline] / reading_nodes(job, plan);
  const double cores = *host->cores_per_device * job.machine.devices_per_node();
  const double workers = ranks * software.loader_workers.value_or(*host->cores_per_device);
  return {cores, std::min(1.0, workers / cores), ranks};
}

}  // namespace

double decoding_rate(const Job& job, const Plan& plan) {
  const Decoders decoders = decoders_of(job, plan);
  if (decoders.cores <= 0) return 0;
  const ImageLoader loader = *job.coefficients.software.image_loader;
  const double augmented = job.facts.sample_items * augmentation_time(job.coefficients.software.augmentation);
  // Python runs a policy in one thread of a process at a time, even if other threads decode.
  const bool has_processes = loader == ImageLoader::pillow;
  const double transformed = job.facts.sample_items * transform_time + (has_processes ? augmented : 0);
  const double image = job.image_pixels / pixel_rate(loader) + transformed;
  const double speed = job.machine.device.host_speed;
  const double rate = speed / image * decoders.cores * decoders.workers / (1 + crowding(loader) * decoders.workers);
  return has_processes || augmented <= 0 ? rate : std::min(rate, speed / augmented * decoders.ranks);
}

Seconds decoding_time(const Job& job, const Plan& plan) {
  const double rate = job.assumptions.decodes_images ? decoding_rate(job, plan) : 0;
  if (rate <= 0) return {};
  return Seconds(static_cast<double>(plan.global_batch) * readers_of(job, plan) / reading_nodes(job, plan) / rate);
}

Seconds reading_time(const Job& job, const Plan& plan) {
  const Seconds files = file_time(job, plan), decoding = decoding_time(job, plan);
  return job.assumptions.input_overlapped ? max(files, decoding) : files + decoding;
}

Term input_time(const Job& job, const Plan& plan, const ExchangeTimes& exchanges, bool with_slopes) {
  if (job.sample_bytes.value() <= 0) return {};
  Term reading(reading_time(job, plan));
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
