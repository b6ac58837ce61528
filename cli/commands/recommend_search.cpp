#include "calibration/inputs/plan_degrees.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/commands/recommendation.hpp"
#include "cli/documents/startable.hpp"
#include "cli/options/plan_options.hpp"
#include "estimator/search/search.hpp"

namespace ddl {

SearchOptions search_options_of(const RecommendAnswer& answer) {
  const RecommendOptions& options = answer.options;
  SearchOptions search_options;
  search_options.devices = answer.gpus;
  search_options.global_batch = answer.global_batch;
  search_options.precision = answer.study->precision();
  search_options.optimizer = answer.study->optimizer();
  search_options.objective = answer.objective;
  search_options.all = options.all;
  const std::int64_t rows = options.top.value_or(0);
  // --save-dir writes the plans of all families, even families that are not shown. The plan with the least energy, or with
  // the least time at a risk, may be the best plan of any family.
  const bool is_by_time = answer.objective != Objective::energy && !options.risk;
  search_options.top = (options.save_dir.empty() && is_by_time) || options.all ? rows : 0;
  search_options.allow_risk = options.allow_risk;
  // Closed forms have no error interval. A simpler plan may need more energy.
  search_options.tie = options.study.ideal || answer.objective == Objective::energy ? 0 : usual_tie;
  search_options.errors = &bundled_time_errors();
  if (!options.study.ideal && options.framework.empty()) {
    search_options.is_startable = [study = answer.study](const Estimate& estimate) {
      return is_startable(*study, estimate);
    };
  }
  const PlanOptions& chosen = options.plan;
  if (!chosen.placement.empty()) search_options.placement = parse_placement(chosen.placement);
  search_options.micro_batches = chosen.micro_batches;
  search_options.chosen = chosen_of(chosen);
  search_options.admitted = answer.study->software().admits;
  if (options.study.ideal) keep_to_ideal(search_options.chosen);
  search_options.families = families_asked(chosen, options.study.ideal);
  if (const Framework* const framework = framework_named(options.framework))
    keep_to(*framework, answer.study, search_options);
  return search_options;
}

}  // namespace ddl
