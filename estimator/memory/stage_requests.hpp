#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "estimator/exchanges/compression.hpp"
#include "estimator/layers/layer_costs.hpp"
#include "estimator/layers/layer_memory.hpp"
#include "estimator/layers/recomputed_layers.hpp"
#include "estimator/layers/stage_of.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/memory/memory_tally.hpp"
#include "estimator/memory/unmodeled.hpp"
#include "estimator/strategies/shard_memory.hpp"

namespace ddl {

/// The memory requests of one step of a rank of a stage to the framework's allocator: the activations that earlier
/// micro-batches keep, forward and backward of one micro-batch, and the update. If a single backward computes all gradients,
/// backward allocates gradients layer by layer, and the update frees them. Otherwise gradients exist from the start, and
/// backward accumulates into them.
///
/// `Sink` receives the requests: MemoryTally adds them up, MemoryRecord passes them to a model of the allocator. For a sink
/// that folds, only the first two and the last two of five or more equal repetitions of layers are visited. The changes by
/// the second and by the last but one repetition are multiplied by the number of repetitions that they represent.
template <class Sink>
class StageRequests {
 public:
  StageRequests(const StageOf& stage, Sink& sink)
      : job_(stage.job),
        plan_(stage.plan),
        table_(stage.costs),
        facts_(job_.facts),
        sink_(sink),
        first_(stage.first),
        last_(stage.last),
        recompute_(plan_.recompute),
        saves_products_(plan_.recompute == Recompute::selective &&
                        job_.assumptions.selective == SelectiveRecompute::products),
        kept_rules_(kept_rules(plan_, job_.assumptions)),
        is_narrow_(kept_rules_.form == KeptForm::narrow || kept_rules_.form == KeptForm::stored),
        whole_gradients_(has_whole_gradients(plan_, job_.assumptions)),
        frees_gradients_(frees_gradients(plan_, job_.assumptions)),
        projection_(projection_scratch(facts_, plan_, job_.assumptions)) {
    gradient_bytes_ = computed_gradient_bytes(plan_, job_.assumptions);
    parts_ = stage.parts;
    for (const TiedLayer& tied : facts_.tied) {
      if (!is_copied(tied, first_, last_)) continue;
      const LayerCosts& owner = table_.at(tied.owner);
      copied_.push_back(
          {tied.reader, owner[LayerCount::parameters],
           owner[LayerCount::parameters] > 0 ? owner[LayerCount::trained] / owner[LayerCount::parameters] : 1.0});
    }
    if (plan_.zero_segments.empty()) {
      held_.push_back({plan_, nullptr, parameter_memory(parameter_counts(stage), plan_, bytes_of(plan_)),
                       stage_parameters(stage), stage_parameters(stage, true)});
      complete(stage.all_costs(), held_.back());
    } else {
      zero_parts_ = zero_parts(plan_, first_, last_);
      for (const ZeroPart& part : zero_parts_) {
        held_.push_back({part.plan, &part, parameter_memory(parameter_counts(stage, part), part.plan, bytes_of(part.plan)),
                         part_parameters(stage, part), part_parameters(stage, part, true)});
        complete(costs_of(table_, part), held_.back());
      }
    }
    const double item = tensor_item_bytes(facts_, plan_, job_.assumptions, -1);
    if (first_ == 0) {
      input_ = Bytes(facts_.sample_items * samples_per_micro_batch(plan_) * item / plan_.mesh[Axis::spatial]);
    } else {
      received_ = table_.cut_bytes(first_);
    }
    if (job_.assumptions.gathers_units) gathered_ = most_gathered(stage);
    for (const Held& held : held_) {
      // The last backward of a step turns whole gradients into shards, unit by unit.
      if (sums_whole(held.plan, job_.assumptions) && !held.is_whole)
        summed_ += max(Bytes{}, Bytes(held.trained * gradient_bytes_) - held.memory.gradients);
    }
    find_runs();
    // Memory that backward of the stage holds from start to end is allocated once.
    const bool sends = last_ < static_cast<int>(facts_.model->layers.size());
    if (sends && job_.assumptions.keeps_sent && keeper_of(last_ - 1) < 0) sent_bytes_ = table_.cut_bytes(last_);
    const auto slots = static_cast<std::size_t>(slots_);
    outputs_.resize(slots);
    computed_again_.resize(slots);
    own_.resize(slots);
    is_back_.assign(slots, false);
    gradients_.assign(slots, -1);
  }

