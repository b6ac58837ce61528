#include "calibration/learning/run_fit.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "calibration/files/bundled_files.hpp"
#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/software_file.hpp"
#include "calibration/learning/learned_file.hpp"
#include "calibration/runs/run_prediction.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace run_fit_tests {

using namespace ddl;

namespace {

/// Returns runs with known terms: kernels of 100 to 200 ms, gradients that grow with p, and times from true coefficients.
std::vector<FittedRun> runs_of(const Learned& truth, int count) {
  std::vector<FittedRun> runs;
  for (int i = 0; i < count; ++i) {
    const double ranks = std::pow(2.0, 2 + i % 8);
    const double size = 1 + i % 3;
    FittedRun run;
    run.step.transfers.resize(1);
    run.step.tasks.push_back({0, false, Part::forward, 0, Term(Seconds(0.1 + 0.05 * (i % 3)), Seconds{})});
    run.step.several_ranks = true;
    run.step.slowest_of = ranks / 4;
    const Seconds startups(40e-6 * 2 * (ranks - 1)), moving(0.02 * size * (ranks - 1) / ranks);
    Updates::Stage& stage = run.updates.stages.emplace_back();
    stage.of_gradients.add_exchange(path_coefficients(Purpose::gradient), startups + moving, startups, Learned{});
    run.measured = run.predicted(truth);
    runs.push_back(run);
  }
  return runs;
}

FamilyFit fit_of(const std::vector<FittedRun>& runs) {
  std::vector<const FittedRun*> pointers;
  for (const FittedRun& run : runs) pointers.push_back(&run);
  return fit_family(family_bit(Axis::data), pointers);
}

Learned truth() {
  Learned values;
  values[Coefficient::kernels] = 1.1;
  values[Coefficient::gradient_alpha] = 2.5;
  values[Coefficient::gradient_beta] = 3;
  return values;
}

const LearnedCoefficient& found(const FamilyFit& fit, Coefficient what) {
  for (const LearnedCoefficient& one : fit.coefficients) {
    if (one.what == what) return one;
  }
  FAIL("not fitted: " << to_string(what));
  return fit.coefficients.front();
}

constexpr Family data = family_bit(Axis::data);

const std::string header = "model,strategy,gpus,global_batch,quantity,value\n";

std::vector<MeasuredRun> some_runs() {
  return parse_runs(header +
                        "resnet50,data,16,1024,iter_total_s,0.25\n"
                        "resnet50,data,64,4096,iter_total_s,0.27\n"
                        "resnet50,data,64,4096,iter_total_s,0.28\n"
                        "vgg16,data,16,512,iter_total_s,0.46\n"
                        "vgg16,data,256,8192,iter_total_s,0.53\n",
                    "runs.csv");
}

}  // namespace

TEST_CASE("the fit recovers the coefficients of synthetic runs") {
  const FamilyFit fit = fit_of(runs_of(truth(), 60));
  // The prior pulls each coefficient a little towards 1.
  CHECK(fit.learned[Coefficient::kernels] == Approx(1.1).epsilon(0.05));
  CHECK(fit.learned[Coefficient::gradient_alpha] == Approx(2.5).epsilon(0.1));
  CHECK(fit.learned[Coefficient::gradient_beta] == Approx(3.0).epsilon(0.1));
  CHECK(fit.misfit < 0.01);
  CHECK(found(fit, Coefficient::gradient_beta).determined());
  // The synthetic runs contain no exchanges of layers or halos.
  for (const Coefficient each :
       {Coefficient::layer_alpha, Coefficient::layer_beta, Coefficient::halo_alpha, Coefficient::halo_beta}) {
    CHECK(fit.learned[each] == 1);
  }
  CHECK(fit.coefficients.size() == 5);
}

TEST_CASE("a straggler that grows with the ranks is distinguished from a factor on all kernels") {
  Learned values;
  values[Coefficient::straggler_factor] = 0.1;
  const FamilyFit fit = fit_of(runs_of(values, 60));
  CHECK(fit.learned[Coefficient::straggler_factor] == Approx(0.1).epsilon(0.35));
  CHECK(fit.learned[Coefficient::kernels] == Approx(1.0).epsilon(0.1));
}

TEST_CASE("without runs the fit returns the priors, and the machine's datasheet") {
  const FamilyFit fit = fit_of({});
  CHECK(fit.learned == Learned{});
  CHECK(fit.coefficients.empty());
  CHECK(learned_of({{data, Learned{}}}, 0) == Learned{});
}

