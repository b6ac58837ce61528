#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "estimator/step/estimate.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// A job that owns all objects that it refers to, for tests that choose each object themselves. Not
/// movable, because the objects refer to each other.
struct OwnedJob {
  /// Kernel times are rooflines, or `times` if given.
  OwnedJob(Model a_model, Machine a_machine, const Assumptions& some_assumptions, double samples,
           std::optional<std::vector<LayerTimes>> times = std::nullopt, Precision precision = Precision::fp32,
           Optimizer optimizer = Optimizer::momentum, Coefficients some_coefficients = {},
           const MeasuredKernels* measured = nullptr)
      : model(std::move(a_model)),
        facts(facts_of(model)),
        machine(std::move(a_machine)),
        coefficients(std::move(some_coefficients)),
        kernels(times ? KernelTimes(*std::move(times))
                      : KernelTimes(facts, machine.device, coefficients, precision, optimizer, std::nullopt, measured,
                                    some_assumptions)),
        assumptions(some_assumptions),
        job{.facts = facts,
            .machine = machine,
            .coefficients = coefficients,
            .kernels = kernels,
            .assumptions = assumptions,
            .samples_per_epoch = samples} {}
  OwnedJob(const OwnedJob&) = delete;
  OwnedJob& operator=(const OwnedJob&) = delete;

  Model model;
  ModelFacts facts;
  Machine machine;
  Coefficients coefficients;
  KernelTimes kernels;
  Assumptions assumptions;
  Job job;
};

}  // namespace ddl
