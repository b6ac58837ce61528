#include "cli/documents/check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "cli/documents/estimate.hpp"
#include "cli/formats/table.hpp"
#include "cli/options/plan_file.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Align = Table::Align;

std::string items_table(const JobCheck& check) {
  const MemoryBreakdown& memory = check.fitting.estimate.memory;
  Table table({{"item", Align::left}, {"memory", Align::right}, {"share", Align::right}, {"is", Align::left}});
  for (const MemoryItem item : all_memory_items) {
    const Bytes bytes = memory.of(item);
    if (bytes <= Bytes{}) continue;
    table.add({std::string(to_string(item)), humanize(bytes), share_text(bytes / memory.total()),
               std::string(to_string(origin_of(memory, item)))});
  }
  const auto of_available = [&](Bytes bytes) { return share_text(bytes / check.available()) + " of what there is"; };
  table.add({"all", humanize(memory.total()), "", of_available(memory.total())});
  table.add({"at most", humanize(memory.upper_bound()), "", of_available(memory.upper_bound())});
  return table.text();
}

std::string remedies_table(const JobCheck& check) {
  Table table({{"change", Align::left},
               {"memory", Align::right},
               {"at most", Align::right},
               {"iteration", Align::right},
               {"", Align::left}});
  const auto add = [&](const std::string& change, const Fitting& fitting) {
    const Estimate& estimate = fitting.estimate;
    table.add({change, humanize(estimate.memory.total()), humanize(estimate.memory.upper_bound()),
               humanize(estimate.time.iteration()), std::string(to_string(fitting.verdict))});
  };
  add("none", check.fitting);
  for (const Remedy& remedy : check.remedies) add(remedy_text(check, remedy), remedy.fitting);
  return table.text();
}

std::string check_text(const JobCheck& check, const Style& style) {
  const Study& study = *check.study;
  const Plan& plan = check.fitting.estimate.plan;
  const std::string choices = choices_text(plan);
  std::string out = style.bold(to_string(check.fitting.verdict)) + fmt::format(" {}: {}\n", check.file, need_text(check));
  out +=
      "  " +
      wrap_text(fmt::format("{} on {}, {} of {}, global batch {}, {} with {}; {} ({}){}", study.model().name,
                            study.dataset().name, count_text(plan.mesh.devices(), "GPU"), study.machine().name,
                            with_thousands(plan.global_batch), to_string(plan.precision), to_string(plan.optimizer),
                            family_name(plan.mesh.family()), degrees_text(plan.mesh), choices.empty() ? "" : ", " + choices),
                116, "  ") +
      "\n";
  out += "\n" + items_table(check);
  out += fmt::format("\n  largest batch: {}\n  fewest GPUs: {}\n", largest_batch_text(check), fewest_gpus_text(check));
  if (check.fitting.verdict == Verdict::fits) return out;
  if (check.remedies.empty()) {
    return out + fmt::format("\n  No other plan for this batch on {} was found that fits.\n",
                             count_text(plan.mesh.devices(), "GPU"));
  }
  out += "\n" + style.bold("What would fit") + ", the fastest first; what is at risk comes last\n" + remedies_table(check);
  return out;
}

std::string batch_text(std::int64_t batch, const Plan& plan) {
  const double each = static_cast<double>(batch) / static_cast<double>(plan.mesh.devices());
  return fmt::format("{} ({:.6g} per GPU)", with_thousands(batch), each);
}

}  // namespace

std::string need_text(const JobCheck& check) {
  const MemoryBreakdown& memory = check.fitting.estimate.memory;
  const Plan& plan = check.fitting.estimate.plan;
  std::string text = fmt::format("needs {}, at most {}, of {}", humanize(memory.total()), humanize(memory.upper_bound()),
                                 humanize(check.device_memory));
  if (check.margin > Bytes{}) text += fmt::format(" less {}", humanize(check.margin));
  if (plan.mesh[Axis::pipeline] > 1)
    text += fmt::format(", on stage {} of {}", check.fitting.estimate.deciding.memory + 1, plan.mesh[Axis::pipeline]);
  if (memory.total() > check.available()) text += fmt::format(": {} too much", humanize(memory.total() - check.available()));
  return text;
}

