#include "estimator/explain/explanation.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/explain/held_gradients.hpp"
#include "estimator/layers/host_launches.hpp"
#include "estimator/layers/overlaps.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/layers/token_pieces.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/step/input.hpp"
#include "estimator/step/step_of.hpp"
#include "estimator/step/tasks.hpp"
#include "estimator/step/updates.hpp"

namespace ddl {
namespace {

bool is_slowed_more(const TimedExchange& one, const TimedExchange* other) {
  return other == nullptr || one.bottleneck.phi > other->bottleneck.phi ||
         (one.bottleneck.phi == other->bottleneck.phi && one.time > other->time);
}

/// Explains an estimate in detail.
class Explainer {
 public:
  Explainer(const Job& job, const Step& step, const LayerCostTable& costs, const std::vector<int>& firsts,
            Explanation& explanation)
      : job_(job),
        step_(step),
        costs_(costs),
        firsts_(firsts),
        out_(explanation),
        plan_(explanation.estimate.plan),
        critical_(explanation.estimate.critical),
        micro_batches_(static_cast<double>(plan_.micro_batches)),
        slots_(step.in_slots),
        is_uniform_(plan_.zero_segments.empty()) {}

  void explain() {
    again_ = runs_again(plan_, job_.facts, job_.assumptions, costs_.kinds(), firsts_);
    for (const Task& task : step_.tasks) launches_ += task.launches * (task.stage == critical_.time ? micro_batches_ : 1.0);
    for (int stage = 0; stage < plan_.mesh[Axis::pipeline]; ++stage) {
      hidden_share_ = hidden_share_of_experts(job_, plan_, costs_.between(first_of(stage), first_of(stage + 1)), stage);
      for (int layer = first_of(stage); layer < first_of(stage + 1); ++layer) add_layer(layer, stage);
    }
    held_ = held_gradients(job_, plan_, costs_, firsts_, critical_.gradient_exchange);
    for (const HeldGradients& held : held_) gradients_.add(held.exchange);
    add_exchanges();
    for (const TimePart& part : time_parts) add_phase(part);
  }

 private:
  [[nodiscard]] int first_of(int stage) const { return firsts_[static_cast<std::size_t>(stage)]; }
  [[nodiscard]] const Estimate& estimate() const { return out_.estimate; }

  void add_layer(int layer, int stage) {
    LayerExplanation own;
    own.layer = layer;
    own.stage = stage;
    own.kind = costs_.kind(layer);
    own.runs_again = again_[static_cast<std::size_t>(layer)];
    own.detail = costs_.detail(layer);
    own.costs = costs_.at(layer);
    own.time = share_of(own, own.host_waiting);
    for (const TimedKernel& kernel : own.detail.kernels) {
      Provenance& farthest = kernel.phase == Phase::forward ? forward_source_ : backward_source_;
      farthest = least_certain(farthest, kernel.source);
    }
    if (own.costs[LayerCount::parameters] > 0) update_source_ = least_certain(update_source_, own.detail.update_source);
    out_.layers.push_back(std::move(own));
  }

