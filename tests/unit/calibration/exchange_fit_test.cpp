#include <algorithm>
#include <cmath>
#include <random>

#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/fit_plot.hpp"
#include "estimator/exchanges/collectives/times.hpp"
#include "measured_series.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace exchange_fit_tests {

using namespace ddl;

namespace {

constexpr double alpha = 5e-6;
constexpr double beta = 4e-11;

/// Returns sizes by factors of 2 from 8 B to 256 MiB, with times from `time_of`.
template <typename TimeOf>
ExchangeSeries sweep(Collective operation, int ranks, int nodes, TimeOf time_of) {
  ExchangeSeries series;
  series.operation = operation;
  series.ranks = ranks;
  series.nodes = nodes;
  series.level = nodes > 1 ? NetworkLevel::between_nodes : NetworkLevel::node;
  if (operation == Collective::point_to_point) series.pattern = ExchangePattern::one_way;
  for (double bytes = 8; bytes <= 268435456.0; bytes *= 2) {
    MeasuredExchange row;
    row.message = Bytes(bytes);
    row.time = Seconds(time_of(bytes));
    series.rows.push_back(row);
  }
  return series;
}

ExchangeSeries line(double start = alpha, double slope = beta) {
  return sweep(Collective::point_to_point, 2, 2, [=](double bytes) { return start + slope * bytes; });
}

/// Multiplies each time by 1 + relative · a normal deviate.
void add_noise(ExchangeSeries& series, double relative, unsigned seed) {
  std::mt19937 random(seed);
  for (MeasuredExchange& row : series.rows) {
    // The normal deviate is computed by Box and Muller's method, because std::normal_distribution differs between libraries.
    const double u = (static_cast<double>(random()) + 1) / 4294967297.0;
    const double v = static_cast<double>(random()) / 4294967296.0;
    row.time *= 1 + relative * std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }
}

ExchangeFit fit_of(const std::vector<ExchangeSeries>& series) {
  const std::vector<ExchangeFit> fits = fit_exchanges(series);
  REQUIRE(fits.size() == 1);
  INFO(fits[0].refusal);
  REQUIRE(fits[0].refusal.empty());
  REQUIRE_FALSE(fits[0].ranges.empty());
  return fits[0];
}

}  // namespace

TEST_CASE("a fit to exact data returns their α and β, and no knee") {
  const ExchangeFit fit = fit_of({line()});
  REQUIRE(fit.ranges.size() == 1);
  const FitRange& range = fit.ranges[0];
  CHECK(range.algorithm == ExchangeAlgorithm::direct);
  CHECK(range.alpha->value.value() == Approx(alpha).epsilon(1e-6));
  CHECK(range.beta->value.value() == Approx(beta).epsilon(1e-6));
  CHECK(range.r2 == Approx(1));
  CHECK(range.worst_residual < 1e-6);
  CHECK(range.points == 26);
  CHECK(range.outliers == 0);
  CHECK(range.min_message == 8_B);
  CHECK(range.max_message == 256_MiB);
}

TEST_CASE("other units of time and size scale only α and β") {
  ExchangeSeries noisy = line();
  add_noise(noisy, 0.05, 1);
  ExchangeSeries scaled = noisy;
  for (MeasuredExchange& row : scaled.rows) {
    row.time *= 1024;
    row.message *= 16;
  }
  const ExchangeFit fit = fit_of({noisy});
  const ExchangeFit other = fit_of({scaled});
  REQUIRE(fit.ranges.size() == other.ranges.size());
  const FitRange& last = fit.ranges.back();
  const FitRange& other_last = other.ranges.back();
  CHECK(other_last.beta->value.value() == Approx(last.beta->value.value() * 64));
  CHECK(other_last.beta->low.value() == Approx(last.beta->low.value() * 64));
  CHECK(other.ranges.front().alpha->value.value() == Approx(fit.ranges.front().alpha->value.value() * 1024));
  CHECK(other_last.r2 == Approx(last.r2));
  CHECK(other_last.median_residual == Approx(last.median_residual));
}

