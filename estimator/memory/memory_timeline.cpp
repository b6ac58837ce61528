#include "estimator/memory/memory_timeline.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "estimator/memory/caching_allocator.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// What one layer asks of memory, one micro-batch.
struct LayerMemory {
  Bytes output{};             ///< new memory for its output; none of a view
  std::vector<Bytes> inputs;  ///< gradients of the inputs
  std::vector<Bytes> kept;    ///< of its own, kept for backward
  Bytes scratch_forward{}, scratch_backward{};
  Bytes workspace_forward{}, workspace_weight{}, workspace_data{};  ///< of libraries, beside that
  std::vector<double> parameters;                                   ///< items of weights, of biases
};

/// A stretch of layers that is computed again as a whole, or not at all.
struct Segment {
  int first = 0, last = 0;
  bool again = false;
};

/// Memory that is asked for and given back, with its peak. Counts requests, so that a second run can stop at the peak of the
/// first and look at what is there.
class Requests {
 public:
  Requests(CachingAllocator::Rounding rounding, std::optional<Bytes> capacity) : allocator_(rounding, capacity) {}

  std::size_t ask(Bytes bytes, MemoryItem item, int layer) {
    if (bytes <= Bytes{} || stopped_) return nothing;
    const std::size_t number = blocks_.size();
    blocks_.push_back({allocator_.allocate(bytes), bytes, item, layer, true});
    ++count_;
    if (item == MemoryItem::workspace) (layer < 0 ? lasting_workspace_ : passing_workspace_) += bytes;
    note();
    return number;
  }
  void give_back(std::size_t number) {
    if (number == nothing || stopped_) return;
    Held& held = blocks_[number];
    if (!held.live) return;
    held.live = false;
    if (held.item == MemoryItem::workspace) (held.layer < 0 ? lasting_workspace_ : passing_workspace_) -= held.bytes;
    allocator_.free(held.block);
  }
  void at(StepPhase phase, int layer) {
    phase_ = phase;
    layer_ = layer;
    points_.push_back({phase, layer, allocator_.allocated(), allocator_.reserved()});
  }
  void forget_points() { points_.clear(); }
  void stop_at(std::size_t count) { stop_at_ = count; }

  [[nodiscard]] std::size_t peak_count() const { return peak_count_; }
  [[nodiscard]] StepPhase peak_phase() const { return peak_phase_; }
  [[nodiscard]] int peak_layer() const { return peak_layer_; }
  /// At the peak: of the device, and of what the layer runs then, or the update.
  [[nodiscard]] Bytes lasting_workspace() const { return peak_lasting_workspace_; }
  [[nodiscard]] Bytes passing_workspace() const { return peak_passing_workspace_; }
  [[nodiscard]] const CachingAllocator& allocator() const { return allocator_; }
  [[nodiscard]] std::vector<TimelinePoint>& points() { return points_; }
  /// Calls `take` with all that is there.
  template <class Take>
  void each_live(const Take& take) const {
    for (const Held& held : blocks_) {
      if (held.live) take(held.item, held.layer, held.bytes, allocator_.size_of(held.block));
    }
  }

  static constexpr std::size_t nothing = static_cast<std::size_t>(-1);

 private:
  struct Held {
    std::size_t block = 0;
    Bytes bytes{};
    MemoryItem item = MemoryItem::activations;
    int layer = -1;
    bool live = false;
  };

  void note() {
    if (!points_.empty()) {
      points_.back().allocated = max(points_.back().allocated, allocator_.allocated());
      points_.back().reserved = max(points_.back().reserved, allocator_.reserved());
    }
    if (allocator_.allocated() > peak_) {
      peak_ = allocator_.allocated();
      peak_count_ = count_;
      peak_phase_ = phase_;
      peak_layer_ = layer_;
      peak_lasting_workspace_ = lasting_workspace_;
      peak_passing_workspace_ = passing_workspace_;
    }
    if (count_ == stop_at_) stopped_ = true;
  }