TEST_CASE("fewer runs leave coefficients nearer to the prior and less certain") {
  const FamilyFit many = fit_of(runs_of(truth(), 60));
  const FamilyFit few = fit_of(runs_of(truth(), 3));
  for (const Coefficient what : {Coefficient::kernels, Coefficient::gradient_alpha, Coefficient::gradient_beta}) {
    INFO(to_string(what));
    const LearnedCoefficient& sure = found(many, what);
    const LearnedCoefficient& unsure = found(few, what);
    CHECK(unsure.narrowing > sure.narrowing);
    CHECK(std::abs(std::log(unsure.value)) < std::abs(std::log(truth()[what])) + 0.1);
    CHECK(unsure.low < unsure.value);
    CHECK(unsure.value < unsure.high);
  }
  CHECK_FALSE(found(few, Coefficient::gradient_alpha).determined());
}

TEST_CASE("one outlier does not dominate the fit") {
  std::vector<FittedRun> runs = runs_of(truth(), 60);
  runs.front().measured *= 20;
  const FamilyFit fit = fit_of(runs);
  CHECK(fit.learned[Coefficient::gradient_beta] == Approx(3.0).epsilon(0.2));
}

TEST_CASE("a configuration is left out with all its repetitions") {
  // Repetitions with large errors change the fit of other runs, but not their own prediction.
  std::vector<MeasuredRun> runs = some_runs();
  const Validation before = RunFitter(runs, "abci", "").leave_one_out();
  runs[1].value *= 1.5;
  const Validation one_repeat = RunFitter(runs, "abci", "").leave_one_out();
  REQUIRE(before.cases.size() == 5);
  for (const std::size_t repeat : {1U, 2U}) {
    REQUIRE(before.cases[repeat].predicted);
    CHECK(before.cases[repeat].predicted->value() == Approx(one_repeat.cases[repeat].predicted->value()));
  }
  CHECK(before.cases[0].predicted->value() != Approx(one_repeat.cases[0].predicted->value()));
}

TEST_CASE("repeats of a run share its prediction, but have their own measurements") {
  std::vector<MeasuredRun> runs = some_runs();
  MeasuredRun repeat = runs.front();
  repeat.value *= 2;
  repeat.origin = "elsewhere.csv:7";
  MeasuredRun other = runs.front();
  other.precision = Precision::fp16;
  runs.push_back(repeat);
  runs.push_back(other);
  const Validation together = validate(runs, "abci", "");
  REQUIRE(together.cases.size() == runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Validation alone = validate(std::span(runs).subspan(i, 1), "abci", "");
    CHECK(together.cases[i].run == alone.cases.front().run);
    CHECK(together.cases[i].predicted == alone.cases.front().predicted);
    CHECK(together.cases[i].ideal == alone.cases.front().ideal);
    CHECK(together.cases[i].low == alone.cases.front().low);
    CHECK(together.cases[i].error() == alone.cases.front().error());
  }
  CHECK(together.cases.back().predicted != together.cases.front().predicted);
}

TEST_CASE("progress is reported for every predicted run") {
  const std::vector<MeasuredRun> runs = some_runs();
  std::vector<std::size_t> heard;
  const BeforeRun listen = [&](std::size_t done, std::size_t all) {
    CHECK(all == runs.size());
    heard.push_back(done);
  };
  std::vector<std::size_t> every(runs.size());
  std::iota(every.begin(), every.end(), std::size_t{0});
  static_cast<void>(validate(runs, "abci", "", {}, {}, "strategy", listen));
  CHECK(heard == every);
  heard.clear();
  static_cast<void>(RunFitter(runs, "abci", "").leave_one_out(listen));
  CHECK(heard == every);
}

TEST_CASE("runs on few devices predict runs on more devices") {
  const Validation validation = RunFitter(some_runs(), "abci", "").fit_up_to(64);
  REQUIRE(validation.cases.size() == 1);
  CHECK(validation.cases.front().run.gpus == 256);
  CHECK(error_of([] { static_cast<void>(RunFitter(some_runs(), "abci", "").fit_up_to(2)); }) ==
        "none of the runs have 2 GPUs or fewer\nhint: choose a number of GPUs between the smallest and the largest run");
}

