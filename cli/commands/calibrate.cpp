#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/network/benchmarks/benchmark_formats.hpp"
#include "calibration/network/benchmarks/gpcnet_text.hpp"
#include "calibration/network/benchmarks/open_mpi_rules.hpp"
#include "calibration/network/fits/fit.hpp"
#include "calibration/network/fits/fit_plot.hpp"
#include "calibration/network/fits/fitted_links.hpp"
#include "calibration/network/fits/joined_curves.hpp"
#include "calibration/network/fits/measured_curves.hpp"
#include "calibration/network/fits/network_section.hpp"
#include "calibration/network/fits/pair_contention.hpp"
#include "calibration/network/fits/superseded_values.hpp"
#include "cli/commands/calibrate_live.hpp"
#include "cli/commands/coefficients_output.hpp"
#include "cli/commands/commands.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/exchange_fit.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/version.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

/// The options for fitting α and β to measured exchanges, from files or from a live network.
struct FitRequest {
  std::string machine, output, plot;
  std::optional<double> tolerance;
};

/// The benchmark files, and options for facts that a file lacks.
struct FilesRequest {
  std::vector<std::string> files;
  std::string operation, level;
  std::optional<std::int64_t> ranks, nodes;
  std::string prefer{};
};

/// The measured series, the measurements of a live network (if any), and the previous content of the coefficients file.
struct Measured {
  std::shared_ptr<std::vector<ExchangeSeries>> series = std::make_shared<std::vector<ExchangeSeries>>();
  std::optional<LiveSweep> live{};
  std::vector<PairContention> contention{};  ///< slowdown of several pairs of ranks that send at once
  std::optional<GpcnetCongestion> congestion{};
  std::string before{};
  std::vector<std::string> warnings{};
};

constexpr std::string_view svg_ending = ".svg";
constexpr std::string_view text_plot = "text";
constexpr std::array<std::string_view, 5> fact_names{"operation", "ranks", "nodes", "level", "library"};

Collective operation_of(const std::string& option, const std::string& text) {
  return chosen(option, text, parse_operation, operation_names());
}

NetworkLevel level_of(const std::string& option, const std::string& text) { return chosen<NetworkLevel>(option, text); }

/// A benchmark file, and its properties, which follow the file name: `all.txt,ranks=8,nodes=2`.
struct FileRequest {
  std::string path;
  ExchangeFacts facts;
};

/// Returns the position of the first `,name=` in a text; the end of the text if there is none.
std::size_t facts_begin(const std::string& text) {
  for (std::size_t at = text.find(','); at != std::string::npos; at = text.find(',', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && std::islower(static_cast<unsigned char>(text[end])) != 0) ++end;
    if (end > at + 1 && end < text.size() && text[end] == '=') return at;
  }
  return text.size();
}

int count_of(const std::string& argument, std::string_view name, const std::string& value) {
  const int count = number_in<int>(value).value_or(0);
  if (count < 1 || count > most_exchange_ranks) {
    throw Error(fmt::format("{}: {} is {}, which is not a whole number from 1 to {}", quote(argument), name, quote(value),
                            most_exchange_ranks),
                fmt::format("use digits, as in FILE,{}=16", name));
  }
  return count;
}

FileRequest file_of(const std::string& argument) {
  std::error_code unknown;
  const std::size_t begin = std::filesystem::exists(argument, unknown) ? argument.size() : facts_begin(argument);
  FileRequest file{argument.substr(0, begin), {}};
  for (std::size_t at = begin; at < argument.size();) {
    const std::size_t end = std::min(argument.find(',', at + 1), argument.size());
    const std::string fact = argument.substr(at + 1, end - at - 1);
    at = end;
    const std::size_t sign = std::min(fact.find('='), fact.size());
    const std::string name = fact.substr(0, sign);
    const std::string value = sign < fact.size() ? fact.substr(sign + 1) : "";
    if (name == "operation") {
      file.facts.operation = operation_of(fmt::format("{}: operation", quote(argument)), value);
    } else if (name == "level") {
      file.facts.level = level_of(fmt::format("{}: level", quote(argument)), value);
    } else if (name == "library") {
      file.facts.library = parse_library(value);
      if (!file.facts.library) {
        throw Error(fmt::format("{}: unknown algorithm selection of {}", quote(argument), quote(value)),
                    fmt::format("known: {}; for other libraries, leave the property out", open_mpi_41));
      }
    } else if (name == "ranks") {
      file.facts.ranks = count_of(argument, name, value);
    } else if (name == "nodes") {
      file.facts.nodes = count_of(argument, name, value);
    } else {
      throw Error(fmt::format("unknown property {} after the file name in {}", quote(fact), quote(argument)),
                  suggest(name, fact_names));
    }
  }
  return file;
}

