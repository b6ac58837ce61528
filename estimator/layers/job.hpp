#pragma once

#include <memory>

#include "core/quantity.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/inputs/assumptions.hpp"
#include "estimator/inputs/coefficients.hpp"
#include "estimator/inputs/machine.hpp"
#include "estimator/kernels/kernel_time.hpp"

namespace ddl {

/// The data that all compared plans share: the model, the machine, the data set, and the modeled effects. The caller owns
/// the parts of a job. A part that a with_… function sets is owned by the new job and by all copies of the new job.
struct Job {
  const ModelFacts& facts;
  const Machine& machine;
  const Coefficients& coefficients;
  const KernelTimes& kernels;
  const Assumptions& assumptions;
  double samples_per_epoch = 0;  ///< number D of samples of the data set
  Bytes sample_bytes{};          ///< bytes of a sample on disk
  Bytes dataset_bytes{};
  double files_per_sample = 1;             ///< files that a node opens to read a sample
  double image_pixels = 0;                 ///< pixels of an encoded image, which are decoded for each sample; 0: not encoded
  bool named_dataset = false;              ///< whether the user named the data set
  bool was_read = false;                   ///< whether a measured step read samples, whose time depends on an unknown host
  bool stored_raw = false;                 ///< whether samples are stored element by element, so that parts can be read
  std::shared_ptr<const void> replaced{};  ///< keeps alive the parts that with_… functions set

  /// Returns whether times of unsplit layers are scaled to shards. Otherwise individual kernels are estimated.
  [[nodiscard]] bool times_whole_layers() const {
    return assumptions.linear_kernels || kernels.origin() == KernelBasis::given;
  }
  /// Returns a copy of the job with the coefficients replaced. Kernel times are unchanged.
  [[nodiscard]] Job with_coefficients(Coefficients other) const;
  [[nodiscard]] Job with_assumptions(const Assumptions& other) const;
};

}  // namespace ddl
