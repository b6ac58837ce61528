#include "cli/commands/top_ranked_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/commands/recommendation.hpp"
#include "cli/commands/search_watch.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/startable.hpp"
#include "cli/documents/tie_groups.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"

namespace ddl {

std::optional<Plan> best_plan(const Study& study, const Estimator& estimator, SearchOptions options, bool ideal) {
  options.precision = study.precision();
  options.optimizer = study.optimizer();
  options.top = 1;
  options.admitted = study.software().admits;
  if (ideal) keep_to_ideal(options.chosen);
  options.tie = ideal ? 0 : usual_tie;
  options.errors = &bundled_time_errors();
  if (!ideal) options.is_startable = [&](const Estimate& estimate) { return is_startable(study, estimate); };
  SearchWatch watch(std::nullopt);
  watch.watch(options);
  const SearchResult result = search(estimator, options);
  if (!result.best.empty()) return result.best.front().plan;
  if (const Estimate* nearest = nearest_miss(result.rejected)) return nearest->plan;
  return std::nullopt;
}

bool leave_degrees_open(const PlanOptions& options) { return options.gpus && !options.name_plan(); }

PlanStudy top_ranked_plan(const StudyOptions& study, const PlanOptions& options) {
  PlanStudy asked = plan_study(study, options);
  SearchOptions search_options;
  search_options.devices = *options.gpus;
  search_options.global_batch = global_batch_of(options, search_options.devices, *asked.study);
  search_options.micro_batches = options.micro_batches;
  search_options.chosen = chosen_of(options);
  if (!options.placement.empty()) search_options.placement = parse_placement(options.placement);
  search_options.families = families_asked(options, study.ideal);
  asked.plan = best_plan(*asked.study, Estimator(asked.study->job()), search_options, study.ideal);
  if (asked.plan) return asked;
  throw Error(fmt::format("no plan is possible on {}", count_text(search_options.devices, "device")),
              "'ddl-oracle recommend' with the same options shows why");
}

PlanStudy plan_of_row(std::int64_t row, const StudyOptions& study, const PlanOptions& plan, const Training& training) {
  if (!plan.gpus) throw Error("--row needs --gpus", "repeat the options of 'recommend', for example --gpus 64 --row 5");
  RecommendOptions options;
  options.study = study;
  options.plan = plan;
  options.training = training;
  options.top = std::max(*options.top, row);
  PlanStudy asked = plan_study(study, plan);
  const std::shared_ptr<RecommendAnswer> answer = ranked_answer(options, asked);
  const RankedRows rows = ranked_rows(answer->shown, answer->objective, options.allow_risk);
  if (static_cast<std::size_t>(row) > rows.order.size()) {
    throw Error(fmt::format("--row {}: the ranking has {}", row, count_text(std::ssize(rows.order), "row")),
                "'ddl-oracle recommend' with the same options shows the rows");
  }
  asked.study = answer->study;
  asked.plan = answer->shown[rows.order[static_cast<std::size_t>(row - 1)]].plan;
  return asked;
}

}  // namespace ddl