ExchangeFacts otherwise_of(const FilesRequest& asked) {
  ExchangeFacts facts;
  if (!asked.operation.empty()) facts.operation = operation_of("--operation", asked.operation);
  if (!asked.level.empty()) facts.level = level_of("--level", asked.level);
  if (asked.ranks) facts.ranks = static_cast<int>(*asked.ranks);
  if (asked.nodes) facts.nodes = static_cast<int>(*asked.nodes);
  return facts;
}

/// Warnings, each with the files that it applies to. A warning that applies to several files is printed once.
using FileWarnings = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_warnings(FileWarnings& said, const std::string& file, const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) {
    auto same = std::ranges::find_if(said, [&](const auto& each) { return each.first == warning; });
    if (same == said.end()) same = said.insert(said.end(), {warning, {}});
    if (same->second.empty() || same->second.back() != file) same->second.push_back(file);
  }
}

std::vector<std::string> lines_of(const FileWarnings& said) {
  constexpr std::size_t most_names = 3;
  std::vector<std::string> lines;
  for (const auto& [warning, files] : said) {
    const std::span<const std::string> named(files.data(), std::min(most_names, files.size()));
    const std::string more = files.size() > most_names ? fmt::format(" and {} more", files.size() - most_names) : "";
    lines.push_back(fmt::format("{}{}: {}", fmt::join(named, ", "), more, warning));
  }
  return lines;
}

/// Returns the text of the coefficients file: `before` with the measured times added. If no time
/// was measured, returns `before` if `may_lack` is true; otherwise throws Error.
std::string coefficients_with(const FitRequest& asked, const std::vector<ExchangeSeries>& series, const std::string& before,
                              bool may_lack, std::vector<std::string>& warnings) {
  const std::vector<MeasuredCurve> measured = measured_curves(series, today(), warnings);
  if (measured.empty() && may_lack) return before;
  if (measured.empty())
    throw Error(
        fmt::format("nothing to write into {}: the numbers of ranks and nodes are missing", quote_path(asked.output)),
        "add both after the file name: FILE,ranks=16,nodes=2");
  const std::vector<MeasuredCurve> earlier = parse_coefficients(before, asked.output).exchanges.curves();
  const std::vector<MeasuredCurve> network = joined_curves(earlier, measured, warnings);
  std::string text = with_network_section(without_superseded_values(before, earlier, measured, network, warnings), network);
  static_cast<void>(with_fitted_links(load_machine(asked.machine), MeasuredExchanges(network), warnings));
  // The text is parsed before it is written. If the parsed curves differ from `network`, the file is not written.
  if (parse_coefficients(text, asked.output).exchanges.curves() != network) {
    throw Error(fmt::format("{} was not written: the file would not reproduce the fitted values", quote_path(asked.output)));
  }
  return text;
}

/// Returns the names of the files for the plots, one for each fit: `fit.svg`, `fit-2.svg`, ...
std::vector<std::string> plot_paths(const std::string& path, std::size_t fits) {
  const std::size_t stem = path.size() - svg_ending.size();
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < fits; ++i) {
    paths.push_back(i == 0 ? path : fmt::format("{}-{}{}", path.substr(0, stem), i + 1, svg_ending));
  }
  return paths;
}

bool misses_tolerance(const FitRequest& asked, const std::vector<ExchangeFit>& fits) {
  if (!asked.tolerance) return false;
  return std::ranges::any_of(fits, [&](const ExchangeFit& fit) {
    return !fit.refusal.empty() || std::ranges::any_of(fit.ranges, [&](const FitRange& range) {
      return !(range.median_residual <= *asked.tolerance);
    });
  });
}

/// Throws Error if no series could be fitted.
void require_fits(const std::vector<ExchangeFit>& fits, const std::vector<ExchangeSeries>& series) {
  if (std::ranges::any_of(fits, [](const ExchangeFit& fit) { return fit.refusal.empty(); })) return;
  for (const ExchangeFit& fit : fits) {
    throw Error(fmt::format("{}: no fit: {}", fit.series.empty() ? "" : series[fit.series.front()].file, fit.refusal),
                fit.what_to_measure);
  }
}

/// Returns the empty report of a rank that does not print results.
Report silent_report(ReportOptions& options) {
  options.format = "text";
  return {};
}

bool plots_file(const FitRequest& asked) { return !asked.plot.empty() && asked.plot != text_plot; }

