#include "estimator/layers/stage_balance.hpp"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// Returns groups of consecutive layers that stay together, as the first layer of each group, and
/// at the end the layer count. Each group has at least one layer with weights.
std::vector<int> units_of(const ModelFacts& facts, bool keep_blocks) {
  const auto& layers = facts.model->layers;
  const auto count = static_cast<int>(layers.size());
  std::vector<bool> weighted(layers.size(), false);
  for (const int layer : facts.weighted) weighted[static_cast<std::size_t>(layer)] = true;

  std::vector<int> starts{0};
  bool has_weights = false;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(i);
    const bool may_cut =
        i > 0 && (!keep_blocks || layers[index].block < 0 || layers[index].block != layers[index - 1].block);
    // A cut before a layer with weights, or before a block, is useful only if the group before the cut has weights.
    const bool begins = keep_blocks && layers[index].block >= 0 ? true : static_cast<bool>(weighted[index]);
    if (may_cut && begins && has_weights) {
      starts.push_back(i);
      has_weights = false;
    }
    has_weights = has_weights || weighted[index];
  }
  if (!has_weights && starts.size() > 1) starts.pop_back();
  starts.push_back(count);
  return starts;
}

/// Returns the first layer of a block.
int first_layer_of(const std::vector<Layer>& layers, int block) {
  const auto first = std::find_if(layers.begin(), layers.end(), [&](const Layer& each) { return each.block == block; });
  return static_cast<int>(first - layers.begin());
}

/// Returns the first layers of stages with equal numbers of blocks, and at the end the layer count. If the number of blocks
/// does not divide, the layers before the blocks count as a block, and also those after them if necessary, as with
/// Megatron-LM's `--account-for-embedding-in-pipeline-split` and `--account-for-loss-in-pipeline-split`.
/// Empty if a stage would begin at a layer that is not in `starts`.
std::vector<int> with_equal_blocks(const ModelFacts& facts, int stages, const std::vector<int>& starts) {
  const auto& layers = facts.model->layers;
  const int blocks = facts.model->blocks;
  const int most_slots = facts.like_blocks > 0 ? 2 : 0;
  int slots = 0;
  while (slots < most_slots && (blocks + slots) % stages != 0) ++slots;
  if (blocks == 0 || (blocks + slots) % stages != 0 || blocks < stages) return {};
  std::vector<int> firsts{0};
  for (int stage = 1; stage < stages; ++stage) {
    firsts.push_back(first_layer_of(layers, (blocks + slots) / stages * stage - (slots > 0 ? 1 : 0)));
    if (!std::binary_search(starts.begin(), starts.end(), firsts.back())) return {};
  }
  firsts.push_back(static_cast<int>(layers.size()));
  return firsts;
}

/// The maximum number of lists of places. Each list allows a different number of elements to cross a cut.
constexpr std::size_t most_levels = 32;
/// Two sums of the same times in different orders differ at most by this share.
constexpr double rounding = 1e-9;
constexpr double unbounded = std::numeric_limits<double>::infinity();

/// Returns the smallest limit for which `attempt(limit)` is true. `attempt` must be false below `low`. A successful attempt
/// reports the limit that it reached. A failed attempt reports the next limit that may succeed.
template <class Attempt>
double least_limit(double low, const Attempt& attempt) {
  struct {
    bool works = false;
    double bound = 0;
  } tried;
  double high = unbounded;
  for (double limit = low * (1 + rounding), growth = 1.125; high == unbounded; growth *= growth) {
    std::tie(tried.works, tried.bound) = attempt(limit);
    if (tried.works) {
      high = tried.bound;
    } else {
      low = tried.bound;
      limit = low * growth;
      if (low == unbounded) return low;
    }
  }
  for (int step = 0; step < 60 && high > low * (1 + rounding); ++step) {
    std::tie(tried.works, tried.bound) = attempt(0.5 * (low + high));
    (tried.works ? high : low) = tried.bound;
  }
  return high;
}

}  // namespace

void StageLoad::add(const StageLoad& o, double times) {
  forward += o.forward * times;
  backward += o.backward * times;
  forward_launches += o.forward_launches * times;
  backward_launches += o.backward_launches * times;
  parameters += o.parameters * times;
  kept += o.kept * times;
}

std::vector<int> first_layers(const Model& model, const std::vector<int>& blocks) {
  std::vector<int> firsts{0};
  int block = 0;
  for (std::size_t stage = 0; stage + 1 < blocks.size(); ++stage)
    firsts.push_back(first_layer_of(model.layers, block += blocks[stage]));
  firsts.push_back(static_cast<int>(model.layers.size()));
  return firsts;
}

