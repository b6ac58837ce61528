#include "estimator/search/search.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/search/degrees.hpp"
#include "estimator/search/family_search.hpp"
#include "estimator/search/rank.hpp"
#include "estimator/search/ties.hpp"
#include "estimator/step/step_sensitivity.hpp"

namespace ddl {
namespace {

/// The meshes of a family, most promising first. Each mesh has a cheap bound. When a mesh becomes
/// the first, its bound is replaced by a closer one.
class Meshes {
 public:
  struct Entry {
    double bound = 0;
    bool is_full = false;  ///< whether the bound is the closer one
    std::uint32_t mesh = 0;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };

  void add(const Entry& entry) { entries_.push(entry); }
  /// Removes all meshes, and makes room for this many.
  void clear(std::size_t count) {
    std::vector<Entry> room;
    room.reserve(count);
    entries_ = decltype(entries_)({}, std::move(room));
  }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const Entry& first() const { return entries_.top(); }
  void drop_first() { entries_.pop(); }

 private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries_;
};

/// A search through all families at once.
class Search {
 public:
  Search(const Estimator& estimator, const SearchOptions& options) : options_(options), commons_(estimator, options) {}

  SearchResult result() {
    if (divisors(options_.devices).size() >= many_divisors) look_at_few();
    if (!stops(0, 1)) look_at_shapes();
    if (!stopped_ && !commons_.best && all_plans_ >= many_plans) look_at_few();
    std::vector<std::size_t> families(families_.size());
    std::iota(families.begin(), families.end(), std::size_t{0});
    const bool risk = options_.all || options_.allow_risk;
    if (!stopped_) try_all(families, risk ? Verdict::at_risk : Verdict::fits);
    if (!stopped_) {
      std::erase_if(families, [&](std::size_t each) { return !families_[each].search.asks_for_risk(); });
      if (!families.empty()) try_all(families, Verdict::at_risk);
    }
    SearchResult result;
    result.stopped = stopped_;
    if (stopped_) result.least_left = least_left();
    for (const std::size_t family : reported()) {
      OfFamily& each = families_[family];
      if (!stopped_) each.search.end(each.meshes);
      each.search.report(is_finished(each), result);
    }
    // The search was stopped before it found a plan.
    if (stopped_ && !commons_.best) look_at_few();
    if (stopped_) add_best(result);
    result.first = commons_.first.ranked_first();
    rank(result);
    return result;
  }

 private:
  /// The sort key of a family: the number of axes, the least bound of the family's plans, and the index of the family.
  using Place = std::tuple<int, double, std::size_t>;

  struct OfFamily {
    FamilySearch search;
    std::deque<Mesh> meshes;          ///< meshes with a possible shape
    std::deque<std::int64_t> counts;  ///< number of plans of each mesh
    Meshes left;
    std::vector<bool> tried;                ///< for each mesh, whether it was tried or skipped out of order
    std::optional<Mesh> explored;           ///< the best mesh whose neighbors were tried last
    std::map<std::size_t, double> guesses;  ///< FamilySearch::guess of some meshes
  };

  /// Degrees with many divisors have millions of meshes. The caller may stop the search after this many of them.
  static constexpr std::int64_t often = 1024;

  /// With this many divisors of the number of devices, the list of all meshes takes seconds.
  static constexpr std::size_t many_divisors = 100;

  /// A search of this many plans shows a plan before it has computed the bounds of all meshes.
  static constexpr std::int64_t many_plans = 1'000'000;

  /// Tries a few usual meshes, so that a long search soon shows a plan, and a search that is soon stopped has an answer.
  void look_at_few() {
    // The search itself starts afresh: it finds these plans again.
    SearchOptions options = options_;
    options.top = 1;
    options.all = options.finds_nearest = false;
    options.errors = nullptr;
    SearchCommons commons(commons_.estimator, options);
    std::map<Family, FamilySearch> families;
    for (const Mesh& mesh : usual_meshes(options_, commons_.estimator.job().facts, commons_.estimator.job().machine)) {
      if (!stopped_ && stops(0, 1)) break;
      // A search that was stopped needs only one plan.
      if (stopped_ && commons.best) break;
      const auto [own, is_new] = families.try_emplace(mesh.family(), commons, mesh.family());
      FamilySearch& family = own->second;
      if (is_new) family.begin(options_.allow_risk ? Verdict::at_risk : Verdict::fits);
      if (!family.admits(mesh) || family.is_beaten(commons.bounds.full(family.plan_of(mesh)), mesh)) continue;
      family.try_mesh(mesh, family.count(mesh));
    }
    commons_.best = commons.best;
  }

