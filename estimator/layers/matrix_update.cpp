#include "estimator/layers/matrix_update.hpp"

#include <algorithm>
#include <array>

#include "estimator/kernels/shard_problems.hpp"

namespace ddl {
namespace {

/// The time of a product of an m × k and a k × n matrix.
Seconds product_time(const Job& job, double m, double n, double k, Precision precision) {
  const Work work{.flops = 2 * m * n * k,
                  .activation_items = m * k + m * n,
                  .weight_items = k * n,
                  .m = m,
                  .n = n,
                  .k = k,
                  .kind = KernelKind::matrix_product};
  return job.kernels.kernel_time(work, Pass::forward, 1, precision);
}

}  // namespace

MatrixUpdate matrix_update(const Job& job, const ShardContext& context, const LayerShard& shard) {
  const Plan& plan = context.plan;
  if (plan.optimizer != Optimizer::muon) return {};
  const Layer& layer = context.at();
  const bool is_matrix = context.facts.is_linear[context.index()] && layer.block >= 0;
  if (!is_matrix || layer.weights == 0 || shard.trained_share < 1) {
    const UpdateImplementation way = context.assumptions.update;
    return {.factor = update_bytes_per_parameter(Optimizer::adam, plan.precision, way) /
                      update_bytes_per_parameter(Optimizer::muon, plan.precision, way)};
  }
  const auto experts = static_cast<double>(std::max<std::int64_t>(1, layer.operation->experts()));
  const auto own = static_cast<double>(std::max<std::int64_t>(1, context.operation(shard)->experts()));
  const auto filters = static_cast<double>(layer.output_shape.channels);
  const double inputs = static_cast<double>(layer.weights) / experts / filters;
  const double n = std::min(filters, inputs), k = std::max(filters, inputs);
  const Precision precision = precision_of(context);
  constexpr double iterations = 5;
  const Seconds of_iteration =
      product_time(job, n, n, k, precision) + product_time(job, n, n, n, precision) + product_time(job, n, k, n, precision);
  return {.factor = 1, .time = of_iteration * (iterations * own), .parameters = shard.weights};
}

}  // namespace ddl
