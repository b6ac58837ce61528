#include "estimator/layers/matrix_update.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "estimator/facts/preconditioners.hpp"
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

/// The products and decompositions of a preconditioned optimizer for the equal weight matrices of a layer.
class Preconditioning {
 public:
  Preconditioning(const Job& job, const ShardContext& context, const WeightMatrices& weights, double count)
      : job_(job),
        plan_(context.plan),
        precision_(job.machine.device.peak_at(Precision::fp32) ? Precision::fp32 : precision_of(context)),
        weights_(weights),
        sides_(preconditioner_sides(plan_.optimizer, weights)),
        matrices_(count * sides_.blocks) {
    const double usual = plan_.optimizer == Optimizer::soap ? 10 : 100;
    every_ = job.assumptions.precondition_every > 0 ? job.assumptions.precondition_every : usual;
  }

  [[nodiscard]] MatrixUpdate update(double positions) const {
    MatrixUpdate result;
    const double rows = sides_.rows, columns = sides_.columns;
    const Seconds products =
        (product(rows, weights_columns(), rows) + product(weights_rows(), columns, columns)) * matrices_;
    const double squares = (rows * rows + columns * columns) * matrices_;
    if (plan_.optimizer == Optimizer::kfac) {
      constexpr double sums_per_decomposition = 10;
      const double between_sums = std::max(1.0, every_ / sums_per_decomposition);
      result.time = products * 2;
      // The samples of a layer with experts are distributed among the experts.
      result.of_batch = (product(rows, rows, positions) + product(columns, columns, positions)) / between_sums;
      result.distributed = decompositions(nine / 2) / every_;
      result.summed = squares / between_sums;
      result.gathered = (squares + rows * columns * matrices_) / every_;
    } else if (plan_.optimizer == Optimizer::shampoo) {
      // A root is the product of the eigenvectors, scaled, and their transpose.
      result.distributed = products * 2 + decompositions(nine / 2 + 1) / every_;
      result.gathered = rows * columns * matrices_;
    } else {
      constexpr double sums = 1, rotations = 4, of_iteration = 3, of_factors = 4.0 / 3;
      result.time = products * (sums + rotations) + decompositions(of_iteration + of_factors) / every_;
    }
    return result;
  }

 private:
  static constexpr double nine = 9;

  /// The numbers of rows and columns of a block of weights, even if the optimizer has no matrix for that side.
  [[nodiscard]] double weights_rows() const { return sides_.rows > 0 ? sides_.rows : weights_.rows; }
  [[nodiscard]] double weights_columns() const { return sides_.columns > 0 ? sides_.columns : weights_.columns; }
  [[nodiscard]] Seconds product(double m, double n, double k) const {
    return m > 0 && n > 0 && k > 0 ? product_time(job_, m, n, k, precision_) : Seconds{};
  }
  /// The time to decompose both sides. A side of n takes as long as `products` products of n × n matrices (2n³ FLOPs each).
  [[nodiscard]] Seconds decompositions(double products) const {
    const Seconds both =
        product(sides_.rows, sides_.rows, sides_.rows) + product(sides_.columns, sides_.columns, sides_.columns);
    return both * (products * matrices_);
  }

  const Job& job_;
  const Plan& plan_;
  Precision precision_;
  WeightMatrices weights_;
  PreconditionerSides sides_;
  double matrices_ = 1;  ///< number on this rank
  double every_ = 1;     ///< steps between two decompositions
};

MatrixUpdate preconditioned_update(const Job& job, const ShardContext& context, const LayerShard& shard) {
  const std::optional<WeightMatrices> weights = preconditioned_weights(context.facts, context.index());
  if (!weights || shard.trained_share < 1) return {};
  const auto own = static_cast<double>(std::max<std::int64_t>(1, context.operation(shard)->experts()));
  const double positions = shard.samples * static_cast<double>(context.plan.micro_batches) *
                           static_cast<double>(std::max<std::int64_t>(1, shard.output.positions()));
  MatrixUpdate update = Preconditioning(job, context, *weights, own).update(positions);
  update.parameters = shard.weights;
  return update;
}

}  // namespace

namespace {

/// The update of a layer whose gradient is projected: two products with the projection, and a share of the decompositions.
MatrixUpdate projected_update(const Job& job, const ShardContext& context, const LayerShard& shard) {
  const Plan& plan = context.plan;
  const Layer& layer = context.at();
  if (!context.facts.is_linear[context.index()] || layer.block < 0 || layer.weights == 0 || shard.trained_share < 1)
    return {};
  const auto own = static_cast<double>(std::max<std::int64_t>(1, context.operation(shard)->experts()));
  const auto experts = static_cast<double>(std::max<std::int64_t>(1, layer.operation->experts()));
  const auto rows = static_cast<double>(layer.output_shape.channels);
  const double columns = static_cast<double>(layer.weights) / experts / rows;
  const double shorter = std::min(rows, columns), longer = std::max(rows, columns);
  const double rank = std::min(job.assumptions.projection_rank, shorter);
  Seconds time = product_time(job, longer, rank, shorter, precision_of(context)) +
                 product_time(job, longer, shorter, rank, precision_of(context));
  if (projects_by_singular_vectors(plan.optimizer)) {
    constexpr double usual = 200, of_products = 3, of_squares = 10;
    const double every = job.assumptions.precondition_every > 0 ? job.assumptions.precondition_every : usual;
    const Precision wide = job.machine.device.peak_at(Precision::fp32) ? Precision::fp32 : precision_of(context);
    time += (product_time(job, longer, shorter, shorter, wide) * of_products +
             product_time(job, shorter, shorter, shorter, wide) * of_squares) /
            every;
  }
  const UpdateImplementation way = context.assumptions.update;
  return {.factor = update_bytes_per_parameter(Optimizer::sgd, plan.precision, way) /
                    update_bytes_per_parameter(Optimizer::adam, plan.precision, way),
          .time = time * own,
          .parameters = shard.weights};
}

}  // namespace

MatrixUpdate matrix_update(const Job& job, const ShardContext& context, const LayerShard& shard) {
  const Plan& plan = context.plan;
  if (is_preconditioned(plan.optimizer)) return preconditioned_update(job, context, shard);
  if (is_projected(plan.optimizer)) return projected_update(job, context, shard);
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
