#include "cli/documents/memory_terms.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "cli/documents/memory.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/gradient_exchange.hpp"
#include "estimator/memory/unmodeled.hpp"
#include "estimator/schedules/schedule.hpp"

namespace ddl {
namespace {

/// A smaller difference, in bytes, is due to rounding.
constexpr Bytes nothing(1024);

std::string bytes_each(double bytes) { return fmt::format("{:.4g} B", bytes); }
std::string parameters_text(double count) { return whole_text(std::round(count)) + " parameters"; }

/// Collects the terms of each memory item. If the terms do not add up to the item, the difference becomes a further term.
class TermsMaker {
 public:
  TermsMaker(const Estimate& estimate, const ParameterCounts& counts, const Study& study)
      : plan_(estimate.plan),
        memory_(estimate.memory),
        counts_(counts),
        study_(study),
        each_(parameter_bytes(study.job().facts, estimate.plan, study.assumptions())),
        stage_(estimate.critical.memory),
        estimator_(study.job()) {}

  MemoryTerms make() {
    each_zero_stage([this] { weights(); });
    whole_weights();
    if (plan_.zero_segments.empty() || !has_whole_gradients(plan_, study_.assumptions())) {
      gradients();
    } else {
      each_zero_stage([this] { all_gradients(); });
      add_rest(MemoryItem::gradients, gradient_rest);
    }
    each_zero_stage([this] { optimizer(); });
    add_rest(MemoryItem::optimizer, plan_.offload != Offload::none || is_paged(plan_.optimizer) ? "the rest" : few_ranks);
    activations();
    input();
    workspace();
    communication();
    context();
    at_most();
    return std::move(terms_);
  }

 private:
  static constexpr const char* few_ranks = "experts (sharded among fewer ranks), and rounding";
  static constexpr const char* gradient_rest = "gradients of the current layers of backward, or of the fused update";

  /// Calls `take` for the layers of each ZeRO stage, with the plan and the parameters of these layers.
  template <class Take>
  void each_zero_stage(const Take& take) {
    if (plan_.zero_segments.empty()) return take();
    const Plan plan = plan_;
    const ParameterCounts counts = counts_;
    const ParameterBytes each = each_;
    const StageOf stage = estimator_.stage(plan, stage_);
    for (const ZeroPart& part : zero_parts(plan, stage.first, stage.last)) {
      plan_ = part.plan;
      counts_ = parameter_counts(stage, part);
      each_ = parameter_bytes(study_.job().facts, plan_, study_.assumptions());
      take();
    }
    plan_ = plan;
    counts_ = counts;
    each_ = each;
  }

  void add(MemoryItem item, std::string from, Bytes bytes) {
    const std::string name(to_string(item));
    const bool goes_on = std::ranges::any_of(terms_.items, [&](const MemoryTerm& term) { return term.item == name; });
    terms_.items.push_back({goes_on ? "" : name, std::move(from), bytes});
    told_ += bytes;
  }
  /// Adds the difference between the item and the terms since the last call, as a term of its own.
  void add_rest(MemoryItem item, const std::string& from) {
    const Bytes rest = memory_.of(item) - std::exchange(told_, Bytes{});
    if (rest > nothing || rest < -nothing) add(item, from, rest);
    told_ = Bytes{};
  }

  [[nodiscard]] std::string shards_text(int stage) const { return fmt::format("{} ranks (ZeRO-{})", plan_.shards(), stage); }

  /// Adds a term for `count` parameters of `each` bytes, which may be sharded among ranks. If they
  /// are sharded, also adds a term for the largest layer, which is gathered.
  void add_sharded(MemoryItem item, double count, double largest, double each, bool sharded) {
    const std::string all = fmt::format("{} × {}", parameters_text(count), bytes_each(each));
    if (!sharded || plan_.shards() <= 1) return add(item, all, Bytes(count * each));
    const double ranks = plan_.shards();
    add(item, fmt::format("{} / {}", all, shards_text(plan_.zero_stage)), Bytes(count * each / ranks));
    if (largest > 0) {
      add(item,
          fmt::format("the largest layer, gathered: {} × {} × (1 − 1 / {})", whole_text(std::round(largest)),
                      bytes_each(each), ranks),
          Bytes(largest * each * (1 - 1 / ranks)));
    }
  }