  /// Allocates the memory that stays after a step: parameters, buckets of gradients, workspaces of libraries. `state` also
  /// allocates the optimizer state, which is otherwise allocated in the first update.
  void set_up(bool state) {
    sink_.at(StepPhase::setup, -1);
    // `of_all`: the bytes of all parameters of layers with the ZeRO stage of a layer.
    const auto each = [&](MemoryItem item, bool is_trained, const auto& of_all) {
      each_repetition([&](const Segment& segment) {
        for (int i = segment.first; i < segment.last; ++i) {
          const Held& held = held_of(i);
          const double parameters = is_trained ? held.trained : held.parameters;
          if (parameters <= 0) continue;
          const Bytes all = of_all(i, held);
          each_parameter(i, is_trained, [&](double items) { (void)sink_.allocate(all * (items / parameters), item, i); });
        }
      });
    };
    const auto share = [this](int layer, bool is_sharded) { return is_sharded ? fewer_replicas(layer) : 1.0; };
    each(MemoryItem::weights, false, [&](int layer, const Held& held) {
      return held.memory.weights * share(layer, held.plan.zero_stage >= 3 && !held.is_whole);
    });
    if (whole_gradients_) {
      each(MemoryItem::gradients, true, [&](int layer, const Held& held) {
        return held.memory.gradients * share(layer, held.plan.zero_stage >= 2 && !held.is_whole);
      });
    }
    has_state_ = state;
    if (state) {
      each(MemoryItem::optimizer, true,
           [&](int layer, const Held& held) { return held.memory.optimizer * share(layer, held.plan.zero_stage >= 1); });
    }
    if (const double early = early_update_bytes(plan_, job_.assumptions); early > 0) {
      each(MemoryItem::workspace, true, [&](int, const Held& held) { return Bytes(held.trained * parts_ * early); });
    }
    for (const Held& held : held_) allocate_buckets(held);
    (void)sink_.allocate(library_workspace(job_.machine.device).expected, MemoryItem::workspace, -1);
  }

  /// Makes the requests of forward and backward of a micro-batch. `in_flight`: micro-batches whose activations exist at
  /// once.
  void pass(double in_flight) {
    sink_.at(StepPhase::forward, first_);
    const Mark before = sink_.mark();
    keep(in_flight - 1);
    const Mark earlier = sink_.mark();
    Block gathered = sink_.allocate(gathered_, MemoryItem::weights, -1);
    Block whole = sink_.allocate(summed_, MemoryItem::gradients, -1);
    Block batch = sink_.allocate(input_, MemoryItem::input, -1);
    Block crossing = sink_.allocate(received_, MemoryItem::activations, first_);
    each_repetition([this](const Segment& segment) { forward(segment, false); });
    Block kept_output = sink_.allocate(sent_bytes_, MemoryItem::activations, last_ - 1);
    each_repetition_backwards([this](const Segment& segment) { backward(segment); });
    sink_.free(gathered);
    sink_.free(whole);
    sink_.free(batch);
    sink_.free(crossing);
    sink_.free(kept_output);
    sink_.release(before, earlier);
  }

  /// Makes the requests of the update, which leaves no gradient of backward in memory.
  void update() {
    sink_.at(StepPhase::update, -1);
    const auto each = [&](const auto& take) {
      each_repetition([&](const Segment& segment) {
        for (int i = segment.first; i < segment.last; ++i) each_parameter(i, true, [&](double items) { take(i, items); });
      });
    };
    if (!has_state_ && trains()) {
      each([&](int i, double items) {
        const Held& held = held_of(i);
        const double share = held.plan.zero_stage >= 1 ? fewer_replicas(i) : 1.0;
        (void)sink_.allocate(held.memory.optimizer * (share * items / held.trained), MemoryItem::optimizer, i);
      });
    }
    has_state_ = true;
    const Mark before = sink_.mark();
    constexpr double fp32_gradient = 4;
    // The part of the gradients that this rank updates is copied twice: to a tensor in the gradients' precision, and to one
    // in fp32.
    double part = 0;
    for (const Held& held : held_) part += flat_gradient_items(held.plan, job_.assumptions, held.trained * parts_);
    Block flat = sink_.allocate(Bytes(part * gradient_bytes_), MemoryItem::gradients, -1);
    (void)sink_.allocate(Bytes(part * fp32_gradient), MemoryItem::gradients, -1);
    sink_.free(flat);
    each([&](int i, double items) {
      const Held& held = held_of(i);
      const double share = held.plan.zero_stage >= 1 ? fewer_replicas(i) / held.plan.shards() : 1.0;
      (void)sink_.allocate(Bytes(items * table_.memory(i).touched_share * share * parts_ * held.scratch_bytes),
                           MemoryItem::workspace, i);
    });
    (void)sink_.allocate(gathered_gradients(), MemoryItem::communication, -1);
    (void)sink_.allocate(trains() ? projection_ : Bytes{}, MemoryItem::workspace, -1);
    sink_.release(before, sink_.mark());
    for (Block& block : parameter_gradients_) sink_.free(block);
    parameter_gradients_.clear();
  }