TEST_CASE("the order of rows and of files does not matter") {
  ExchangeSeries series = line();
  add_noise(series, 0.1, 2);
  const ExchangeFit fit = fit_of({series});
  std::reverse(series.rows.begin(), series.rows.end());
  std::swap(series.rows[3], series.rows[17]);
  const ExchangeFit other = fit_of({series});
  REQUIRE(fit.ranges.size() == other.ranges.size());
  for (std::size_t i = 0; i < fit.ranges.size(); ++i) {
    CHECK(fit.ranges[i].coefficients == other.ranges[i].coefficients);
    CHECK(fit.ranges[i].max_message == other.ranges[i].max_message);
  }
}

TEST_CASE("outliers do not change the fit") {
  ExchangeSeries series = line();
  add_noise(series, 0.01, 3);
  const ExchangeFit clean = fit_of({series});
  series.rows[2].time *= 10;
  series.rows[11].time *= 3;
  series.rows[20].time *= 5;
  const ExchangeFit fit = fit_of({series});
  REQUIRE(fit.ranges.size() == 1);
  CHECK(fit.ranges[0].outliers == 3);
  CHECK(fit.ranges[0].alpha->value.value() == Approx(clean.ranges[0].alpha->value.value()).epsilon(0.02));
  CHECK(fit.ranges[0].beta->value.value() == Approx(clean.ranges[0].beta->value.value()).epsilon(0.02));
}

TEST_CASE("more noise widens the intervals, and their coverage is about the stated one") {
  double narrow = 0;
  double wide = 0;
  int alpha_held = 0;
  int beta_held = 0;
  int known = 0;
  constexpr unsigned trials = 60;
  for (unsigned seed = 0; seed < trials; ++seed) {
    for (const double noise : {0.01, 0.05}) {
      ExchangeSeries series = line();
      add_noise(series, noise, 100 + seed);
      const ExchangeFit fit = fit_of({series});
      if (fit.ranges.size() != 1) continue;
      const FitRange& range = fit.ranges[0];
      REQUIRE(range.beta);
      REQUIRE(range.alpha);
      (noise < 0.02 ? narrow : wide) += (range.beta->high - range.beta->low).value();
      ++known;
      alpha_held += range.alpha->low.value() <= alpha && alpha <= range.alpha->high.value() ? 1 : 0;
      beta_held += range.beta->low.value() <= beta && beta <= range.beta->high.value() ? 1 : 0;
    }
  }
  CHECK(wide > 3 * narrow);
  // The fit rarely finds a knee that does not exist.
  CHECK(known > 0.9 * 2 * trials);
  // Of 120 intervals, 95 % are 114, with a standard deviation of 2.4. The bounds are four standard deviations on both sides.
  CHECK(alpha_held > 0.87 * known);
  CHECK(beta_held > 0.87 * known);
}

TEST_CASE("a change of protocol is found at its size, and unchanged coefficients are shared") {
  // Messages are eager up to 64 KiB. Larger messages need a handshake, which takes two more latencies on the same link.
  ExchangeSeries series = sweep(Collective::point_to_point, 2, 2,
                                [](double bytes) { return (bytes > 65536 ? 5 * alpha : alpha) + 1e-10 * bytes; });
  add_noise(series, 0.01, 4);
  const ExchangeFit fit = fit_of({series});
  REQUIRE(fit.ranges.size() == 2);
  CHECK(fit.ranges[0].max_message == 64_KiB);
  CHECK(fit.ranges[1].min_message == 128_KiB);
  CHECK_FALSE(fit.ranges[0].continuous);
  CHECK(fit.ranges[0].alpha->value.value() == Approx(alpha).epsilon(0.02));
  CHECK(fit.ranges[1].alpha->value.value() == Approx(5 * alpha).epsilon(0.1));
  CHECK(fit.ranges[0].beta->value == fit.ranges[1].beta->value);
  CHECK(fit.ranges[1].beta->value.value() == Approx(1e-10).epsilon(0.02));
}

