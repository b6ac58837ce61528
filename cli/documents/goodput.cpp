#include "cli/documents/goodput.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/documents/throughput.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "estimator/inputs/training_rows.hpp"

namespace ddl {

std::optional<Goodput> goodput_of(const Estimate& estimate, const Study& study, const Training& training) {
  if (!training.is_whole()) return std::nullopt;
  return goodput_of(study.job(), estimate, stepping_time(estimate, study, training));
}

std::string goodput_text(const Goodput& goodput) {
  const FailureModel& model = goodput.model;
  constexpr double hardly = 0.01, seen = 0.0005;
  std::string text =
      fmt::format("{}: a failure every {}, ",
                  goodput.share < hardly ? "the training hardly progresses" : fmt::format("{:.3g} %", 100 * goodput.share),
                  humanize(model.between_failures));
  if (goodput.has_checkpoints) {
    text += fmt::format("{} checkpoint every {}{} (waits {} for {}", goodput.is_best ? "best with a" : "a",
                        humanize(goodput.every), goodput.is_raised ? ", the shortest interval" : "",
                        humanize(model.checkpoint), humanize(goodput.bytes));
    if (model.background > Seconds{}) text += fmt::format(", written in {}", humanize(model.background));
    text += ")";
  } else {
    text += "no checkpoint before the end";
  }
  text += fmt::format(", restarts of {}{}", humanize(model.restart), goodput.assumed_restart ? " (assumed)" : "");
  if (goodput.spare_nodes > 0)
    text += fmt::format(", {}", count_text(static_cast<std::int64_t>(goodput.spare_nodes), "spare node"));
  if (goodput.repair_share >= seen) text += fmt::format(", {:.2g} % waiting for repairs", 100 * goodput.repair_share);
  return text;
}

nlohmann::ordered_json goodput_to_json(const std::optional<Goodput>& goodput) {
  if (!goodput) return nullptr;
  const FailureModel& model = goodput->model;
  using Json = nlohmann::ordered_json;
  return {{"share", goodput->share},
          {"between_failures_s", model.between_failures.value()},
          {"checkpoint_every_s", goodput->has_checkpoints ? Json(goodput->every.value()) : Json(nullptr)},
          {"checkpoint_s", model.checkpoint.value()},
          {"background_s", model.background.value()},
          {"checkpoint_bytes", goodput->bytes.value()},
          {"restart_s", model.restart.value()},
          {"spare_nodes", goodput->spare_nodes},
          {"repair_share", goodput->repair_share}};
}

void refuse_useless_recovery(const Study& study, const Training& training) {
  refuse_useless_evaluation(training);
  const Job& job = study.job();
  for (const std::string_view key : recovery_keys) {
    const SettingValue* const chosen = study.spec().settings.find(key);
    if (chosen == nullptr || chosen->origin != SettingOrigin::option) continue;
    std::string option = "--" + std::string(key);
    std::ranges::replace(option, '_', '-');
    if (!training.is_whole())
      throw Error(option + " has an effect only on a whole training", "add --train-tokens 1T or --epochs 90");
    if (!knows_failures(job)) throw Error(option + " has no effect without failures", "add --mtbf '5.8 years per GPU'");
  }
  const Recovery& recovery = job.assumptions.recovery;
  if (recovery.failures.interval && recovery.checkpoint_time && *recovery.checkpoint_time >= *recovery.failures.interval)
    throw Error(fmt::format("a checkpoint of {} is never complete with a failure every {}",
                            humanize(*recovery.checkpoint_time), humanize(*recovery.failures.interval)),
                "--mtbf must be longer than --checkpoint-time");
  if (!training.is_whole() || !recovery.failures.interval || knows_checkpoints(job)) return;
  throw Error(fmt::format("--mtbf needs the time of a checkpoint, but the datasheet of {} has no shared storage",
                          study.machine().name),
              "add --checkpoint-bandwidth 100GB/s or --checkpoint-time 30s");
}

}  // namespace ddl