  [[nodiscard]] Breakdown share_of(const LayerExplanation& layer, Seconds& host_waiting) const {
    const LayerCosts& own = layer.costs;
    const Breakdown& whole = estimate().time;
    const int stage = layer.stage;
    Breakdown share;
    double launches = 0;
    std::vector<Task> tasks;
    const bool again = plan_.recompute == Recompute::full && layer.runs_again;
    add_tasks({own, again ? &own : nullptr, hidden_share_}, stage, plan_, job_.assumptions, nullptr, tasks);
    for (Task& task : tasks) task.wave = step_.waves.empty() ? 0 : step_.waves[static_cast<std::size_t>(layer.layer)];
    // Waiting of a stage that none of its layers causes is assigned to the first layer of the stage.
    if (layer.layer == first_of(stage)) {
      std::copy_if(step_.tasks.begin(), step_.tasks.end(), std::back_inserter(tasks),
                   [&](const Task& task) { return task.stage == stage && task.part == Part::waiting; });
    }
    for (const Task& task : tasks) {
      const Counts counts = counts_of(step_, critical_, task);
      share[counts.part] += task.exposed() * counts.runs;
      share[Part::bubble] += task.time.time() * counts.bubble_runs;
      launches += task.launches * (stage == critical_.time ? micro_batches_ : 1.0);
    }
    if (const int rank = critical_.weight_update; is_held_by(rank, stage)) {
      // Other parts of the update, such as copies of gradients, are distributed like the exchange of gradients.
      const Seconds all = is_uniform_ ? optimizer_time(plan_, held_costs(costs_, plan_, firsts_, rank))
                                      : optimizer_time(plan_, costs_, {first_of(rank), first_of(rank + 1)});
      const Seconds of_layer = is_uniform_ ? optimizer_time(plan_, own)
                                           : optimizer_time(with_zero_stage(plan_, zero_stage_of(plan_, layer.layer)), own);
      share[Part::weight_update] =
          of_layer + max(Seconds{}, whole[Part::weight_update] - all) * share_of_gradients(own, rank);
    }
    if (is_held_by(critical_.gradient_exchange, stage))
      share[Part::gradient_exchange] = whole[Part::gradient_exchange] * share_of_gradients(own, critical_.gradient_exchange);
    if (critical_.transfer > 0 && layer.layer == first_of(critical_.transfer)) share[Part::pipeline] = whole[Part::pipeline];
    if (layer.layer == first_reader()) {
      share[Part::input] = whole[Part::input];
      share[Part::waiting] += whole[Part::waiting] - estimate().host_waiting - waiting_of_tasks();
    }
    // Waiting for the host is distributed by launches, which count S times in the stage that determines the time.
    if (estimate().host_waiting.value() > 0) host_waiting = estimate().host_waiting * (launches / launches_);
    share[Part::waiting] += host_waiting;
    return share;
  }

  /// Returns the part of the longest stage's waiting that its own tasks cause.
  [[nodiscard]] Seconds waiting_of_tasks() const {
    Seconds sum{};
    for (const Task& task : step_.tasks) {
      const Counts counts = counts_of(step_, critical_, task);
      if (counts.part == Part::waiting) sum += task.exposed() * counts.runs;
    }
    return sum;
  }

  /// Returns the time of `part` in the longest stage that overlaps with compute of another micro-batch.
  [[nodiscard]] Seconds hidden_of(Part part) const {
    Seconds sum{};
    for (const Task& task : step_.tasks) {
      if (task.part == part && task.stage == critical_.time) sum += (task.time.time() - task.exposed()) * micro_batches_;
    }
    return sum;
  }

  /// Returns whether ranks of stage `rank` hold the parameters of `stage`: its own or, with DualPipe, the mirror stage's.
  [[nodiscard]] bool is_held_by(int rank, int stage) const {
    const bool two_parts = order_of(plan_.schedule).keeps_two_parts && step_.stages > 1;
    return stage == rank || (two_parts && stage == step_.stages - 1 - rank);
  }

  [[nodiscard]] int first_reader() const {
    const auto& layers = job_.facts.model->layers;
    const auto found = std::find_if(layers.begin(), layers.end(), [](const Layer& layer) {
      return std::find(layer.inputs.begin(), layer.inputs.end(), -1) != layer.inputs.end();
    });
    return found == layers.end() ? 0 : static_cast<int>(found - layers.begin());
  }

  void add(const ExchangeTotal& more) {
    if (more.count <= 0) return;
    const auto same = [&](const ExchangeTotal& known) {
      return known.operation == more.operation && known.axes == more.axes && known.phase == more.phase &&
             known.purpose == more.purpose;
    };
    const auto found = std::find_if(out_.exchanges.begin(), out_.exchanges.end(), same);
    if (found == out_.exchanges.end()) {
      out_.exchanges.push_back(more);
      return;
    }
    found->count += more.count;
    found->bytes += more.bytes;
    found->time += more.time;
    found->hidden += more.hidden;
  }