  /// Adds the shards that a rank holds in addition to the weights above. Frozen weights may be in fp32. The weights above
  /// contain all, half or none of these bytes.
  void add_shards() {
    const ModelFacts& facts = study_.job().facts;
    const double frozen = facts.parameters > 0 ? 1 - facts.trained_parameters / facts.parameters : 0;
    const double shard = each_.shard - each_.frozen_master * frozen;
    constexpr double rounding = 1e-6;
    const auto add_term = [&](std::string_view what, double count, double each, double ranks) {
      if (count * each <= rounding) return;
      const std::string among = ranks > 1 ? fmt::format(" / {} ranks", ranks) : std::string();
      add(MemoryItem::weights, fmt::format("{}: {} × {}{}", what, parameters_text(count), bytes_each(each), among),
          Bytes(count * each / ranks));
    };
    if (shard > rounding) add_term("the rank's shard", counts_.all, shard, plan_.shards());
    // Ranks that shard no weights hold all frozen weights in fp32.
    const bool is_sharded = plan_.zero_stage >= 2;
    const double master = is_sharded ? each_.frozen_master : each_.frozen_master / plan_.shards();
    constexpr double wide_bytes = 4;
    add_term(
        master < wide_bytes ? "the other bytes of frozen weights, which are in fp32" : "the shard of frozen weights in fp32",
        counts_.all * frozen, master, is_sharded ? plan_.shards() : 1);
  }

  void weights() {
    if (streams_weights(plan_)) {
      const double there = std::min(counts_.all, 2 * counts_.largest_layer);
      add(MemoryItem::weights,
          fmt::format("two layers at a time: {} × {}, the rest in host memory", parameters_text(there),
                      bytes_each(each_.weight)),
          Bytes(there * each_.weight));
    } else {
      add_sharded(MemoryItem::weights, counts_.all, counts_.largest_layer, each_.weight,
                  plan_.zero_stage >= 3 && plan_.reshard && !each_.is_whole);
    }
    add_shards();
    if (plan_.second_shards() > 0) {
      add(MemoryItem::weights,
          fmt::format("secondary shards: {} × {} / {} ranks", parameters_text(counts_.all), bytes_each(each_.weight),
                      plan_.second_shards()),
          Bytes(counts_.all * each_.weight / plan_.second_shards()));
    }
  }

  void whole_weights() {
    if (const Bytes others(study_.assumptions().other_models); others > Bytes{})
      add(MemoryItem::weights, "other models", others);
    const Bytes saved = saved_weights(estimator_.stage(plan_, stage_));
    const Bytes gathered = study_.assumptions().gathers_units ? gathered_more() : Bytes{};
    // A rank saves its weights while it has gathered no weights for a step. Those would be at most half as many bytes.
    const bool is_saving = saved > Bytes{} && memory_.weights - told_ > saved * 0.75;
    if (is_saving) add(MemoryItem::weights, "all weights, gathered to be saved", saved);
    if (!is_saving && gathered > nothing && memory_.weights - told_ > gathered * 0.5)
      add(MemoryItem::weights, "gathered weights: the rest of two blocks and of layers outside blocks", gathered);
    add_rest(MemoryItem::weights, few_ranks);
  }
  [[nodiscard]] Bytes gathered_more() const { return most_gathered(estimator_.stage(plan_, stage_)); }

  /// Whole gradients of several micro-batches, of which the rank's shards are a part, if they exist at the peak.
  [[nodiscard]] Bytes summed_gradients() const {
    const Bytes whole(counts_.trained * computed_gradient_bytes(plan_, study_.assumptions()));
    const bool sums = sums_whole(plan_, study_.assumptions()) && !holds_whole(plan_, study_.assumptions());
    return sums && memory_.gradients > whole - nothing ? whole : Bytes{};
  }

  void all_gradients() {
    add_sharded(MemoryItem::gradients, counts_.trained, counts_.largest_trained, each_.gradient,
                plan_.zero_stage >= 2 && !each_.is_whole);
  }