  /// A stopped search may know a better plan of a family than those that it found when it tried the family.
  void add_best(SearchResult& result) const {
    if (!commons_.best) return;
    const auto of_family = std::find_if(result.best.begin(), result.best.end(), [&](const Estimate& each) {
      return each.plan.mesh.family() == commons_.best->plan.mesh.family();
    });
    if (of_family == result.best.end()) {
      result.best.push_back(commons_.estimator.estimate(commons_.best->plan));
    } else if (preferred(*commons_.best, ranked(*of_family, options_), options_.objective)) {
      *of_family = commons_.estimator.estimate(commons_.best->plan);
    }
  }

  /// Excludes meshes with an impossible shape, without estimating plans.
  void look_at_shapes() {
    std::map<Family, OfFamily> families;
    std::int64_t done = 0;
    Degrees(options_, commons_.estimator.job().facts).each([&](Family family, const Mesh& mesh) {
      if (done++ % often == 0 && stops(0, 1)) return false;
      auto known = families.find(family);
      if (known == families.end())
        known = families.emplace(family, OfFamily{FamilySearch(commons_, family), {}, {}, {}, {}, {}, {}}).first;
      OfFamily& own = known->second;
      if (!own.search.admits(mesh)) return true;
      own.meshes.push_back(mesh);
      own.counts.push_back(own.search.count(mesh));
      all_plans_ += own.counts.back();
      return true;
    });
    for (auto& [family, own] : families) families_.push_back(std::move(own));
    if (stopped_) return;
    has_all_shapes_ = true;
  }

  void try_all(const std::vector<std::size_t>& families, Verdict allowed) {
    has_all_bounds_ = false;
    for (const std::size_t family : families) {
      OfFamily& own = families_[family];
      own.search.begin(allowed);
      own.left.clear(own.meshes.size());
      own.tried.assign(own.meshes.size(), false);
      own.explored.reset();
      for (std::size_t mesh = 0; mesh < own.meshes.size(); ++mesh) {
        if (static_cast<std::int64_t>(mesh) % often == 0 && stops(0, all_plans_)) return;
        const double bound = commons_.bounds.bare(own.search.plan_of(own.meshes[mesh])).value();
        own.left.add({bound, false, static_cast<std::uint32_t>(mesh)});
      }
    }
    has_all_bounds_ = true;
    const auto first_bound = [&](std::size_t family) {
      OfFamily& own = families_[family];
      while (!own.left.empty() && !own.left.first().is_full) refine(own);
      return own.left.empty() ? 0.0 : own.left.first().bound;
    };
    std::vector<Place> order;
    for (const std::size_t family : families) {
      if (stops(0, all_plans_)) return;
      order.emplace_back(std::popcount(families_[family].search.family()), first_bound(family), family);
    }
    std::sort(order.begin(), order.end());
    if (order_.empty()) order_ = order;
    // At first, the search tries few meshes of each family, and promising families before others,
    // so that later families are compared with good plans. Families of one axis come first, because
    // they have few plans and users ask why they are impossible.
    done_ = 0;
    std::map<std::size_t, double> hopes;
    for (const auto& [axes, bound, family] : order) {
      if (stops(0, all_plans_)) return;
      hopes[family] = hope(families_[family]);
    }
    const auto promise = [&](const Place& place) {
      const std::size_t family = std::get<2>(place);
      return std::min(families_[family].search.best_time(), hopes[family]);
    };
    constexpr std::size_t rounds = 16;
    // The bounds of many meshes of a family are almost equal, so the first meshes are chosen by a guess.
    constexpr std::size_t guessed_rounds = 2;
    for (std::size_t round = 0; round <= rounds && !stopped_; ++round) {
      const auto key = [&](const Place& place) { return std::pair(round == 0 && std::get<0>(place) > 1, promise(place)); };
      std::stable_sort(order.begin(), order.end(), [&](const Place& a, const Place& b) { return key(a) < key(b); });
      const std::size_t tries = round < rounds ? std::size_t{1} << round : std::numeric_limits<std::size_t>::max();
      for (const auto& [axes, bound, family] : order) {
        if (round < guessed_rounds) {
          try_promising(families_[family]);
        } else {
          try_some(families_[family], tries);
        }
      }
      if (!options_.all) try_neighbors();
    }
  }

