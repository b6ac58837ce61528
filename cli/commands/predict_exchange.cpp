#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/inputs/study.hpp"
#include "calibration/network/benchmarks/exchange_facts.hpp"
#include "calibration/network/fits/exchange_prediction.hpp"
#include "calibration/network/fits/fit_plot.hpp"
#include "cli/commands/commands.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

struct ExchangeRequest {
  std::string machine = "dgx-a100", coefficients;
  std::string operations = "allreduce";
  std::string sizes = "4KiB,64KiB,1MiB,16MiB,256MiB,1GiB";
  std::string ranks, algorithms;
  std::optional<std::int64_t> ranks_per_node{};
};

constexpr std::int64_t most_ranks = 1 << 24;

std::vector<Collective> operations_of(const std::string& text) {
  std::vector<Collective> operations;
  for (const std::string& word : comma_separated(text)) {
    operations.push_back(chosen("--operation", word, parse_operation, operation_names()));
  }
  return operations;
}

std::vector<Bytes> sizes_of(const std::string& text) {
  std::vector<Bytes> sizes;
  for (const std::string& word : comma_separated(text)) {
    UnitProblem problem;
    const std::optional<Bytes> size = parse_quantity<Bytes>(word, problem);
    if (!size) throw Error("--bytes: " + problem.message, problem.hint);
    if (!(*size > Bytes{}))
      throw Error(fmt::format("--bytes: {} is not a message size", quote(word)), "use for example --bytes 1MiB,1GiB");
    sizes.push_back(*size);
  }
  return sizes;
}

std::vector<int> ranks_of(const std::string& text) {
  std::vector<int> ranks;
  for (const std::string& word : comma_separated(text)) {
    const bool digits = !word.empty() && word.size() <= 8 && word.find_first_not_of("0123456789") == std::string::npos;
    const int count = digits ? std::stoi(word) : 0;
    if (count < 2 || count > most_ranks) {
      throw Error(fmt::format("--ranks: {} is not a whole number from 2 to {}", quote(word), most_ranks),
                  "use digits, for example --ranks 16,32");
    }
    ranks.push_back(count);
  }
  return ranks;
}

/// The algorithms of --algorithm; empty for all of them.
std::vector<std::string_view> algorithms_of(const std::string& text) {
  std::vector<std::string_view> known(enum_names<AllreduceAlgorithm>.begin(), enum_names<AllreduceAlgorithm>.end());
  known.push_back(lower_bound_name);
  std::vector<std::string_view> algorithms;
  if (text == "all") return algorithms;
  for (const std::string& word : comma_separated(text)) {
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
      known.insert(known.begin(), "all");
      unknown_choice("--algorithm", word, known);
    }
    algorithms.push_back(*found);
  }
  return algorithms;
}

void refuse_without_algorithms(const std::vector<Collective>& operations) {
  for (const Collective each : operations) {
    if (each != Collective::allreduce && each != Collective::reduce)
      throw Error(fmt::format("--algorithm: {} has only one algorithm", to_string(each)),
                  "use --algorithm with the operations allreduce and reduce");
  }
}

/// Predicts one exchange: with its usual algorithm, or with each algorithm of --algorithm.
std::vector<PredictedExchange> predict_one(const ExchangePredictor& predictor, const std::string& algorithms,
                                           Collective operation, Bytes size, int ranks, int nodes) {
  if (algorithms.empty()) return {predictor.predict(operation, size, ranks, nodes)};
  return predictor.by_algorithm(operation, size, ranks, nodes, algorithms_of(algorithms));
}

Json row_of(const PredictedExchange& one) {
  return {{"operation", to_string(one.operation)},
          {"ranks", one.ranks},
          {"nodes", one.nodes},
          {"bytes", one.message.value()},
          {"time_s", one.time.value()},
          {"low_s", or_null(one.low)},
          {"high_s", or_null(one.high)},
          {"bus_bandwidth", one.bus_bandwidth.value()},
          {"algorithm", one.algorithm},
          {"provenance", to_string(one.basis)},
          {"warning", or_null(one.warning)}};
}