  CachingAllocator allocator_;
  std::vector<Held> blocks_;
  std::vector<TimelinePoint> points_;
  std::size_t count_ = 0, peak_count_ = 0, stop_at_ = nothing;
  Bytes peak_{}, lasting_workspace_{}, passing_workspace_{}, peak_lasting_workspace_{}, peak_passing_workspace_{};
  StepPhase phase_ = StepPhase::setup, peak_phase_ = StepPhase::setup;
  int layer_ = -1, peak_layer_ = -1;
  bool stopped_ = false;
};

class StageRequests {
 public:
  StageRequests(const Job& job, const Plan& plan, const LayerCostTable& table, int stage, int first, int last)
      : job_(job), plan_(plan), facts_(job.facts), mixed_(job.assumptions.mixed_precision), first_(first), last_(last) {
    const double samples = samples_per_micro_batch(plan);
    const auto& layers = facts_.model->layers;
    in_flight_ =
        micro_batches_in_flight(plan.schedule, stage, plan.mesh[Axis::pipeline], static_cast<double>(plan.micro_batches));
    layers_.resize(static_cast<std::size_t>(last));
    for (int i = first; i < last; ++i) {
      const Layer& layer = layers[index(i)];
      LayerMemory& memory = layers_[index(i)];
      const LayerShard shard = table.shard(i);
      const ShardMemory own = table.shard_memory_of(i, shard);
      const auto bytes = [&](const TensorShape& shape, int tensor) {
        const double item = tensor_item_bytes(facts_, plan, job.assumptions, tensor);
        return Bytes(static_cast<double>(shape.items()) * shard.samples * item);
      };
      if (facts_.storage[index(i)] == i && !facts_.of_sample[index(i)]) memory.output = bytes(shard.kept_output, i);
      for (std::size_t input = 0; input < layer.inputs.size(); ++input) {
        memory.inputs.push_back(bytes(input == 0 ? shard.kept_input : shard.inputs[input], layer.inputs[input]));
      }
      memory.kept = {own.own, own.copies, own.statistics * 0.5, own.statistics * 0.5, own.gathered};
      memory.scratch_forward = own.scratch_forward;
      memory.scratch_backward = own.scratch_backward;
      const ShardWorkspace workspace = table.workspace_of(i, shard, own);
      memory.workspace_forward = workspace.forward.expected;
      memory.workspace_weight = workspace.backward_weight.expected;
      memory.workspace_data = workspace.backward_data.expected;
      memory.parameters = {shard.weights, shard.biases};
      parameters_ += shard.weights + shard.biases;
    }
    // What another stage owns and this one reads.
    for (const TiedLayer& tied : facts_.tied) {
      if (tied.reader < first || tied.reader >= last || tied.previous >= first) continue;
      const LayerShard shard = table.shard(tied.owner);
      layers_[index(tied.reader)].parameters.push_back(shard.weights + shard.biases);
      parameters_ += shard.weights + shard.biases;
    }
    double largest_layer = 0;
    if (plan.zero_stage >= 2) {
      for (int i = first; i < last; ++i) largest_layer = std::max(largest_layer, table.at(i).parameters);
    }
    memory_ = parameter_memory(parameters_, plan, largest_layer, parameter_bytes(facts_, plan, mixed_));
    const double item = tensor_item_bytes(facts_, plan, job.assumptions, -1);
    input_ = first == 0 ? Bytes(facts_.sample_items * samples * item / plan.mesh[Axis::spatial]) : Bytes{};
    received_ = first == 0 ? Bytes{} : table.cut_bytes(first);
    plan_uses();
  }

  void run(Requests& requests, int steps) {
    set_up(requests);
    for (int step = 0; step < steps; ++step) {
      requests.forget_points();
      requests.at(StepPhase::forward, first_);
      earlier_micro_batches(requests);
      ask(requests, input_, MemoryItem::input, -1, batch_);
      ask(requests, received_, MemoryItem::activations, first_, crossing_);
      for (const Segment& segment : segments_) forward(requests, segment, segment.again ? checkpointed_ : kept_);
      for (std::size_t s = segments_.size(); s-- > 0;) backward(requests, segments_[s]);
      give_back(requests, batch_);
      give_back(requests, crossing_);
      for (const std::size_t block : earlier_) requests.give_back(block);
      earlier_.clear();
      update(requests);
    }
  }

