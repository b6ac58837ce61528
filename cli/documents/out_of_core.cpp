#include "cli/documents/out_of_core.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

/// Compares two times with a tolerance for the rounding of sums.
bool are_equal(Seconds a, Seconds b) { return std::abs((a - b).value()) <= 1e-9 * a.value(); }

std::string name_of(const LayerRange& group, const Model& model) {
  const auto name = [&model](int layer) { return model.layers[static_cast<std::size_t>(layer)].name; };
  return group.last - group.first == 1 ? name(group.first)
                                       : fmt::format("{} to {}", name(group.first), name(group.last - 1));
}

}  // namespace

void add_out_of_core(Document& document, const OutOfCore& result, const Estimate& estimate, const Study& study) {
  const Seconds step_time = estimate.time.step_time();
  const bool all_keep = std::ranges::all_of(result.choices, [](GroupChoice choice) { return choice == GroupChoice::keep; });
  document.section("Out of core", fmt::format(": {} of {}, at most {}: {}", humanize(result.memory), humanize(result.device),
                                              humanize(result.upper_bound), to_string(result.verdict())));
  if (all_keep) {
    document.line(result.fits() ? "the plan fits, and every group of layers keeps its activations"
                                : "no group of layers has activations that can be offloaded or recomputed",
                  2);
    return;
  }
  std::string text =
      fmt::format("in core {}, at most {}; a step takes {} instead of {}", humanize(estimate.memory.total()),
                  humanize(estimate.memory.upper_bound()), humanize(step_time + result.longer()), humanize(step_time));
  const char* between = ": ";
  const auto part = [&](Seconds time, const char* what) {
    if (time <= Seconds{}) return;
    text += fmt::format("{}{} of {}", std::exchange(between, ", "), humanize(time * result.micro_batches), what);
  };
  part(result.cost.again, "recompute");
  part(result.cost.waits, "waiting for copies");
  if (result.cost.on_host > Bytes{}) text += fmt::format("; {} are in host memory", humanize(result.cost.on_host));
  if (result.of_host && result.on_node > *result.of_host)
    text += fmt::format(", and the ranks of a node need {} of its {}", humanize(result.on_node), humanize(*result.of_host));
  document.paragraph(std::move(text), 2, 2);
  Table table({words("groups of layers"), figures("×"), words("activations"), figures("memory"), figures("forward"),
               figures("backward"), figures("copy each way")});
  const Model& model = study.model();
  for (std::size_t i = 0; i < result.groups.size();) {
    const ChainGroup& group = result.chain.groups[i];
    std::size_t next = i + 1;
    const auto is_like = [&](std::size_t other) {
      const ChainGroup& theirs = result.chain.groups[other];
      return result.choices[other] == result.choices[i] && theirs.kept == group.kept &&
             are_equal(theirs.forward, group.forward) && are_equal(theirs.backward, group.backward);
    };
    while (next < result.groups.size() && is_like(next)) ++next;
    const Bytes moved = group.moved(result.choices[i]);
    const Seconds copy = moved > Bytes{} ? moved / result.chain.link : Seconds{};
    table.add({name_of({result.groups[i].first, result.groups[next - 1].last}, model), std::to_string(next - i),
               std::string(to_string(result.choices[i])), humanize(group.kept), humanize(group.forward),
               humanize(group.backward), copy > Seconds{} ? humanize(copy) : "-"});
    i = next;
  }
  table.legend =
      "both: the group's input is offloaded to the host, and the rest is recomputed from it; times are per group and "
      "micro-batch";
  document.add(std::move(table));
}

std::optional<OutOfCore> fitting_out_of_core(const Estimator& estimator, const MemoryCheck& checked) {
  const Plan& plan = checked.estimate.plan;
  if (checked.verdict == Verdict::fits || !may_be_out_of_core(plan, estimator.job().assumptions)) return std::nullopt;
  OutOfCore result = out_of_core(estimator.job(), plan, checked.estimate.memory);
  if (!result.fits()) return std::nullopt;
  return result;
}

std::string out_of_core_in_short(const OutOfCore& result, const Estimate& estimate) {
  const Seconds step_time = estimate.time.step_time();
  const auto count = [&](auto... choices) {
    return std::ranges::count_if(result.choices, [&](GroupChoice choice) { return ((choice == choices) || ...); });
  };
  std::vector<std::string> parts;
  if (const auto moved = count(GroupChoice::swap, GroupChoice::both); moved > 0)
    parts.push_back(fmt::format("{} of {} groups of layers move activations to the host", moved, result.choices.size()));
  if (const auto again = count(GroupChoice::recompute, GroupChoice::both); again > 0)
    parts.push_back(parts.empty()
                        ? fmt::format("{} of {} groups of layers recompute activations", again, result.choices.size())
                        : fmt::format("{} recompute them", again));
  return fmt::format("out of core ('ddl-oracle explain --out-of-core'): {} and at most {}, a step takes {}; {}",
                     humanize(result.memory), humanize(result.upper_bound), humanize(step_time + result.longer()),
                     fmt::join(parts, ", "));
}

Json out_of_core_to_json(const OutOfCore& result, const Estimate& estimate, const Study& study) {
  Json json;
  json["fits"] = result.fits();
  json["verdict"] = to_string(result.verdict());
  json["total_bytes"] = result.memory.value();
  json["upper_bound_bytes"] = result.upper_bound.value();
  json["host_bytes"] = result.cost.on_host.value();
  json["iteration_s"] = (estimate.time.step_time() + result.longer()).value();
  json["computed_again_s"] = (result.cost.again * result.micro_batches).value();
  json["waiting_for_copies_s"] = (result.cost.waits * result.micro_batches).value();
  Json groups = Json::array();
  for (std::size_t i = 0; i < result.groups.size(); ++i) {
    const ChainGroup& group = result.chain.groups[i];
    const auto name = [&](int layer) { return study.model().layers[static_cast<std::size_t>(layer)].name; };
    groups.push_back({{"first", name(result.groups[i].first)},
                      {"last", name(result.groups[i].last - 1)},
                      {"activations", to_string(result.choices[i])},
                      {"bytes", group.kept.value()},
                      {"moved_bytes", group.moved(result.choices[i]).value()},
                      {"forward_s", group.forward.value()},
                      {"backward_s", group.backward.value()}});
  }
  json["groups"] = std::move(groups);
  return json;
}

}  // namespace ddl
