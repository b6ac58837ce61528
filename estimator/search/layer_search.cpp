#include "estimator/search/layer_search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "estimator/layers/host_launches.hpp"
#include "estimator/schedules/schedule.hpp"
#include "estimator/search/degrees.hpp"
#include "estimator/search/recompute_search.hpp"
#include "estimator/search/unit_graph.hpp"
#include "estimator/step/tasks.hpp"
#include "estimator/strategies/relayout.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Layers [first, last) of a unit.
struct LayerUnit {
  int first = 0, last = 0;
  bool has_matrix = false;
  double in_flight = 1;  ///< number of micro-batches whose activations the unit's stage holds at once
};

/// Returns the plans in which one border between segments moves by one unit, or is removed.
std::vector<Plan> with_moved_borders(const Plan& plan, const std::vector<int>& firsts) {
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const int first = plan.segments[i].first;
    const auto at = std::find(firsts.begin(), firsts.end(), first);
    if (at == firsts.end()) continue;
    const auto add = [&](const auto& change) {
      plans.push_back(plan);
      change(plans.back());
      join_segments(plans.back());
    };
    const int before = i == 0 ? 0 : plan.segments[i - 1].first;
    if (at != firsts.begin() && *(at - 1) > before) add([&](Plan& to) { to.segments[i].first = *(at - 1); });
    const bool has_next = at + 1 != firsts.end();
    if (has_next && (i + 1 == plan.segments.size() || *(at + 1) < plan.segments[i + 1].first))
      add([&](Plan& to) { to.segments[i].first = *(at + 1); });
    add([&](Plan& to) { to.segments[i].mesh = mesh_of(plan, first - 1); });
    add([&](Plan& to) { (i == 0 ? to.mesh : to.segments[i - 1].mesh) = plan.segments[i].mesh; });
  }
  return plans;
}

/// The meshes that a segment may have: the stages of the plan, any data degree, the plan's expert and context degrees or 1,
/// and at most one other axis.
std::vector<Mesh> segment_meshes(const SearchOptions& options, const ModelFacts& facts, const Mesh& alike) {
  constexpr Family kept =
      family_bit(Axis::data) | family_bit(Axis::expert) | family_bit(Axis::context) | family_bit(Axis::pipeline);
  constexpr Family allowed = weight_axes | kept | family_bit(Axis::spatial);
  const auto is_kept = [&](const Mesh& mesh, Axis axis) { return mesh[axis] == 1 || mesh[axis] == alike[axis]; };
  std::map<Family, std::vector<Mesh>> by_family;
  Degrees(options, facts).each([&](Family family, const Mesh& mesh) {
    if ((family & ~allowed) == 0 && std::popcount(family & ~kept) <= 1 && mesh[Axis::pipeline] == alike[Axis::pipeline] &&
        is_kept(mesh, Axis::expert) && is_kept(mesh, Axis::context) &&
        mesh.batch_parts() * options.micro_batches.value_or(1) <= options.global_batch)
      by_family[family].push_back(mesh);
    return true;
  });
  std::vector<Mesh> meshes;
  for (const auto& [family, of_family] : by_family) meshes.insert(meshes.end(), of_family.begin(), of_family.end());
  return meshes;
}

