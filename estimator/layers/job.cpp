#include "estimator/layers/job.hpp"

#include <utility>

namespace ddl {
namespace {

/// Keeps a new part of a job alive, and also the parts that the job already keeps alive.
template <class Part>
struct Replaced {
  Part part;
  std::shared_ptr<const void> before;
};
template <class Part>
std::shared_ptr<const Replaced<Part>> replaced(Part part, const Job& job) {
  return std::make_shared<const Replaced<Part>>(Replaced<Part>{std::move(part), job.replaced});
}

}  // namespace

Job Job::with_coefficients(Coefficients other) const {
  const auto own = ddl::replaced(std::move(other), *this);
  return {facts,         machine,          own->part,    kernels,       assumptions, samples_per_epoch, sample_bytes,
          dataset_bytes, files_per_sample, image_pixels, named_dataset, was_read,    stored_raw,        own};
}

Job Job::with_assumptions(const Assumptions& other) const {
  const auto own = ddl::replaced(other, *this);
  return {facts,         machine,          coefficients, kernels,       own->part, samples_per_epoch, sample_bytes,
          dataset_bytes, files_per_sample, image_pixels, named_dataset, was_read,  stored_raw,        own};
}

}  // namespace ddl