  void add_exchanges() {
    for (const LayerExplanation& layer : out_.layers) {
      if (layer.stage != critical_.time) continue;
      for (const TimedExchange& one : layer.detail.exchanges) {
        if (one.ranks <= 1) continue;
        const double runs = runs_per_iteration(plan_, layer, one.exchange.phase);
        const double count = runs * one.exchange.messages, pieces = pieces_of(layer.layer);
        add({one.exchange.operation, one.exchange.axes, one.exchange.phase, one.exchange.purpose, count * pieces,
             one.message * count, (one.time + one.hidden) * runs, one.hidden * runs});
      }
    }
    for (const HeldGradients& held : held_) {
      for (const GradientGroup& group : held.groups) add_exchanges_of(held, group);
    }
    if (estimate().time[Part::pipeline].value() > 0) {
      add({Collective::point_to_point, family_bit(Axis::pipeline), Phase::forward, Purpose::pipeline, hops(), cut() * hops(),
           estimate().time[Part::pipeline]});
    }
  }

  void add_exchanges_of(const HeldGradients& held, const GradientGroup& group) {
    const GradientExchange own = exchange_of(costs_, held.plan, held.each, group);
    if (own.total().value() <= 0) return;
    const Bytes gradients = held.message(group);
    const auto gradient = [&](Collective operation, double count, Seconds time) {
      const Bytes message = operation == Collective::allgather ? held.weights(group) : gradients;
      add({operation, group.axes, Phase::gradient, Purpose::gradient, count, message * count, time});
    };
    const double copies = (group.axes & family_bit(Axis::data)) != 0 ? held.plan.shard_copies() : 1.0;
    const double shards = costs_.mesh(group.layout).product(group.axes) / copies;
    // The exchange of local steps is counted as one with the share of a step.
    if (held.plan.zero_stage == 0 || shards == 1)
      return gradient(Collective::allreduce, 1, own.of_gradients + own.of_copies);
    if (copies > 1) {
      add({Collective::allreduce, family_bit(Axis::data), Phase::gradient, Purpose::gradient, 1, gradients / shards,
           own.of_copies});
    }
    gradient(Collective::reduce_scatter, own.rounds, own.of_gradients);
    gradient(Collective::allgather, std::max(1.0, own.gathers), own.of_weights + own.after_update);
  }

  /// Returns the share of a layer in the time of its stage's gradient exchange. The time is distributed by the number of
  /// exchanged parameters, or by the number of all parameters if the stage exchanges none.
  [[nodiscard]] double share_of_gradients(const LayerCosts& own, int stage) const {
    const LayerCosts all = held_costs(costs_, plan_, firsts_, stage);
    if (all.exchanged_parameters() > 0) return own.exchanged_parameters() / all.exchanged_parameters();
    return all[LayerCount::parameters] > 0 ? own[LayerCount::parameters] / all[LayerCount::parameters] : 0.0;
  }
  /// Returns in how many pieces of its tokens a layer computes and exchanges a sample.
  [[nodiscard]] double pieces_of(int layer) const {
    return step_.pieces > 1 && runs_in_pieces(job_.facts, layer) ? step_.pieces : 1;
  }
  [[nodiscard]] double hops() const { return (step_.hops() + 2 * step_.hidden_hops) * step_.pieces; }
  [[nodiscard]] Bytes cut() const { return costs_.cut_bytes(first_of(critical_.transfer)) / step_.pieces; }

  /// Returns the number of blocks of a stage that backward recomputes.
  [[nodiscard]] int blocks_again(int stage) const {
    int blocks = 0, before = -1;
    for (const LayerExplanation& layer : out_.layers) {
      if (layer.stage != stage || !layer.runs_again) continue;
      const int block = job_.facts.model->layers[static_cast<std::size_t>(layer.layer)].block;
      blocks += std::exchange(before, block) != block ? 1 : 0;
    }
    return blocks;
  }