  /// Allocates the activations that `count` micro-batches keep between their forward and their
  /// backward. A sink may allocate a separate block for each micro-batch. With interleaved stages, backward of the last
  /// chunk follows its forward at once, so that the head keeps one micro-batch, which pass() allocates [NVIDIA, Megatron-LM,
  /// megatron/core/pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving].
  void keep(double count) {
    if (count <= 0) return;
    const bool has_head = last_ == static_cast<int>(facts_.model->layers.size());
    const int end = is_interleaved(plan_) && has_head ? end_of_blocks() : last_;
    (void)sink_.allocate(input_, MemoryItem::input, -1, count);
    (void)sink_.allocate(received_, MemoryItem::activations, first_, count);
    (void)sink_.allocate(sent_bytes_, MemoryItem::activations, last_ - 1, count);
    each_repetition([&](const Segment& segment) {
      for (int i = segment.first; i < std::min(segment.last, end); ++i) {
        const Bytes output = output_of(i) * (1 - share_again(i));
        const int keeper = keeper_of(i);
        if (output > Bytes{} && keeper >= 0 && keeper < end) (void)sink_.allocate(output, MemoryItem::activations, i, count);
        if (segment.again && !keeps_own(i)) continue;
        for (std::size_t k = 0; k < LayerMemory::blocks; ++k)
          (void)sink_.allocate(kept_block(i, k), MemoryItem::activations, i, count);
      }
    });
  }

 private:
  using Block = typename Sink::Block;
  using Mark = typename Sink::Mark;

  /// Consecutive layers that are all recomputed together, or are all not recomputed.
  struct Segment {
    int first = 0, last = 0;
    bool again = false;
    bool drops = false;  ///< whether the output is discarded after forward, and recomputed before backward reads it
  };
  /// A run of consecutive equal sequences of layers, each divided into segments at the same places.
  /// Slots store the memory that layers keep.
  struct Run {
    int first = 0, length = 0, repeats = 1;
    std::vector<Segment> segments;  ///< the segments of the first repetition
    int slot = 0;
    [[nodiscard]] bool folded() const { return Sink::folds && repeats >= 5; }
    [[nodiscard]] Segment segment(std::size_t place, int repetition) const {
      const Segment& own = segments[place];
      return {own.first + repetition * length, own.last + repetition * length, own.again, own.drops};
    }
  };

  /// Layers of the stage that have one ZeRO stage, and their parameters on a rank.
  struct Held {
    const Plan& plan;                ///< with this ZeRO stage for all layers
    const ZeroPart* part = nullptr;  ///< null if these are all layers
    MemoryBreakdown memory;
    double parameters = 0, trained = 0;
    double exchanged = 0, untouched = 0, shard_bytes = 0, scratch_bytes = 0;
    bool is_whole = false;  ///< holds_whole()
  };
  [[nodiscard]] ParameterBytes bytes_of(const Plan& plan) const { return parameter_bytes(facts_, plan, job_.assumptions); }
  /// Adds what follows from the plan, the parameters and the costs of layers.
  void complete(const LayerCosts& own, Held& held) const {
    held.exchanged = held.trained;
    held.untouched = own[LayerCount::untouched];
    // Layers of a mesh without replicas have no bucket. Some gradients are summed along two sets of axes.
    if (!plan_.segments.empty()) {
      double summed = own.exchanged_parameters();
      for (const Copied& copied : copied_) {
        if (holds(held, copied.reader)) summed += copied.parameters * copied.trained_share;
      }
      held.exchanged = std::min(held.trained, summed);
    }
    held.shard_bytes = job_.assumptions.gathers_units ? bytes_of(held.plan).gradient : gradient_bytes_;
    held.scratch_bytes = update_scratch_bytes(held.plan, job_.assumptions);
    held.is_whole = holds_whole(held.plan, job_.assumptions);
  }
  [[nodiscard]] static bool holds(const Held& held, int layer) { return held.part == nullptr || held.part->contains(layer); }
  [[nodiscard]] const Held& held_of(int layer) const {
    for (const Held& held : held_) {
      if (holds(held, layer)) return held;
    }
    return held_.front();
  }
  [[nodiscard]] bool trains() const {
    return std::any_of(held_.begin(), held_.end(), [](const Held& held) { return held.trained > 0; });
  }

  void allocate_buckets(const Held& held) {
    // The first bucket has 1 MiB, all others have 25 MiB [PyTorch docs, DistributedDataParallel, bucket_cap_mb;
    // torch/csrc/distributed/c10d/reducer.hpp, kDefaultFirstBucketBytes].
    constexpr double bucket = 25.0 * 1024 * 1024;
    Bytes left = bucket_bytes((held.exchanged - held.untouched) * parts_, held.plan, job_.assumptions.mixed_precision);
    // A large number of buckets is represented by fewer, larger buckets.
    Bytes size = left.value() > 4096 * bucket ? left / 4096.0 : Bytes(bucket);
    if (held.plan.zero_stage > 0) size = left;
    while (left.value() > 0) {
      const Bytes next = min(left, size);
      (void)sink_.allocate(next, MemoryItem::communication, -1);
      left -= next;
    }
  }

