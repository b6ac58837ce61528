#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/exchange.hpp"

namespace ddl {
namespace {

std::string plural(double count, std::string_view thing) {
  return fmt::format("{:.0f} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string_view by_route(Route route) { return route == Route::host ? ", through the host" : ""; }

/// Describes what the time of a phase consists of.
struct PhaseInWords {
  const PhaseShare& phase;
  const Estimate& estimate;
  const Plan& plan = estimate.plan;
  int stages = plan.mesh[Axis::pipeline];

  /// Returns the words for the stage in which the time is spent; empty without a pipeline.
  [[nodiscard]] std::string at(int stage) const {
    return stages > 1 ? fmt::format(" of stage {} of {}", stage + 1, stages) : std::string();
  }

  /// Returns the samples of a micro-batch. Layouts of layers may divide the batch into different numbers of parts.
  [[nodiscard]] std::string samples() const {
    double least = samples_per_micro_batch(plan), most = least;
    for (const LayerSegment& segment : plan.segments) {
      const double own = samples_per_micro_batch(on_mesh(plan, segment.mesh));
      least = std::min(least, own);
      most = std::max(most, own);
    }
    return (least < most ? fmt::format("{:.0f} to ", least) : std::string()) + plural(most, "sample");
  }

  std::string operator()(std::monostate) const {
    if (phase.what.part == Part::pipeline || phase.what.part == Part::bubble) return "no pipeline";
    if (phase.what.part == Part::waiting) return "none";
    if (phase.what.part == Part::input) return "excluded";
    return "no communication";
  }

  std::string operator()(const KernelsOf& kernels) const {
    std::string text = fmt::format("{}{}, ", plural(kernels.layers, "layer"), at(kernels.stage));
    if (plan.micro_batches > 1) text += fmt::format("{} micro-batches of ", plan.micro_batches);
    text += samples();
    if (kernels.forward_again == Recompute::full) {
      text += kernels.blocks_again == 0 ? ", recompute forward"
                                        : fmt::format(", recompute {}", plural(kernels.blocks_again, "block"));
    }
    if (kernels.forward_again == Recompute::selective) {
      const bool attention = kernels.selected == SelectiveRecompute::attention;
      const bool modules = plan.recompute_modules != Plan().recompute_modules;
      text += !attention ? ", recompute every second matmul"
              : modules  ? fmt::format(", recompute {}", to_string(plan.recompute_modules, " and "))
                         : ", recompute attention";
    }
    if (kernels.overhead.value() > 0) text += fmt::format("; {} outside kernels", humanize(kernels.overhead));
    if (kernels.overhead.value() < 0) text += fmt::format("; {} less than kernels", humanize(-kernels.overhead));
    if (kernels.first_touches.value() > 0)
      text += fmt::format("; {} for first touches of memory", humanize(kernels.first_touches));
    return text;
  }

  std::string operator()(const GradientsOf& gradients) const {
    const std::string what =
        fmt::format("{}{} among {:.0f} ranks", humanize(gradients.message), at(gradients.stage), gradients.ranks);
    const std::string_view route = by_route(gradients.route);
    if (estimate.gradient_algorithm == gossip_exchange)
      return fmt::format("gossip: each rank sends {} of weights{} to each neighbor{}", humanize(gradients.message),
                         at(gradients.stage), route);
    if (gradients.zero == 0) return fmt::format("allreduce of {}, {}{}", what, estimate.gradient_algorithm, route);
    const auto times = [](double count) { return count > 1 ? fmt::format("{:.0f} times ", count) : std::string(); };
    const std::string groups =
        plan.shard_copies() > 1 ? fmt::format(", and an allreduce of shards among {:.0f} groups", plan.shard_copies()) : "";
    const std::string near = plan.second_shards() > 0 && plan.second_shards() < plan.shards()
                                 ? fmt::format("; all allgathers except the first use secondary shards among {:.0f} of them",
                                               plan.second_shards())
                                 : "";
    const bool alike = gradients.weights == gradients.message;
    const std::string scattered = alike ? "" : fmt::format(" of {}", humanize(gradients.message));
    return fmt::format("{}reduce-scatter{} and {}allgather of {}{} among {:.0f} ranks (ZeRO-{}){}{}{}",
                       times(gradients.rounds), scattered, times(gradients.gathers), humanize(gradients.weights),
                       at(gradients.stage), gradients.ranks, gradients.zero, groups, near, route);
  }

  std::string operator()(WeightsLeftWhole) const { return "weights of unsharded layers"; }

  std::string operator()(const ExchangesOf& exchanges) const {
    std::string text = fmt::format("{}{} of {} in total", plural(exchanges.count, "communication op"), at(exchanges.stage),
                                   humanize(exchanges.bytes));
    for (const std::string_view& name : exchanges.algorithms) {
      const bool last_of_several = exchanges.algorithms.size() > 1 && &name == &exchanges.algorithms.back();
      text.append(last_of_several ? " and " : ", ").append(name);
    }
    return text.append(by_route(exchanges.route));
  }

  std::string operator()(const TransfersOf& transfers) const {
    return fmt::format("{} of {}", plural(transfers.count, "transfer"), humanize(transfers.each));
  }

  std::string operator()(const BubbleOf& bubble) const {
    if (bubble.in_slots) return plural(stages - 1, "slot") + " as long as the slowest stage";
    const std::string pieces = bubble.pieces > 1 ? fmt::format(", in {:.0f} pieces,", bubble.pieces) : "";
    return fmt::format("pipeline bubble: one micro-batch{} on the {}, while stage {} waits", pieces,
                       stages == 2 ? "other stage" : fmt::format("{} other stages", stages - 1), bubble.waiting_stage + 1);
  }

  std::string operator()(const WaitingOf& waiting) const {
    std::string text;
    if (waiting.host.value() > 0) {
      text =
          fmt::format("{} for the host ({} per kernel launch)", humanize(waiting.host), humanize(waiting.launch_overhead));
    }
    if (waiting.straggler > 1) {
      text.append(text.empty() ? "" : "; ")
          .append(fmt::format("for the slowest device, whose kernels take {:.4g} times as long", waiting.straggler));
    }
    if (waiting.pages.value() > 0) {
      text.append(text.empty() ? "" : "; ");
      text += fmt::format("{} for managed memory, which is paged in from the host", humanize(waiting.pages));
    }
    if (waiting.moves_activations)
      text.append(text.empty() ? "" : "; ").append("activations go to the host's memory and back");
    if (waiting.copies_weights) text.append(text.empty() ? "" : "; ").append("gathered weights and gradients are copied");
    if (waiting.learned) text.append(text.empty() ? "" : "; ").append("fitted to measured runs");
    return text;
  }

  std::string operator()(const UpdateOf& update) const {
    std::string text = fmt::format("{} parameters{}", with_thousands(std::llround(update.parameters)), at(update.stage));
    if (update.ranks > 1) text += fmt::format(", sharded among {:.0f} ranks", update.ranks);
    return text;
  }

  std::string operator()(const InputOf& input) const {
    return fmt::format("{}, {} on disk{}", plural(static_cast<double>(plan.global_batch), "sample"), humanize(input.bytes),
                       input.decoding > Seconds{} ? fmt::format(", decoded in {}", humanize(input.decoding)) : "");
  }
};

}  // namespace

std::string describe(const PhaseShare& phase, const Estimate& estimate) {
  return std::visit(PhaseInWords{phase, estimate}, phase.made_of);
}

}  // namespace ddl