  /// Removes meshes that were tried before their turn from the front of those that are left.
  static void drop_tried(OfFamily& own) {
    while (!own.left.empty() && own.tried[own.left.first().mesh]) own.left.drop_first();
  }

  /// Returns the meshes of a family with the least bounds, at most a few, and removes them from those that are left.
  std::vector<Meshes::Entry> take_few(OfFamily& own) {
    // The meshes of a small family are soon tried anyway.
    constexpr std::size_t many = 64;
    const std::size_t few = own.meshes.size() < many ? 1 : 8;
    std::vector<Meshes::Entry> taken;
    for (drop_tried(own); !own.left.empty() && taken.size() < few; drop_tried(own)) {
      const Meshes::Entry entry = own.left.first();
      if (own.search.is_beaten(Seconds(entry.bound), own.meshes[entry.mesh])) break;
      if (entry.is_full) {
        taken.push_back(entry);
        own.left.drop_first();
      } else {
        refine(own);
      }
    }
    return taken;
  }

  /// Returns a guess of the time of the best plan with the degrees of a mesh.
  double guess_of(OfFamily& own, std::size_t mesh) {
    const auto [guess, is_new] = own.guesses.try_emplace(mesh, 0.0);
    if (is_new) guess->second = own.search.guess(own.meshes[mesh]).value();
    return guess->second;
  }

  /// Returns the least guess among the meshes of a family with the least bounds; infinite if no mesh is left.
  double hope(OfFamily& own) {
    double least = std::numeric_limits<double>::infinity();
    for (const Meshes::Entry& each : take_few(own)) {
      least = std::min(least, guess_of(own, each.mesh));
      own.left.add(each);
    }
    return least;
  }

  /// Tries the mesh with the least guess among those with the least bounds, so that a good plan of the family is known soon.
  void try_promising(OfFamily& own) {
    if (stops(done_, all_plans_)) return;
    const std::vector<Meshes::Entry> few = take_few(own);
    const auto best = std::min_element(few.begin(), few.end(), [&](const Meshes::Entry& a, const Meshes::Entry& b) {
      return guess_of(own, a.mesh) < guess_of(own, b.mesh);
    });
    for (auto each = few.begin(); each != few.end(); ++each) {
      if (each != best) own.left.add(*each);
    }
    if (best != few.end()) try_one(own, best->mesh, false);
  }

  void try_one(OfFamily& own, std::size_t mesh, bool is_beaten) {
    const std::int64_t count = own.counts[mesh];
    own.tried[mesh] = true;
    done_ += count;
    if (is_beaten) {
      own.search.give_up(count);
    } else {
      own.search.try_mesh(own.meshes[mesh], count);
    }
  }

  /// Tries the neighbors of the best meshes of all families, until these have no neighbors that were not tried. The bounds
  /// of meshes do not include memory, so the best mesh of a large model is often far from the mesh with the least bound.
  void try_neighbors() {
    while (!stopped_) {
      OfFamily* best = nullptr;
      for (OfFamily& each : families_) {
        const auto& plan = each.search.best();
        if (!plan || plan->plan.mesh == each.explored) continue;
        if (best == nullptr || plan->step_time < best->search.best()->step_time) best = &each;
      }
      if (best == nullptr) return;
      best->explored = best->search.best()->plan.mesh;
      for (const Mesh& mesh : neighbors_of(*best->explored)) {
        if (stops(done_, all_plans_)) return;
        try_early(mesh);
      }
    }
  }

  /// Tries a mesh before its turn, if it is one of the meshes that are searched and was not tried.
  void try_early(const Mesh& mesh) {
    const auto own = std::find_if(families_.begin(), families_.end(),
                                  [&](const OfFamily& each) { return each.search.family() == mesh.family(); });
    if (own == families_.end()) return;
    const auto place = std::lower_bound(own->meshes.begin(), own->meshes.end(), mesh);  // degrees ascend
    if (place == own->meshes.end() || *place != mesh) return;
    const auto index = static_cast<std::size_t>(place - own->meshes.begin());
    if (own->tried[index]) return;
    const Seconds bound = commons_.bounds.full(own->search.plan_of(mesh));
    try_one(*own, index, own->search.is_beaten(bound, mesh));
  }