  /// Returns the memory of the compressed gradients of all ranks, which wait for the update to be added up [Lin et al.,
  /// "Deep gradient compression"; the authors' code, synxlin/deep-gradient-compression, dgc/horovod/optimizer.py,
  /// synchronize].
  [[nodiscard]] Bytes gathered_gradients() const {
    if (plan_.zero_stage > 0 || plan_.mesh.replicas() == 1) return {};
    const double ranks = plan_.mesh.replicas();
    const CompressedGradient each = compressed_gradient(job_.assumptions, 1, 4, ranks);
    const Held& all = held_.front();
    return each.way == GradientWay::allgather ? Bytes((all.exchanged - all.untouched) * parts_ * each.sent * ranks)
                                              : Bytes{};
  }

  static std::size_t index(int at) { return static_cast<std::size_t>(at); }

  /// Returns the first layer of the stage after its last block.
  [[nodiscard]] int end_of_blocks() const {
    int end = last_;
    while (end > first_ && facts_.model->layers[index(end - 1)].block < 0) --end;
    return end > first_ ? end : last_;
  }

  /// Returns the module with which selective recomputation recomputes a layer.
  [[nodiscard]] std::optional<RecomputeModule> module_of(int layer) const {
    if (recompute_ != Recompute::selective || saves_products_) return std::nullopt;
    return facts_.modules[index(layer)].in_common(plan_.recompute_modules).outermost();
  }
  /// Returns whether a layer is recomputed together with the preceding layers of the same module, from `begin` on. Attention
  /// is recomputed alone. If the module discards its output, the layer must read at least one of the preceding layers.
  [[nodiscard]] bool joins(int layer, RecomputeModule module, int begin) const {
    if (module == RecomputeModule::core_attn) return false;
    const std::vector<int>& inputs = facts_.model->layers[index(layer)].inputs;
    return !drops_output(module) ||
           std::any_of(inputs.begin(), inputs.end(), [&](int input) { return input >= begin && input < layer; });
  }

  /// Adds a run of layers. With `again`, all layers are recomputed together. With selective
  /// recomputation, each module is recomputed separately.
  void add_run(int first, int length, int repeats, bool again) {
    Run run{first, length, repeats, {}, slots_};
    int begin = first;
    std::optional<RecomputeModule> module;
    const auto cut = [&](int end) {
      if (end > begin) run.segments.push_back({begin, end, again || module, module && drops_output(*module)});
      begin = std::max(begin, end);
    };
    for (int i = first; i < first + length; ++i) {
      const std::optional<RecomputeModule> own = module_of(i);
      if (own != module || (own && !joins(i, *own, begin))) cut(i);
      module = own;
    }
    cut(first + length);
    runs_.push_back(std::move(run));
    slots_ += length * (runs_.back().folded() ? 4 : repeats);
  }
  void find_runs() {
    const LayerKinds& kinds = table_.kinds();
    const auto add_kept = [&](int first, int last) {
      const auto add = [this](int from, int period, int repeats) { add_run(from, period, repeats, false); };
      for (const ZeroSegment& segment : plan_.zero_segments) {
        if (segment.first <= first || segment.first >= last) continue;
        kinds.runs.each(first, segment.first, add);
        first = segment.first;
      }
      kinds.runs.each(first, last, add);
    };
    if (recompute_ != Recompute::full && !saves_products_) return add_kept(first_, last_);
    // Only layers in blocks of the model are recomputed.
    const std::vector<int>& starts = kinds.block_runs;
    const auto block_of = [this](int layer) { return facts_.model->layers[index(layer)].block; };
    std::int64_t left = saves_products_ ? std::numeric_limits<std::int64_t>::max() : most_recomputed_blocks(plan_);
    const auto keeps_block = [&](std::size_t of) {
      return block_of(starts[of]) < 0 ||
             (recompute_ == Recompute::full && !recomputes_from(plan_, std::max(first_, starts[of])));
    };
    const auto have_one_stage = [&](std::size_t of, std::size_t next) {
      const int stage = zero_stage_of(plan_, starts[of]);
      return plan_.zero_segments.empty() ||
             (zero_stage_of(plan_, starts[of + 1] - 1) == stage && zero_stage_of(plan_, starts[next]) == stage &&
              zero_stage_of(plan_, starts[next + 1] - 1) == stage);
    };
    auto run = index(static_cast<int>(std::upper_bound(starts.begin(), starts.end(), first_) - starts.begin())) - 1;
    while (run + 1 < starts.size() && starts[run] < last_) {
      const int begin = std::max(first_, starts[run]), end = std::min(last_, starts[run + 1]);
      std::size_t next = run + 1;
      if (keeps_block(run)) {
        add_kept(begin, end);
      } else if (left == 0) {
        return add_kept(begin, last_);
      } else {
        const bool whole = begin == starts[run] && end == starts[run + 1];
        --left;
        while (whole && left > 0 && next + 1 < starts.size() && starts[next + 1] <= last_ &&
               kinds.block_run_class[next] == kinds.block_run_class[run] && !keeps_block(next) &&
               have_one_stage(run, next)) {
          ++next;
          --left;
        }
        add_run(begin, end - begin, static_cast<int>(next - run), true);
      }
      run = next;
    }
  }