  [[nodiscard]] KernelsOf kernels_of(Phase phase) const {
    KernelsOf kernels;
    kernels.stage = !slots_ ? critical_.time : (phase == Phase::forward ? critical_.forward : critical_.backward);
    kernels.layers = first_of(kernels.stage + 1) - first_of(kernels.stage);
    if (phase == Phase::backward) kernels.forward_again = plan_.recompute;
    if (phase == Phase::backward && (plan_.recompute_blocks > 0 || !plan_.recompute_segments.empty()))
      kernels.blocks_again = blocks_again(kernels.stage);
    kernels.selected = job_.assumptions.selective;
    for (const LayerExplanation& layer : out_.layers) {
      if (layer.stage != kernels.stage) continue;
      for (const TimedKernel& kernel : layer.detail.kernels) {
        const bool again = phase == Phase::backward && layer.runs_again;
        if (!kernel.is_overhead() || (kernel.phase != phase && !again)) continue;
        (kernel.pass == "overhead" ? kernels.overhead : kernels.first_touches) += kernel.time * micro_batches_;
      }
    }
    return kernels;
  }

  [[nodiscard]] PhaseShare::MadeOf gradients() const {
    if (gradients_.total().value() <= 0) {
      if (estimate().time[Part::gradient_exchange].value() > 0) return WeightsLeftWhole{};
      return {};
    }
    // The report describes only the group with the most parameters.
    const HeldGradients* held = nullptr;
    const GradientGroup* most = nullptr;
    for (const HeldGradients& each : held_) {
      for (const GradientGroup& group : each.groups) {
        if (most != nullptr && group.parameters <= most->parameters) continue;
        held = &each;
        most = &group;
      }
    }
    const ExchangeTimes& exchanges = costs_.exchanges(most->layout);
    return GradientsOf{critical_.gradient_exchange,
                       held->plan.zero_stage,
                       exchanges.group(most->axes).ranks,
                       held->message(*most),
                       held->weights(*most),
                       held->exchange.rounds,
                       held->exchange.gathers,
                       exchanges.route(Collective::allreduce, most->axes, Purpose::gradient)};
  }

  [[nodiscard]] PhaseShare::MadeOf exchanges_of(Purpose purpose) const {
    ExchangesOf all{.stage = critical_.time, .algorithms = algorithms_of(purpose)};
    for (const LayerExplanation& layer : out_.layers) {
      for (const TimedExchange& one : layer.detail.exchanges)
        if (one.exchange.purpose == purpose && one.ranks > 1 && one.route == Route::host) all.route = Route::host;
    }
    for (const ExchangeTotal& total : out_.exchanges) {
      if (total.purpose != purpose) continue;
      all.count += total.count;
      all.bytes += total.bytes;
    }
    if (all.count <= 0) return {};
    return all;
  }

  /// Returns the link with the largest φ in the exchanges of the stage that determines the time.
  [[nodiscard]] std::optional<Bottleneck> busiest_link(Purpose purpose) const {
    const TimedExchange* busiest = nullptr;
    for (const LayerExplanation& layer : out_.layers) {
      if (layer.stage != critical_.time) continue;
      const TimedExchange* own = most_slowed(layer, purpose);
      if (own != nullptr && is_slowed_more(*own, busiest)) busiest = own;
    }
    // If the time of an exchange is measured, the limiting link is unknown.
    return busiest != nullptr && !busiest->bottleneck.level.empty() ? std::optional(busiest->bottleneck) : std::nullopt;
  }