 private:
  using Block = std::size_t;
  static constexpr Block nothing = Requests::nothing;

  /// When memory of a layer's output may go: after forward or backward of a layer.
  struct Uses {
    std::vector<std::vector<int>> after_forward, after_backward;
  };

  static std::size_t index(int layer) { return static_cast<std::size_t>(layer); }

  static void ask(Requests& requests, Bytes bytes, MemoryItem item, int layer, Block& block) {
    block = requests.ask(bytes, item, layer);
  }
  static void give_back(Requests& requests, Block& block) {
    requests.give_back(block);
    block = nothing;
  }

  /// A library's kernel has its scratch memory while it runs.
  static void run_kernel(Requests& requests, Bytes workspace, int layer) {
    requests.give_back(requests.ask(workspace, MemoryItem::workspace, layer));
  }

  /// Who reads what, and until when it is there.
  void plan_uses() {
    const auto& layers = facts_.model->layers;
    // Blocks of the model are computed again; what is in none is not.
    for (int i = first_; i < last_;) {
      int end = i + 1;
      const int block = layers[index(i)].block;
      while (end < last_ && layers[index(end)].block == block) ++end;
      const bool again = plan_.recompute == Recompute::full && block >= 0;
      segments_.push_back({i, end, again});
      i = end;
    }
    std::vector<int> segment_of(index(last_));
    for (std::size_t s = 0; s < segments_.size(); ++s) {
      for (int i = segments_[s].first; i < segments_[s].last; ++i) segment_of[index(i)] = static_cast<int>(s);
    }
    const std::size_t count = index(last_);
    std::vector<int> last_read(count, -1), last_read_inside(count, -1), keeper(count, -1), keeper_inside(count, -1);
    const auto keep = [](int& at, int by) { at = at < 0 ? by : std::min(at, by); };
    const auto reads = [&](int tensor, int reader, bool keeps) {
      if (tensor < first_) return;
      const int owner = facts_.storage[index(tensor)];
      if (owner < first_) return;
      last_read[index(owner)] = std::max(last_read[index(owner)], reader);
      const Segment& own = segments_[index(segment_of[index(owner)])];
      const Segment& of_reader = segments_[index(segment_of[index(reader)])];
      const bool inside = own.first == of_reader.first;
      if (inside) {
        last_read_inside[index(owner)] = std::max(last_read_inside[index(owner)], reader);
        if (keeps) keep(keeper_inside[index(owner)], reader);
      }
      if (of_reader.again) {
        // The block's input is there until it has been computed again and passed backward.
        if (!inside) keep(keeper[index(owner)], of_reader.first);
      } else if (keeps) {
        keep(keeper[index(owner)], reader);
      }
    };
    const bool casting = casts(plan_, job_.assumptions);
    for (int i = first_; i < last_; ++i) {
      reads(i, i, facts_.kept[index(i)].output);
      for (const int input : layers[index(i)].inputs) {
        if (input < 0) continue;
        const bool copies = casting && facts_.autocast.copies(index(i), index(input));
        reads(input, i, facts_.kept[index(i)].input && !copies);
      }
    }
    for (Uses* uses : {&kept_, &checkpointed_, &again_}) {
      uses->after_forward.resize(count);
      uses->after_backward.resize(count);
    }
    for (int i = first_; i < last_; ++i) {
      const auto at = index(i);
      if (facts_.storage[at] != i) continue;
      const bool inside = segments_[index(segment_of[at])].again;
      if (keeper[at] >= 0) {
        // Backward of a block that begins there ends with its first layer.
        kept_.after_backward[index(keeper[at])].push_back(i);
      } else {
        const int end = std::max(i, last_read[at]);
        Uses& uses = segments_[index(segment_of[index(end)])].again ? checkpointed_ : kept_;
        uses.after_forward[index(end)].push_back(i);
      }
      if (!inside) continue;
      if (keeper_inside[at] >= 0) {
        again_.after_backward[index(keeper_inside[at])].push_back(i);
      } else {
        again_.after_forward[index(std::max(i, last_read_inside[at]))].push_back(i);
      }
    }
    outputs_.assign(count, nothing);
    computed_again_.assign(count, nothing);
    own_.resize(count);
    gradients_.assign(count, -1);
    parameter_gradients_.resize(count);
  }