  template <class Visit>
  void each_repetition(const Visit& visit) {
    for (const Run& run : runs_) {
      const auto each = [&](int repetition) {
        for (std::size_t i = 0; i < run.segments.size(); ++i) visit(run.segment(i, repetition));
      };
      go(run, each, 0, 1);
    }
  }
  template <class Visit>
  void each_repetition_backwards(const Visit& visit) {
    for (std::size_t i = runs_.size(); i-- > 0;) {
      const Run& run = runs_[i];
      const auto each = [&](int repetition) {
        for (std::size_t k = run.segments.size(); k-- > 0;) visit(run.segment(k, repetition));
      };
      go(run, each, run.repeats - 1, -1);
    }
  }
  template <class Visit>
  void go(const Run& run, const Visit& visit, int from, int by) {
    if (!run.folded()) {
      for (int i = 0; i < run.repeats; ++i) visit(from + i * by);
      return;
    }
    visit(from);
    const Mark before = sink_.mark();
    visit(from + by);
    sink_.repeat(before, run.repeats - 4);
    for (const int repetition : {run.repeats - 2, run.repeats - 1}) visit(from + repetition * by);
  }

  [[nodiscard]] const Run& run_of(int layer) const {
    const auto behind =
        std::upper_bound(runs_.begin(), runs_.end(), layer, [](int value, const Run& run) { return value < run.first; });
    return *(behind - 1);
  }
  [[nodiscard]] Segment segment_of(int layer) const {
    const Run& run = run_of(layer);
    const int repetition = (layer - run.first) / run.length;
    const int in_first = layer - repetition * run.length;
    std::size_t place = 0;
    while (run.segments[place].last <= in_first) ++place;
    return run.segment(place, repetition);
  }
  /// Returns the slot of a layer. In a folded run, the second repetition and all repetitions that it represents share slots.
  [[nodiscard]] std::size_t slot(int layer) const {
    const Run& run = run_of(layer);
    int repetition = (layer - run.first) / run.length;
    const int offset = (layer - run.first) % run.length;
    if (run.folded() && repetition > 1) repetition = std::max(1, repetition - run.repeats + 4);
    return index(run.slot + repetition * run.length + offset);
  }