TEST_CASE("a fit changes the software settings of a file only if runs determine the settings") {
  const std::vector<RunFilter> filters{parse_where("quantity=iter_total_s"), parse_where("strategy=data+filter"),
                                       parse_where("includes_io=no")};
  const std::vector<MeasuredRun> all = select_runs(load_runs("paradl-abci"), filters);
  REQUIRE(all.size() > 12);
  // The bundled file contains the fit to these runs, which is removed here.
  std::string before;
  for (const EmbeddedFile& file : coefficients_files()) {
    if (std::string_view(file.path).ends_with("abci.yaml")) before = file.content;
  }
  const std::string fitted = "layered_gradients_in_hybrids: {value: yes";
  REQUIRE(before.find(fitted) != std::string::npos);
  before.replace(before.find(fitted), fitted.size(), "layered_gradients_in_hybrids: {value: no");
  const std::string untaught = (std::filesystem::temp_directory_path() / "ddl_run_fit_untaught.yaml").string();
  std::ofstream(untaught) << before;
  int changed = 0;
  for (const std::size_t count :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}, std::size_t{8}, all.size()}) {
    const RunFit fit = RunFitter(std::span(all).first(count), "abci", untaught).fit();
    REQUIRE(fit.choices.size() == 4);
    for (const LearnedChoice& choice : fit.choices) {
      INFO(choice.key << " with " << count << " runs, margin " << choice.margin);
      if (choice.before == choice.after) continue;
      ++changed;
      CHECK(choice.determined());
    }
  }
  // One run determines no setting. All runs together show that gradients are exchanged layer by layer.
  const LearnedChoice layered = RunFitter(all, "abci", untaught).fit().choices[2];
  CHECK(layered.key == "layered_gradients_in_hybrids");
  CHECK(layered.after == "yes");
  const LearnedChoice one = RunFitter(std::span(all).first(1), "abci", untaught).fit().choices[2];
  CHECK(one.after == "no");
  CHECK(changed > 0);
  std::filesystem::remove(untaught);
}

TEST_CASE("hybrids without runs take only gradient and straggler factors from data parallelism") {
  constexpr Family data = family_bit(Axis::data), pipeline = family_bit(Axis::pipeline), filter = family_bit(Axis::filter);
  Learned of_data, of_filter;
  of_data[Coefficient::kernels] = 1.5;
  of_data[Coefficient::gradient_beta] = 2;
  of_data[Coefficient::straggler_factor] = 0.1;
  of_filter[Coefficient::layer_beta] = 3;
  const LearnedFamilies families{{data, of_data}, {filter, of_filter}};
  CHECK(learned_of(families, data) == of_data);
  CHECK(learned_of(families, data | filter) == of_filter);
  const Learned hybrid = learned_of(families, data | pipeline);
  CHECK(hybrid[Coefficient::gradient_beta] == 2);
  CHECK(hybrid[Coefficient::straggler_factor] == 0.1);
  CHECK(hybrid[Coefficient::kernels] == 1);
  CHECK(learned_of(families, pipeline) == Learned());
  // One device computes as one of several replicas, and exchanges nothing.
  Learned of_one;
  of_one[Coefficient::kernels] = 1.5;
  CHECK(learned_of(families, 0) == of_one);
}

TEST_CASE("the device waits for its host if kernels and exchanges take less time than their launches") {
  FittedRun run;
  run.step.transfers.resize(1);
  run.step.tasks.push_back({0, false, Part::forward, 2000, Term(Seconds(0.1), Seconds{})});
  run.step.tasks.push_back({0, false, Part::layer_collectives, 0, Term(Seconds(0.02))});
  run.updates.stages.emplace_back().update = Term(Seconds(0.01));
  const auto predicted = [&](double kernels, double start) {
    Learned values;
    values[Coefficient::kernels] = kernels;
    values[Coefficient::launch_overhead] = start;
    return run.predicted(values);
  };
  // 2000 kernels of 50 us take 0.1 s, which is less than the 0.12 s of kernels and exchanges. With
  // 100 us per launch, they take 0.2 s.
  CHECK(predicted(1, 50e-6) == Approx(0.13));
  CHECK(predicted(1, 100e-6) == Approx(0.21));
  // Slower kernels hide the launches again.
  CHECK(predicted(2, 100e-6) == Approx(0.23));
}

TEST_CASE("runs that equal their prediction change no coefficient") {
  // Each device has few samples, so the device waits for its host, and gradients are hidden behind this waiting.
  RunPredictor predictor("dgx-a100", "none", {});
  std::string table = "model,strategy,gpus,global_batch,precision,quantity,value\n";
  for (const char* model : {"resnet50", "vgg16", "alexnet"}) {
    for (const int gpus : {16, 64}) {
      for (const int each : {1, 4}) {
        const std::string row =
            std::string(model) + ",data," + std::to_string(gpus) + "," + std::to_string(gpus * each) + ",fp16,iter_total_s,";
        const MeasuredRun run = parse_runs(table.substr(0, table.find('\n') + 1) + row + "1\n", "r.csv").front();
        const double time = std::get<Seconds>(predictor.predict(run, predictor.coefficients())).value();
        table += row + std::to_string(time) + "\n";
      }
    }
  }
  const RunFit fit = RunFitter(parse_runs(table, "r.csv"), "dgx-a100", "none").fit();
  CHECK_FALSE(fit.coefficients.software.launch_overhead);
  REQUIRE(fit.families.size() == 1);
  CHECK(fit.families.front().misfit < 0.01);
  CHECK(fit.families.front().learned[Coefficient::gradient_beta] == Approx(1).epsilon(0.15));
  CHECK(fit.families.front().learned[Coefficient::kernels] == Approx(1).epsilon(0.05));
}

