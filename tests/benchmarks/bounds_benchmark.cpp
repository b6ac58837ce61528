// Measures what each bound of a search is worth. Each question is searched with all bounds, then without each bound in turn.
// `timed` and `ms` are the plans whose step is predicted, and the CPU time, with all bounds. `timed_more` plans are excluded
// by this bound and by no later one; without this bound, the search takes `ms_more`. Times are the shortest of three. A
// bound without which no question takes longer costs more than it saves. The best plan must be the same without each bound.

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <benchmark/benchmark.h>

#include "calibration/inputs/study.hpp"
#include "estimator/search/search.hpp"

namespace ddl {
namespace {

struct Question {
  const char* name;
  const char* model;
  const char* machine;
  std::int64_t devices, batch;
};

constexpr std::array<Question, 12> questions{{{"resnet50", "resnet50", "abci", 1024, 32768},
                                              {"vgg16", "vgg16", "dgx-a100", 64, 2048},
                                              {"cosmoflow", "cosmoflow-128", "abci", 128, 256},
                                              {"unet", "unet", "dgx-a100", 32, 256},
                                              {"bert", "bert-large", "dgx-a100", 256, 4096},
                                              {"gpt2-xl", "gpt2-xl", "dgx-a100", 64, 512},
                                              {"llama3-8b", "llama3-8b", "dgx-h100", 64, 128},
                                              {"llama3-70b", "llama3-70b", "dgx-h100", 256, 512},
                                              {"llama2-13b", "llama2-13b", "dgx-a100", 512, 1024},
                                              {"mixtral", "mixtral-8x7b", "dgx-h100", 128, 256},
                                              {"llama3-70b-tight", "llama3-70b", "dgx-h100", 16, 64},
                                              {"gpt3-175b", "gpt3-175b", "dgx-a100", 1024, 1536}}};

SearchOptions options_for(const Study& study, const Question& question) {
  SearchOptions options;
  options.devices = question.devices;
  options.global_batch = question.batch;
  options.precision = study.precision();
  options.optimizer = study.optimizer();
  options.top = 10;
  return options;
}

struct Measured {
  SearchResult result;
  double seconds = std::numeric_limits<double>::infinity();
};

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Searches once more, and keeps the shorter time. An estimator keeps what it has computed, so each search has its own.
void search_again(const Study& study, const SearchOptions& options, Measured& shortest) {
  const Estimator estimator(study.job());
  const double start = cpu_seconds();
  shortest.result = search(estimator, options);
  shortest.seconds = std::min(shortest.seconds, cpu_seconds() - start);
}

/// Without a bound, a search finds the same plan.
void require_same(const Measured& with, const Measured& without, SearchBound bound) {
  const bool is_same = with.result.best.empty() == without.result.best.empty() &&
                       (with.result.best.empty() || with.result.best.front().plan == without.result.best.front().plan);
  if (!is_same) throw std::logic_error("the best plan depends on the bound " + std::string(to_string(bound)));
}

/// Returns the study of a question. It keeps the times of kernels, which all searches share.
const Study& study_of(const Question& question) {
  static std::map<std::string, std::unique_ptr<Study>> known;
  std::unique_ptr<Study>& study = known[question.name];
  if (study) return *study;
  StudySpec spec;
  spec.model = question.model;
  spec.machine = question.machine;
  study = std::make_unique<Study>(spec);
  Measured first;
  search_again(*study, options_for(*study, question), first);
  return *study;
}

/// Searches in turn with all bounds and without one, so that other work on the machine slows both alike.
void search_without(benchmark::State& state, const Question& question, SearchBound bound) {
  const Study& study = study_of(question);
  const SearchOptions all = options_for(study, question);
  SearchOptions fewer = all;
  fewer.left_out[bound] = true;
  Measured with, without;
  while (state.KeepRunning()) {
    search_again(study, all, with);
    search_again(study, fewer, without);
  }
  require_same(with, without, bound);
  state.counters["timed"] = static_cast<double>(with.result.timed);
  state.counters["timed_more"] = static_cast<double>(without.result.timed - with.result.timed);
  state.counters["ms"] = with.seconds * 1e3;
  state.counters["ms_more"] = (without.seconds - with.seconds) * 1e3;
}

const bool registered = [] {
  for (const Question& question : questions) {
    for (const SearchBound bound : enum_values<SearchBound>) {
      const std::string name = std::string(question.name) + "/without_" + std::string(to_string(bound));
      benchmark::RegisterBenchmark(name.c_str(), search_without, question, bound)
          ->Iterations(3)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace ddl