  /// Returns whether an output of a recomputed block stays from forward to backward. Selective recomputation keeps the
  /// results of some matrix products and of attention, but not their inputs.
  [[nodiscard]] bool is_saved(int owner) const {
    return saves_products_ && owner >= first_ && !facts_.again_with_products[index(owner)] &&
           facts_.model->layers[index(owner)].block >= 0;
  }
  /// Returns the share of a saved output that is recomputed nevertheless. If the output consists of queries, keys and
  /// values, this is the share of the keys. The time of this recomputation is neglected; it is 2 % of a block's forward with
  /// grouped heads, else 8 %.
  [[nodiscard]] double share_again(int owner) const {
    return is_saved(owner) ? facts_.model->layers[index(owner)].operation->key_share() : 0;
  }
  /// Returns whether the memory that a layer of a recomputed block keeps for itself stays from forward to backward.
  [[nodiscard]] bool keeps_own(int layer) const {
    return (is_saved(layer) && facts_.model->layers[index(layer)].operation->is_attention()) || stores_inputs(layer);
  }
  /// Returns whether a recomputed layer reads inputs that it keeps in fp8 from forward to backward [DeepSeek-AI,
  /// "DeepSeek-V3 technical report", arXiv 2412.19437, section 3.3.3: inputs of SwiGLU are kept in fp8, and its output is
  /// recomputed].
  [[nodiscard]] bool stores_inputs(int layer) const {
    if (kept_rules_.form != KeptForm::stored || recompute_ != Recompute::selective || saves_products_) return false;
    if (!facts_.is_gated[index(layer)]) return false;
    const Segment segment = segment_of(layer);
    const std::vector<int>& inputs = facts_.model->layers[index(layer)].inputs;
    return segment.again && std::all_of(inputs.begin(), inputs.end(), [&](int input) { return input < segment.first; });
  }
  /// Returns whether a matrix product reads a tensor that is discarded and recomputed. It then keeps no copy of the tensor
  /// in fp8 [NVIDIA, Megatron-LM, commit 781e765818 of August 2025: set_save_original_input].
  [[nodiscard]] bool reads_dropped(int layer) const {
    const std::vector<int>& inputs = facts_.model->layers[index(layer)].inputs;
    const int owner = inputs.empty() || inputs.front() < 0 ? -1 : facts_.storage[index(inputs.front())];
    return is_narrow_ && facts_.narrow_copies[index(layer)] && is_dropped(owner);
  }
  /// Returns a block of the memory that a layer keeps for itself.
  [[nodiscard]] Bytes kept_block(int layer, std::size_t block) const {
    return block == LayerMemory::copies && reads_dropped(layer) ? Bytes{} : table_.memory(layer).kept[block];
  }
  /// Returns whether backward of a layer needs a tensor that the layer reads.
  [[nodiscard]] bool keeps(const TensorReader& reader, int owner) const {
    const bool is_copied = is_narrow_ && reader.keeps && facts_.is_linear[index(reader.layer)];
    return reader.keeps_as(kept_rules_) || (is_copied && is_dropped(owner));
  }
  /// Returns whether the memory of an output is freed after forward. This is so if the output's
  /// module is recomputed for the layers that read the output.
  [[nodiscard]] bool is_dropped(int owner) const {
    return recompute_ == Recompute::selective && owner >= first_ && segment_of(owner).drops;
  }
  /// Returns the layer after whose backward the memory of an output may be freed; −1 if it may be
  /// freed after a layer's forward.
  [[nodiscard]] int keeper_of(int owner) const { return is_dropped(owner) ? -1 : last_need_of(owner); }
  /// Returns the layer whose backward is the last to need an output, because it reads the output or
  /// recomputes a layer that reads the output. −1: no backward needs the output.
  [[nodiscard]] int last_need_of(int owner) const {
    if (is_saved(owner)) return segment_of(owner).first;
    for (const TensorReader& reader : facts_.readers[index(owner)]) {
      if (reader.layer >= last_) break;
      const Segment segment = recompute_ != Recompute::none ? segment_of(reader.layer) : Segment{};
      // A block's input is kept until the block has been recomputed and has run backward.
      if (segment.again && owner < segment.first) {
        if (reader.keeps_narrow && !reader.keeps_stored && stores_inputs(reader.layer)) continue;
        return segment.first;
      }
      if ((!segment.again || segment.drops) && keeps(reader, owner)) return reader.layer;
    }
    return -1;
  }
  /// Returns the layer of a recomputed segment whose backward is the last to need an output; −1: no
  /// backward needs the output.
  [[nodiscard]] int inner_keeper_of(int owner, const Segment& segment) const {
    if (segment.drops) return last_need_of(owner);
    for (const TensorReader& reader : facts_.readers[index(owner)]) {
      if (reader.layer >= segment.last) break;
      if (keeps(reader, owner)) return reader.layer;
    }
    return -1;
  }
  /// Returns the last layer before `end` that reads an output, or the output's own layer if no layer reads it.
  [[nodiscard]] int last_reader_of(int owner, int end) const {
    int last = owner;
    for (const TensorReader& reader : facts_.readers[index(owner)]) {
      if (reader.layer >= end) break;
      last = reader.layer;
    }
    return last;
  }
  /// Calls `take` with each layer, from `first` on, whose memory contains an input or the output of
  /// the given layer. Each layer is passed once.
  template <class Take>
  void each_owner(int layer, int first, const Take& take) const {
    const std::vector<int>& inputs = facts_.model->layers[index(layer)].inputs;
    const auto owner_of = [&](std::size_t i) {
      const int tensor = i == inputs.size() ? layer : inputs[i];
      return tensor < 0 ? -1 : facts_.storage[index(tensor)];
    };
    for (std::size_t i = 0; i <= inputs.size(); ++i) {
      const int owner = owner_of(i);
      bool known = owner < first;
      for (std::size_t before = 0; before < i && !known; ++before) known = owner_of(before) == owner;
      if (!known) take(owner);
    }
  }

  /// Returns the number of replicas of other layers' parameters, divided by the number of replicas of this layer's
  /// parameters. The result is above 1 for experts, because they are sharded among ranks with replicas of other layers.
  [[nodiscard]] double fewer_replicas(int layer) const { return plan_.mesh.replicas() / table_.memory(layer).replicas; }

  /// Calls `take` with the number of parameters of each tensor of a layer. With `trained`, only
  /// tensors with gradients are included.
  template <class Take>
  void each_parameter(int layer, bool trained, const Take& take) const {
    const LayerMemory& memory = table_.memory(layer);
    const double share = trained ? memory.trained_share : 1.0;
    if (share > 0) {
      take(memory.weights * share);
      take(memory.biases * share);
    }
    // Allocates weights that this stage reads and another stage owns.
    for (const Copied& copied : copied_) {
      if (copied.reader == layer && (!trained || copied.trained_share > 0))
        take(copied.parameters * (trained ? copied.trained_share : 1.0));
    }
  }

  /// Returns the bytes of a layer's output; zero if the output has no memory of its own.
  [[nodiscard]] Bytes output_of(int layer) const {
    const bool own = facts_.storage[index(layer)] == layer && !facts_.of_sample[index(layer)];
    return own ? table_.memory(layer).output : Bytes{};
  }

