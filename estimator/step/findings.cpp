#include "estimator/step/findings.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/units.hpp"
#include "estimator/step/comparison.hpp"
#include "estimator/strategies/spatial.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 14> names{"compute",
                                                 "gradient exchange",
                                                 "layer-wise collectives",
                                                 "halo exchange",
                                                 "pipeline transfers",
                                                 "bubble",
                                                 "weight update",
                                                 "input",
                                                 "waiting",
                                                 "memory redundancy",
                                                 "replicated work",
                                                 "load imbalance",
                                                 "scaling limit",
                                                 "local storage"};

/// Below this share of the time a cause is not worth a sentence.
constexpr double worth_saying = 0.05;

int whole_percent(double share) { return static_cast<int>(std::lround(share * 100.0)); }

}  // namespace

std::string_view to_string(Finding::Kind kind) { return names[static_cast<std::size_t>(kind)]; }

std::vector<Finding> findings_of(const Job& job, const Estimate& estimate) {
  using Kind = Finding::Kind;
  std::vector<Finding> findings;
  const Breakdown& time = estimate.time;
  const double whole = time.iteration().value();
  if (whole <= 0) return findings;
  const Plan& plan = estimate.plan;

  const auto add_time = [&](Kind kind, Seconds part, const std::string& what) {
    const double share = part.value() / whole;
    if (share >= worth_saying)
      findings.push_back({kind, share, fmt::format("{} takes {} % of the time", what, whole_percent(share))});
  };
  add_time(Kind::compute, time.forward + time.backward, "computing forward and backward");
  add_time(Kind::gradient_exchange, time.gradient_exchange,
           fmt::format("exchanging gradients among {} ranks ({})", plan.mesh.replicas(),
                       plan.zero_stage > 0 ? fmt::format("ZeRO-{}", plan.zero_stage)
                                           : std::string(to_string(estimate.gradient_algorithm))));
  add_time(Kind::layer_collectives, time.layer_collectives, "gathering and summing activations layer by layer");
  add_time(Kind::halo, time.halo, "exchanging halos between tiles");
  add_time(Kind::pipeline, time.pipeline, "sending activations from stage to stage");
  add_time(Kind::bubble, time.bubble,
           fmt::format("waiting in the pipeline ({} stages, {} micro-batch{})", plan.mesh[Axis::pipeline],
                       plan.micro_batches, plan.micro_batches == 1 ? "" : "es"));
  add_time(Kind::weight_update, time.weight_update, "updating weights");
  add_time(Kind::input, time.input, "waiting for samples");
  add_time(Kind::waiting, estimate.host_waiting,
           fmt::format("waiting for the host, which takes {} to start a kernel,", humanize(kernel_start(job))));
  add_time(Kind::waiting, time.waiting - estimate.host_waiting, "waiting for the slowest rank and for the framework");
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) { return a.share > b.share; });
  if (!findings.empty()) findings.front().sentence = "bound by: " + findings.front().sentence;

  if (estimate.replicated_share >= worth_saying && plan.mesh.devices() > 1) {
    std::string sentence =
        fmt::format("{} % of the computing repeats what other ranks compute, or runs below the speed of whole layers",
                    whole_percent(estimate.replicated_share));
    if (plan.mesh[Axis::spatial] > 1) {
      const auto end = static_cast<std::size_t>(spatial_end(job.facts, plan, job.coefficients.software));
      const std::vector<Layer>& layers = job.facts.model->layers;
      if (end < layers.size()) sentence += fmt::format("; the tiles end at {}", layers[end].name);
    }
    findings.push_back({Kind::replicated_work, estimate.replicated_share, std::move(sentence)});
  }
  if (plan.mesh[Axis::pipeline] > 1 && estimate.imbalance >= worth_saying) {
    findings.push_back({Kind::load_imbalance, estimate.imbalance,
                        fmt::format("the longest stage takes {} % more than the mean", whole_percent(estimate.imbalance))});
  }
  const double replicas = plan.mesh.replicas();
  const MemoryBreakdown& memory = estimate.memory;
  const Bytes parameters = memory.weights + memory.gradients + memory.optimizer;
  const double held = memory.total().value() > 0 ? parameters / memory.total() : 0.0;
  if (replicas > 1 && plan.zero_stage == 0 && held >= 0.25) {
    findings.push_back(
        {Kind::memory_redundancy, held,
         fmt::format("{} % of the memory holds weights, gradients and optimizer state that {:.0f} ranks keep alike",
                     whole_percent(held), replicas)});
  }
  if (plan.mesh[Axis::data] > 1 && plan.global_batch <= plan.mesh[Axis::data]) {
    findings.push_back({Kind::scaling_limit, 1.0, "each replica has a single sample: data parallelism ends here"});
  }
  if (static_cast<double>(plan.global_batch) > job.samples_per_epoch) {
    findings.push_back({Kind::scaling_limit, static_cast<double>(plan.global_batch) / job.samples_per_epoch,
                        fmt::format("one iteration takes more samples ({}) than the data set has ({:.0f})",
                                    plan.global_batch, job.samples_per_epoch)});
  }
  const std::optional<Bytes>& capacity = job.machine.storage.local_capacity;
  const Storage& storage = job.machine.storage;
  const bool shared = storage.shared_per_node || storage.shared_total;
  if (capacity && !fits_local_storage(job)) {
    findings.push_back(
        {Kind::local_storage, job.dataset_bytes / *capacity,
         fmt::format("the data set ({}) does not fit a node's own storage ({}): it is read from the shared file system{}",
                     humanize(job.dataset_bytes), humanize(*capacity),
                     shared ? "" : ", whose bandwidth the machine's sheet does not give, so reading counts as free")});
  }
  return findings;
}

std::string comparison(const Estimate& faster, const Estimate& slower) {
  const auto before = doings_of(faster.time);
  const auto after = doings_of(slower.time);
  std::size_t worst = 0;
  for (std::size_t i = 1; i < after.size(); ++i) {
    if (after[i].time - before[i].time > after[worst].time - before[worst].time) worst = i;
  }
  const double longer = slower.time.iteration() / faster.time.iteration() - 1.0;
  if (longer < 0.005) return fmt::format("as fast as {} within 0.5 %", family_name(faster.plan.mesh.family()));
  return fmt::format("{} % longer than {}, most of it for {}", std::max(1, whole_percent(longer)),
                     family_name(faster.plan.mesh.family()), after[worst].doing);
}

}  // namespace ddl