/// Assigns a mesh to each unit of a model.
class LayerAssignment {
 public:
  LayerAssignment(const Estimator& estimator, const Plan& alike, const std::vector<Mesh>& meshes)
      : job_(estimator.job()), tables_(estimator.tables()), graph_(unit_graph(job_.facts)), alike_(alike) {
    const auto count = static_cast<int>(job_.facts.model->layers.size());
    for (std::size_t i = 0; i < graph_.firsts.size(); ++i) {
      LayerUnit unit{graph_.firsts[i], i + 1 < graph_.firsts.size() ? graph_.firsts[i + 1] : count};
      const std::vector<int>& matrix = job_.facts.matrix;
      const auto next = std::lower_bound(matrix.begin(), matrix.end(), unit.first);
      unit.has_matrix = next != matrix.end() && *next < unit.last;
      units_.push_back(unit);
    }
    if (stages_ > 1) {
      find_stages(estimator);
    } else {
      find_tied_units();
    }
    for (const Mesh& mesh : meshes) {
      const Plan plan = on_mesh(alike, mesh);
      const LayerKinds& kinds = tables_.kinds_of(plan);
      states_.push_back(
          {plan, {mesh, kinds.replicated, plan.sequence_parallel}, std::make_unique<LayerCostTable>(job_, plan, kinds), {}});
      add_gradient_time(states_.back());
    }
    for (std::size_t state = 0; state < states_.size(); ++state) {
      std::vector<bool>& own = possible_.emplace_back();
      for (std::size_t unit = 0; unit < units_.size(); ++unit) own.push_back(is_possible(unit, state));
    }
    add_link_times();
  }
  [[nodiscard]] const std::vector<int>& firsts() const { return graph_.firsts; }
  /// Returns whether branches that join again are several units.
  [[nodiscard]] bool has_branches() const {
    return graph_.cuts_before.back() + 1 < static_cast<int>(graph_.cuts_before.size());
  }

  /// What the dynamic program minimizes, and what it may choose.
  struct Choice {
    double exposed = 1;           ///< the share of gradient exchanges that takes time
    double price_of_byte = 0;     ///< seconds for each byte of memory
    bool joins_branches = false;  ///< whether branches that join again have one mesh
    std::vector<bool> allowed;    ///< the states that the plan may use
  };

  /// Returns the plan of least time. Units that share weights have equal shards of them. So the best plan is chosen among
  /// those with whole shared weights and those that shard them as on one of the meshes.
  [[nodiscard]] std::optional<Plan> best(const Choice& choice) const {
    Assigned best = best_of_graph(choice, {});
    const auto divide_alike = [&](std::size_t unit) {
      return divides_alike(unit, best.of_unit[unit], best.of_unit[tied_.front()]);
    };
    if (!best.plan || std::all_of(tied_.begin(), tied_.end(), divide_alike)) return best.plan;
    best = {};
    bool has_whole = false;
    for (std::size_t state = 0; state < states_.size(); ++state) {
      const bool is_whole = states_[state].layout.mesh.product(weight_axes) == 1;
      if (!choice.allowed[state] || (is_whole && has_whole)) continue;
      has_whole = has_whole || is_whole;
      Assigned found = best_of_graph(choice, state);
      if (found.time < best.time) best = std::move(found);
    }
    return best.plan;
  }

  [[nodiscard]] std::vector<bool> all_states() const { return std::vector<bool>(states_.size(), true); }
  /// Returns the states whose meshes have the most time in a plan.
  [[nodiscard]] std::vector<bool> main_states(const Plan& plan, std::size_t count) const {
    std::vector<std::pair<double, std::size_t>> times;
    for (std::size_t state = 0; state < states_.size(); ++state) {
      double time = 0;
      for (std::size_t unit = 0; unit < units_.size(); ++unit) {
        if (mesh_of(plan, units_[unit].first) == states_[state].layout.mesh) time += time_of(unit, state, 1, 0);
      }
      times.emplace_back(time, state);
    }
    std::stable_sort(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<bool> allowed(states_.size(), false);
    for (std::size_t i = 0; i < std::min(count, times.size()); ++i) allowed[times[i].second] = true;
    return allowed;
  }

 private:
  /// A plan, and the sum of the times that it was chosen for.
  struct Assigned {
    double time = infinite;
    std::optional<Plan> plan;
    std::vector<std::size_t> of_unit{};  ///< the state of each unit
  };

  /// Returns whether a unit may be in a state if the units that share weights shard them as in the state `of_tied`.
  [[nodiscard]] bool divides_alike(std::size_t unit, std::size_t state, std::optional<std::size_t> of_tied) const {
    if (!of_tied || state == *of_tied || !std::binary_search(tied_.begin(), tied_.end(), unit)) return true;
    const auto is_undivided = [&](std::size_t each) { return states_[each].layout.mesh.product(weight_axes) == 1; };
    return is_undivided(state) && is_undivided(*of_tied);
  }

  /// Returns the plan of least time. `of_tied`: the state of units that share weights, or a state with equal shards.
  [[nodiscard]] Assigned best_of_graph(const Choice& choice, std::optional<std::size_t> of_tied) const {
    std::vector<std::vector<double>> times(units_.size(), std::vector<double>(states_.size(), infinite));
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      for (std::size_t state = 0; state < states_.size(); ++state) {
        if (choice.allowed[state] && possible_[state][unit] && divides_alike(unit, state, of_tied))
          times[unit][state] = time_of(unit, state, choice.exposed, choice.price_of_byte);
      }
    }
    UnitStates found = least_states(graph_, std::move(times), choice.joins_branches ? joined_link_times_ : link_times_);
    if (found.cost == infinite) return {};
    std::optional<Plan> plan = plan_of(found.of_unit);
    return {found.cost, std::move(plan), std::move(found.of_unit)};
  }