TEST_CASE("a bend without a jump is still a bend") {
  // Above a cache of 1 MiB, the link is four times as slow. The bend is between two measured sizes.
  static constexpr double knee = 1.5 * 1048576;
  ExchangeSeries series = sweep(Collective::point_to_point, 2, 2, [](double bytes) {
    return alpha + beta * std::min(bytes, knee) + 4 * beta * std::max(0.0, bytes - knee);
  });
  add_noise(series, 0.002, 5);
  const ExchangeFit fit = fit_of({series});
  // Ranges are first found as lines with a start-up that is not negative, and then joined. The line after the bend has a
  // negative start-up, so the knee may be found one size late, with a short range of its own.
  REQUIRE(fit.ranges.size() >= 2);
  REQUIRE(fit.ranges.size() <= 3);
  CHECK(fit.ranges.front().max_message <= 2_MiB);
  if (fit.ranges.front().continuous) CHECK(fit.ranges.front().knee.value() == Approx(knee).epsilon(0.05));
  CHECK(fit.ranges.front().beta->value.value() == Approx(beta).epsilon(0.05));
  CHECK(fit.ranges.back().beta->value.value() == Approx(4 * beta).epsilon(0.05));
}

TEST_CASE("with a window of messages in flight only β is determined") {
  ExchangeSeries series = line(1e-6, beta);
  series.window = 64;
  const ExchangeFit fit = fit_of({series});
  CHECK_FALSE(fit.ranges[0].alpha);
  CHECK(fit.ranges[0].beta->value.value() == Approx(beta).epsilon(1e-6));
  CHECK_FALSE(fit.notes.empty());
}

TEST_CASE("too little to fit is refused with what to measure next") {
  const auto refusal = [](ExchangeSeries series) {
    const std::vector<ExchangeFit> fits = fit_exchanges(std::vector{std::move(series)});
    REQUIRE(fits.size() == 1);
    CHECK(fits[0].ranges.empty());
    CHECK_FALSE(fits[0].what_to_measure.empty());
    return fits[0].refusal;
  };
  ExchangeSeries two = line();
  two.rows.resize(2);
  CHECK(refusal(two) == "2 sizes of message: α and β need at least 3");
  ExchangeSeries same = line();
  for (MeasuredExchange& row : same.rows) row.message = 1_MiB;
  CHECK(refusal(same) == "1 size of message: α and β need at least 3");
  ExchangeSeries close = line();
  close.rows.resize(5);
  for (std::size_t i = 0; i < 5; ++i) close.rows[i].message = Bytes(1000.0 + static_cast<double>(i));
  CHECK_FALSE(refusal(close).empty());
  ExchangeSeries none = line();
  none.rows.clear();
  CHECK(refusal(none) == "no row with a size and a time");
  ExchangeSeries alone = sweep(Collective::allreduce, 1, 1, [](double) { return alpha; });
  CHECK(refusal(alone) == "a single rank does not communicate");
  ExchangeSeries unknown = sweep(Collective::allreduce, 4, 1, [](double) { return alpha; });
  unknown.ranks.reset();
  CHECK_FALSE(refusal(unknown).empty());
  ExchangeSeries broken = line();
  broken.file = "run.txt";
  broken.rows[1].line = 7;
  broken.rows[1].time = Seconds(0);
  CHECK(error_of([&] { (void)fit_exchanges(std::vector{broken}); }) ==
        "run.txt:7: a message of 16 bytes that took 0 s\nhint: sizes must not be negative, and times must be positive");
}