StagePlaces::StagePlaces(const ModelFacts& facts, int stages, const ReplicatedLayers& replicated, double tiles) {
  std::vector<int> starts = units_of(facts, true);
  if (static_cast<int>(starts.size()) - 1 < stages) starts = units_of(facts, false);
  if (static_cast<int>(starts.size()) - 1 < stages) return;
  equal_blocks_ = with_equal_blocks(facts, stages, starts);
  const auto crossing = [&](int layer) {
    return facts.live_items[static_cast<std::size_t>(layer)] / (replicated.has_tiles_before(layer) ? tiles : 1.0);
  };
  std::vector<double> known;
  for (std::size_t i = 1; i + 1 < starts.size(); ++i) known.push_back(crossing(starts[i]));
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::size_t step = known.size() / most_levels + 1;
  for (std::size_t i = 0; i < known.size(); ++i) {
    // The last list is always included, because it allows all places.
    if ((known.size() - 1 - i) % step != 0) continue;
    std::vector<int> allowed{0};
    for (std::size_t unit = 1; unit + 1 < starts.size(); ++unit) {
      if (crossing(starts[unit]) <= known[i]) allowed.push_back(starts[unit]);
    }
    allowed.push_back(starts.back());
    if (static_cast<int>(allowed.size()) - 1 < stages) {
      least_items_ = known[std::min(i + 1, known.size() - 1)];
      continue;
    }
    if (levels_.empty() && least_items_ == 0) least_items_ = known.front();
    levels_.push_back(std::move(allowed));
  }
  if (known.empty()) levels_.push_back(std::move(starts));
}

StageBalance::StageBalance(const std::vector<StageLoad>& before, const StageWeights& weights, int stages)
    : before_(before), weights_(weights), stages_(stages), begins_(static_cast<std::size_t>(stages) + 1) {}

bool StageBalance::assign(const Limits& limits) {
  const bool by_memory = limits.fullest < unbounded;
  next_ = {unbounded, unbounded};
  Limits reached;
  int end = static_cast<int>(before_.size()) - 1;
  begins_.back() = end;
  int places_of_latest = 1;
  for (int stage = stages_ - 1; stage >= 0; --stage) {
    const double in_flight =
        !by_memory ? 0.0
                   : micro_batches_in_flight(Schedule::one_forward_one_backward, stage, stages_, weights_.micro_batches);
    const StageLoad& last = before_[static_cast<std::size_t>(end)];
    double time = 0, held = 0;
    const auto fits = [&](int begin) {
      const StageLoad& first = before_[static_cast<std::size_t>(begin)];
      time = (max(last.forward - first.forward, weights_.start * (last.forward_launches - first.forward_launches)) +
              max(last.backward - first.backward, weights_.start * (last.backward_launches - first.backward_launches)))
                 .value();
      if (time > limits.longest) {
        next_.longest = std::min(next_.longest, time);
        return false;
      }
      if (!by_memory) return true;
      held =
          (last.parameters - first.parameters) * weights_.bytes_of_parameter + (last.kept - first.kept).value() * in_flight;
      if (held <= limits.fullest) return true;
      next_.fullest = std::min(next_.fullest, held);
      return false;
    };
    // Every earlier stage has at least one group of layers.
    int begin = stage == 0 ? 0 : end - 1;
    if (stage == 0) {
      if (!fits(begin)) return false;
    } else {
      // Balanced stages have about as many places each.
      const int alike = std::clamp(end - places_of_latest, stage, begin);
      const bool is_enough = fits(alike);
      if (!is_enough && (alike == begin || !fits(begin))) return false;
      begin = is_enough ? farthest(stage, alike, fits) : farthest(alike + 1, begin, fits);
      static_cast<void>(fits(begin));
      places_of_latest = end - begin;
    }
    reached.longest = std::max(reached.longest, time);
    reached.fullest = std::max(reached.fullest, held);
    begins_[static_cast<std::size_t>(stage)] = end = begin;
  }
  reached_ = reached;
  return true;
}

/// Requires that a stage that begins at `begin` fits. Returns the first place from `least` on at
/// which the stage can begin and still fit.
template <class Fits>
int StageBalance::farthest(int least, int begin, const Fits& fits) const {
  int bad = least - 1;
  for (int step = 1; begin - 1 > bad; step *= 2) {
    const int tried = std::max(begin - step, bad + 1);
    if (!fits(tried)) {
      bad = tried;
      break;
    }
    begin = tried;
  }
  while (begin - 1 > bad) {
    const int middle = bad + (begin - bad) / 2;
    (fits(middle) ? begin : bad) = middle;
  }
  return begin;
}

StageCuts StageBalance::assigned() const { return {begins_, Seconds(reached_.longest), Bytes(reached_.fullest)}; }

Seconds StageBalance::shortest() {
  if (!shortest_) {
    StageLoad all = before_.back();
    all.add(before_.front(), -1.0);
    shortest_ = least_limit(all.time(weights_.start).value() / stages_, [this](double limit) {
      const bool works = assign({limit, unbounded});
      return std::pair(works, works ? reached_.longest : next_.longest);
    });
  }
  return Seconds(*shortest_);
}

StageCuts StageBalance::light_first() {
  // Memory is only computed if there is a limit.
  assign({shortest().value() * (1 + rounding), std::numeric_limits<double>::max()});
  return assigned();
}

StageCuts StageBalance::least_full() {
  StageCuts cuts = light_first();
  const double longest = shortest().value() * (1 + rounding);
  const double least = least_limit(0.0, [&](double limit) {
    const bool works = assign({longest, limit});
    return std::pair(works, works ? reached_.fullest : next_.fullest);
  });
  if (least < cuts.fullest.value() && assign({longest, least * (1 + rounding)})) cuts = assigned();
  return cuts;
}

}  // namespace ddl