  void set_up(Requests& requests) {
    requests.at(StepPhase::setup, -1);
    const auto each_parameter = [&](Bytes whole, MemoryItem item) {
      if (parameters_ <= 0) return;
      for (int i = first_; i < last_; ++i) {
        for (const double items : layers_[index(i)].parameters) {
          requests.ask(whole * (items / parameters_), item, i);
        }
      }
    };
    each_parameter(memory_.weights, MemoryItem::weights);
    if (has_whole_gradients(plan_, job_.assumptions)) each_parameter(memory_.gradients, MemoryItem::gradients);
    // Buckets of 25 MiB after a first of 1 MiB [PyTorch docs, DistributedDataParallel, bucket_cap_mb;
    // torch/csrc/distributed/ c10d/reducer.hpp, kDefaultFirstBucketBytes].
    constexpr double bucket = 25.0 * 1024 * 1024;
    Bytes left = bucket_bytes(parameters_, plan_, mixed_);
    if (plan_.zero_stage > 0) {
      requests.ask(left, MemoryItem::communication, -1);
    } else {
      const double count = left.value() / bucket;
      // Of very many, as few as can be told apart.
      const Bytes size = count > 4096 ? left / 4096.0 : Bytes(bucket);
      while (left.value() > 0) {
        const Bytes next = min(left, size);
        requests.ask(next, MemoryItem::communication, -1);
        left -= next;
      }
    }
    requests.ask(library_workspace(job_.machine.device).expected, MemoryItem::workspace, -1);
  }

  /// What micro-batches before the last keep, which are in flight: one block for each of their blocks.
  void earlier_micro_batches(Requests& requests) {
    const double count = in_flight_ - 1.0;
    if (count <= 0) return;
    const auto more = [&](Bytes bytes, MemoryItem item, int layer) {
      earlier_.push_back(requests.ask(bytes * count, item, layer));
    };
    more(input_, MemoryItem::input, -1);
    more(received_, MemoryItem::activations, first_);
    for (const Segment& segment : segments_) {
      for (int i = segment.first; i < segment.last; ++i) {
        for (const int owner : kept_.after_backward[index(i)]) {
          more(layers_[index(owner)].output, MemoryItem::activations, owner);
        }
        if (segment.again) continue;
        for (const Bytes bytes : layers_[index(i)].kept) more(bytes, MemoryItem::activations, i);
      }
    }
  }

  void forward(Requests& requests, const Segment& segment, const Uses& uses, bool again = false) {
    std::vector<Block>& outputs = again ? computed_again_ : outputs_;
    for (int i = segment.first; i < segment.last; ++i) {
      const LayerMemory& layer = layers_[index(i)];
      requests.at(again ? StepPhase::backward : StepPhase::forward, i);
      if (facts_.storage[index(i)] == i) ask(requests, layer.output, MemoryItem::activations, i, outputs[index(i)]);
      Block scratch = nothing;
      ask(requests, layer.scratch_forward, MemoryItem::activations, i, scratch);
      const bool keeps = again || !segment.again;
      for (const Bytes bytes : layer.kept) {
        Block block = requests.ask(bytes, MemoryItem::activations, i);
        if (keeps) {
          own_[index(i)].push_back(block);
        } else {
          requests.give_back(block);
        }
      }
      run_kernel(requests, layer.workspace_forward, i);
      give_back(requests, scratch);
      for (const int owner : uses.after_forward[index(i)]) give_back(requests, outputs[index(owner)]);
    }
  }

  /// Memory of a gradient and how many gradients lie in it.
  struct Gradient {
    Block block = nothing;
    int users = 0;
  };
  int new_gradient(Requests& requests, Bytes bytes, int layer) {
    pool_.push_back({requests.ask(bytes, MemoryItem::activations, layer), 1});
    return static_cast<int>(pool_.size()) - 1;
  }
  void leave(Requests& requests, int& gradient) {
    if (gradient < 0) return;
    if (--pool_[index(gradient)].users == 0) requests.give_back(pool_[index(gradient)].block);
    gradient = -1;
  }

