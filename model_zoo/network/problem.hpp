#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model_zoo/network/optimizer_passes.hpp"
#include "model_zoo/operations/operation.hpp"
#include "model_zoo/values/precision.hpp"
#include "model_zoo/values/tensor_shape.hpp"

namespace ddl {

/// One kernel as one rank runs it: an operation on the shapes in the rank's memory, in one pass, on this many samples. A
/// problem is the unit of measurement, lookup and prediction, and does not depend on models and strategies.
struct Problem {
  std::shared_ptr<const Operation> operation;
  std::vector<TensorShape> inputs;  ///< inputs, for one sample
  TensorShape output;               ///< output, with the shape that the operation infers from the inputs
  std::int64_t samples = 1;
  Precision precision = Precision::fp32;
  Pass pass = Pass::forward;
};

/// Returns the problem as one line, for messages, manual measurements and lookup:
///
///     convolution filters=64 kernel=3x3 padding=1 bias=no in=64x56x56 samples=32 precision=fp32 pass=forward
///
/// An input is given by its channels and extents, with a `t` after a sequence's tokens: `768x128t`.
/// Several inputs are joined by commas. Two problems are equal if their lines are equal.
[[nodiscard]] std::string print_problem(const Problem& problem);

/// Parses a line of print_problem(), which has the attributes of model files, in any order. Errors
/// print `origin` and have a position in the line. Throws Error for an unknown, missing or
/// malformed operation, attribute, precision or pass, and for inputs that do not fit.
[[nodiscard]] Problem parse_problem(const std::string& line, const std::string& origin);

/// An optimizer's step on the parameters of one layer, or on a list of tensors, such as all tensors of a model.
struct UpdateProblem {
  Optimizer optimizer = Optimizer::sgd;
  std::int64_t parameters = 1;  ///< number of parameters of all tensors
  Precision precision = Precision::fp32;
  UpdateImplementation implementation = UpdateImplementation::layer;
  std::int64_t tensors = 1;  ///< number of tensors in the list, at most `parameters`; they are measured with equal sizes
};
/// Returns the problem as a line: `update optimizer=momentum parameters=36864 precision=fp32`; for a list of tensors,
/// `update optimizer=adam parameters=25557032 tensors=161 implementation=foreach precision=fp32`
[[nodiscard]] std::string print_problem(const UpdateProblem& problem);
/// Returns whether a line is an update, which parse_update_problem can parse.
[[nodiscard]] bool is_update_problem(std::string_view line);
[[nodiscard]] UpdateProblem parse_update_problem(const std::string& line, const std::string& origin);

/// A first use of newly mapped memory: one word of each page is written, and the memory is freed. The C library maps each
/// large tensor in this way, which takes time in addition to the kernel that fills the tensor.
struct FreshMemoryProblem {
  std::int64_t bytes = std::int64_t{64} << 20U;  ///< at most max_fresh_memory
};
inline constexpr std::int64_t max_fresh_memory = std::int64_t{1} << 30U;
/// Returns the problem as a line: `fresh_memory bytes=67108864`
[[nodiscard]] std::string print_problem(const FreshMemoryProblem& problem);
/// Returns whether a line is a use of newly mapped memory, which parse_fresh_memory_problem can parse.
[[nodiscard]] bool is_fresh_memory_problem(std::string_view line);
[[nodiscard]] FreshMemoryProblem parse_fresh_memory_problem(const std::string& line, const std::string& origin);

/// The line of a problem, and the number of a model's layers that have the problem.
struct CountedProblem {
  std::string line;
  int layers = 0;
};

/// Counts equal lines. The result has the order in which lines first occurred.
class ProblemCounts {
 public:
  void add(std::string line, int layers = 1);
  [[nodiscard]] std::vector<CountedProblem> take() { return std::move(problems_); }

 private:
  std::vector<CountedProblem> problems_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// Returns the addition of two gradients of this shape.
[[nodiscard]] Problem gradient_addition(const TensorShape& shape, std::int64_t samples, Precision precision);
/// Returns the addition of the two gradients of a table that two layers share. Each of the layers
/// computes a gradient of all rows.
[[nodiscard]] Problem table_addition(const SharedTable& table, Precision precision);

/// Returns a shape as in the line of a problem: `768x128t`.
[[nodiscard]] std::string print_shape(const TensorShape& shape);

}  // namespace ddl
