#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "calibration/inputs/setting_values.hpp"
#include "cli/commands/recommendation.hpp"
#include "cli/commands/search_watch.hpp"
#include "cli/report/interrupt.hpp"
#include "core/error.hpp"
#include "core/units.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/search/search.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {
namespace {

/// The time that is left for further searches: at most two seconds for each, until --time-limit is over or the user asks.
class TimeLeft {
 public:
  explicit TimeLeft(const RecommendAnswer& answer) : answer_(answer) {}

  [[nodiscard]] Seconds seconds() const {
    constexpr Seconds most_of_try(2);
    if (Interrupt::asked()) return Seconds{};
    if (!answer_.options.time_limit) return most_of_try;
    const Seconds spent(answer_.seconds + std::chrono::duration<double>(Clock::now() - start_).count());
    return min(most_of_try, *answer_.options.time_limit - spent);
  }
  [[nodiscard]] bool any() const { return seconds() > Seconds{}; }

 private:
  using Clock = std::chrono::steady_clock;
  const RecommendAnswer& answer_;
  Clock::time_point start_ = Clock::now();
};

/// Returns the best plan of a changed question; empty if the search finds none within `limit`.
std::optional<Estimate> best_of_changed(const RecommendAnswer& answer, const Estimator& estimator, std::int64_t gpus,
                                        std::int64_t global_batch, Seconds limit) {
  SearchOptions changed = search_options_of(answer);
  changed.devices = gpus;
  changed.global_batch = global_batch;
  changed.top = 1;
  changed.all = changed.finds_nearest = false;
  SearchWatch watch(limit);
  watch.watch(changed);
  SearchResult result = search(estimator, changed);
  if (result.best.empty()) return std::nullopt;
  return result.best.front();
}

/// Whether two studies keep different bytes of weights on a rank of ZeRO-3: some software shards frozen weights in fp32.
bool differ_in_weights(const Study& a, const Study& b, std::int64_t gpus) {
  Plan sharded;
  sharded.mesh.set(Axis::data, static_cast<int>(gpus));
  sharded.zero_stage = 3;
  const auto bytes = [&](const Study& study) {
    sharded.precision = study.precision();
    sharded.optimizer = study.optimizer();
    const ParameterBytes each = parameter_bytes(study.job().facts, sharded, study.assumptions());
    return each.weight + each.shard;
  };
  return bytes(a) != bytes(b);
}

/// Searches plans of LoRA. Frozen weights have the software's default format; if no plan fits, half precision; else 4 bits.
/// `options`: with the rank of the adapters. Empty if none fits, or if the model has no layers that LoRA adapts.
std::optional<PossibleChange> with_adapters(const RecommendAnswer& answer, const StudyOptions& options,
                                            const std::string& option, const TimeLeft& left) {
  const auto best_of = [&](const Study& study, const std::string& change) -> std::optional<PossibleChange> {
    auto best = best_of_changed(answer, Estimator(study.job()), answer.gpus, answer.global_batch, left.seconds());
    return best ? std::optional(PossibleChange{change, *std::move(best)}) : std::nullopt;
  };
  try {
    StudySpec spec = spec_of(options);
    const std::shared_ptr<Study> without_base = study_of(spec, options);
    // Without an option, the question itself has adapters.
    if (!option.empty() && left.any()) {
      if (auto change = best_of(*without_base, option)) return change;
    }
    if (spec.settings.find("base") != nullptr) return std::nullopt;
    for (const BaseWeights base : {BaseWeights::half, BaseWeights::nf4}) {
      if (!left.any()) break;
      spec.settings.set("base", {static_cast<double>(base), SettingOrigin::job, {}});
      const std::shared_ptr<Study> study = study_of(spec, options);
      if (base == BaseWeights::half && !differ_in_weights(*study, *without_base, answer.gpus)) continue;
      const std::string name = print_setting(setting_named("base"), static_cast<double>(base));
      if (auto change = best_of(*study, fmt::format("{}{}--base {}", option, option.empty() ? "" : " ", name)))
        return change;
    }
  } catch (const Error&) {  // the model has no adapters
  }
  return std::nullopt;
}

}  // namespace

void find_possible(RecommendAnswer& answer) {
  constexpr int most_tries = 8;
  const TimeLeft left(answer);
  const PlanOptions& plan = answer.options.plan;
  const bool keeps_batch = plan.global_batch.has_value();
  std::int64_t gpus = answer.gpus;
  for (int tries = 0; tries < most_tries && gpus * 2 <= answer.study->machine().devices() && left.any(); ++tries) {
    gpus *= 2;
    const std::int64_t batch = keeps_batch ? answer.global_batch : answer.global_batch / answer.gpus * gpus;
    if (auto best = best_of_changed(answer, *answer.estimator, gpus, std::max<std::int64_t>(batch, 1), left.seconds())) {
      answer.possible.push_back({fmt::format("--gpus {}", gpus), *std::move(best)});
      break;
    }
  }
  std::int64_t batch = answer.global_batch;
  for (int tries = 0; tries < most_tries && batch > 1 && left.any(); ++tries) {
    batch /= 2;
    if (auto best = best_of_changed(answer, *answer.estimator, answer.gpus, batch, left.seconds())) {
      answer.possible.push_back({fmt::format("--batch {}", batch), *std::move(best)});
      break;
    }
  }
  const Model& model = answer.study->model();
  if (model.sequence_length == 0) return;
  StudyOptions adapted = answer.options.study;
  std::string option;
  if (model.trained_parameters() >= model.parameters()) {
    constexpr std::int64_t usual_rank = 16;
    adapted.adapters = usual_rank;
    option = fmt::format("--lora {}", usual_rank);
  }
  if (auto change = with_adapters(answer, adapted, option, left)) answer.possible.push_back(*std::move(change));
}

}  // namespace ddl
