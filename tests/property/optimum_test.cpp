// Tests whether `recommend` finds the best of all plans that it considers, for bundled models on bundled machines.
// DDL_RANDOM_SEED and DDL_RANDOM_COUNT select other random questions and more questions.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/study.hpp"
#include "estimator/search/search.hpp"
#include "tests/catch.hpp"
#include "tests/property/random_plans.hpp"

namespace optimum_tests {

namespace {

using namespace ddl;

struct Question {
  std::string model, machine;
  std::int64_t devices = 8, batch = 8;
  Objective objective = Objective::time;
};

std::string plan_text(const Plan& plan) {
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
  INFO("found " << plan_text(found.best.front().plan) << ", first of all " << plan_text(all.ranked.front().plan));
  CHECK(found.best.front().plan == all.ranked.front().plan);
  for (std::size_t i = 0; i < std::min<std::size_t>(all.best.size(), 10); ++i) {
    REQUIRE(found.best.size() > i);
    INFO("place " << i << ": found " << plan_text(found.best[i].plan) << ", best " << plan_text(all.best[i].plan));
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

/// Calls `ask` with the study and the options of a question about all strategies.
template <class Ask>
void with_question(const Question& question, const Ask& ask) {
  INFO(fmt::format("{} on {} {}, B = {}", question.model, question.devices, question.machine, question.batch));
  StudySpec spec;
  spec.model = question.model;
  spec.machine = question.machine;
  const Study study(spec);
  SearchOptions options;
  options.devices = question.devices;
  options.global_batch = question.batch;
  options.precision = study.precision();
  options.optimizer = study.optimizer();
  options.top = 10;
  ask(study, options);
}

TEST_CASE("a stopped search bounds the plans that it has not examined") {
  const std::vector<Question> questions{{"gpt2-xl", "dgx-a100", 16, 16},
                                        {"gpt-oss-20b", "dgx-h100", 8, 16},
                                        {"unet3d", "dgx-a100", 8, 16},
                                        {"llama3-8b", "dgx-h100", 64, 64}};
  int stopped = 0, bounded = 0;
  for (const Question& question : questions) {
    with_question(question, [&](const Study& study, SearchOptions& options) {
      const Seconds best = search(Estimator(study.job()), options).best.front().time.step_time();
      for (const int last : {1, 2, 20, 40, 80, 120, 160, 240}) {
        INFO("stopped after " << last << " calls");
        int calls = 0;
        std::optional<Seconds> reported;
        options.go_on = [&](std::int64_t, std::int64_t) { return ++calls < last; };
        options.on_better = [&](const RankedPlan& better) { reported = better.step_time; };
        const SearchResult found = search(Estimator(study.job()), options);
        if (!found.stopped) continue;
        ++stopped;
        bounded += found.least_left > Seconds{} ? 1 : 0;
        REQUIRE(!found.best.empty());
        REQUIRE(reported);
        CHECK(std::abs(*reported / found.best.front().time.step_time() - 1) < 1e-9);
        const Seconds least = min(found.least_left, *reported);
        CHECK(least <= best * (1 + 1e-9));
      }
    });
  }
  CHECK(stopped > 12);
  CHECK(bounded > 4);
}

TEST_CASE("a long search has a good plan before it computes the bounds of all meshes") {
  for (const Question& question : {Question{"deepseek-v3", "dgx-h100", 2048, 2048}, {"gpt3-175b", "dgx-h100", 4096, 4096}}) {
    with_question(question, [&](const Study& study, SearchOptions& options) {
      const Seconds best = search(Estimator(study.job()), options).best.front().time.step_time();
      // Before the search knows the number of plans, it passes 1.
      options.go_on = [](std::int64_t, std::int64_t all) { return all == 1; };
      const SearchResult found = search(Estimator(study.job()), options);
      REQUIRE(found.stopped);
      REQUIRE(!found.best.empty());
      CHECK(found.best.front().time.step_time() < best * 1.5);
    });
  }
}

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// Fixes one of the choices that change the search space most, or none.
void fix_a_choice(Random& random, SearchOptions& options) {
  switch (random.whole(0, 7)) {
    case 0:
      options.chosen[PlanChoice::zero] = random.whole(0, 3);
      break;
    case 1:
      options.chosen[PlanChoice::recompute] = random.whole(0, 2);
      break;
    case 2:
      options.chosen[PlanChoice::virtual_stages] = random.whole(0, 3);
      break;
    case 3:
      options.chosen[PlanChoice::schedule] = random.whole(0, 4);
      break;
    case 4:
      options.micro_batches = random.of(std::vector<std::int64_t>{1, 2, 4});
      break;
    default:
      break;
  }
}

TEST_CASE("the plan recommended for a random model and machine ties with the best of all plans") {
  const std::vector<std::vector<std::string>> kinds{{"resnet50", "vgg16", "deepcam", "vit_b_16"},               // images
                                                    {"cosmoflow-256", "cosmoflow-512", "unet3d", "nnunet-3d"},  // volumes
                                                    {"gpt2-medium", "bert-large", "llama3.2-1b", "gnmt"},       // dense
                                                    {"gpt-oss-20b", "deepseek-v2-lite", "qwen3-30b-a3b"},       // mixtures
                                                    {"llama3.2-1b@lora=8", "llama2-7b@trained=head"},  // partly frozen
                                                    {"nemotron-h-8b", "dlrm"}};                        // others
  const std::uint64_t first = number_from("DDL_RANDOM_SEED", 1);
  const std::uint64_t count = number_from("DDL_RANDOM_COUNT", std::getenv("DDL_LONG_TESTS") != nullptr ? 80 : 6);
  std::uint64_t answered = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    INFO("DDL_RANDOM_SEED=" << seed << " DDL_RANDOM_COUNT=1");
    Random random(seed);
    StudySpec spec;
    spec.model = random.of(kinds[seed % kinds.size()]);
    spec.machine = random.of(std::vector<std::string>{"dgx-a100", "dgx-h100", "dgx-b200"});
    const Study study(spec);
    SearchOptions options;
    options.devices = random.of(std::vector{4, 6, 8});
    options.global_batch = options.devices * random.whole(1, 4);
    options.precision = study.precision();
    options.optimizer = study.optimizer();
    options.top = 10;
    options.tie = usual_tie;
    fix_a_choice(random, options);
    INFO(fmt::format("{} on {} {}, B = {}", spec.model, options.devices, spec.machine, options.global_batch));
    const SearchResult found = search(Estimator(study.job()), options);
    options.all = true;
    const SearchResult all = search(Estimator(study.job()), options);
    REQUIRE(found.best.empty() == all.ranked.empty());
    if (all.ranked.empty()) continue;
    ++answered;
    const Estimate& answer = found.best.front();
    const RankedPlan& best = all.ranked.front();
    INFO("found " << plan_text(answer.plan) << ", first of all " << plan_text(best.plan));
    CHECK(answer.verdict <= best.verdict);
    CHECK(answer.time.step_time() <= best.step_time * (1 + options.tie));
  }
  CHECK((count == 1 || answered > count / 2));
}

}  // namespace

}  // namespace optimum_tests