  /// Returns the algorithms of collectives, in order of decreasing time.
  [[nodiscard]] std::vector<std::string_view> algorithms_of(Purpose purpose) const {
    std::vector<std::pair<std::string_view, Seconds>> used;
    for (const LayerExplanation& layer : out_.layers) {
      if (layer.stage != critical_.time) continue;
      for (const TimedExchange& one : layer.detail.exchanges) {
        const bool collective = one.exchange.operation != Collective::point_to_point;
        if (one.ranks <= 1 || one.exchange.purpose != purpose || !collective) continue;
        const auto same = [&](const auto& known) { return known.first == one.algorithm; };
        const auto found = std::find_if(used.begin(), used.end(), same);
        if (found == used.end()) {
          used.emplace_back(one.algorithm, one.time);
        } else {
          found->second += one.time;
        }
      }
    }
    std::stable_sort(used.begin(), used.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string_view> names;
    for (const auto& [name, time] : used) names.push_back(name);
    return names;
  }

  [[nodiscard]] PhaseShare::MadeOf waiting() const {
    const Seconds host = estimate().host_waiting;
    const Seconds pages = step_.paging * micro_batches_;
    const double straggler = plan_.mesh.devices() > 1 ? job_.assumptions.straggler : 1;
    const Seconds of_ranks = estimate().time[Part::waiting] - host - pages;
    const Seconds kernels = estimate().time[Part::forward] + estimate().time[Part::backward];
    // Without a barrier, all waiting of ranks is for a slow worker.
    const Seconds slowest = step_.lone_straggling > 0 ? of_ranks : kernels * (straggler - 1);
    const Seconds rest = of_ranks - slowest;
    const bool others = rest.value() > estimate().time[Part::waiting].value() * 1e-9;
    if (host.value() <= 0 && pages.value() <= 0 && straggler <= 1 && !others) return {};
    return WaitingOf{host,
                     launch_overhead(job_),
                     others && !plan_.offload_activations,
                     pages,
                     straggler,
                     plan_.offload_activations,
                     job_.assumptions.copies_gathered && gathers_weights(plan_)};
  }

  /// Returns the provenance of the waiting. A datasheet may give launch overhead and memory
  /// transfers, but not the overheads of ranks and frameworks.
  [[nodiscard]] Provenance waiting_source() const {
    const bool is_of_sheet = estimate().host_waiting.value() > 0 || step_.paging.value() > 0 || plan_.offload_activations;
    return is_of_sheet ? Provenance::roofline : Provenance::curve;
  }

  [[nodiscard]] UpdateOf update() const {
    const int stage = critical_.weight_update;
    return {stage, held_costs(costs_, plan_, firsts_, stage)[LayerCount::trained],
            is_uniform_ && plan_.zero_stage >= 1 ? plan_.shards() : 1.0};
  }

  /// Returns the provenance of the time of an exchange: the time is measured, or computed with a
  /// formula. The formula's α and β are fitted to other measurements, or come from the datasheet.
  [[nodiscard]] Provenance exchange_source(bool measured) const {
    if (measured) return Provenance::measured;
    return job_.coefficients.exchanges.empty() ? Provenance::roofline : Provenance::curve;
  }

  /// Returns whether most of the gradients' time is the fitted time of unsplit weights, and not the time of a link.
  [[nodiscard]] bool is_mostly_fitted(Seconds gradients) const {
    return costs_.learned()[Coefficient::unsharded_weight_sync] > 0 &&
           plan_.mesh[Axis::filter] * plan_.mesh[Axis::channel] * plan_.mesh[Axis::spatial] > 1 &&
           gradients > gradients_.total() * 2.0;
  }

  [[nodiscard]] bool all_measured(Purpose purpose) const {
    const std::vector<std::string_view> used = algorithms_of(purpose);
    return !used.empty() &&
           std::all_of(used.begin(), used.end(), [](std::string_view name) { return name == measured_exchange; });
  }

  void add_phase(const TimePart& part) {
    PhaseShare phase;
    phase.what = part;
    phase.time = estimate().time[part.part];
    phase.hidden = hidden_of(part.part);
    const bool staged = plan_.mesh[Axis::pipeline] > 1;
    if (part.part == Part::forward) {
      phase.source = forward_source_;
      phase.made_of = kernels_of(Phase::forward);
    } else if (part.part == Part::backward) {
      phase.source = backward_source_;
      phase.made_of = kernels_of(Phase::backward);
    } else if (part.part == Part::weight_update) {
      phase.source = update_source_;
      phase.made_of = update();
    } else if (part.part == Part::gradient_exchange) {
      phase.hidden = max(Seconds{}, estimate().hidden_exchange);
      phase.made_of = gradients();
      phase.source = exchange_source(gradients_.measured);
      if (is_mostly_fitted(phase.time)) {
        phase.made_of = WeightsLeftWhole{};
        phase.source = Provenance::curve;
      } else if (gradients_.total().value() > 0 && !gradients_.measured) {
        phase.busiest = gradients_.bottleneck;
      }
    } else if (part.part == Part::layer_collectives) {
      for (const ExchangeTotal& total : out_.exchanges) {
        if (total.purpose == Purpose::layer) phase.hidden += total.hidden;
      }
      phase.made_of = exchanges_of(Purpose::layer);
      phase.busiest = busiest_link(Purpose::layer);
      phase.source = exchange_source(all_measured(Purpose::layer));
    } else if (part.part == Part::halo) {
      phase.made_of = exchanges_of(Purpose::halo);
      phase.busiest = busiest_link(Purpose::halo);
      phase.source = exchange_source(all_measured(Purpose::halo));
    } else if (part.part == Part::pipeline) {
      phase.source = exchange_source(false);
      if (staged) phase.made_of = TransfersOf{hops(), cut()};
      if (phase.time.value() > 0) {
        phase.busiest = costs_.exchanges().neighbour_link(family_bit(Axis::pipeline), Purpose::pipeline).bottleneck;
      }
    } else if (part.part == Part::bubble) {
      phase.source = least_certain(forward_source_, backward_source_);
      if (staged) phase.made_of = BubbleOf{slots_, critical_.time, step_.pieces};
    } else if (part.part == Part::waiting) {
      phase.made_of = waiting();
      phase.source = waiting_source();
    } else {
      phase.hidden = max(Seconds{}, estimate().hidden_input);
      if (job_.assumptions.include_input)
        phase.made_of = InputOf{job_.sample_bytes * static_cast<double>(plan_.global_batch), decoding_time(job_, plan_)};
    }
    out_.phases.push_back(std::move(phase));
  }

  const Job& job_;
  const Step& step_;
  const LayerCostTable& costs_;
  const std::vector<int>& firsts_;
  Explanation& out_;
  const Plan& plan_;
  const CriticalStages& critical_;
  std::vector<bool> again_;  ///< for each layer, whether backward recomputes its forward
  double micro_batches_;
  double hidden_share_ = 0;  ///< hidden share of the experts' All-to-alls, in the current stage
  double launches_ = 0;      ///< launches by the host for all layers, weighted by their repetitions
  bool slots_;
  Provenance forward_source_ = Provenance::measured, backward_source_ = Provenance::measured,
             update_source_ = Provenance::measured;
  bool is_uniform_;  ///< whether all layers have one ZeRO stage
  std::vector<HeldGradients> held_;
  GradientExchange gradients_;
};

}  // namespace

const TimedExchange* most_slowed(const LayerExplanation& layer, Purpose purpose) {
  const TimedExchange* most = nullptr;
  for (const TimedExchange& one : layer.detail.exchanges) {
    if (one.ranks > 1 && one.exchange.purpose == purpose && is_slowed_more(one, most)) most = &one;
  }
  return most;
}

double runs_per_iteration(const Plan& plan, const LayerExplanation& layer, Phase phase) {
  const double again = phase == Phase::forward && layer.runs_again ? 2.0 : 1.0;
  return static_cast<double>(plan.micro_batches) * again;
}

Explanation explain(const Estimator& estimator, const Plan& plan) {
  const Job& job = estimator.job();
  Explanation explanation;
  explanation.estimate = estimator.estimate_beyond_devices(plan);
  if (explanation.estimate.time.step_time().value() <= 0) return explanation;
  add_reserved(estimator, explanation.estimate);
  // What the allocator reserves may raise the upper bound above the memory of the device.
  Estimate& estimate = explanation.estimate;
  if (estimate.feasible()) estimate.verdict = verdict_of(estimate.memory, job.machine.device.memory);
  Explainer(job, estimator.steps().staged(plan).step, estimator.tables().costs(plan), estimator.stages(plan), explanation)
      .explain();
  if (!job.coefficients.congestion.empty()) {
    // The congestion factor is log-normal; other jobs never speed up an exchange.
    constexpr double twentieth = 1.6448536269514722;  // the 95 % quantile of the standard normal distribution
    const auto among_others = [&](double quantile) {
      Assumptions assumptions = job.assumptions;
      assumptions.congestion_quantile = quantile;
      return Estimator(job.with_assumptions(assumptions)).estimate_beyond_devices(plan).time.step_time();
    };
    explanation.congested = CongestedTime{among_others(-twentieth), among_others(twentieth)};
  }
  return explanation;
}

}  // namespace ddl