  void backward(Requests& requests, const Segment& segment) {
    if (segment.again) forward(requests, segment, again_, true);
    for (int i = segment.last; i-- > segment.first;) backward(requests, i);
    if (!segment.again) return;
    for (int i = segment.first; i < segment.last; ++i) give_back(requests, computed_again_[index(i)]);
  }

  void backward(Requests& requests, int i) {
    const auto& layers = facts_.model->layers;
    const LayerMemory& layer = layers_[index(i)];
    const Layer& at = layers[index(i)];
    requests.at(StepPhase::backward, i);
    // What follows the stage sends its gradient.
    if (gradients_[index(i)] < 0 && i + 1 == last_ && last_ < static_cast<int>(layers.size())) {
      gradients_[index(i)] = new_gradient(requests, layer.output, i);
    }
    Block scratch = nothing;
    ask(requests, layer.scratch_backward, MemoryItem::activations, i, scratch);
    const bool passes = at.operation->passes_gradient() || at.operation->is_view() || at.operation->type() == "concat";
    for (std::size_t input = 0; input < at.inputs.size(); ++input) {
      const int producer = at.inputs[input];
      if (producer >= 0 && facts_.of_sample[index(producer)]) continue;
      if (producer < 0 || !facts_.needs_input_gradient[index(i)]) continue;
      int made = -1;
      if (passes && gradients_[index(i)] >= 0) {
        made = gradients_[index(i)];
        ++pool_[index(made)].users;
      } else {
        made = new_gradient(requests, layer.inputs[input], i);
      }
      // Of a producer in another stage it is sent on.
      int before = -1;
      int& there = producer >= first_ ? gradients_[index(producer)] : before;
      if (there < 0) {
        there = made;
        if (producer < first_) sent_.push_back(made);
        continue;
      }
      // The engine adds in place to what nobody else reads [PyTorch, torch/csrc/autograd/input_buffer.cpp].
      if (pool_[index(there)].users > 1) {
        const int sum = new_gradient(requests, layer.inputs[input], i);
        leave(requests, there);
        there = sum;
      }
      leave(requests, made);
    }
    run_kernel(requests, layer.workspace_data, i);
    Block workspace = requests.ask(layer.workspace_weight, MemoryItem::workspace, i);
    make_parameter_gradients(requests, i);
    give_back(requests, workspace);
    give_back(requests, scratch);
    leave(requests, gradients_[index(i)]);
    for (int& gradient : sent_) leave(requests, gradient);
    sent_.clear();
    for (const Block block : own_[index(i)]) requests.give_back(block);
    own_[index(i)].clear();
    for (const int owner : kept_.after_backward[index(i)]) give_back(requests, outputs_[index(owner)]);
    for (const int owner : again_.after_backward[index(i)]) give_back(requests, computed_again_[index(owner)]);
  }

  void make_parameter_gradients(Requests& requests, int i) {
    if (parameters_ <= 0) return;
    const double each = parameter_bytes(plan_.optimizer, plan_.precision, mixed_).gradient;
    for (const double items : layers_[index(i)].parameters) {
      Block block = requests.ask(Bytes(items * each), MemoryItem::gradients, i);
      if (has_whole_gradients(plan_, job_.assumptions)) {
        requests.give_back(block);  // added to what is there
      } else if (plan_.zero_stage >= 2) {
        const double ranks = plan_.mesh.replicas();
        const Block shard = requests.ask(Bytes(items * each / ranks), MemoryItem::gradients, i);
        requests.give_back(block);
        parameter_gradients_[index(i)].push_back(shard);
      } else {
        parameter_gradients_[index(i)].push_back(block);
      }
    }
  }

  void update(Requests& requests) {
    requests.at(StepPhase::update, -1);
    const bool first_step = !has_state_;
    has_state_ = true;
    std::vector<Block> scratch;
    const double more = update_scratch_bytes(plan_, job_.assumptions);
    for (int i = first_; i < last_; ++i) {
      for (const double items : layers_[index(i)].parameters) {
        if (first_step && parameters_ > 0) {
          requests.ask(memory_.optimizer * (items / parameters_), MemoryItem::optimizer, i);
        }
      }
    }
    for (int i = first_; i < last_; ++i) {
      for (const double items : layers_[index(i)].parameters)
        scratch.push_back(requests.ask(Bytes(items * more), MemoryItem::workspace, i));
    }
    for (const Block block : scratch) requests.give_back(block);
    for (std::vector<Block>& blocks : parameter_gradients_) {
      for (const Block block : blocks) requests.give_back(block);
      blocks.clear();
    }
  }