  /// Returns all families in the order in which they were first tried.
  [[nodiscard]] std::vector<std::size_t> reported() const {
    std::vector<std::size_t> families;
    for (const auto& [axes, bound, family] : order_) families.push_back(family);
    // The search was stopped before it tried any family.
    if (families.empty()) {
      families.resize(families_.size());
      std::iota(families.begin(), families.end(), std::size_t{0});
    }
    return families;
  }

  /// Replaces the bound of the first mesh of a family by a closer bound.
  void refine(OfFamily& own) {
    Meshes::Entry entry = own.left.first();
    own.left.drop_first();
    entry.bound = commons_.bounds.full(own.search.plan_of(own.meshes[entry.mesh])).value();
    entry.is_full = true;
    own.left.add(entry);
  }

  /// Tries at most `tries` meshes of a family. Meshes that cannot be the best are skipped and not counted.
  void try_some(OfFamily& own, std::size_t tries) {
    for (drop_tried(own); !own.left.empty() && tries > 0; drop_tried(own)) {
      if (stops(done_, all_plans_)) return;
      const Meshes::Entry entry = own.left.first();
      const bool beaten = own.search.is_beaten(Seconds(entry.bound), own.meshes[entry.mesh]);
      if (!beaten && !entry.is_full) {
        refine(own);
        continue;
      }
      own.left.drop_first();
      try_one(own, entry.mesh, beaten);
      if (!beaten) --tries;
    }
  }

  /// Returns a lower bound of the step times of all plans that were not examined. Plans that were pruned are not among
  /// them: each of them ranks behind plans that were found.
  [[nodiscard]] Seconds least_left() {
    if (!has_all_bounds_) return {};
    double least = std::numeric_limits<double>::infinity();
    for (OfFamily& each : families_) {
      drop_tried(each);
      if (!each.left.empty()) least = std::min(least, each.left.first().bound);
    }
    return Seconds(least);
  }

  /// Returns whether all plans of a family were examined.
  [[nodiscard]] bool is_finished(const OfFamily& own) const {
    return !stopped_ || (has_all_shapes_ && own.left.empty() && !own.search.asks_for_risk());
  }

  /// Returns whether the caller has stopped the search.
  bool stops(std::int64_t done, std::int64_t all) {
    stopped_ = stopped_ || (options_.go_on && !options_.go_on(done, all));
    return stopped_;
  }

  void rank(SearchResult& result) const {
    const auto is_better = [&](const RankedPlan& a, const RankedPlan& b) { return preferred(a, b, options_.objective); };
    std::stable_sort(result.best.begin(), result.best.end(), [&](const Estimate& a, const Estimate& b) {
      return is_better(ranked(a, options_), ranked(b, options_));
    });
    if (options_.tie > 0 && !options_.all && options_.objective != Objective::memory) {
      const std::vector<Estimate> fastest = result.best;
      const auto wanted = options_.top > 0 ? static_cast<std::size_t>(options_.top) : result.best.size();
      Ties(commons_.estimator, options_, commons_.space).settle(result.best, wanted);
      for (const Estimate& each : fastest) {
        const Estimate& first = result.best.front();
        if (each.plan.mesh.family() == first.plan.mesh.family() && each.time.step_time() < first.time.step_time())
          result.fastest = each;
      }
    }
    std::stable_sort(result.ranked.begin(), result.ranked.end(), is_better);
  }