Table table_of(const std::vector<PredictedExchange>& predicted) {
  Table table({essential(words("operation")), essential(figures("ranks")), figures("nodes"), essential(figures("message")),
               essential(figures("time")), figures("95 % interval"), figures("bus bandwidth"), words("algorithm"),
               words("based on")},
              0);
  for (const PredictedExchange& one : predicted) {
    table.add({std::string(to_string(one.operation)), with_thousands(one.ranks), with_thousands(one.nodes),
               humanize(one.message), humanize(one.time),
               one.low ? fmt::format("{} to {}", humanize(*one.low), humanize(*one.high)) : "-", humanize(one.bus_bandwidth),
               one.algorithm, std::string(to_string(one.basis))});
  }
  return table;
}

/// Adds a plot for each operation with at least three requested message sizes.
void add_plots(Document& document, const std::vector<PredictedExchange>& predicted) {
  std::vector<std::pair<Collective, std::vector<PlotCurve>>> plots;
  for (const PredictedExchange& one : predicted) {
    if (plots.empty() || plots.back().first != one.operation) plots.push_back({one.operation, {}});
    std::vector<PlotCurve>& curves = plots.back().second;
    if (curves.empty() || curves.back().ranks != one.ranks) curves.push_back({.ranks = one.ranks, .nodes = one.nodes});
    curves.back().measured.push_back({one.message.value(), one.time.value()});
  }
  constexpr std::size_t least_points = 3;
  for (const auto& [operation, curves] : plots) {
    if (curves.front().measured.size() < least_points) continue;
    document.apart(Verbatim{plot_text(std::string(to_string(operation)), curves, "", "")});
  }
}

/// The default coefficients, and the reason for using them. The name is empty if the user chose the coefficients.
struct FoundCoefficients {
  std::string name, why;
  MeasuredOn measured_on = MeasuredOn::own_cluster;
};
FoundCoefficients found_coefficients(const StudySpec& spec, const Coefficients& coefficients) {
  if (!spec.coefficients.empty()) return {};
  if (const std::optional<OwnCoefficients> own = own_coefficients(spec.machine))
    return {own->path, place_of(*own), MeasuredOn::own_cluster};
  return {coefficients.name, "bundled with the machine", MeasuredOn::published_cluster};
}

/// Returns the largest number of ranks per node, up to `most`, that divides the ranks.
int largest_divisor(int ranks, int most) {
  while (ranks % most != 0) --most;
  return most;
}

