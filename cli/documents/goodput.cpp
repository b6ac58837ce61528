#include "cli/documents/goodput.hpp"

#include <fmt/format.h>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/units.hpp"

namespace ddl {

std::optional<Goodput> goodput_of(const Estimate& estimate, const Study& study, const Training& training) {
  if (!training.is_whole()) return std::nullopt;
  return goodput_of(study.job(), estimate);
}

std::string goodput_text(const Goodput& goodput) {
  const FailureModel& model = goodput.model;
  std::string text = fmt::format("{:.3g} %: a failure every {}, {}a checkpoint every {} (waits {} for {}",
                                 100 * goodput.share, humanize(model.between_failures), goodput.is_best ? "at best " : "",
                                 humanize(goodput.every), humanize(model.checkpoint), humanize(goodput.bytes));
  if (model.background > Seconds{}) text += fmt::format(", written in {}", humanize(model.background));
  text += fmt::format("), restarts of {}{}", humanize(model.restart), goodput.assumed_restart ? " (assumed)" : "");
  if (goodput.spare_nodes > 0)
    text += fmt::format(", {}", count_text(static_cast<std::int64_t>(goodput.spare_nodes), "spare node"));
  if (goodput.repair_share > 0) text += fmt::format(", {:.2g} % waiting for repairs", 100 * goodput.repair_share);
  return text;
}

nlohmann::ordered_json goodput_to_json(const std::optional<Goodput>& goodput) {
  if (!goodput) return nullptr;
  const FailureModel& model = goodput->model;
  return {{"share", goodput->share},
          {"between_failures_s", model.between_failures.value()},
          {"checkpoint_every_s", goodput->every.value()},
          {"checkpoint_s", model.checkpoint.value()},
          {"background_s", model.background.value()},
          {"checkpoint_bytes", goodput->bytes.value()},
          {"restart_s", model.restart.value()},
          {"spare_nodes", goodput->spare_nodes},
          {"repair_share", goodput->repair_share}};
}

void refuse_unknown_checkpoints(const Study& study, const Training& training) {
  const Job& job = study.job();
  if (!training.is_whole() || !job.assumptions.recovery.failures.interval || knows_checkpoints(job)) return;
  throw Error(fmt::format("--mtbf needs the time of a checkpoint, but the datasheet of {} has no shared storage",
                          study.machine().name),
              "add --checkpoint-bandwidth 100GB/s or --checkpoint-time 30s");
}

}  // namespace ddl