  /// Makes the requests of a segment's forward. With `again`, these are the requests of backward,
  /// which recomputes a segment that kept nothing.
  void forward(const Segment& segment, bool again) {
    std::vector<Block>& outputs = again ? computed_again_ : outputs_;
    for (int i = segment.first; i < segment.last; ++i) {
      const LayerMemory& layer = table_.memory(i);
      sink_.at(again ? StepPhase::backward : StepPhase::forward, i);
      const std::size_t own = slot(i);
      const bool is_known = again && is_saved(i);
      const double share = share_again(i);
      const Bytes output = output_of(i);
      if (output > Bytes{} && !is_known) outputs[own] = sink_.allocate(output * (1 - share), MemoryItem::activations, i);
      if (output > Bytes{} && share > 0) computed_again_[own] = sink_.allocate(output * share, MemoryItem::activations, i);
      Block scratch = sink_.allocate(layer.scratch_forward, MemoryItem::activations, i);
      for (std::size_t k = 0; k < LayerMemory::blocks && !(again && keeps_own(i)); ++k) {
        own_[own][k] = sink_.allocate(kept_block(i, k), MemoryItem::activations, i);
        if (segment.again && !again && !keeps_own(i)) sink_.free(own_[own][k]);
      }
      run_kernel(layer.workspace.forward, i, [] {});
      sink_.free(scratch);
      each_owner(i, again ? segment.first : first_, [&](int owner) {
        const int keeper = again ? inner_keeper_of(owner, segment) : keeper_of(owner);
        const bool is_read = last_reader_of(owner, again ? segment.last : last_) == i;
        if (keeper < 0 && is_read) sink_.free(outputs[slot(owner)]);
        if (!again && is_read && share_again(owner) > 0) sink_.free(computed_again_[slot(owner)]);
      });
    }
  }

  /// Runs a library kernel. The kernel holds its scratch memory while it runs, and may need more memory than expected.
  template <class Run>
  void run_kernel(const ShardWorkspace::Range& workspace, int layer, const Run& run) {
    Block block = sink_.allocate(workspace.expected, MemoryItem::workspace, layer);
    sink_.may_need(workspace.most - workspace.expected);
    run();
    sink_.may_need(Bytes{});
    sink_.free(block);
  }

  /// The memory of a gradient, and the number of gradients that share this memory.
  struct Gradient {
    Block block{};
    int users = 0;
  };
  int new_gradient(Bytes bytes, int layer) {
    pool_.push_back({sink_.allocate(bytes, MemoryItem::activations, layer), 1});
    return static_cast<int>(pool_.size()) - 1;
  }
  void leave(int& gradient) {
    if (gradient < 0) return;
    if (--pool_[index(gradient)].users == 0) sink_.free(pool_[index(gradient)].block);
    gradient = -1;
  }

  /// Recomputes the discarded outputs that a layer reads, and further discarded outputs that this recomputation needs.
  void bring_back_inputs(int layer) {
    if (recompute_ != Recompute::selective) return;
    each_owner(layer, first_, [&](int owner) {
      const Segment segment = segment_of(owner);
      if (!segment.drops || (layer >= segment.first && layer < segment.last)) return;
      const bool needs_it = segment_of(layer).again || reads_backward(owner, layer);
      if (needs_it && !is_back_[slot(segment.first)]) compute_again(segment);
    });
  }
  [[nodiscard]] bool reads_backward(int owner, int layer) const {
    const std::vector<TensorReader>& readers = facts_.readers[index(owner)];
    return std::any_of(readers.begin(), readers.end(),
                       [&](const TensorReader& reader) { return reader.layer == layer && keeps(reader, owner); });
  }
  void compute_again(const Segment& segment) {
    for (int i = segment.first; i < segment.last; ++i) bring_back_inputs(i);
    forward(segment, true);
    is_back_[slot(segment.first)] = true;
  }

  void backward(const Segment& segment) {
    if (segment.again && !is_back_[slot(segment.first)]) compute_again(segment);
    for (int i = segment.last; i-- > segment.first;) {
      if (!segment.again) bring_back_inputs(i);
      backward(segment, i);
    }
    if (!segment.again) return;
    is_back_[slot(segment.first)] = false;
    for (int i = segment.first; i < segment.last; ++i) {
      sink_.free(computed_again_[slot(i)]);
      if (is_saved(i)) sink_.free(outputs_[slot(i)]);
      each_owner(i, first_, [&](int owner) {
        if (owner < segment.first && last_need_of(owner) == segment.first) free_output(owner);
      });
    }
  }
  void free_output(int owner) { sink_.free((is_dropped(owner) ? computed_again_ : outputs_)[slot(owner)]); }

