#include "estimator/step/comparison.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/units.hpp"

namespace ddl {
namespace {

/// Below this share of the longer one, two times are as good as equal.
constexpr double alike = 0.005;

enum class State { fits, too_full, impossible };

State state_of(const Estimate& estimate) {
  if (estimate.feasible()) return State::fits;
  const bool memory_alone = std::all_of(estimate.limits.begin(), estimate.limits.end(),
                                        [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
  return memory_alone ? State::too_full : State::impossible;
}

std::string reasons(const Compared& one) {
  std::string text;
  for (const Limit& limit : one.estimate.limits) text += (text.empty() ? "" : "; ") + describe(limit, one.model);
  return text;
}

/// The term that differs most in the direction in which the whole does.
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

std::string_view doing_of(std::string_view name) {
  static const auto all = doings_of({});
  return std::find_if(all.begin(), all.end(), [&](const Doing& each) { return each.name == name; })->doing;
}

std::string percent(double share) {
  const double percents = share * 100;
  return percents < 9.95 ? fmt::format("{:.1f} %", percents) : fmt::format("{:.0f} %", percents);
}

/// `, 20.1 GiB of activations against 6.3 GiB`; empty where nothing decides.
std::string memory_decides(const std::optional<PairedTerm<Bytes>>& term, bool of_other) {
  if (!term) return {};
  const Bytes own = of_other ? term->other : term->explained;
  const Bytes against = of_other ? term->explained : term->other;
  return fmt::format("{} decide{}, {} against {}", term->name, term->name == "optimizer" ? "s" : "", humanize(own),
                     humanize(against));
}

class Comparer {
 public:
  Comparer(const Compared& explained, const Compared& other, Basis basis) : explained_(explained), other_(other) {
    const bool same_batch = explained.estimate.plan.global_batch == other.estimate.plan.global_batch;
    if (basis == Basis::epoch || !same_batch) out_.basis = "epoch";
  }

  Comparison compare() {
    const bool both_priced = is_priced(explained_.estimate) && is_priced(other_.estimate);
    if (both_priced) add_terms();
    out_.sentence = sentence();
    return std::move(out_);
  }

 private:
  static bool is_priced(const Estimate& estimate) { return estimate.time.iteration().value() > 0; }

  [[nodiscard]] double scale_of(const Estimate& estimate) const {
    return out_.basis == "epoch" ? estimate.epoch / estimate.time.iteration() : 1.0;
  }
  [[nodiscard]] Seconds time_of(const Estimate& estimate) const { return estimate.time.iteration() * scale_of(estimate); }

  void add_terms() {
    const Estimate& a = explained_.estimate;
    const Estimate& b = other_.estimate;
    const double a_scale = out_.explained_iterations = scale_of(a);
    const double b_scale = out_.other_iterations = scale_of(b);
    for (const TimePart& part : time_parts) {
      out_.time.push_back({part.name, a.time.*part.part * a_scale, b.time.*part.part * b_scale});
    }
    for (const MemoryPart& part : memory_parts) {
      out_.memory.push_back({part.name, a.memory.*part.part, b.memory.*part.part});
    }
    const auto before = doings_of(a.time);
    const auto after = doings_of(b.time);
    std::vector<PairedTerm<Seconds>> doings;
    for (std::size_t i = 0; i < before.size(); ++i) {
      doings.push_back({before[i].name, before[i].time * a_scale, after[i].time * b_scale});
    }
    const bool both_fit = state_of(a) == State::fits && state_of(b) == State::fits;
    const bool shape_decides = state_of(a) == State::impossible || state_of(b) == State::impossible;
    if (both_fit) {
      if (!takes_as_long()) out_.deciding_time = deciding(doings);
    } else if (!shape_decides) {
      out_.deciding_memory = deciding(out_.memory);
    }
  }

  [[nodiscard]] bool takes_as_long() const {
    const Seconds a = time_of(explained_.estimate);
    const Seconds b = time_of(other_.estimate);
    return std::abs((b - a).value()) < alike * max(a, b).value();
  }

  [[nodiscard]] std::string sentence() const {
    const State a = state_of(explained_.estimate);
    const State b = state_of(other_.estimate);
    if (a == State::fits && b == State::fits) return of_two_that_fit();
    if (a == State::fits) return of_one_that_fits(explained_, other_, b, true);
    if (b == State::fits) return of_one_that_fits(other_, explained_, a, false);
    if (explained_.estimate.plan == other_.estimate.plan && explained_.name == other_.name) return is_itself();
    if (a == State::too_full && b == State::too_full) {
      const auto needs = [](const Compared& one) { return humanize(one.estimate.memory.total()); };
      const std::string why = memory_decides(out_.deciding_memory, true);
      return fmt::format("neither fits: {} needs {} per device, {} {}{}", other_.name, needs(other_), explained_.name,
                         needs(explained_), why.empty() ? std::string() : ": " + why);
    }
    return fmt::format("neither can run: {}: {}; {}: {}", other_.name, reasons(other_), explained_.name,
                       reasons(explained_));
  }

  [[nodiscard]] std::string is_itself() const { return fmt::format("{} is the plan that is explained", other_.name); }

  /// `fitting` fits, `failing` does not.
  [[nodiscard]] std::string of_one_that_fits(const Compared& fitting, const Compared& failing, State state,
                                             bool failing_is_other) const {
    if (state == State::impossible) {
      if (failing_is_other) return fmt::format("{} cannot run: {}", failing.name, reasons(failing));
      return fmt::format("{} can run, in {} per {}, where {} cannot: {}", fitting.name, humanize(time_of(fitting.estimate)),
                         out_.basis, failing.name, reasons(failing));
    }
    const std::string why = memory_decides(out_.deciding_memory, failing_is_other);
    const std::string decides = why.empty() ? std::string() : fmt::format("; {} of {}", why, fitting.name);
    if (failing_is_other) return fmt::format("{} does not fit: it {}{}", failing.name, reasons(failing), decides);
    return fmt::format("{} fits, with {} per {}, where {} does not: it {}{}", fitting.name,
                       humanize(time_of(fitting.estimate)), out_.basis, failing.name, reasons(failing), decides);
  }

  [[nodiscard]] std::string of_two_that_fit() const {
    const Seconds before = time_of(explained_.estimate);
    const Seconds after = time_of(other_.estimate);
    const std::string times = fmt::format("{} against {} per {}", humanize(after), humanize(before), out_.basis);
    if (explained_.estimate.plan == other_.estimate.plan && explained_.name == other_.name) return is_itself();
    if (takes_as_long()) {
      const Bytes less = explained_.estimate.memory.total();
      const Bytes more = other_.estimate.memory.total();
      std::string memory = ", with as much memory";
      if (std::abs((more - less).value()) >= alike * max(more, less).value())
        memory =
            fmt::format(", with {} {} memory", humanize(max(more, less) - min(more, less)), more > less ? "more" : "less");
      return fmt::format("{} takes as long as {} within 0.5 %, {}{}", other_.name, explained_.name, times, memory);
    }
    const Seconds difference = max(before, after) - min(before, after);
    std::string text = after > before ? fmt::format("{} takes {} ({}) longer than {}", other_.name, humanize(difference),
                                                    percent(difference / before), explained_.name)
                                      : fmt::format("{} is the faster one: it takes {} ({}) less than {}", other_.name,
                                                    humanize(difference), percent(difference / before), explained_.name);
    text += ", " + times;
    if (out_.deciding_time) {
      const PairedTerm<Seconds>& term = *out_.deciding_time;
      text +=
          fmt::format(": {} decides, {} against {}", doing_of(term.name), humanize(term.other), humanize(term.explained));
    }
    return text;
  }

  const Compared& explained_;
  const Compared& other_;
  Comparison out_;
};

}  // namespace

std::array<Doing, 9> doings_of(const Breakdown& time) {
  return {{{"compute", "computing forward and backward", time.forward + time.backward},
           {"gradient_exchange", "exchanging gradients", time.gradient_exchange},
           {"layer_collectives", "gathering and summing activations layer by layer", time.layer_collectives},
           {"halo", "exchanging halos between tiles", time.halo},
           {"pipeline", "sending activations from stage to stage", time.pipeline},
           {"bubble", "waiting in the pipeline", time.bubble},
           {"weight_update", "updating weights", time.weight_update},
           {"input", "waiting for samples", time.input},
           {"waiting", "waiting for the host, the slowest rank and the framework", time.waiting}}};
}

Comparison compare(const Compared& explained, const Compared& other, Basis basis) {
  return Comparer(explained, other, basis).compare();
}

std::string name_beside(const Plan& plan, const Plan& other) {
  if (plan.mesh.family() != other.mesh.family()) return family_name(plan.mesh.family());
  if (degrees_text(plan.mesh) != degrees_text(other.mesh)) return degrees_text(plan.mesh);
  return family_name(plan.mesh.family());
}

std::vector<ExchangePair> paired_exchanges(const Explanation& explained, const Explanation& other,
                                           const Comparison& comparison) {
  std::vector<ExchangePair> pairs;
  const auto times = [](ExchangeTotal total, double iterations) {
    total.count *= iterations;
    total.bytes *= iterations;
    total.time *= iterations;
    return total;
  };
  for (const ExchangeTotal& total : explained.exchanges)
    pairs.push_back({times(total, comparison.explained_iterations), times(total, 0)});
  for (const ExchangeTotal& total : other.exchanges) {
    const auto same = [&](const ExchangePair& pair) {
      const ExchangeTotal& known = pair.explained;
      return known.operation == total.operation && known.axes == total.axes && known.phase == total.phase &&
             known.purpose == total.purpose;
    };
    const auto found = std::find_if(pairs.begin(), pairs.end(), same);
    if (found == pairs.end()) {
      pairs.push_back({times(total, 0), times(total, comparison.other_iterations)});
    } else {
      found->other = times(total, comparison.other_iterations);
    }
  }
  return pairs;
}

}  // namespace ddl