void check(const FitRequest& asked) {
  if (!asked.output.empty() && asked.machine.empty())
    throw Error("--output needs --machine", "add for example --machine abci");
  if (plots_file(asked) && !asked.plot.ends_with(svg_ending)) {
    throw Error(fmt::format("--plot {} is neither 'text' nor a file that ends in '.svg'", quote(asked.plot)),
                "use --plot text, or --plot fit.svg");
  }
}

std::string coefficients_before(const FitRequest& asked) {
  return asked.output.empty() ? std::string() : coefficients_to_extend(asked.output, asked.machine);
}

/// Adds the tables of all measurements and fits.
void add_results(Document& document, const Measured& measured, const std::vector<ExchangeSeries>& series,
                 const std::vector<ExchangeFit>& fits, const LiveSweep* live) {
  if (live != nullptr) live->add_above_fits(document);
  if (!series.empty()) {
    document.add(series_table(series));
    if (Table ran = algorithm_table(series); !ran.empty()) document.apart(std::move(ran));
    document.apart(exchange_fit_table(fits));
  }
  if (live != nullptr) live->add_below_fits(document);
  if (!measured.contention.empty()) document.apart(pair_contention_table(measured.contention));
  if (measured.congestion) document.apart(Line{{{congestion_text(*measured.congestion)}}});
}

Report fitted(const FitRequest& asked, Measured measured) {
  const auto series = std::move(measured.series);
  const auto live = std::move(measured.live);
  Report report;
  report.warnings = std::move(measured.warnings);
  if (asked.output.empty() && !asked.machine.empty())
    report.warnings.emplace_back("--machine has no effect without --output: add -o coefficients.yaml to write a file");
  const auto fits = std::make_shared<const std::vector<ExchangeFit>>(fit_exchanges(*series));
  // A measurement of only concurrent groups, or of only overlapped kernels, needs no fit of exchanges.
  const bool fits_other_than_exchanges = live && (!live->result.contention.empty() || live->result.overlap);
  if (!fits_other_than_exchanges) require_fits(*fits, *series);
  for (std::string& warning : exchange_fit_warnings(*fits)) report.warnings.push_back(std::move(warning));
  if (asked.tolerance && fits->empty())
    throw Error("--tolerance: no curve to fit was measured", "leave --tolerance out, or start several ranks");
  if (misses_tolerance(asked, *fits)) {
    report.status = ExitStatus::beyond_tolerance;
    report.warnings.push_back(
        fmt::format("the error of a fit exceeds the tolerance of {:.4g}{}", *asked.tolerance,
                    asked.output.empty() ? "" : fmt::format(": {} was not written", quote_path(asked.output))));
  }
  const bool writes = !asked.output.empty() && report.status != ExitStatus::beyond_tolerance;
  // Everything is checked before anything is written.
  std::string coefficients;
  if (writes) {
    coefficients =
        coefficients_with(asked, *series, measured.before,
                          live.has_value() || !measured.contention.empty() || measured.congestion, report.warnings);
    coefficients = with_concurrent_traffic(coefficients, parse_coefficients(coefficients, asked.output), measured.contention,
                                           measured.congestion, load_machine(asked.machine), report.warnings);
    if (live) {
      coefficients =
          live->with_measured(coefficients, asked.machine,
                              fmt::format("{}, by ddl-oracle {} on {}", live->where, version(), today()), report.warnings);
    }
    const Coefficients found = parse_coefficients(coefficients, asked.output);
    if (std::string assumed = assumed_between_nodes(found.exchanges, found.contention, load_machine(asked.machine));
        !assumed.empty()) {
      report.status = ExitStatus::incomplete;
      report.warnings.push_back(std::move(assumed));
    }
    if (coefficients == measured.before) {
      throw Error(fmt::format("nothing to write into {}", quote_path(asked.output)),
                  report.warnings.empty() ? "measure a latency, contention or overlap" : report.warnings.front());
    }
  }
  std::vector<std::string> plots;
  if (plots_file(asked)) {
    const std::vector<std::string> paths = plot_paths(asked.plot, fits->size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!(*fits)[i].refusal.empty()) continue;
      write_output(paths[i], plot_svg((*fits)[i], *series), "--plot");
      plots.push_back(paths[i]);
    }
  }
  if (writes) write_over(asked.output, coefficients);
  Document& document = report.document;
  add_results(document, measured, *series, *fits, live ? &*live : nullptr);
  if (writes) {
    document.apart(Line{{{"written to " + asked.output}}});
    const std::string network = network_text(parse_coefficients(coefficients, asked.output), load_machine(asked.machine));
    if (!network.empty()) document.line("network: " + network);
  }
  if (!plots.empty()) document.section();
  for (const std::string& plot : plots) document.line("plotted in " + plot);
  for (const ExchangeFit& fit : *fits) {
    if (asked.plot != text_plot || !fit.refusal.empty()) continue;
    document.apart(Verbatim{plot_text(fit, *series)});
  }
  report.json = [series, fits, live, pairs = measured.contention, congestion = measured.congestion] {
    Json json{{"schema", 1}, {"fits", exchange_fits_to_json(*fits)}, {"read", series_to_json(*series)}};
    if (!pairs.empty()) json["concurrent_pairs"] = pair_contention_to_json(pairs);
    if (congestion) json["congestion"] = {{"median", congestion->median}, {"spread", congestion->spread}};
    if (live) live->add_to(json);
    return json;
  };
  return report;
}