TEST_CASE("the algorithm behind times of several rank counts is found and named") {
  const Link link{Seconds(alpha), SecondsPerByte(beta), {}};
  struct Case {
    ExchangeAlgorithm algorithm;
    Seconds (*time)(Bytes, double, const Link&);
  };
  const std::vector<Case> cases{
      {ExchangeAlgorithm::ring, ring_allreduce_time},
      // A tree takes twice as long, as on a link with half the speed, so it cannot be distinguished from a butterfly.
      {ExchangeAlgorithm::butterfly, butterfly_allreduce_time},
      {ExchangeAlgorithm::rabenseifner, rabenseifner_allreduce_time},
      {ExchangeAlgorithm::linear, linear_allreduce_time},
      // Switches that reduce have a latency and a bandwidth that do not depend on the number of ranks.
      {ExchangeAlgorithm::in_switch, [](Bytes m, double, const Link& l) { return l.alpha + m * l.beta; }}};
  for (const Case& one : cases) {
    std::vector<ExchangeSeries> series;
    for (const int ranks : {4, 8, 16, 64}) {
      series.push_back(
          sweep(Collective::allreduce, ranks, 1, [&](double bytes) { return one.time(Bytes(bytes), ranks, link).value(); }));
      add_noise(series.back(), 0.03, static_cast<unsigned>(ranks));
    }
    const ExchangeFit fit = fit_of(series);
    INFO(to_string(one.algorithm));
    REQUIRE(fit.ranges.size() == 1);
    CHECK(to_string(fit.ranges[0].algorithm) == to_string(one.algorithm));
    CHECK(fit.ranges[0].alpha->value.value() == Approx(alpha).epsilon(0.03));
    CHECK(fit.ranges[0].beta->value.value() == Approx(beta).epsilon(0.03));
    // The fit also predicts unmeasured cases, with a warning.
    const ExchangePrediction prediction = predict(fit, 256, 1, 16_MiB);
    CHECK(prediction.time.value.value() == Approx(one.time(16_MiB, 256, link).value()).epsilon(0.04));
    CHECK(prediction.time.low < prediction.time.value);
    CHECK(prediction.time.value < prediction.time.high);
    CHECK(prediction.warnings == std::vector<std::string>{"256 ranks: measured from 4 to 64"});
  }
}

TEST_CASE("rings inside nodes and between nodes give the α and β of the link between nodes") {
  const Link inside{Seconds(2e-6), SecondsPerByte(5e-12), {}};
  const Link between{Seconds(2e-5), SecondsPerByte(4e-11), {}};
  std::vector<ExchangeSeries> series;
  for (const int nodes : {2, 4, 8, 16, 32}) {
    series.push_back(sweep(Collective::allreduce, 4 * nodes, nodes, [&](double bytes) {
      return hierarchical_allreduce_time(Bytes(bytes), 4, nodes, inside, between, 1).value();
    }));
    add_noise(series.back(), 0.01, static_cast<unsigned>(nodes));
  }
  const ExchangeFit fit = fit_of(series);
  REQUIRE(fit.ranges.size() == 1);
  CHECK(to_string(fit.ranges[0].algorithm) == "hierarchical ring");
  CHECK(fit.ranges[0].alpha->value.value() == Approx(2e-5).epsilon(0.03));
  CHECK(fit.ranges[0].beta->value.value() == Approx(4e-11).epsilon(0.05));
}

TEST_CASE("predictions outside the measured ranks, nodes and bytes give a warning") {
  const ExchangeFit fit = fit_of({sweep(Collective::allreduce, 8, 2, [](double bytes) { return alpha + beta * bytes; })});
  CHECK(predict(fit, 8, 2, 1_MiB).warnings.empty());
  CHECK(predict(fit, 8, 2, 1_GiB).warnings ==
        std::vector<std::string>{"messages of 1.00 GiB: measured from 8 B to 256 MiB"});
  CHECK(predict(fit, 16, 4, 1_MiB).warnings ==
        std::vector<std::string>{"16 ranks: measured with 8", "4 nodes: measured with 2"});
  CHECK(predict(fit, 1, 1, 1_MiB).time.value == Seconds(0));
}

TEST_CASE("series that contradict each other are fitted one by one, repeats together") {
  ExchangeSeries slow = line();
  for (MeasuredExchange& row : slow.rows) row.time *= 2;
  CHECK(fit_exchanges(std::vector{line(), slow}).size() == 2);
  ExchangeSeries again = line();
  add_noise(again, 0.02, 6);
  const ExchangeFit fit = fit_of({line(), again});
  CHECK(fit.ranges[0].points == 52);
  CHECK(fit.rank_counts == 1);
}

TEST_CASE("noise alone makes no knee, and outliers do not hide one") {
  constexpr unsigned trials = 60;
  int false_knees = 0;
  int found = 0;
  for (unsigned seed = 0; seed < trials; ++seed) {
    ExchangeSeries series = line();
    add_noise(series, 0.05, 500 + seed);
    false_knees += fit_of({series}).ranges.size() > 1 ? 1 : 0;
    // The start-up above 64 KiB is three latencies, and two sizes have twice and three times the time.
    ExchangeSeries knee = sweep(Collective::point_to_point, 2, 2,
                                [](double bytes) { return (bytes > 65536 ? 3 * alpha : alpha) + 1e-10 * bytes; });
    add_noise(knee, 0.03, 900 + seed);
    knee.rows[seed % 13].time *= 2;
    knee.rows[13 + seed % 13].time *= 3;
    const ExchangeFit fit = fit_of({knee});
    found +=
        std::any_of(fit.ranges.begin(), fit.ranges.end(), [](const FitRange& range) { return range.max_message == 64_KiB; })
            ? 1
            : 0;
  }
  CHECK(false_knees < 0.1 * trials);
  CHECK(found > 0.85 * trials);
}