  const SearchOptions& options_;
  SearchCommons commons_;
  std::vector<OfFamily> families_;
  std::vector<Place> order_;
  std::int64_t all_plans_ = 0, done_ = 0;
  bool has_all_shapes_ = false, has_all_bounds_ = false, stopped_ = false;
};

bool uses_host(const Plan& plan) {
  return std::any_of(plan_choices().begin(), plan_choices().end(),
                     [&](const PlanChoiceRow& row) { return row.needs_host && row.get(plan) > 0; });
}

/// Returns the strategies with one axis among those that are searched.
std::vector<NamedFamily> pure_strategies(const SearchOptions& options) {
  std::vector<NamedFamily> pure = options.families;
  for (Family family = 0; options.families.empty() && family < (Family{1} << axis_count); ++family) {
    const bool is_admitted = options.admitted.pipelines || (family & family_bit(Axis::pipeline)) == 0;
    if (is_meaningful(family) && is_admitted) pure.push_back({family, std::nullopt});
  }
  std::erase_if(pure, [](const NamedFamily& each) { return std::popcount(each.family) > 1; });
  return pure;
}

/// Returns whether offloading saves enough time: more than a tie, and more than the error of predictions unless only the
/// plan with offloading can be started. Few measured runs use offloading.
bool is_worth_offloading(const Estimator& estimator, const SearchOptions& options, const Estimate& offloading,
                         const Estimate& other) {
  const double ratio = other.time.step_time() / offloading.time.step_time();
  if (ratio <= 1 + options.tie) return false;
  if (options.errors == nullptr) return true;
  if (options.is_startable && options.is_startable(offloading) && !options.is_startable(other)) return true;
  const TimeSensitivity of_offloading = sensitivity(estimator, offloading.plan),
                        of_other = sensitivity(estimator, other.plan);
  return ratio * ratio_interval_of(*options.errors, of_offloading, of_other).low > 1;
}

/// If the best plan spends time to save memory, searches strategies of one axis with the optimizer in host memory. The best
/// of their plans is added as the first if offloading is worth it: without offloading, a plan is simpler.
void try_offloading(const Estimator& estimator, const SearchOptions& options, SearchResult& result) {
  constexpr int value = static_cast<int>(Offload::optimizer);
  const Estimate& first = result.best.front();
  // The first plan may be preferred to a faster one, for which there are no measured runs. Plans at risk are faster for
  // another reason: a plan with the optimizer in host memory may fit at their speed.
  const Verdict verdict = verdict_for(first, options);
  const auto is_faster = [&](const Estimate& each) {
    return verdict_for(each, options) == verdict && each.time.step_time() * (1 + options.tie) < first.time.step_time();
  };
  if (std::any_of(result.best.begin(), result.best.end(), is_faster)) return;
  const auto& admitted = options.admitted[static_cast<std::size_t>(PlanChoice::offload)];
  const bool is_admitted = !admitted || std::find(admitted->begin(), admitted->end(), value) != admitted->end();
  const bool is_short = first.plan.recompute != Recompute::none || first.plan.micro_batches > 1;
  if (!is_admitted || !is_short || options.chosen[PlanChoice::offload] || uses_host(first.plan)) return;
  SearchOptions offloading = options;
  offloading.families = pure_strategies(options);
  if (offloading.families.empty()) return;
  offloading.top = 1;
  offloading.on_better = nullptr;
  for (const PlanChoiceRow& row : plan_choices()) {
    if (row.needs_host && !offloading.chosen[row.choice]) offloading.chosen[row.choice] = 0;
  }
  offloading.chosen[PlanChoice::offload] = value;
  SearchResult found = Search(estimator, offloading).result();
  result.considered += found.considered;
  result.pruned += found.pruned;
  result.estimated += found.estimated;
  result.feasible += found.feasible;
  if (found.best.empty() || verdict_for(found.best.front(), options) > verdict) return;
  if (!is_worth_offloading(estimator, options, found.best.front(), first)) return;
  result.best.insert(result.best.begin(), std::move(found.best.front()));
  result.fastest = std::move(found.fastest);
}

}  // namespace

SearchResult search(const Estimator& estimator, const SearchOptions& options) {
  SearchResult result = Search(estimator, options).result();
  const auto is_open = [&](const PlanChoiceRow& row) {
    const auto& admitted = options.admitted[static_cast<std::size_t>(row.choice)];
    return row.needs_host && !options.chosen[row.choice] && (!admitted || admitted->size() > 1);
  };
  const bool may_offload = !options.offloads && estimator.job().machine.host && !estimator.job().assumptions.memory_reuse &&
                           std::any_of(plan_choices().begin(), plan_choices().end(), is_open);
  const auto fits = [](const SearchResult& each) {
    return !each.best.empty() && each.best.front().verdict == Verdict::fits;
  };
  if (!may_offload || result.stopped) return result;
  if (fits(result) || (options.allow_risk && !result.best.empty())) {
    if (options.tie > 0 && !options.all && options.objective != Objective::memory)
      try_offloading(estimator, options, result);
    return result;
  }
  SearchOptions with_host = options;
  with_host.offloads = true;
  SearchResult offloaded = Search(estimator, with_host).result();
  const bool is_better = fits(offloaded) || (result.best.empty() && !offloaded.best.empty());
  return is_better ? offloaded : result;
}

}  // namespace ddl
