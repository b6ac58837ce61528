#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace ddl {

/// The sequence of the kinds of all layers, stored as repeated periods. A sum over ten thousand
/// equal layers is therefore as cheap as a sum over one layer.
class LayerRuns {
 public:
  /// A sequence of `period` layers from `first` on, which occurs `repeats` times in a row.
  struct Run {
    int first = 0, period = 1, repeats = 1;
    std::size_t inner = 0;  ///< index of the period's first value in the array of values of all periods
  };
  /// The position of a layer: `offset` layers into a repetition of a run. The end of the sequence,
  /// after the last layer, has a position as well.
  struct Place {
    std::size_t run = 0;
    int repeat = 0, offset = 0;
  };

  LayerRuns() = default;
  explicit LayerRuns(const std::vector<int>& kinds);

  [[nodiscard]] const std::vector<Run>& runs() const { return runs_; }
  [[nodiscard]] std::size_t inner_count() const { return inner_count_; }
  [[nodiscard]] Place place(int layer) const;

  /// Calls `take(first, period, repeats)` for layers [first, last) in order. Each call covers
  /// `period` layers, which are repeated `repeats` times in a row.
  template <class Take>
  void each(int first, int last, const Take& take) const {
    for (int layer = first; layer < last;) {
      const Run& run = runs_[place(layer).run];
      const int end = std::min(last, run.first + run.period * run.repeats);
      const int repeats = (end - layer) / run.period;
      if (repeats > 0) take(layer, run.period, repeats);
      layer += repeats * run.period;
      if (layer < end) take(layer, end - layer, 1);
      layer = end;
    }
  }

 private:
  std::vector<Run> runs_;
  std::vector<std::size_t> run_of_;  ///< the run of each layer
  std::size_t inner_count_ = 0;
};

/// Running sums over layers. Layers of one kind have equal values. `T` has `add(const T&, double times)`.
template <class T>
class RunSums {
 public:
  /// `kind`: the kind of each layer. Both arguments must outlive this object.
  template <class ValueOf>
  void assign(const LayerRuns& runs, const ValueOf& value_of_layer) {
    runs_ = &runs;
    before_.clear();
    period_.clear();
    inner_.clear();
    inner_.reserve(runs.inner_count());
    T before{};
    for (const LayerRuns::Run& run : runs.runs()) {
      before_.push_back(before);
      T sum{};
      for (int i = 0; i < run.period; ++i) {
        inner_.push_back(sum);
        sum.add(value_of_layer(run.first + i), 1.0);
      }
      period_.push_back(sum);
      before.add(sum, static_cast<double>(run.repeats));
    }
    all_ = before;
  }
  [[nodiscard]] bool empty() const { return runs_ == nullptr; }
  void clear() { runs_ = nullptr; }
  [[nodiscard]] const T& all() const { return all_; }
  [[nodiscard]] T before(int layer) const {
    const LayerRuns::Place place = runs_->place(layer);
    if (place.run == runs_->runs().size()) return all_;
    T sum = before_[place.run];
    if (place.repeat > 0) sum.add(period_[place.run], static_cast<double>(place.repeat));
    if (place.offset > 0) sum.add(inner_[runs_->runs()[place.run].inner + static_cast<std::size_t>(place.offset)], 1.0);
    return sum;
  }

 private:
  const LayerRuns* runs_ = nullptr;
  std::vector<T> before_, period_, inner_;
  T all_{};
};

}  // namespace ddl