Report predict_exchanges(const ExchangeRequest& asked) {
  const std::vector<Collective> operations = operations_of(asked.operations);
  const std::vector<Bytes> sizes = sizes_of(asked.sizes);
  const std::vector<int> ranks = ranks_of(asked.ranks);
  if (!asked.algorithms.empty()) refuse_without_algorithms(operations);
  Machine machine = load_machine(asked.machine);
  StudySpec spec;
  spec.machine = asked.machine;
  spec.coefficients = asked.coefficients;
  Coefficients coefficients = coefficients_of(spec, machine);
  const FoundCoefficients found = found_coefficients(spec, coefficients);
  const std::string network = network_text(coefficients, machine);
  const std::string between_nodes = between_nodes_text(machine, coefficients.exchanges);
  const std::string used = !found.name.empty() ? found.name : coefficients.name;
  const std::string in_node = prescribed_exchanges(coefficients.software, machine, false),
                    between = prescribed_exchanges(coefficients.software, machine, true);
  const std::string name = machine.name;
  const int devices = machine.devices_per_node();
  const ExchangePredictor predictor(std::move(machine), std::move(coefficients), found.measured_on);
  auto predicted = std::make_shared<std::vector<PredictedExchange>>();
  for (const Collective operation : operations) {
    for (const int count : ranks) {
      // If a node has room for all ranks, they are on one node.
      const int on_node = std::min(count, static_cast<int>(asked.ranks_per_node.value_or(devices)));
      if (count % on_node != 0) {
        const int whole = count / on_node * on_node;
        throw Error(fmt::format("{} ranks are not a multiple of the {} ranks per node", count, on_node),
                    fmt::format("use {} or {} ranks, or only this number with --ranks-per-node {}", whole, whole + on_node,
                                largest_divisor(count, on_node)));
      }
      for (const Bytes size : sizes) {
        for (PredictedExchange& one : predict_one(predictor, asked.algorithms, operation, size, count, count / on_node))
          predicted->push_back(std::move(one));
      }
    }
  }
  Report report;
  // Notes are about exchanges that were not measured.
  const bool has_formulas = std::any_of(predicted->begin(), predicted->end(), [](const PredictedExchange& one) {
    return one.basis >= ExchangeBasis::fitted_links;
  });
  if (has_formulas) report.warn(predictor.notes());
  for (const PredictedExchange& one : *predicted) {
    if (one.warning.empty()) continue;
    report.warn({fmt::format("{} among {} ranks: {}", to_string(one.operation), one.ranks, one.warning)});
  }
  Document& document = report.document;
  if (!network.empty()) document.line("network: " + network);
  const bool leaves_nodes =
      std::any_of(predicted->begin(), predicted->end(), [](const PredictedExchange& one) { return one.nodes > 1; });
  if (!between_nodes.empty() && leaves_nodes) document.line("between nodes: " + between_nodes);
  const std::string& prescribed = leaves_nodes ? between : in_node;
  if (!found.name.empty()) {
    document.line(fmt::format("coefficients: {}, {}{}", found.name, found.why,
                              prescribed.empty() ? "" : "; their software reduces gradients " + prescribed));
  }
  if (!network.empty() || (!between_nodes.empty() && leaves_nodes) || !found.name.empty()) document.section();
  document.add(table_of(*predicted));
  if (asked.algorithms.empty()) add_plots(report.document, *predicted);
  Json rows = json_list(*predicted, row_of);
  report.rows = [rows] { return rows; };
  const Json heading{{"schema", 1},
                     {"machine", name},
                     {"coefficients", or_null(used)},
                     {"network", or_null(network)},
                     {"between_nodes", or_null(between_nodes)}};
  report.json = [heading, rows] {
    Json json = heading;
    json["exchanges"] = rows;
    return json;
  };
  return report;
}

}  // namespace

void add_predict_exchange(const Command& predict, Request& request) {
  const Command exchange =
      predict.add_subcommand("exchange", "predict collectives by size and ranks, with an interval and the source");
  auto asked = std::make_shared<ExchangeRequest>();
  exchange.examples(
      {{"ddl-oracle predict exchange --ranks 8,16 --bytes 4MiB,64MiB", "an allreduce among 8 and among 16 GPUs"},
       {"ddl-oracle predict exchange --operation allgather --ranks 64 --machine h100",
        "the time of an allgather among 64 GPUs"},
       {"ddl-oracle predict exchange --ranks 16 --ranks-per-node 4 --format csv", "with four GPUs of each node, as CSV"}});
  exchange.add_option("--operation", asked->operations, "operations, separated by commas: allreduce, allgather, …")
      .capture_default_str();
  exchange.add_option("--bytes", asked->sizes, "sizes of the full vector, separated by commas", "SIZES")
      .capture_default_str();
  exchange.add_option("--algorithm", asked->algorithms,
                      "algorithms, separated by commas, or all; their times follow from formulas, not from measured times, "
                      "and the lower bound is shown",
                      "NAMES");
  exchange.add_option("--ranks", asked->ranks, "numbers of ranks, separated by commas", "NUMBERS").required();
  add_whole_number(exchange, "--ranks-per-node", asked->ranks_per_node, 1, most_ranks,
                   "ranks per node (default: the devices per node of the machine)");
  exchange.add_option("--machine", asked->machine, "bundled machine or file")
      .names_or_file(machine_names)
      .capture_default_str();
  exchange.add_option("--coefficients", asked->coefficients,
                      "measurements: a file, a bundled name, or none (default: those bundled with the machine)");
  add_report_options(exchange, request.report);
  request.on_choice(exchange, [asked] {
    return predict_exchanges(*asked).then(
        {"ddl-oracle", "recommend", "llama3-8b", "--machine", asked->machine, "--gpus", "8"});
  });
}

}  // namespace ddl