  const Job& job_;
  const Plan& plan_;
  const ModelFacts& facts_;
  MixedPrecision mixed_;
  int first_ = 0, last_ = 0;
  double in_flight_ = 1, parameters_ = 0;
  MemoryBreakdown memory_;
  Bytes input_{}, received_{};
  std::vector<LayerMemory> layers_;
  std::vector<Segment> segments_;
  Uses kept_, checkpointed_, again_;
  std::vector<Block> outputs_, computed_again_, earlier_;
  std::vector<std::vector<Block>> own_, parameter_gradients_;
  std::vector<int> gradients_;  ///< of each output, by its number in the pool; −1: none
  std::vector<int> sent_;
  std::vector<Gradient> pool_;
  Block batch_ = nothing, crossing_ = nothing;
  bool has_state_ = false;
};

}  // namespace

std::string_view to_string(StepPhase phase) {
  constexpr std::array<std::string_view, 5> names{"setup", "forward", "backward", "exchange", "update"};
  return names[static_cast<std::size_t>(phase)];
}

MemoryTimeline memory_timeline(const Job& job, const Plan& plan, const LayerCostTable& table, int stage, int first, int last,
                               const TimelineOptions& options) {
  const CachingAllocator::Rounding rounding =
      job.machine.device.is_processor ? CachingAllocator::Rounding::none : CachingAllocator::Rounding::cuda;
  Requests requests(rounding, options.capacity);
  StageRequests(job, plan, table, stage, first, last).run(requests, options.steps);
  MemoryTimeline timeline;
  timeline.peak_allocated = requests.allocator().peak_allocated();
  timeline.peak_reserved = requests.allocator().peak_reserved();
  timeline.fits = requests.allocator().fits();
  timeline.peak_phase = requests.peak_phase();
  timeline.peak_layer = requests.peak_layer();
  timeline.workspace = requests.lasting_workspace() + requests.passing_workspace();
  if (timeline.peak_phase != StepPhase::update) timeline.kernel_workspace = requests.passing_workspace();
  if (!options.details) return timeline;
  timeline.points = std::move(requests.points());

  // The same again, up to the peak.
  Requests until(rounding, options.capacity);
  until.stop_at(requests.peak_count());
  StageRequests(job, plan, table, stage, first, last).run(until, options.steps);
  std::map<std::pair<MemoryItem, int>, Bytes> live;
  until.each_live([&](MemoryItem item, int layer, Bytes bytes, Bytes block) {
    live[{item, layer}] += bytes;
    timeline.at_peak[static_cast<std::size_t>(item)] += bytes;
    timeline.rounding += block - bytes;
  });
  for (const auto& [what, bytes] : live) timeline.live_at_peak.push_back({what.first, what.second, bytes});
  std::stable_sort(timeline.live_at_peak.begin(), timeline.live_at_peak.end(),
                   [](const LiveMemory& a, const LiveMemory& b) { return a.bytes > b.bytes; });
  return timeline;
}

void refine(MemoryBreakdown& memory, const MemoryTimeline& timeline) {
  const Bytes sum = memory.allocated();
  if (memory.kernel_workspace > Bytes{} || timeline.kernel_workspace > Bytes{}) {
    // Another layer's kernel may be the one that runs then.
    memory.activations += memory.workspace - timeline.workspace;
    memory.workspace = timeline.workspace;
    memory.kernel_workspace = timeline.kernel_workspace;
  }
  memory.activations = max(Bytes{}, memory.activations - (sum - timeline.peak_allocated));
  memory.uncertainty += most_unusable(memory.allocated()) - most_unusable(sum);
  memory.peak_allocated = timeline.peak_allocated;
  memory.peak_reserved = timeline.peak_reserved;
}

}  // namespace ddl
