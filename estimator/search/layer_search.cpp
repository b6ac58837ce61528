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
#include "estimator/step/tasks.hpp"
#include "estimator/strategies/relayout.hpp"
#include "estimator/strategies/strategy.hpp"

namespace ddl {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Layers [first, last) between two cuts.
struct LayerUnit {
  int first = 0, last = 0;
  bool has_matrix = false;
  double in_flight = 1;  ///< number of micro-batches whose activations the unit's stage holds at once
};

/// Returns the plans in which one border between segments is at the next cut before or behind, or is left out.
std::vector<Plan> with_moved_borders(const Plan& plan, const std::vector<LayerCut>& cuts) {
  std::vector<Plan> plans;
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    const int first = plan.segments[i].first;
    const auto at = std::find_if(cuts.begin(), cuts.end(), [&](const LayerCut& cut) { return cut.layer == first; });
    if (at == cuts.end()) continue;
    const auto add = [&](const auto& change) {
      plans.push_back(plan);
      change(plans.back());
      join_segments(plans.back());
    };
    const int before = i == 0 ? 0 : plan.segments[i - 1].first;
    if (at != cuts.begin() && (at - 1)->layer > before) add([&](Plan& to) { to.segments[i].first = (at - 1)->layer; });
    const bool has_next = at + 1 != cuts.end();
    if (has_next && (i + 1 == plan.segments.size() || (at + 1)->layer < plan.segments[i + 1].first))
      add([&](Plan& to) { to.segments[i].first = (at + 1)->layer; });
    add([&](Plan& to) { to.segments[i].mesh = mesh_of(plan, first - 1); });
    add([&](Plan& to) { (i == 0 ? to.mesh : to.segments[i - 1].mesh) = plan.segments[i].mesh; });
  }
  return plans;
}