  /// Finds the units with layers that share weights. Layers of one unit have one mesh. Stages have copies of the weights.
  void find_tied_units() {
    const auto unit_of = [&](int layer) {
      const auto behind = std::upper_bound(units_.begin(), units_.end(), layer,
                                           [](int value, const LayerUnit& unit) { return value < unit.first; });
      return static_cast<std::size_t>(behind - units_.begin()) - 1;
    };
    for (const TiedLayer& tied : job_.facts.tied) {
      const std::size_t owner = unit_of(tied.owner), reader = unit_of(tied.reader);
      if (owner != reader) tied_.insert(tied_.end(), {owner, reader});
    }
    std::sort(tied_.begin(), tied_.end());
  }

  /// Assumes that the stages of the plan with one mesh hold the units.
  void find_stages(const Estimator& estimator) {
    const std::vector<int>& firsts = estimator.stages(alike_);
    for (LayerUnit& unit : units_) {
      const auto behind = std::upper_bound(firsts.begin(), firsts.end(), unit.first);
      const auto stage = std::min(static_cast<int>(behind - firsts.begin()), stages_) - 1;
      unit.in_flight = micro_batches_in_flight(alike_.schedule, stage, stages_, static_cast<double>(alike_.micro_batches));
    }
  }

  /// A mesh that a unit may have.
  struct State {
    Plan plan;
    LayoutOfMesh layout;
    std::unique_ptr<LayerCostTable> costs;
    double gradient_time = 0;  ///< time of the gradient exchange for each exchanged parameter
  };

  void add_gradient_time(State& state) {
    const LayerCosts& all = state.costs->total();
    const double parameters = all.exchanged_parameters();
    if (parameters <= 0) return;
    const ExchangedBytes each = exchanged_bytes(state.plan, job_.assumptions, job_.facts);
    const double blocks = blocks_between(job_.facts, 0, static_cast<int>(job_.facts.model->layers.size()));
    const auto groups = state.costs->gradients(state.plan, all, blocks);
    state.gradient_time = exchange_of(*state.costs, state.plan, each, groups).total().value() / parameters;
  }

  /// Returns whether the strategies can divide the layers of a unit.
  [[nodiscard]] bool is_possible(std::size_t unit, std::size_t state) const {
    const LayerUnit& own = units_[unit];
    const State& at = states_[state];
    if (!own.has_matrix) return true;
    // Layers with too small tiles are not split.
    Plan plan = at.plan;
    if (unit > 0 && is_whole(unit, state)) plan.mesh.set(Axis::spatial, 1);
    return limits_of({job_.facts, plan, job_.coefficients.software, &job_.assumptions, own.first, own.last}).empty();
  }

  /// Returns whether the tiles of a unit's first layer are too small for the spatial split of a state.
  [[nodiscard]] bool is_whole(std::size_t unit, std::size_t state) const {
    const LayoutOfMesh& layout = states_[state].layout;
    return layout.mesh[Axis::spatial] > 1 && layout.replicated.contains(units_[unit].first);
  }

