// Whether `recommend` answers with the best of all plans that it considers: bundled models on bundled machines.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/study.hpp"
#include "estimator/search/search.hpp"
#include "tests/catch.hpp"

namespace optimum_tests {

namespace {

using namespace ddl;

struct Question {
  std::string model, machine;
  std::int64_t devices = 8, batch = 8;
  Objective objective = Objective::time;
};

std::string line_of(const Plan& plan) {
  return fmt::format("{} ({}), S = {}, {}, ZeRO-{}, recompute {}", degrees_text(plan.mesh), placement_text(plan),
                     plan.micro_batches, to_string(plan.schedule), plan.zero_stage, to_string(plan.recompute));
}

void check_against_all(const Question& question) {
  INFO(fmt::format("{} on {} {}, B = {}, {}", question.model, question.devices, question.machine, question.batch,
                   to_string(question.objective)));
  StudySpec spec;
  spec.model = question.model;
  spec.machine = question.machine;
  const Study study(spec);
  SearchOptions options;
  options.devices = question.devices;
  options.global_batch = question.batch;
  options.precision = study.precision();
  options.optimizer = study.optimizer();
  options.objective = question.objective;
  options.top = 10;
  const SearchResult found = search(Estimator(study.job()), options);
  options.all = true;
  const SearchResult all = search(Estimator(study.job()), options);
  REQUIRE(!all.ranked.empty());
  REQUIRE(!found.best.empty());
  INFO("found " << line_of(found.best.front().plan) << ", first of all " << line_of(all.ranked.front().plan));
  CHECK(found.best.front().plan == all.ranked.front().plan);
  for (std::size_t i = 0; i < std::min<std::size_t>(all.best.size(), 10); ++i) {
    REQUIRE(found.best.size() > i);
    INFO("place " << i << ": found " << line_of(found.best[i].plan) << ", best " << line_of(all.best[i].plan));
    CHECK(found.best[i].plan == all.best[i].plan);
  }
  CHECK(found.considered == all.considered);
  CHECK(found.estimated < all.estimated);
}

TEST_CASE("the search for a CNN finds the best of all plans") {
  const std::vector<Question> questions{{"resnet50", "abci", 12, 384},
                                        {"resnet50", "dgx-a100", 16, 512, Objective::memory},
                                        {"vgg16", "abci", 16, 512},
                                        {"vgg16", "abci", 16, 48},
                                        {"cosmoflow-512", "abci", 16, 16},
                                        {"cosmoflow-256", "dgx-a100", 16, 32},
                                        {"cosmoflow-128", "abci", 8, 8, Objective::memory},
                                        {"unet3d", "dgx-h100", 24, 48},
                                        {"deepcam", "dgx-a100", 16, 8}};
  for (const Question& question : questions) check_against_all(question);
}

TEST_CASE("the search for a language model or a recommender finds the best of all plans") {
  const std::vector<Question> questions{
      {"gpt3-175b", "dgx-h100", 64, 12}, {"gpt2-xl", "abci", 16, 32},
      {"gpt2-xl", "dgx-a100", 16, 16},   {"bert-large", "dgx-a100", 32, 128},
      {"llama2-7b", "dgx-a100", 16, 16}, {"llama3-8b", "dgx-h100", 16, 16, Objective::memory},
      {"gnmt", "dgx-a100", 16, 100},     {"dlrm", "dgx-a100", 16, 512}};
  for (const Question& question : questions) check_against_all(question);
}

}  // namespace

}  // namespace optimum_tests