TEST_CASE("the launch overhead of a datasheet's host does not apply to runs with measured kernels") {
  const std::filesystem::path file = std::filesystem::temp_directory_path() / "ddl_run_fit_test.yaml";
  std::ofstream(file) << "format: 1\nname: m\nmachine: dgx-a100\ndescription: d\ngenerator: g\ndate: 2026-01-01\n"
                         "sources: {log: a log}\nmodels:\n"
                         "  - {model: resnet50, precision: fp32, batch: 256, per_iteration: 98 ms, source: log}\n";
  const std::vector<MeasuredRun> runs =
      parse_runs("model,strategy,gpus,global_batch,quantity,value\nresnet50,data,8,8,iter_total_s,0.0315\n", "r.csv");
  CHECK(RunPredictor("dgx-a100", "none", {}).launch_overhead(runs.front()) ==
        Seconds(load_software("pytorch").settings.number("launch_overhead").value()));
  CHECK(RunPredictor("dgx-a100", "none", {}, "megatron").launch_overhead(runs.front()) ==
        Seconds(load_software("megatron").settings.number("launch_overhead").value()));
  CHECK(RunPredictor("dgx-a100", file.string(), {}).launch_overhead(runs.front()) == Seconds{});
  RunFitter fitter(runs, "dgx-a100", file.string());
  const RunFit fit = fitter.fit();
  CHECK(fit.choices.back().before == "0.0 us");
  // The errors of the fit equal those of predictions with the fit.
  const Coefficients& learned = fit.coefficients;
  RunPredictor predictor("dgx-a100", file.string(), {});
  const double predicted = std::get<Seconds>(predictor.predict(runs.front(), learned)).value();
  CHECK(std::abs(predicted / runs.front().value - 1) == Approx(fit.families.front().misfit).margin(0.02));
  std::filesystem::remove(file);
}

TEST_CASE("a launch overhead of synthetic runs is recovered, over all families together") {
  std::vector<MeasuredRun> runs;
  RunPredictor predictor("dgx-a100", "none", {});
  Coefficients truth = predictor.coefficients();
  truth.software.launch_overhead = Seconds(60e-6);
  std::string table = "model,strategy,gpus,degrees,global_batch,micro_batch,precision,recompute,quantity,value\n";
  for (const std::string degrees : {"data=8", "tensor=8", "pipeline=4,tensor=2"}) {
    for (const int micro : {1, 2, 8, 16}) {
      const std::string strategy =
          degrees.find(',') == std::string::npos ? degrees.substr(0, degrees.find('=')) : "pipeline+tensor";
      const std::string cell = degrees.find(',') == std::string::npos ? degrees : '"' + degrees + '"';
      const std::string row =
          "gpt2," + strategy + ",8," + cell + ",128," + std::to_string(micro) + ",fp16,none,iter_total_s,";
      const MeasuredRun run = parse_runs(table.substr(0, table.find('\n') + 1) + row + "1\n", "r.csv").front();
      const double time = std::get<Seconds>(predictor.predict(run, truth)).value();
      table += row + std::to_string(time) + "\n";
    }
  }
  const std::vector<MeasuredRun> all = parse_runs(table, "r.csv");
  const RunFit fit = RunFitter(all, "dgx-a100", "none").fit();
  // The prior pulls the launch overhead towards zero.
  CHECK(fit.coefficients.software.launch_overhead->value() == Approx(60e-6).epsilon(0.1));
  REQUIRE(fit.families.size() == 3);
  // The error of a host-bound run is the error of its launch overhead.
  for (const FamilyFit& family : fit.families) CHECK(family.misfit < 0.06);
  const LearnedChoice& start = fit.choices.back();
  CHECK(start.key == "launch_overhead");
  CHECK(start.before == "114.0 us");
  CHECK(start.determined());
  // The launch overhead is parsed back from the file that it is written to. It is kept if the runs do not determine it.
  const std::string head =
      "format: 1\nname: new\nmachine: dgx-a100\ndescription: d\ngenerator: g\ndate: 2026-01-01\nsources: {}\n";
  const Coefficients read = parse_coefficients(with_learned(head, fit, "twelve runs"), "new.yaml");
  CHECK(read.software.launch_overhead == fit.coefficients.software.launch_overhead);
  // Runs do not determine the launch overhead if their kernels take longer than the host.
  const std::string busy =
      table.substr(0, table.find('\n') + 1) + "gpt3-175b,tensor,8,tensor=8,8,8,fp16,full,iter_total_s,20\n";
  const LearnedChoice silent = RunFitter(parse_runs(busy, "r.csv"), "dgx-a100", "none").fit().choices.back();
  CHECK(silent.after == "114.0 us");
  CHECK_FALSE(silent.determined());
}

