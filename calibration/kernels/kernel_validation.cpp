#include "calibration/kernels/kernel_validation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "calibration/kernels/kernel_prediction.hpp"
#include "core/statistics.hpp"
#include "estimator/kernels/kernel_form.hpp"

namespace ddl {
namespace {

/// Adds a name to names that are joined by plus signs, unless `names` already contains it.
void add_name(std::string& names, std::string_view name) {
  for (std::size_t at = names.find(name); at != std::string::npos; at = names.find(name, at + 1)) {
    const bool begins = at == 0 || names[at - 1] == '+';
    const bool ends = at + name.size() == names.size() || names[at + name.size()] == '+';
    if (begins && ends) return;
  }
  if (!names.empty()) names += '+';
  names += name;
}

/// The errors of the rows of one group.
struct Errors {
  std::vector<double> absolute, ratios;
  std::size_t inside = 0, with_interval = 0;
  Provenance source = Provenance::measured;
};

KernelAccuracy summary(Errors errors) {
  KernelAccuracy summary;
  std::sort(errors.absolute.begin(), errors.absolute.end());
  summary.source = errors.source;
  summary.rows = errors.absolute.size();
  summary.median_error = quantile_of_sorted(errors.absolute, 0.5);
  summary.p90_error = quantile_of_sorted(errors.absolute, 0.9);
  summary.median_ratio = median(errors.ratios);
  if (errors.with_interval > 0) {
    summary.inside = static_cast<double>(errors.inside) / static_cast<double>(errors.with_interval);
  }
  return summary;
}

}  // namespace

KernelValidation validate_kernels(std::span<const KernelSample> samples, const Device& device, Seconds overhead) {
  KernelValidation validation;
  std::map<std::pair<Precision, Conditions>, KernelModel> models;
  std::map<std::tuple<std::string, std::string, std::string>, Errors> groups;
  for (const KernelSample& sample : samples) {
    if (!device.peak_at(sample.precision)) {
      ++validation.refused;
      continue;
    }
    const std::pair key(sample.precision, sample.conditions);
    auto model = models.find(key);
    if (model == models.end())
      model = models.emplace(key, KernelModel(device, sample.precision, {}, sample.conditions)).first;
    const KernelTime predicted = time_together(model->second, sample.kernels, 1);
    std::string kinds, passes;
    for (const auto& [work, pass] : sample.kernels) {
      add_name(kinds, to_string(work.kernel_kind()));
      add_name(passes, to_string(pass));
    }
    Errors& errors = groups[{kinds, std::string(to_string(sample.precision)), passes}];
    const double ratio = (predicted.time + overhead) / sample.time;
    errors.ratios.push_back(ratio);
    errors.absolute.push_back(std::abs(ratio - 1));
    errors.source = least_certain(errors.source, predicted.source);
    if (!predicted.low || !predicted.high) continue;
    ++errors.with_interval;
    if (*predicted.low + overhead <= sample.time && sample.time <= *predicted.high + overhead) ++errors.inside;
  }
  for (auto& [key, errors] : groups) {
    KernelAccuracy group = summary(std::move(errors));
    std::tie(group.kernels, group.precision, group.passes) = key;
    validation.groups.push_back(std::move(group));
  }
  return validation;
}

}  // namespace ddl