  void gradients() {
    if (const Bytes whole = summed_gradients(); whole > Bytes{}) {
      add(MemoryItem::gradients,
          fmt::format("whole gradients until the last micro-batch: {} × {}", parameters_text(counts_.trained),
                      bytes_each(computed_gradient_bytes(plan_, study_.assumptions()))),
          whole);
      return add_rest(MemoryItem::gradients, "gradients of the current layers of backward");
    }
    if (has_whole_gradients(plan_, study_.assumptions())) {
      all_gradients();
      return add_rest(MemoryItem::gradients, gradient_rest);
    }
    const bool move = moves_gradients(plan_, study_.assumptions());
    add(MemoryItem::gradients,
        fmt::format("of {} × {}, the gradients that exist at the peak: backward creates them layer by layer{}",
                    parameters_text(counts_.trained), bytes_each(each_.gradient),
                    move                                       ? ", and moves them to host memory"
                    : study_.assumptions().updates_in_backward ? ", and frees each after its update"
                                                               : ""),
        memory_.gradients);
    told_ = Bytes{};
  }

  void optimizer() {
    const double state = optimizer_state_bytes(plan_.optimizer);
    if (plan_.offload != Offload::none || is_paged(plan_.optimizer)) {
      const bool is_moved = plan_.offload != Offload::none;
      return add(MemoryItem::optimizer, is_moved ? "in host memory" : "moves to host memory if device memory is short",
                 Bytes{});
    }
    const double master = each_.optimizer - state;
    std::string each = fmt::format("{} of {}", bytes_each(state), to_string(plan_.optimizer));
    if (master > 0) each = fmt::format("({} master copy + {})", bytes_each(master), each);
    const bool is_by_shape = plan_.optimizer == Optimizer::adafactor || is_projected(plan_.optimizer);
    if (is_by_shape) each = fmt::format("{} of {}", bytes_each(each_.optimizer), to_string(plan_.optimizer));
    const bool sharded = plan_.zero_stage >= 1 && plan_.shards() > 1;
    add(MemoryItem::optimizer,
        fmt::format("{} × {}{}", parameters_text(counts_.trained), each,
                    sharded ? " / " + shards_text(plan_.zero_stage) : std::string()),
        Bytes(counts_.trained * each_.optimizer / (sharded ? plan_.shards() : 1.0)));
  }

  [[nodiscard]] double in_flight() const {
    return micro_batches_in_flight(plan_.schedule, stage_, plan_.mesh[Axis::pipeline],
                                   static_cast<double>(plan_.micro_batches), plan_.virtual_stages);
  }
  [[nodiscard]] std::string samples_text() const {
    const double flying = in_flight(), samples = samples_per_micro_batch(plan_);
    return fmt::format("{:.4g} micro-batch{} of {:.4g} sample{}", flying, flying == 1 ? "" : "es", samples,
                       samples == 1 ? "" : "s");
  }

  void activations() {
    add(MemoryItem::activations,
        fmt::format("activations of {} for backward, the gradients that exist at the same time, and rounding",
                    samples_text()),
        memory_.activations);
    told_ = Bytes{};
  }

  void input() {
    if (memory_.input > Bytes{}) add(MemoryItem::input, samples_text(), memory_.input);
    told_ = Bytes{};
  }

  void workspace() {
    const Bytes library = library_workspace(study_.machine().device).expected;
    if (library > Bytes{}) add(MemoryItem::workspace, "cuBLAS, by PyTorch's rule for this device", library);
    if (memory_.kernel_workspace > Bytes{})
      add(MemoryItem::workspace, "scratch memory of the kernel that runs at the peak", memory_.kernel_workspace);
    add_rest(MemoryItem::workspace, "temporaries of the optimizer");
  }

  void communication() {
    const Device& device = study_.machine().device;
    for (const Communicator& each : communicators_of(plan_, device, engine_groups_of(study_.job()))) {
      add(MemoryItem::communication, fmt::format("communicator of {}, {:.0f} ranks", whose_text(each), each.ranks),
          each.bytes);
    }
    const int idle = study_.assumptions().idle_communicators;
    if (const Bytes bytes = idle_communicator_bytes(idle, device); bytes > Bytes{})
      add(MemoryItem::communication, count_text(idle, "idle communicator"), bytes);
    add_rest(MemoryItem::communication, !plan_.zero_segments.empty() ? "buckets of gradients"
                                        : plan_.zero_stage == 0      ? "buckets: a copy of all gradients"
                                                                     : "a bucket of at most 500,000,000 gradients");
  }