void read_benchmark(const FileRequest& file, const ExchangeFacts& otherwise, Measured& into, FileWarnings& warnings) {
  const auto congestion = load_gpcnet_congestion(file.path);
  if (congestion) into.congestion = congestion;
  if (congestion) return;
  std::vector<std::string> said;
  std::vector<ExchangeSeries> series = load_exchanges(file.path, {file.facts, otherwise}, said);
  std::move(series.begin(), series.end(), std::back_inserter(*into.series));
  add_warnings(warnings, file.path, said);
}

/// One error with the messages of all files, each with its hint.
Error joined(const std::vector<Error>& errors) {
  std::string message;
  for (const Error& error : errors) {
    message += fmt::format("{}{}", message.empty() ? "" : "\nerror: ", error.what());
    if (&error != &errors.back() && !error.hint().empty()) message += "\nhint: " + error.hint();
  }
  return Error(message, errors.back().hint(), errors.back().place());
}

Report calibrate_network(const FitRequest& asked, const FilesRequest& files) {
  check(asked);
  Measured measured;
  FileWarnings warnings;
  const ExchangeFacts otherwise = otherwise_of(files);
  std::vector<Error> errors;
  for (const std::string& argument : files.files) {
    try {
      read_benchmark(file_of(argument), otherwise, measured, warnings);
    } catch (const Error& error) {
      errors.push_back(error);
    }
  }
  if (!errors.empty()) throw joined(errors);
  measured.warnings = lines_of(warnings);
  if (!files.prefer.empty()) {
    const std::string preferred = file_of(files.prefer).path;
    if (std::none_of(measured.series->begin(), measured.series->end(),
                     [&](const ExchangeSeries& one) { return one.file == preferred; })) {
      throw Error(fmt::format("--prefer {} is not one of the files", quote(files.prefer)),
                  "use the name of the file exactly as given");
    }
    leave_out_contradicting(*measured.series, preferred, measured.warnings);
  }
  measured.contention = take_pair_contention(*measured.series, measured.warnings);
  if (measured.series->empty() && measured.contention.empty() && !measured.congestion) {
    throw Error("no file has times of collectives that run alone",
                measured.warnings.empty() ? "" : measured.warnings.back());
  }
  measured.before = coefficients_before(asked);  // read after the input files, so that no input file is overwritten
  return fitted(asked, std::move(measured));
}

Report calibrate_live(const FitRequest& asked, const LiveRequest& live, ReportOptions& options) {
  check(asked);
  Measured measured;
  measured.before = coefficients_before(asked);  // a file that cannot be written is reported before measurements start
  measured.live = measure_live(live, {{"--output", asked.output}, {"--plot", plots_file(asked) ? asked.plot : ""}});
  if (!measured.live->speaks) return silent_report(options);
  *measured.series = measured.live->series;
  measured.warnings = measured.live->result.warnings;
  return fitted(asked, std::move(measured));
}

void add_fit_options(const Command& command, FitRequest& asked, ReportOptions& report) {
  offer_machines(command.add_option("--machine", asked.machine,
                                    "machine the measurements were taken on: a name, or a path to a machine file"));
  command.add_option("--plot", asked.plot, "draw fit and measurements: text, or a file that ends in .svg", "FILE");
  add_number(command, "--tolerance", asked.tolerance, 0, 1e6,
             "exit with status 1 if the median |error| of a fit is above this value");
  add_output_option(command, asked.output, "write the results into this coefficients file of the machine");
  add_format_option(command, report);
}

