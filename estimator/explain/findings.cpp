#include "estimator/explain/findings.hpp"

#include <algorithm>

#include "core/enum_array.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/step/input.hpp"
#include "estimator/strategies/spatial.hpp"

namespace ddl {
namespace {

constexpr EnumNames<Finding::Kind> names{"compute",
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

/// The smallest share of the time with which a cause is reported.
constexpr double worth_saying = 0.05;

}  // namespace

std::string_view to_string(Finding::Kind kind) { return names[kind]; }

std::vector<Finding> findings_of(const Job& job, const Estimate& estimate) {
  using Kind = Finding::Kind;
  std::vector<Finding> findings;
  const Breakdown& time = estimate.time;
  const double whole = time.step_time().value();
  if (whole <= 0) return findings;
  const Plan& plan = estimate.plan;

  const auto add_time = [&](Kind kind, Seconds part, decltype(Finding::facts) facts = {}) {
    const double share = part.value() / whole;
    if (share >= worth_saying) findings.push_back({kind, share, facts});
  };
  const auto replicas = static_cast<std::int64_t>(plan.mesh.replicas());
  const std::vector<int> zero_stages = zero_stages_of(plan);
  const int zero_stage = *std::max_element(zero_stages.begin(), zero_stages.end());
  add_time(Kind::compute, time[Part::forward] + time[Part::backward]);
  add_time(Kind::gradient_exchange, time[Part::gradient_exchange],
           Finding::Gradients{replicas, zero_stage, estimate.gradient_algorithm, plan.offload == Offload::weights});
  add_time(Kind::layer_collectives, time[Part::layer_collectives]);
  add_time(Kind::halo, time[Part::halo]);
  add_time(Kind::pipeline, time[Part::pipeline]);
  add_time(Kind::bubble, time[Part::bubble], Finding::Pipeline{plan.mesh[Axis::pipeline], plan.micro_batches});
  add_time(Kind::weight_update, time[Part::weight_update]);
  if (decoding_time(job, plan) > file_time(job, plan)) {
    add_time(Kind::input, time[Part::input], Finding::Images{decoding_rate(job, plan), true});
  } else {
    add_time(Kind::input, time[Part::input]);
  }
  add_time(Kind::waiting, estimate.host_waiting, Finding::Host{launch_overhead(job)});
  add_time(Kind::waiting, estimate.paging, Finding::Pages{});
  decltype(Finding::facts) waits{};
  if (plan.offload_activations) waits = Finding::Activations{};
  add_time(Kind::waiting, time[Part::waiting] - estimate.host_waiting - estimate.paging, waits);
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) { return a.share > b.share; });
  if (!findings.empty()) findings.front().bounds = true;

  if (estimate.replicated_share >= worth_saying && plan.mesh.devices() > 1) {
    Finding replicated{Kind::replicated_work, estimate.replicated_share};
    if (plan.mesh[Axis::spatial] > 1) {
      const ReplicatedLayers behind_tiles = replicated_layers(job.facts, plan, job.coefficients.software);
      if (behind_tiles.first < behind_tiles.last) replicated.facts = Finding::TilesEnd{behind_tiles.first};
    }
    findings.push_back(replicated);
  }
  if (job.named_dataset && job.assumptions.include_input && !job.assumptions.decodes_images) {
    const double trained = static_cast<double>(plan.global_batch) / whole / reading_nodes(job, plan);
    const double decoded = decoding_rate(job, plan);
    if (decoded > 0 && decoded < trained)
      findings.push_back({Kind::input, trained / decoded, Finding::Images{decoded, false}});
  }
  if (plan.mesh[Axis::pipeline] > 1 && estimate.imbalance >= worth_saying)
    findings.push_back({Kind::load_imbalance, estimate.imbalance});
  const MemoryBreakdown& memory = estimate.memory;
  const Bytes parameters = memory.weights + memory.gradients + memory.optimizer;
  double held = memory.total().value() > 0 ? parameters / memory.total() : 0.0;
  // Ranks divide experts and distributed tables among each other.
  const bool divides_tables = holds_parts_of_tables(plan);
  const double experts = plan.mesh[Axis::expert] > 1 ? job.facts.expert_parameters : 0.0;
  const double tables = divides_tables ? job.facts.table_parameters : 0.0;
  const double others = job.facts.parameters - experts - tables;
  if (const double divided = experts / plan.mesh[Axis::expert] + tables / plan.mesh[Axis::data]; divided > 0)
    held *= others / (others + divided);
  if (replicas > 1 && zero_stage == 0 && held >= 0.25)
    findings.push_back({Kind::memory_redundancy, held, Finding::Copies{replicas}});
  if (plan.mesh.batch_parts() > 1 && plan.global_batch <= plan.mesh.batch_parts())
    findings.push_back({Kind::scaling_limit, 1.0});
  if (static_cast<double>(plan.global_batch) > job.samples_per_epoch) {
    findings.push_back({Kind::scaling_limit, static_cast<double>(plan.global_batch) / job.samples_per_epoch,
                        Finding::Samples{plan.global_batch, job.samples_per_epoch}});
  }
  const Storage& storage = job.machine.storage;
  const Bytes on_node = bytes_on_node(job, plan);
  if (storage.local_capacity && on_node > *storage.local_capacity &&
      sample_place(job, plan) == SamplePlace::shared_storage) {
    findings.push_back(
        {Kind::local_storage, on_node / *storage.local_capacity,
         Finding::DataSet{on_node, *storage.local_capacity, storage.shared_per_node || storage.shared_total}});
  }
  return findings;
}

}  // namespace ddl