std::string largest_item_text(const JobCheck& check) {
  const MemoryBreakdown& memory = check.fitting.estimate.memory;
  return fmt::format("{} of it {}", humanize(memory.of(memory.largest())), to_string(memory.largest()));
}

std::string largest_batch_text(const JobCheck& check) {
  const Plan& plan = check.fitting.estimate.plan;
  const LargestBatch& largest = check.largest;
  if (!largest.at_risk) return "none: one sample for each replica and micro-batch is too much";
  if (!largest.fits) return fmt::format("{}, at risk", batch_text(*largest.at_risk, plan));
  std::string text = batch_text(*largest.fits, plan);
  if (*largest.at_risk > *largest.fits) text += fmt::format("; at risk up to {}", batch_text(*largest.at_risk, plan));
  return text;
}

std::string fewest_gpus_text(const JobCheck& check) {
  const Plan& plan = check.fitting.estimate.plan;
  const std::string batch = check.batch_per_gpu ? fmt::format("{} samples each", plan.global_batch / plan.mesh.devices())
                                                : fmt::format("global batch {}", with_thousands(plan.global_batch));
  if (!check.fewest) {
    const Family family = plan.mesh.family() == 0 ? family_bit(Axis::data) : plan.mesh.family();
    return fmt::format("none of {} up to {}, with {}", family_name(family),
                       count_text(check.study->machine().devices(), "GPU"), batch);
  }
  const Plan& fewest = check.fewest->estimate.plan;
  const std::string degrees = fewest.mesh.devices() == 1 ? std::string() : fmt::format(" ({})", degrees_text(fewest.mesh));
  return fmt::format("{}{}, with {}{}", with_thousands(fewest.mesh.devices()), degrees, batch,
                     check.fewest->verdict == Verdict::fits ? "" : ", at risk");
}

std::string remedy_text(const JobCheck& check, const Remedy& remedy) {
  const Plan& from = check.fitting.estimate.plan;
  const Plan& plan = remedy.fitting.estimate.plan;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (degrees_text(plan.mesh) != degrees_text(from.mesh)) add(degrees_text(plan.mesh));
  if (plan.micro_batches != from.micro_batches) add(fmt::format("micro_batches: {}", plan.micro_batches));
  if (plan.zero_stage != from.zero_stage) add(fmt::format("zero: {}", plan.zero_stage));
  if (plan.recompute != from.recompute) add(fmt::format("recompute: {}", to_string(plan.recompute)));
  if (plan.mesh[Axis::pipeline] > 1 && plan.schedule != from.schedule)
    add(fmt::format("schedule: {}", to_string(plan.schedule)));
  // Of degrees that are the same, another order may be all there is.
  Plan usual = plan;
  usual.placement = degrees_text(plan.mesh) == degrees_text(from.mesh) ? from.placement : Plan{}.placement;
  if (placement_text(plan) != placement_text(usual)) add(fmt::format("placement: [{}]", placement_text(plan)));
  return text;
}

std::string checks_text(const std::vector<JobCheck>& checks, const Style& style) {
  std::string out;
  std::array<std::int64_t, 3> counts{};
  for (const JobCheck& check : checks) {
    if (check.problem) continue;
    ++counts[static_cast<std::size_t>(check.fitting.verdict)];
    out += (out.empty() ? "" : "\n") + check_text(check, style);
  }
  if (checks.size() == 1) return out;
  std::string summary;
  for (const Verdict verdict : {Verdict::does_not_fit, Verdict::at_risk, Verdict::fits}) {
    const std::int64_t count = counts[static_cast<std::size_t>(verdict)];
    if (count > 0) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, to_string(verdict));
  }
  const auto bad =
      std::count_if(checks.begin(), checks.end(), [](const JobCheck& each) { return each.problem.has_value(); });
  if (bad > 0) summary += fmt::format("{}{} not judged", summary.empty() ? "" : ", ", bad);
  return out + fmt::format("{}{}: {}\n", out.empty() ? "" : "\n",
                           count_text(static_cast<std::int64_t>(checks.size()), "job"), summary);
}

}  // namespace ddl