/// The meshes that a segment may have: the stages of the plan, data, the expert and the context degree of the plan or none,
/// and one other axis at most.
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
      : job_(estimator.job()), tables_(estimator.tables()), cuts_(layer_cuts(job_.facts)), alike_(alike) {
    const auto count = static_cast<int>(job_.facts.model->layers.size());
    for (std::size_t i = 0; i <= cuts_.size(); ++i) {
      LayerUnit unit{i == 0 ? 0 : cuts_[i - 1].layer, i < cuts_.size() ? cuts_[i].layer : count};
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
  }

  /// Returns the plan of least time. The units that read the same weights hold the same parts of them: the best of the plans
  /// in which they are whole, or divided on one of the meshes, is returned.
  [[nodiscard]] std::optional<Plan> best(double exposed, double price_of_byte, const std::vector<bool>& allowed) const {
    Assigned best = best_of_chain(exposed, price_of_byte, allowed, {});
    const auto divide_alike = [&](std::size_t unit) {
      return divides_alike(unit, best.of_unit[unit], best.of_unit[tied_.front()]);
    };
    if (!best.plan || std::all_of(tied_.begin(), tied_.end(), divide_alike)) return best.plan;
    best = {};
    bool has_whole = false;
    for (std::size_t state = 0; state < states_.size(); ++state) {
      const bool is_whole = states_[state].layout.mesh.product(weight_axes) == 1;
      if (!allowed[state] || (is_whole && has_whole)) continue;
      has_whole = has_whole || is_whole;
      Assigned found = best_of_chain(exposed, price_of_byte, allowed, state);
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

  /// Returns whether a unit may be in a state if the units that share weights divide them as in the state `of_tied`.
  [[nodiscard]] bool divides_alike(std::size_t unit, std::size_t state, std::optional<std::size_t> of_tied) const {
    if (!of_tied || state == *of_tied || !std::binary_search(tied_.begin(), tied_.end(), unit)) return true;
    const auto is_whole = [&](std::size_t each) { return states_[each].layout.mesh.product(weight_axes) == 1; };
    return is_whole(state) && is_whole(*of_tied);
  }

  /// Returns the plan of least time. `exposed`: the share of gradient exchanges that takes time; `price_of_byte`: seconds
  /// for each byte of memory. `allowed`: the states that the plan may use.
  [[nodiscard]] Assigned best_of_chain(double exposed, double price_of_byte, const std::vector<bool>& allowed,
                                       std::optional<std::size_t> of_tied) const {
    const std::size_t states = states_.size();
    std::vector<double> least(states, infinite);
    std::vector<std::vector<std::size_t>> from(units_.size(), std::vector<std::size_t>(states, 0));
    for (std::size_t unit = 0; unit < units_.size(); ++unit) {
      std::vector<double> next(states, infinite);
      for (std::size_t to = 0; to < states; ++to) {
        if (!allowed[to] || !possible_[to][unit] || !divides_alike(unit, to, of_tied)) continue;
        double before = unit == 0 ? 0 : infinite;
        for (std::size_t state = 0; unit > 0 && state < states; ++state) {
          if (least[state] == infinite) continue;
          const double time = least[state] + (state == to ? 0 : change(unit - 1, state, to));
          if (time < before) {
            before = time;
            from[unit][to] = state;
          }
        }
        if (before < infinite) next[to] = before + time_of(unit, to, exposed, price_of_byte);
      }
      least = std::move(next);
    }
    const auto end = std::min_element(least.begin(), least.end());
    if (end == least.end() || *end == infinite) return {};
    std::vector<std::size_t> of_unit(units_.size());
    of_unit.back() = static_cast<std::size_t>(end - least.begin());
    for (std::size_t unit = units_.size(); unit-- > 1;) of_unit[unit - 1] = from[unit][of_unit[unit]];
    return {*end, plan_of(of_unit), of_unit};
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
    if (!own.has_matrix) return at.layout.mesh[Axis::spatial] == 1 || at.layout.replicated.first > own.first;
    if (unit > 0 && at.layout.mesh[Axis::spatial] > 1 && at.layout.replicated.first <= own.first) return false;
    return limits_of({job_.facts, at.plan, job_.coefficients.software, &job_.assumptions, own.first, own.last}).empty();
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

  /// Returns the time that exchanges take longer at a cut if the meshes before and behind the cut differ.
  [[nodiscard]] double change(std::size_t cut, std::size_t from, std::size_t to) const {
    const LayerCut& at = cuts_[cut];
    const State &before = states_[from], &behind = states_[to];
    const auto key =
        std::tuple(from, to, before.costs->kind(at.tensor), behind.costs->kind(at.reader), at.input, at.is_lone);
    const auto [known, is_new] = changes_.try_emplace(key, 0.0);
    if (!is_new) return known->second;
    Borders of_writer, of_reader;
    of_writer.output = border_to(job_.facts, behind.layout, at.reader, at.tensor, at.is_lone);
    of_reader.inputs.resize(job_.facts.model->layers[static_cast<std::size_t>(at.reader)].inputs.size());
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
  std::vector<LayerCut> cuts_;
  Plan alike_;
  int stages_ = alike_.mesh[Axis::pipeline];
  std::vector<LayerUnit> units_;
  std::vector<std::size_t> tied_;  ///< sorted: the units that share weights with other units
  std::vector<State> states_;
  std::vector<std::vector<bool>> possible_;  ///< by state and unit
  mutable std::map<std::tuple<std::size_t, std::size_t, int, int, std::size_t, bool>, double> changes_;
};

}  // namespace

std::vector<LayerCut> layer_cuts(const ModelFacts& facts) {
  const auto& layers = facts.model->layers;
  const auto count = static_cast<int>(layers.size());
  const auto index = [](int layer) { return static_cast<std::size_t>(layer); };
  std::vector<int> last_reader(layers.size(), -1), readers(layers.size(), 0);
  for (int reader = 0; reader < count; ++reader) {
    for (const int tensor : layers[index(reader)].inputs) {
      if (tensor < 0 || facts.of_sample[index(tensor)]) continue;
      if (last_reader[index(tensor)] != reader) ++readers[index(tensor)];
      last_reader[index(tensor)] = reader;
    }
  }
  // Before the first layer that computes, only the sample crosses a cut.
  std::vector<LayerCut> cuts;
  std::vector<int> crossing;
  for (int layer = 1; layer < count; ++layer) {
    if (last_reader[index(layer - 1)] >= layer) crossing.push_back(layer - 1);
    std::erase_if(crossing, [&](int tensor) { return last_reader[index(tensor)] < layer; });
    const bool begins_block = layers[index(layer)].block != layers[index(layer - 1)].block;
    const bool is_place = begins_block || layer - 1 == facts.last_matrix ||
                          std::binary_search(facts.weighted.begin(), facts.weighted.end(), layer);
    if (crossing.size() != 1 || !is_place || facts.of_sample[index(layer)]) continue;
    const int tensor = crossing.front();
    for (int reader = layer; reader < count; ++reader) {
      const std::vector<int>& inputs = layers[index(reader)].inputs;
      const auto found = std::find(inputs.begin(), inputs.end(), tensor);
      if (found == inputs.end()) continue;
      const bool is_lone = readers[index(tensor)] == 1 && found == inputs.begin();
      cuts.push_back({layer, tensor, reader, static_cast<std::size_t>(found - inputs.begin()), is_lone});
      break;
    }
  }
  return cuts;
}

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
  // A byte takes no time at first, and then as much as the whole step if it is all memory of the device.
  const double step = estimator.step_time(alike).value();
  for (const double memory : {0.0, 1.0, 4.0}) {
    for (const double exposed : {1.0, 0.5, 0.0}) {
      const double price = memory * step / std::max(1.0, job.machine.device.memory.value());
      std::optional<Plan> plan = assignment.best(exposed, price, assignment.all_states());
      if (plan && meshes_of(*plan).size() > most_gradient_groups)
        plan = assignment.best(exposed, price, assignment.main_states(*plan, most_gradient_groups));
      add(plan);
    }
    if (best) break;
  }
  // The sum of the units' times contains neither overlaps with gradients nor that the longest stage sets the pace.
  constexpr int most_moves = 16;
  const std::vector<LayerCut> cuts = layer_cuts(job.facts);
  for (int move = 0; best && move < most_moves; ++move) {
    const Seconds before = best->time.step_time();
    for (const Plan& plan : with_moved_borders(best->plan, cuts)) add(plan);
    if (best->time.step_time() >= before) break;
  }
  return best;
}

}  // namespace ddl