TEST_CASE("an Allreduce between nodes predicts more nodes than were measured") {
  const auto series = measured_series::alps(DATA_FOLDER "comm/alps-allreduce.csv", "ofi192");
  const auto median_error = [&](int most_nodes, int asked) {
    std::vector<ExchangeSeries> known;
    for (const auto& [nodes, one] : series) {
      if (nodes > 1 && nodes <= most_nodes) known.push_back(one);
    }
    const ExchangeFit fit = fit_of(known);
    std::vector<double> errors;
    for (const MeasuredExchange& row : series.at(asked).rows) {
      if (row.message < 1_MiB) continue;
      const ExchangePrediction prediction = predict(fit, 4 * asked, asked, row.message);
      CHECK(prediction.warnings.size() == 2);
      errors.push_back(std::abs(prediction.time.value / row.time - 1));
    }
    std::sort(errors.begin(), errors.end());
    return errors[errors.size() / 2];
  };
  CHECK(median_error(32, 64) < 0.10);
  CHECK(median_error(64, 128) < 0.15);
}

TEST_CASE("plots show points and fit, with units and a legend") {
  ExchangeSeries series = sweep(Collective::allreduce, 8, 2, [](double bytes) { return alpha + beta * bytes; });
  const std::vector<ExchangeSeries> all{series};
  const ExchangeFit fit = fit_of(all);
  const std::string text = plot_text(fit, all, 60);
  CHECK_THAT(text, ContainsSubstring("allreduce, between nodes"));
  CHECK_THAT(text, ContainsSubstring("a  measured, 8 ranks on 2 nodes"));
  CHECK_THAT(text, ContainsSubstring("256 MiB"));
  CHECK_THAT(text, ContainsSubstring("ms") || ContainsSubstring("us"));
  std::size_t from = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; from = end + 1, end = text.find('\n', from)) {
    CHECK(end - from <= 64);  // 60 columns, plus the second bytes of µ
  }
  const std::string svg = plot_svg(fit, all);
  for (const char* part : {"<svg xmlns=", "message (bytes)", "time (seconds)", "measured, 8 ranks on 2 nodes", ">fitted<",
                           "<polyline", "</svg>"}) {
    CHECK_THAT(svg, ContainsSubstring(part));
  }
  // There are as many circles as rows, plus one in the legend.
  std::size_t circles = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos; at = svg.find("<circle", at + 1)) ++circles;
  CHECK(circles == series.rows.size() + 1);
  CHECK_THAT(svg, !ContainsSubstring("nan") && !ContainsSubstring("inf"));
}

TEST_CASE("a measurement with one rank count is interpreted as a ring, with a note unless the library reports a ring") {
  ExchangeSeries series = sweep(Collective::allreduce, 8, 2, [](double bytes) { return 14 * (alpha + bytes / 8 * beta); });
  const auto notes_of = [&](const std::string& algorithm) {
    for (MeasuredExchange& row : series.rows) row.algorithm = algorithm;
    const std::vector<ExchangeFit> fits = fit_exchanges({&series, 1});
    std::string notes;
    for (const std::string& note : fits.at(0).notes) notes += note;
    return notes;
  };
  const std::string doubt = "does not distinguish algorithms: interpreted as ring";
  CHECK(notes_of("").find(doubt) != std::string::npos);
  CHECK(notes_of("Tree Simple").find(doubt) != std::string::npos);
  CHECK(notes_of("Ring LL128").find(doubt) == std::string::npos);
  series.rows.back().algorithm = "";
  CHECK(fit_exchanges({&series, 1}).at(0).notes.front().find(doubt) != std::string::npos);
}

}  // namespace exchange_fit_tests