  void context() {
    if (memory_.context <= Bytes{}) return;
    add(MemoryItem::context,
        study_.assumptions().takes_device      ? "memory that the allocator leaves to the driver and libraries"
        : study_.assumptions().older_framework ? "driver and libraries, all kernels loaded"
                                               : "driver and libraries, kernels loaded lazily",
        memory_.context);
    told_ = Bytes{};
  }

  void at_most() {
    const Device& device = study_.machine().device;
    Bytes rest = memory_.uncertainty;
    const auto add = [&](std::string from, Bytes bytes) {
      if (bytes <= nothing) return;
      terms_.at_most.push_back({"", std::move(from), bytes});
      rest -= bytes;
    };
    const Bytes allocated = memory_.allocated(), unusable = most_unusable(allocated);
    add(fmt::format("{:.3g} % of the {} that are allocated, as possible fragmentation", 100 * (unusable / allocated),
                    humanize(allocated)),
        unusable);
    const StageOf stage = estimator_.stage(plan_, stage_);
    add("activations that eager operators may keep in addition", most_unmodeled(stage, memory_.activations));
    if (!study_.assumptions().gathers_units)
      add("blocks that are gathered in advance, and layers outside blocks", most_gathered(stage));
    add("a second bucket of gradients, if exchanges overlap with backward", most_buckets(stage));
    const CommunicationBuffers buffers =
        communication_buffers(plan_, device, engine_groups_of(study_.job()), study_.assumptions().idle_communicators);
    add(fmt::format("the largest reported buffers of communicators, {}", humanize(buffers.most)),
        buffers.most - buffers.expected);
    const ContextBytes context = context_bytes(device, study_.assumptions());
    add(fmt::format("a context with all kernels loaded, {}", humanize(context.most)), context.most - context.expected);
    const LibraryWorkspace library = library_workspace(device);
    add(fmt::format("the larger workspace of cuBLAS, {}", humanize(library.most)), library.most - library.expected);
    const bool is_held = std::abs((memory_.upper_bound() - memory_.held()).value()) < nothing.value();
    add(is_held ? "memory that the allocator is expected to cache in addition, if the device has room"
                : "scratch memory of kernels that were not measured",
        rest);
  }

  Plan plan_;
  const MemoryBreakdown& memory_;
  ParameterCounts counts_;
  const Study& study_;
  ParameterBytes each_;
  int stage_;
  Estimator estimator_;
  Bytes told_{};
  MemoryTerms terms_;
};

}  // namespace

MemoryTerms memory_terms(const Estimate& estimate, const ParameterCounts& counts, const Study& study) {
  return TermsMaker(estimate, counts, study).make();
}

void add_memory_terms(Document& document, const MemoryTerms& terms, const MemoryBreakdown& memory) {
  document.section("Terms of the memory");
  Table table({words("item"), prose("from"), essential(figures("memory"))});
  for (const MemoryTerm& term : terms.items) table.add({term.item, term.from, humanize(term.bytes)});
  table.add({"all", "", humanize(memory.total())});
  for (const MemoryTerm& term : terms.at_most)
    table.add({&term == terms.at_most.data() ? "at most" : "", term.from, "+ " + humanize(term.bytes)});
  table.add({"", "all", humanize(memory.upper_bound())});
  table.legend = assumed_text(memory);
  document.add(std::move(table));
}

Json memory_terms_to_json(const MemoryTerms& terms) {
  std::string item;
  const auto list = [&](const std::vector<MemoryTerm>& all) {
    return json_list(all, [&](const MemoryTerm& term) -> Json {
      if (!term.item.empty()) item = term.item;
      return {{"item", item}, {"from", term.from}, {"bytes", term.bytes.value()}};
    });
  };
  Json json;
  json["items"] = list(terms.items);
  item = "at_most";
  json["at_most"] = list(terms.at_most);
  return json;
}

}  // namespace ddl
