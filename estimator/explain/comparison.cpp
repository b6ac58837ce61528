#include "estimator/explain/comparison.hpp"

#include <algorithm>

namespace ddl {
namespace {

Standing standing_of(const Estimate& estimate) {
  if (estimate.feasible()) return Standing::fits;
  const bool memory_alone = std::all_of(estimate.limits.begin(), estimate.limits.end(),
                                        [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
  return memory_alone ? Standing::too_full : Standing::impossible;
}

/// Returns the term that differs most, among the terms that differ in the same direction as the total.
template <class Q>
std::optional<PairedTerm<Q>> deciding(const std::vector<PairedTerm<Q>>& terms) {
  Q whole{};
  for (const PairedTerm<Q>& term : terms) whole += term.difference();
  const PairedTerm<Q>* most = nullptr;
  for (const PairedTerm<Q>& term : terms) {
    const Q difference = whole < Q{} ? -term.difference() : term.difference();
    if (difference <= Q{}) continue;
    if (most == nullptr || difference > (whole < Q{} ? -most->difference() : most->difference())) most = &term;
  }
  return most == nullptr ? std::nullopt : std::optional(*most);
}

}  // namespace

std::array<Doing, 9> components_of(const Breakdown& time) {
  return {{{"compute", time[Part::forward] + time[Part::backward]},
           {"gradient_exchange", time[Part::gradient_exchange]},
           {"layer_collectives", time[Part::layer_collectives]},
           {"halo", time[Part::halo]},
           {"pipeline", time[Part::pipeline]},
           {"bubble", time[Part::bubble]},
           {"weight_update", time[Part::weight_update]},
           {"input", time[Part::input]},
           {"waiting", time[Part::waiting]}}};
}

std::string_view grown_most(const Breakdown& before, const Breakdown& after) {
  const auto was = components_of(before), is = components_of(after);
  std::size_t most = 0;
  for (std::size_t i = 1; i < is.size(); ++i) {
    if (is[i].time - was[i].time > is[most].time - was[most].time) most = i;
  }
  return is[most].name;
}

Comparison compare(const Compared& explained, const Compared& other, Basis basis) {
  const Estimate& a = explained.estimate;
  const Estimate& b = other.estimate;
  Comparison out;
  const bool by_epochs = basis == Basis::epoch || a.plan.global_batch != b.plan.global_batch;
  if (by_epochs) out.basis = "epoch";
  out.itself = a.plan == b.plan && explained.name == other.name;
  out.explained_standing = standing_of(a);
  out.other_standing = standing_of(b);
  const auto is_priced = [](const Estimate& estimate) { return estimate.time.step_time().value() > 0; };
  const auto steps = [&](const Estimate& estimate) {
    return by_epochs && is_priced(estimate) ? estimate.epoch / estimate.time.step_time() : 1.0;
  };
  const double a_steps = steps(a), b_steps = steps(b);
  out.explained_time = a.time.step_time() * a_steps;
  out.other_time = b.time.step_time() * b_steps;
  if (!is_priced(a) || !is_priced(b)) return out;

  out.explained_steps = a_steps;
  out.other_steps = b_steps;
  for (const TimePart& part : time_parts) {
    out.time.push_back({part.name, a.time[part.part] * a_steps, b.time[part.part] * b_steps});
  }
  for (const MemoryPart& part : memory_parts) {
    out.memory.push_back({part.name, a.memory.*part.part, b.memory.*part.part});
  }
  const auto before = components_of(a.time), after = components_of(b.time);
  std::vector<PairedTerm<Seconds>> doings;
  for (std::size_t i = 0; i < before.size(); ++i) {
    doings.push_back({before[i].name, before[i].time * a_steps, after[i].time * b_steps});
  }
  const bool shape_decides = out.explained_standing == Standing::impossible || out.other_standing == Standing::impossible;
  if (out.both_fit()) {
    if (!are_alike(out.explained_time, out.other_time)) out.deciding_time = deciding(doings);
  } else if (!shape_decides) {
    out.deciding_memory = deciding(out.memory);
  }
  return out;
}

std::string name_against(const Plan& plan, const Plan& other) {
  if (plan.mesh.family() != other.mesh.family()) return family_name(plan.mesh.family());
  if (degrees_text(plan.mesh) != degrees_text(other.mesh)) return degrees_text(plan.mesh);
  return family_name(plan.mesh.family());
}

std::vector<ExchangePair> paired_exchanges(const Explanation& explained, const Explanation& other,
                                           const Comparison& comparison) {
  std::vector<ExchangePair> pairs;
  const auto times = [](ExchangeTotal total, double steps) {
    total.count *= steps;
    total.bytes *= steps;
    total.time *= steps;
    return total;
  };
  for (const ExchangeTotal& total : explained.exchanges)
    pairs.push_back({times(total, comparison.explained_steps), times(total, 0)});
  for (const ExchangeTotal& total : other.exchanges) {
    const auto same = [&](const ExchangePair& pair) {
      const ExchangeTotal& known = pair.explained;
      return known.operation == total.operation && known.axes == total.axes && known.phase == total.phase &&
             known.purpose == total.purpose;
    };
    const auto found = std::find_if(pairs.begin(), pairs.end(), same);
    if (found == pairs.end()) {
      pairs.push_back({times(total, 0), times(total, comparison.other_steps)});
    } else {
      found->other = times(total, comparison.other_steps);
    }
  }
  return pairs;
}

}  // namespace ddl