  /// Computes the times of exchanges between units for each pair of states. A segment does not begin where tiles are too
  /// small.
  void add_link_times() {
    const std::size_t states = states_.size();
    for (const UnitLink& link : graph_.links) {
      std::vector<double>& times = link_times_.emplace_back(states * states, 0.0);
      for (std::size_t from = 0; from < states; ++from) {
        for (std::size_t to = 0; to < states; ++to) {
          if (from == to || !possible_[from][link.from] || !possible_[to][link.to]) continue;
          double& time = times[from * states + to];
          if (link.from + 1 == link.to && is_whole(link.to, to)) {
            time = infinite;
            continue;
          }
          for (const UnitTensor& tensor : link.tensors) time += change(tensor, from, to);
        }
      }
    }
    for (std::size_t i = 0; has_branches() && i < graph_.links.size(); ++i) {
      std::vector<double>& times = joined_link_times_.emplace_back(link_times_[i]);
      if (graph_.cuts_before[graph_.links[i].from] != graph_.cuts_before[graph_.links[i].to]) continue;
      for (std::size_t at = 0; at < times.size(); ++at) times[at] = at / states == at % states ? times[at] : infinite;
    }
    // Without a tensor from the unit before, the states of both units are chosen independently.
    for (std::size_t unit = 1; unit < units_.size(); ++unit) {
      const auto is_between = [&](const UnitLink& link) { return link.from + 1 == unit && link.to == unit; };
      if (std::any_of(graph_.links.begin(), graph_.links.end(), is_between)) continue;
      for (std::size_t state = 0; state < states; ++state) {
        if (is_whole(unit, state)) possible_[state][unit] = false;
      }
    }
  }

  [[nodiscard]] double time_of(std::size_t unit, std::size_t state, double exposed, double price_of_byte) const {
    const LayerUnit& own = units_[unit];
    const State& at = states_[state];
    const LayerCosts& costs = at.costs->between(own.first, own.last);
    const Seconds start = launch_overhead(job_);
    const Seconds busy = costs[LayerTime::forward] + costs[LayerTime::backward] + costs[LayerTime::exchange_forward] +
                         costs[LayerTime::exchange_backward] + costs[LayerTime::halo_forward] +
                         costs[LayerTime::halo_backward] + costs.idle_forward(start) + costs.idle_backward(start);
    const Seconds update = alike_.zero_stage >= 1 ? costs[LayerTime::sharded_update] : costs[LayerTime::update];
    // Gradients, weights and the momentum are as large as the weights.
    const double held =
        costs[LayerCount::parameters] * 3 * item_bytes(at.plan.precision) + costs[LayerBytes::kept].value() * own.in_flight;
    return busy.value() * runs() +
           (update.value() + exposed * at.gradient_time * costs.exchanged_parameters() + price_of_byte * held) / stages_;
  }

  /// How many times the time of a unit for one micro-batch is included in a step. If stages are equally long, the first
  /// micro-batch passes all stages, and the others follow at the pace of one stage.
  [[nodiscard]] double runs() const {
    return (static_cast<double>(alike_.micro_batches) + (job_.assumptions.weight_versions ? 0 : stages_ - 1)) / stages_;
  }

  /// Returns by how much exchanges of a tensor take longer if the meshes of its writer and its reader differ.
  [[nodiscard]] double change(const UnitTensor& at, std::size_t from, std::size_t to) {
    const State &before = states_[from], &behind = states_[to];
    const auto key =
        std::tuple(from, to, before.costs->kind(at.tensor), behind.costs->kind(at.reader), at.input, at.is_lone);
    const auto [known, is_new] = changes_.try_emplace(key, 0.0);
    if (!is_new) return known->second;
    Borders of_writer, of_reader;
    of_writer.output = border_to(job_.facts, behind.layout, at.reader, at.tensor, at.is_lone);
    of_reader.inputs.resize(job_.facts.model->layers[static_cast<std::size_t>(at.reader)].inputs.size());
    of_reader.is_foreign.resize(of_reader.inputs.size());
    of_reader.is_foreign[at.input] = true;
    of_reader.inputs[at.input] = border_to(job_.facts, before.layout, at.tensor, at.tensor, at.is_lone);
    const Seconds more =
        before.costs->exchange_time_with(at.tensor, &of_writer) - before.costs->exchange_time_with(at.tensor, nullptr) +
        behind.costs->exchange_time_with(at.reader, &of_reader) - behind.costs->exchange_time_with(at.reader, nullptr);
    return known->second = more.value() * runs();
  }

