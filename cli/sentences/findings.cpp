#include <cmath>

#include <fmt/format.h>

#include "cli/sentences/activities.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Describes the activity of the ranks that a finding is about.
std::string doing_in_words(const Finding& finding) {
  if (const auto* gradients = std::get_if<Finding::Gradients>(&finding.facts)) {
    const std::string copies = gradients->copies_weights ? "copying weights from the host" : "";
    if (gradients->ranks == 1 && !copies.empty()) return copies;
    return fmt::format(
        "{}{}{} among {} ranks ({})", copies, copies.empty() ? "" : " and ", doing_phrase(finding.kind), gradients->ranks,
        gradients->zero_stage > 0 ? fmt::format("ZeRO-{}", gradients->zero_stage) : std::string(gradients->algorithm));
  }
  if (const auto* pipeline = std::get_if<Finding::Pipeline>(&finding.facts)) {
    return fmt::format("{} ({} stages, {} micro-batch{})", doing_phrase(finding.kind), pipeline->stages,
                       pipeline->micro_batches, pipeline->micro_batches == 1 ? "" : "es");
  }
  if (const auto* host = std::get_if<Finding::Host>(&finding.facts))
    return fmt::format("waiting for the host ({} per kernel launch)", humanize(host->launch_overhead));
  if (const auto* images = std::get_if<Finding::Images>(&finding.facts))
    return fmt::format("waiting for images, of which the host of a node decodes {:.0f} in a second,", images->decoded);
  if (std::holds_alternative<Finding::Pages>(finding.facts)) return "loading managed memory from the host";
  if (std::holds_alternative<Finding::Activations>(finding.facts))
    return "waiting for copies of activations to and from the host, and for the slowest rank,";
  if (finding.kind == Finding::Kind::waiting) return "waiting for the slowest rank and for the framework";
  return std::string(doing_phrase(finding.kind));
}

}  // namespace

std::string describe(const Finding& finding, const Model& model) {
  using Kind = Finding::Kind;
  const std::string percent = fmt::format("{} %", std::lround(finding.share * 100.0));
  switch (finding.kind) {
    case Kind::replicated_work: {
      const auto* tiles = std::get_if<Finding::TilesEnd>(&finding.facts);
      return fmt::format("{} of the compute time is redundant, or runs at lower efficiency than unsharded layers{}", percent,
                         tiles == nullptr ? ""
                                          : fmt::format("; layers from {} on are not sharded",
                                                        model.layers[static_cast<std::size_t>(tiles->layer)].name));
    }
    case Kind::load_imbalance:
      return fmt::format("the slowest stage takes {} longer than the mean", percent);
    case Kind::memory_redundancy:
      return fmt::format("{} of the memory is model state replicated on {} ranks", percent,
                         std::get<Finding::Copies>(finding.facts).ranks);
    case Kind::scaling_limit:
      if (const auto* samples = std::get_if<Finding::Samples>(&finding.facts)) {
        return fmt::format("one step needs more samples ({}) than the data set has ({:.0f})", samples->step_time,
                           samples->epoch);
      }
      return "each replica has a single sample: data parallelism cannot scale further";
    case Kind::local_storage: {
      const auto& data = std::get<Finding::DataSet>(finding.facts);
      return fmt::format(
          "the data set ({}) does not fit a node's local storage ({}): it is read from the shared file system{}",
          humanize(data.size), humanize(data.storage),
          data.shared_known ? "" : ", whose bandwidth is not in the machine file, so the read time counts as zero");
    }
    case Kind::input:
      if (const auto* images = std::get_if<Finding::Images>(&finding.facts); images != nullptr && !images->waits) {
        return fmt::format(
            "the host of a node would decode {:.0f} images in a second, and its devices train {:.0f}: --image-loader "
            "predicts the time with decoding",
            images->decoded, images->decoded * finding.share);
      }
      [[fallthrough]];
    default:
      return fmt::format("{}{} {} {} of the time", finding.bounds ? "bound by: " : "", doing_in_words(finding),
                         finding.kind == Kind::layer_collectives ? "take" : "takes", percent);
  }
}

}  // namespace ddl