void add_network(const Command& calibrate, Request& request) {
  const Command command = calibrate.add_subcommand(
      "network", "fit α and β to output of communication benchmarks and profilers; 'calibrate FILE...' is shorthand");
  const auto asked = std::make_shared<std::pair<FitRequest, FilesRequest>>();
  auto& [fit, files] = *asked;
  command.examples({{"ddl-oracle calibrate network nccl.txt", "α and β with the error of the fit"},
                    {"ddl-oracle calibrate network nccl.txt osu.txt,nodes=2 --plot text",
                     "two files and a plot; the second file lacks its number of nodes"},
                    {"ddl-oracle calibrate network nccl.txt --machine dgx-a100 -o ours.yaml", "a file for --coefficients"}});
  command
      .add_option("files", files.files,
                  "output of nccl-tests (text, or -J), OSU micro-benchmarks, all_reduce_bench.py, NCCL Inspector and "
                  "torch.profiler, in any mixture; missing properties may follow the file name: "
                  "FILE,operation=allreduce,ranks=16,nodes=2")
      .required()
      .file();
  command.add_option("--operation", files.operation, "measured collective, if a file does not name it");
  add_whole_number(command, "--ranks", files.ranks, 1, most_exchange_ranks, "number of ranks, if a file does not have it");
  add_whole_number(command, "--nodes", files.nodes, 1, most_exchange_ranks, "number of nodes, if a file does not have it");
  command.add_option("--level", files.level,
                     "level of the network, node or between-nodes, if the number of nodes is unknown");
  command.add_option("--prefer", files.prefer, "file to prefer if files contradict each other", "FILE");
  add_fit_options(command, fit, request.report);
  request.on_choice(command, [asked, &request] {
    Report report = calibrate_network(asked->first, asked->second);
    const FitRequest& chosen = asked->first;
    if (chosen.output.empty()) {
      report.next.push_back(request.command + " --machine dgx-h100 -o ours.yaml");
      return report;
    }
    return std::move(report).then({"ddl-oracle", "recommend", "llama3-8b", "--machine", chosen.machine, "--coefficients",
                                   (std::filesystem::path(".") / chosen.output).string(), "--gpus", "64"});
  });
}

void add_live(const Command& calibrate, Request& request) {
  const Command command = calibrate.add_subcommand("live", "measure the network among ranks now, and fit α and β");
  const auto asked = std::make_shared<std::pair<FitRequest, LiveRequest>>();
  command.examples(
      {{"mpirun -n 16 ddl-oracle calibrate live --mpi --machine dgx-a100 -o ours.yaml",
        "all collectives by MPI, into coefficients"},
       {"srun --ntasks-per-node 8 ddl-oracle calibrate live --nccl --measure allreduce", "allreduce among GPUs"},
       {"ddl-oracle calibrate live --simulated 'ranks=8 nodes=2 latency=5 us bandwidth=12.5 GB/s'",
        "a demo without a network"}});
  add_live_options(command, asked->second);
  add_fit_options(command, asked->first, request.report);
  request.on_choice(command, [asked, &request] { return calibrate_live(asked->first, asked->second, request.report); });
}

}  // namespace

void add_calibrate(const Command& program, Request& request) {
  const Command command =
      program.add_subcommand("calibrate", "fit α and β from network benchmarks, or correction factors from measured runs");
  command.require_subcommand();
  command.examples(
      {{"ddl-oracle calibrate nccl.txt,nodes=2 --machine dgx-a100 -o ours.yaml", "coefficients from output of nccl-tests"},
       {"mpirun -n 16 ddl-oracle calibrate live --mpi", "measure a network now"},
       {"ddl-oracle calibrate runs runs.csv --machine dgx-a100 -o ours.yaml",
        "correction factors from measured training runs"}});
  add_network(command, request);
  add_live(command, request);
  add_calibrate_runs(command, request);
  add_calibrate_kernels(command, request);
  add_calibrate_intervals(command, request);
}

std::vector<std::string> with_calibrate_command(std::vector<std::string> words) {
  constexpr std::array<std::string_view, 7> said{"network", "live", "runs", "kernels", "intervals", "-h", "--help"};
  if (words.size() < 2 || words[0] != "calibrate" || contains(said, words[1])) return words;
  const auto find = [&](const std::string& option) {
    return std::ranges::find_if(words,
                                [&](const std::string& word) { return word == option || word.starts_with(option + "="); });
  };
  const auto has = [&](const char* option) { return find(option) != words.end(); };
  std::string command = has("--mpi") || has("--nccl") || has("--simulated") ? "live" : "network";
  if (const auto runs = find("--runs"); command == "network" && runs != words.end()) {
    command = "runs";
    if (*runs == "--runs") {
      words.erase(runs);
    } else {
      runs->erase(0, std::string_view("--runs=").size());
    }
  }
  words.insert(words.begin() + 1, command);
  return words;
}

}  // namespace ddl