  [[nodiscard]] Plan plan_of(const std::vector<std::size_t>& of_unit) const {
    Plan plan = states_[of_unit.front()].plan;
    for (std::size_t unit = 1; unit < units_.size(); ++unit)
      plan.segments.push_back({units_[unit].first, states_[of_unit[unit]].layout.mesh});
    join_segments(plan);
    return plan;
  }

  const Job& job_;
  const SplitTables& tables_;
  UnitGraph graph_;
  Plan alike_;
  int stages_ = alike_.mesh[Axis::pipeline];
  std::vector<LayerUnit> units_;
  std::vector<std::size_t> tied_;  ///< sorted: the units that share weights with other units
  std::vector<State> states_;
  std::vector<std::vector<bool>> possible_;             ///< for each state and unit, whether the state is possible
  std::vector<std::vector<double>> link_times_;         ///< for each link, and each pair of states of its units
  std::vector<std::vector<double>> joined_link_times_;  ///< as link_times_, but infinite between branches of different
                                                        ///< states
  std::map<std::tuple<std::size_t, std::size_t, int, int, std::size_t, bool>, double> changes_;
};

}  // namespace

std::optional<Estimate> best_by_layer(const Estimator& estimator, const SearchOptions& options, const Plan& alike) {
  const Job& job = estimator.job();
  SearchOptions own = options;
  own.micro_batches = alike.micro_batches;
  const std::vector<Mesh> meshes = segment_meshes(own, job.facts, alike.mesh);
  if (meshes.size() < 2) return std::nullopt;
  const LayerAssignment assignment(estimator, alike, meshes);
  std::vector<Plan> plans;
  std::optional<Estimate> best;
  const bool chooses_blocks = may_choose_recomputed_blocks(options, job);
  const Verdict allowed = options.allow_risk ? Verdict::at_risk : Verdict::fits;
  const auto add = [&](const std::optional<Plan>& plan) {
    if (!plan || plan->segments.empty() || std::find(plans.begin(), plans.end(), *plan) != plans.end()) return;
    plans.push_back(*plan);
    Estimate estimate = estimator.estimate(*plan);
    const bool is_large = estimate.time.step_time() > Seconds{} && estimate.verdict > allowed;
    if (chooses_blocks && (is_large || plan->recompute == Recompute::full)) {
      const std::optional<RecomputedPlan> again = least_recomputation(estimator, *plan, allowed);
      if (again) estimate = estimator.estimate(again->plan);
    }
    if (estimate.feasible() && (!best || estimate.time.step_time() < best->time.step_time())) best = std::move(estimate);
  };
  // At first, memory is not penalized. If no plan fits, all memory of the device counts as the time of 1, then 4 steps.
  const double step = estimator.step_time(alike).value();
  for (const double memory : {0.0, 1.0, 4.0}) {
    for (const double exposed : {1.0, 0.5, 0.0}) {
      for (const bool joins_branches : {false, true}) {
        if (joins_branches && !assignment.has_branches()) continue;
        LayerAssignment::Choice choice{exposed, memory * step / std::max(1.0, job.machine.device.memory.value()),
                                       joins_branches, assignment.all_states()};
        // More meshes have more messages of gradients, which the sum of the units' times leaves out.
        const std::optional<Plan> plan = assignment.best(choice);
        const std::size_t meshes_of_plan = plan ? meshes_of(*plan).size() : 0;
        if (meshes_of_plan <= most_gradient_groups) add(plan);
        for (std::size_t most = 2; most <= most_gradient_groups && most < meshes_of_plan; ++most) {
          choice.allowed = assignment.main_states(*plan, most);
          add(assignment.best(choice));
        }
      }
    }
    if (best) break;
  }
  // The sum of the units' times ignores overlaps with gradients, and that the longest stage sets the pace.
  constexpr int most_moves = 16;
  for (int move = 0; best && move < most_moves; ++move) {
    const Seconds before = best->time.step_time();
    for (const Plan& plan : with_moved_borders(best->plan, assignment.firsts())) add(plan);
    if (best->time.step_time() >= before) break;
  }
  return best;
}

}  // namespace ddl