  void backward(const Segment& segment, int i) {
    const auto& layers = facts_.model->layers;
    const LayerMemory& layer = table_.memory(i);
    const Layer& at = layers[index(i)];
    sink_.at(StepPhase::backward, i);
    int& own_gradient = gradients_[slot(i)];
    // The next stage sends the gradient of this output.
    if (own_gradient < 0 && i + 1 == last_ && last_ < static_cast<int>(layers.size())) {
      own_gradient = new_gradient(output_of(i), i);
    }
    Block scratch = sink_.allocate(layer.scratch_backward, MemoryItem::activations, i);
    const bool passes = at.operation->passes_gradient() || at.operation->is_view() || at.operation->type() == "concat";
    for (std::size_t input = 0; input < at.inputs.size(); ++input) {
      const int producer = at.inputs[input];
      if (producer < 0 || facts_.of_sample[index(producer)] || !facts_.needs_input_gradient[index(i)]) continue;
      int made = own_gradient;
      if (passes && made >= 0) {
        ++pool_[index(made)].users;
      } else {
        made = new_gradient(layer.inputs[input], i);
      }
      // If a producer is in another stage, its gradient is sent to that stage.
      int before = -1;
      int& there = producer >= first_ ? gradients_[slot(producer)] : before;
      if (there < 0) {
        there = made;
        if (producer < first_) sent_.push_back(made);
        continue;
      }
      // The engine adds in place to a gradient without other readers [PyTorch, torch/csrc/autograd/input_buffer.cpp].
      if (pool_[index(there)].users > 1) {
        const int sum = new_gradient(layer.inputs[input], i);
        leave(there);
        there = sum;
      }
      leave(made);
    }
    run_kernel(layer.workspace.backward_data, i, [] {});
    run_kernel(layer.workspace.backward_weight, i, [&] { make_parameter_gradients(i); });
    sink_.free(scratch);
    leave(own_gradient);
    for (int& gradient : sent_) leave(gradient);
    sent_.clear();
    for (Block& block : own_[slot(i)]) sink_.free(block);
    each_owner(i, segment.again ? segment.first : first_, [&](int owner) {
      const int keeper = segment.again ? inner_keeper_of(owner, segment) : last_need_of(owner);
      if (keeper != i) return;
      if (segment.again) {
        sink_.free(computed_again_[slot(owner)]);
        if (is_saved(owner)) sink_.free(outputs_[slot(owner)]);
      } else {
        free_output(owner);
      }
    });
  }

  void make_parameter_gradients(int layer) {
    if (!trains()) return;
    const Held& held = held_of(layer);
    each_parameter(layer, true, [&](double all) {
      const double items = all * table_.memory(layer).touched_share;
      Block block = sink_.allocate(Bytes(items * gradient_bytes_), MemoryItem::gradients, layer);
      if (whole_gradients_ || frees_gradients_) {
        // The gradient is added to the existing gradient, is copied to the host, or is used at once.
        Block scratch{};
        const bool is_projected = job_.assumptions.updates_in_backward && facts_.is_linear[index(layer)];
        if (is_projected) scratch = sink_.allocate(projection_, MemoryItem::workspace, layer);
        sink_.free(scratch);
        sink_.free(block);
      } else if (shards_gradients(held.plan)) {
        const Block shard =
            sink_.allocate(Bytes(items * held.shard_bytes * held.plan.shard_copies() / table_.memory(layer).replicas),
                           MemoryItem::gradients, layer);
        sink_.free(block);
        parameter_gradients_.push_back(shard);
      } else {
        parameter_gradients_.push_back(block);
      }
    });
  }

  const Job& job_;
  const Plan& plan_;
  const LayerCostTable& table_;
  const ModelFacts& facts_;
  Sink& sink_;
  int first_ = 0, last_ = 0;
  Recompute recompute_;
  bool saves_products_ = false;  ///< whether whole blocks are recomputed, except for some products and attention
  KeptRules kept_rules_;
  bool is_narrow_;  ///< whether products keep copies of their inputs in fp8 or nvfp4
  bool whole_gradients_, frees_gradients_, has_state_ = false;
  Bytes projection_{};
  double parts_ = 1, gradient_bytes_ = 0;
  std::vector<ZeroPart> zero_parts_;  ///< empty if all layers have one ZeRO stage
  std::vector<Held> held_;
  Bytes input_{}, received_{}, sent_bytes_{}, gathered_{}, summed_{};
  /// A layer that reads parameters that another stage owns.
  struct Copied {
    int reader = -1;
    double parameters = 0, trained_share = 1;
  };
  std::vector<Copied> copied_;
  std::vector<Run> runs_;
  int slots_ = 0;
  // The following vectors are indexed by slot.
  std::vector<Block> outputs_, computed_again_;
  std::vector<std::array<Block, LayerMemory::blocks>> own_;
  std::vector<bool> is_back_;   ///< for the first layer of a segment: whether the segment has been recomputed
  std::vector<int> gradients_;  ///< for each output, the index of its gradient in the pool; −1: none
  std::vector<Block> parameter_gradients_;
  std::vector<int> sent_;
  std::vector<Gradient> pool_;
};

}  // namespace ddl