TEST_CASE("fitted factors read back from a coefficients file") {
  const RunFit fit = RunFitter(some_runs(), "abci", "").fit();
  REQUIRE(fit.families.size() == 1);
  const std::string text =
      "format: 1\nname: fitted\nmachine: abci\ndescription: d\ngenerator: g\ndate: 2026-01-01\n"
      "sources: {runs: five runs}\n" +
      learned_section(fit, "runs");
  const Coefficients read = parse_coefficients(text, "fitted.yaml");
  REQUIRE(read.learned.size() == 1);
  CHECK(read.learned.front().first == data);
  const Learned& learned = read.learned.front().second;
  CHECK(learned[Coefficient::gradient_beta] ==
        Approx(fit.families.front().learned[Coefficient::gradient_beta]).epsilon(1e-3));
  CHECK(learned[Coefficient::straggler_factor] ==
        Approx(fit.families.front().learned[Coefficient::straggler_factor]).epsilon(1e-3).margin(1e-9));
  CHECK(learned[Coefficient::per_iteration] ==
        Approx(fit.families.front().learned[Coefficient::per_iteration]).epsilon(1e-3).margin(1e-9));
}

TEST_CASE("a run on one device does not affect the fit") {
  std::vector<MeasuredRun> runs = some_runs();
  const std::string alone =
      "resnet50,serial,1,64,iter_total_s,0.25\n"
      "resnet50,serial,16,64,iter_total_s,0.25\n"
      "resnet50,data,1,64,iter_total_s,0.25\n";
  for (MeasuredRun& run : parse_runs(header + alone, "alone.csv")) runs.push_back(std::move(run));
  const RunFit fit = RunFitter(runs, "abci", "").fit();
  CHECK(fit.runs == 5);
  CHECK(fit.left_out == 3);
  REQUIRE(fit.families.size() == 1);
  CHECK(fit.families.front().learned == RunFitter(some_runs(), "abci", "").fit().families.front().learned);
  CHECK(with_learned(coefficients_text("", "abci"), fit, "runs").find("family: serial") == std::string::npos);
  CHECK(RunFitter(parse_runs(header + alone, "alone.csv"), "abci", "").fit().runs == 0);
}

TEST_CASE("a file keeps its other sections, and its factors are replaced by a new fit") {
  const RunFit fit = RunFitter(some_runs(), "abci", "").fit();
  const std::string before = coefficients_text("", "abci");
  const std::string once = with_learned(before, fit, "five runs");
  const Coefficients read = parse_coefficients(once, "once.yaml");
  CHECK(read.models.size() == parse_coefficients(before, "before.yaml").models.size());
  CHECK(read.learned.size() == 1);
  CHECK(read.software.gradient_route == fit.coefficients.software.gradient_route);
  CHECK(with_learned(once, fit, "five runs") == once);
  // Comments stay, and a citation may contain any letters.
  CHECK(once.find("# In all other networks, all convolutions are split.") != std::string::npos);
  CHECK(parse_coefficients(with_learned(once, fit, R"(runs "of" C:\runs)"), "quoted.yaml").learned.size() == 1);
  const std::string head =
      "format: 1\nname: new\nmachine: abci\ndescription: d\ngenerator: g\ndate: 2026-01-01\nsources: {}\n";
  const std::string first = with_learned(head, fit, "five runs");
  const Coefficients fresh = parse_coefficients(first, "fresh.yaml");
  CHECK(fresh.machine == "abci");
  CHECK(fresh.learned.size() == 1);
  CHECK(with_learned(first, fit, "five runs") == first);
}

TEST_CASE("more runs than can be fitted in a minute are refused before the first prediction") {
  const std::vector<MeasuredRun> runs(most_fitted_runs + 1, some_runs().front());
  CHECK(error_of([&] {
          static_cast<void>(RunFitter(runs, "abci", ""));
        }).starts_with("2001 runs exceed the maximum of 2000 that can be fitted together"));
}

}  // namespace run_fit_tests
