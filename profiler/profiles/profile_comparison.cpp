#include "profiler/profiles/profile_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "profiler/measurement/sequence.hpp"

namespace ddl {
namespace {

/// The words of a problem's line. Its values have no spaces.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

bool has_value(std::string_view word, std::string_view key) { return word.substr(0, key.size()) == key; }

/// Returns a kernel with this line, but without times.
ComparedKernel kernel_of(const std::string& line) {
  constexpr std::string_view kind = "kind=", pass = "pass=";
  ComparedKernel kernel;
  for (const std::string_view word : words_of(line)) {
    if (has_value(word, pass)) {
      kernel.pass = word.substr(pass.size()) == "forward" ? "forward" : "backward";
      continue;
    }
    if (kernel.operation.empty()) {
      kernel.operation = word;
    } else if (has_value(word, kind)) {
      kernel.operation += fmt::format(" {}", word.substr(kind.size()));
    }
    if (!kernel.problem.empty()) kernel.problem += ' ';
    kernel.problem += word;
  }
  if (kernel.pass.empty()) kernel.pass = kernel.operation;
  return kernel;
}

using Kernels = std::map<std::pair<std::string, std::string>, ComparedKernel>;

/// The kernels of a profile that have a time, per step, by problem and pass.
Kernels kernels_of(const Profile& given) {
  const Profile profile = at_full_speed(given);
  Kernels kernels;
  for (const ProfileRow& row : profile.rows) {
    const Measurement& measured = row.measurement;
    const bool is_kernel = !is_sequence_problem(measured.problem) && !has_value(measured.problem, "fresh_memory ");
    if (!is_kernel || !measured.reason.empty()) continue;
    ComparedKernel found = kernel_of(measured.problem);
    const auto [place, is_new] = kernels.try_emplace({found.problem, found.pass}, std::move(found));
    ComparedKernel& kernel = place->second;
    // A problem that belongs to no model counts as one layer.
    kernel.layers = std::max<std::int64_t>({kernel.layers, row.layers, 1});
    kernel.first += measured.samples.median * static_cast<double>(std::max(row.layers, 1));
    std::string& algorithm = kernel.first_algorithm;
    if (!measured.algorithm.empty() && algorithm.find(measured.algorithm) == std::string::npos)
      algorithm += (algorithm.empty() ? "" : " + ") + measured.algorithm;
  }
  return kernels;
}

template <class Compared>
void sort_by_difference(std::vector<Compared>& rows) {
  std::stable_sort(rows.begin(), rows.end(), [](const Compared& a, const Compared& b) {
    return std::abs(a.difference().value()) > std::abs(b.difference().value());
  });
}

std::vector<ComparedOperation> operations_of(const std::vector<ComparedKernel>& kernels) {
  std::map<std::pair<std::string, std::string>, ComparedOperation> operations;
  for (const ComparedKernel& kernel : kernels) {
    ComparedOperation& operation = operations[{kernel.operation, kernel.pass}];
    operation.operation = kernel.operation;
    operation.pass = kernel.pass;
    operation.kernels += kernel.layers;
    operation.first += kernel.first;
    operation.second += kernel.second;
  }
  std::vector<ComparedOperation> rows;
  rows.reserve(operations.size());
  for (auto& [key, operation] : operations) rows.push_back(std::move(operation));
  sort_by_difference(rows);
  return rows;
}

}  // namespace

ProfileComparison compare_profiles(const Profile& first, const Profile& second) {
  ProfileComparison comparison;
  const Kernels of_second = kernels_of(second);
  for (auto& [key, kernel] : kernels_of(first)) {
    const auto other = of_second.find(key);
    if (other == of_second.end()) {
      ++comparison.only_first;
      continue;
    }
    ComparedKernel& both = comparison.kernels.emplace_back(kernel);
    // `layers` is equal in both profiles, because the number of layers is a property of the model.
    both.second = other->second.first;
    both.second_algorithm = other->second.first_algorithm;
    comparison.first += both.first;
    comparison.second += both.second;
  }
  comparison.only_second = of_second.size() - comparison.kernels.size();
  if (comparison.kernels.empty())
    throw Error("the two profiles have no problem in common",
                "both must have the same model, number of samples and precision");
  sort_by_difference(comparison.kernels);
  comparison.operations = operations_of(comparison.kernels);
  return comparison;
}

}  // namespace ddl
