#include "cli/commands/calibrate_live.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/network/fits/contention_section.hpp"
#include "calibration/network/fits/overlap_section.hpp"
#include "calibration/network/sweep/kernel_load.hpp"
#include "calibration/network/sweep/osu_print.hpp"
#include "calibration/network/sweep/processor_wait.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"
#include "calibration/network/sweep/rendezvous/rank_watch.hpp"
#include "calibration/network/sweep/transports.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/problem_file.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/progress.hpp"
#include "cli/report/report.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "model_zoo/network/problem.hpp"
#include "profiler/backends/backends.hpp"
#include "profiler/measurement/rank.hpp"

namespace ddl {
namespace {

constexpr std::string_view contention_word = "contention";
constexpr std::string_view overlap_word = "overlap";
constexpr std::string_view in_place_word = "in-place";
constexpr std::string_view separate_word = "separate";

/// Largest message in bytes. A measurement allocates two buffers of this size.
constexpr std::int64_t largest_message = std::int64_t{4} << 30U;
/// Default of --largest with --nccl, in bytes. The gradients of a model may be this large. NCCL
/// changes its protocol at smaller sizes only.
constexpr std::int64_t default_largest_of_nccl = std::int64_t{1} << 30U;
/// Largest message with MPI in bytes: the largest power of two in an int, because MPI counts bytes in an int.
constexpr std::int64_t largest_mpi_message = std::int64_t{1} << 30U;

std::vector<std::string_view> measure_words() {
  std::vector<std::string_view> words;
  for (const SweepOperationKind& kind : sweep_operations()) words.push_back(kind.name);
  words.push_back(contention_word);
  words.push_back(overlap_word);
  return words;
}

void read_measure(const std::string& text, SweepPlan& plan) {
  plan.contention = plan.overlap = text.empty();
  if (text.empty()) {
    for (const SweepOperationKind& kind : sweep_operations()) plan.operations.push_back(kind.operation);
    return;
  }
  for (const std::string& word : comma_separated(text)) {
    if (const auto operation = parse_sweep_operation(word)) {
      plan.operations.push_back(*operation);
    } else if (word == contention_word) {
      plan.contention = true;
    } else if (word == overlap_word) {
      plan.overlap = true;
    } else {
      unknown_choice("--measure", word, measure_words());
    }
  }
}

std::int64_t read_bytes(const std::string& option, const std::string& text, std::int64_t largest, std::int64_t otherwise) {
  if (text.empty()) return otherwise;
  UnitProblem problem;
  const std::optional<Bytes> bytes = parse_quantity<Bytes>(text, problem);
  if (!bytes) throw Error(fmt::format("{} {}: {}", option, quote(text), problem.message), problem.hint);
  const Bytes most(static_cast<double>(largest));
  if (*bytes < Bytes(1) || *bytes > most) {
    throw Error(fmt::format("{} {} is not from 1 B to {}", option, quote(text), humanize(most)), "use for example 4 MiB");
  }
  return static_cast<std::int64_t>(bytes->value());
}

const BackendKind& backend_of(const LiveRequest& request) {
  return backend_kind(!request.backend.empty() ? request.backend : std::string(request.nccl ? "cuda" : "onednn"));
}

/// Checks the options of overlapped kernels before all measurements, because kernels are measured last.
void check_kernel(const LiveRequest& request, const SweepPlan& plan) {
  for (const auto& [option, value] : {std::pair("--kernel", &request.kernel), std::pair("--backend", &request.backend)}) {
    if (value->empty()) continue;
    if (!request.simulated.empty()) {
      throw Error(fmt::format("{} needs a device, but a simulated network has none", option),
                  "exchange_slowdown and kernel_slowdown are values of the network");
    }
    if (!plan.overlap) {
      throw Error(fmt::format("{} needs measured overlap, which --measure excludes", option), "add overlap to --measure");
    }
  }
  if (!request.kernel.empty()) static_cast<void>(checked_problem(request.kernel, "--kernel", 1));
  static_cast<void>(backend_of(request));
}

SweepPlan plan_of(const LiveRequest& request) {
  SweepPlan plan;
  read_measure(request.measure, plan);
  const std::int64_t largest = request.mpi ? largest_mpi_message : largest_message;
  plan.smallest = read_bytes("--smallest", request.smallest, largest, plan.smallest);
  plan.largest = read_bytes("--largest", request.largest, largest, request.nccl ? default_largest_of_nccl : plan.largest);
  if (plan.smallest > plan.largest) {
    throw Error(fmt::format("--smallest {} is above --largest {}", quote(request.smallest),
                            humanize(Bytes(static_cast<double>(plan.largest)))));
  }
  check_kernel(request, plan);
  if (request.limit) plan.rule.sampling.limit = Seconds(*request.limit);
  return plan;
}

/// Throws Error for an option that only applies to --nccl.
void check_nccl_options(const LiveRequest& request) {
  const bool has_patience = request.patience.has_value();
  for (const auto& [option, is_given] :
       {std::pair("--rendezvous", !request.rendezvous.empty()), std::pair("--buffers", !request.buffers.empty()),
        std::pair("--patience", has_patience && !request.mpi)}) {
    if (is_given && !request.nccl) throw Error(fmt::format("{} applies to --nccl only", option), "leave the option out");
  }
  if (!request.buffers.empty() && request.buffers != in_place_word && request.buffers != separate_word) {
    unknown_choice("--buffers", request.buffers, {in_place_word, separate_word});
  }
  if (!request.rendezvous.empty() && request.rendezvous != "mpi") static_cast<void>(meeting_place({}, request.rendezvous));
}

std::unique_ptr<Transport> open_transport(const LiveRequest& request) {
  if (!request.simulated.empty()) return open_simulated_network(request.simulated, "--simulated");
  if (!request.nccl) return open_mpi();
  TransportOptions options{.in_place = request.buffers != separate_word};
  if (request.patience) options.patience = Seconds(*request.patience);
  return open_nccl({.rendezvous = request.rendezvous}, options);
}

/// Refuses to fit the times of a single rank. A single rank only copies within its GPU, so its
/// times contain neither α nor β.
void require_network(const LiveRequest& request, const LiveOutputs& outputs, const SweepPlan& plan) {
  constexpr std::string_view alone = "a single rank copies within its GPU, which does not measure α and β of a network";
  constexpr std::string_view several =
      "start one process for each GPU: torchrun --nproc-per-node=8 --no-python ddl-oracle calibrate live --nccl, or srun, "
      "or "
      "mpirun";
  for (const auto& [option, path] : outputs) {
    if (path.empty() || option == "--osu") continue;
    throw Error(fmt::format("{}: cannot write into {}", alone, quote_path(path)), std::string(several));
  }
  const bool is_collective = std::ranges::any_of(
      plan.operations, [](SweepOperation operation) { return kind_of(operation).pattern == ExchangePattern::collective; });
  if (!is_collective && !plan.overlap) {
    throw Error(fmt::format("--measure {} needs several ranks, but there is only one", request.measure),
                std::string(several));
  }
}

/// Returns the default kernel: a convolution of a ResNet's second stage. On a GPU, the convolution
/// has enough samples to keep the device busy.
std::string usual_kernel(const BackendKind& backend) {
  return fmt::format(
      "convolution filters=64 kernel=3x3 padding=1 bias=no in=64x56x56 samples={} precision=fp32 pass=forward",
      backend.one_device ? 1 : 32);
}

NamedLoad load_for(const LiveRequest& request) {
  const BackendKind& backend = backend_of(request);
  const std::string kernel = request.kernel.empty() ? usual_kernel(backend) : checked_problem(request.kernel, "--kernel", 1);
  const std::string name(backend.name);
  BackendOptions options;
  options.device = device_of(this_rank(), count_devices(name), backend.one_device);
  return {make_kernel_load(name, options, kernel), fmt::format("{}, by {}", kernel, name)};
}

std::string where_of(Transport& transport) {
  const std::vector<int>& nodes = transport.nodes();
  const int count = 1 + *std::ranges::max_element(nodes);
  std::string details;
  for (const auto& [key, value] : transport.details()) {
    const bool speaks_for_itself = key == "library" || key == "device";
    details += fmt::format("{}{}{}", details.empty() ? "" : ", ", speaks_for_itself ? "" : key + " ", value);
  }
  std::string names;
  if (const auto& of_nodes = transport.processes().node_names(); static_cast<int>(of_nodes.size()) == count && count > 1) {
    constexpr std::size_t most_names = 4;
    for (std::size_t i = 0; i < std::min(most_names, of_nodes.size()); ++i) {
      names += fmt::format("{}{}", i > 0 ? ", " : ": ", of_nodes[i]);
    }
    if (of_nodes.size() > most_names) names += ", ...";
  }
  return fmt::format("{} ({}), {} rank{} on {} node{}{}", transport.name(), details, nodes.size(),
                     nodes.size() == 1 ? "" : "s", count, count == 1 ? "" : "s", names);
}

/// Checks a file that is written later. Throws Error if its folder does not exist or is not writable.
void require_writable(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  if (option != "--output" && is_input_file(path)) {  // the file of --output is extended, so it may be an input
    throw Error(fmt::format("{} {} would overwrite an input file", option, quote_path(path)), "use another name");
  }
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) {
    throw Error(fmt::format("{} {}: there is no folder {}", option, quote_path(path), quote_path(folder)),
                "create the folder first");
  }
  if (std::filesystem::is_directory(path, unknown)) {
    throw Error(fmt::format("{} {} is a folder", option, quote_path(path)), "pass the name of a file");
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw Error(fmt::format("{} {}: the folder {} cannot be written into", option, quote_path(path), quote_path(folder)));
  }
}

/// Adds a warning if ranks waited long for a processor. `wait`: the waiting time. The limit is the
/// share `part` of the shortest measured time.
void warn_of_waiting(SweepResult& result, Seconds wait) {
  constexpr double part = 0.05;
  std::optional<Seconds> shortest;
  for (const SweepTable& table : result.tables) {
    for (const SweepRow& row : table.rows) shortest = min(shortest.value_or(row.timing.time()), row.timing.time());
  }
  if (!shortest || wait <= part * *shortest) return;
  result.warnings.push_back(
      fmt::format("ranks waited {} for a processor each time, because other programs run or there are more ranks than "
                  "processors; α and β are those of the busy machine, so measure again while the machine is idle",
                  humanize(wait)));
}

LiveSweep sweep(const LiveRequest& request, const LiveOutputs& outputs, const SweepPlan& plan, Transport& transport) {
  LiveSweep live;
  live.speaks = transport.processes().rank() == 0;
  live.where = where_of(transport);
  if (transport.nodes().size() < 2 && !request.nccl) {
    throw Error("at least two ranks are needed", "mpirun -n 2 ddl-oracle calibrate live --mpi");
  }
  if (plan.operations.empty() && !plan.overlap && sweep_contenders(transport.nodes()).empty()) {
    throw Error("contention needs two nodes with several ranks each",
                "start more ranks, or leave contention out of --measure");
  }
  if (transport.nodes().size() < 2) require_network(request, outputs, plan);
  // The output file is checked before the measurements, because measurements take long. Only the
  // rank that reports checks the file, because other ranks may not see the folder.
  if (live.speaks) {
    std::map<std::string, std::string> taken;
    for (const auto& [option, path] : outputs) {
      require_writable(option, path);
      const auto [other, is_new] = taken.emplace(path, option);
      if (!is_new && !path.empty()) {
        throw Error(fmt::format("{} and {} are both {}", other->second, option, quote_path(path)),
                    "use two different names");
      }
    }
  }
  std::unique_ptr<Progress> progress;
  const ProcessorWait wait;
  live.result = run_sweep(
      transport, plan, [&] { return load_for(request); },
      [&](std::size_t done, std::size_t all, const std::string& next) {
        if (!live.speaks) return;
        if (!progress) progress = std::make_unique<Progress>(all);
        progress->show(done, 0, next);
      });
  // On a simulated network, ranks do not wait in real time.
  if (request.simulated.empty()) warn_of_waiting(live.result, wait.longest(transport.processes()));
  if (transport.nodes().size() < 2) {
    live.result.warnings.emplace_back(
        "a single rank copies within its GPU: these times do not measure α and β of a network, so none are fitted");
    if (std::string warning = warning_of_being_alone(); !warning.empty()) live.result.warnings.push_back(std::move(warning));
  }
  for (ExchangeSeries& each : series_of(live.result.tables, request.nccl  ? "--nccl"
                                                            : request.mpi ? "--mpi"
                                                                          : "--simulated")) {
    if (*each.ranks > 1) live.series.push_back(std::move(each));
  }
  // The file of --osu is written before the fits, so that the measurements are kept even if no fit is possible.
  if (live.speaks && !request.osu.empty()) {
    write_output(request.osu, print_osu(live.result.tables, request.nccl ? "NCCL" : "MPI"), "--osu");
  }
  return live;
}

/// Default of --patience for heartbeats. Each rank sends a heartbeat every second. After a longer
/// silence, the rank counts as stopped or unreachable.
constexpr Seconds usual_silence(30);

/// Watches the ranks. If a rank no longer runs, all ranks end with a message. Otherwise MPI or NCCL might wait forever.
RankWatch watch_ranks(const LiveRequest& request, Processes& processes) {
  const Seconds silence = request.patience ? min(Seconds(*request.patience), usual_silence) : usual_silence;
  return RankWatch(processes, request.mpi && request.patience ? Seconds(*request.patience) : silence,
                   [&processes](const std::string& what, const std::string& hint) {
                     print_error(what, hint);
                     std::cerr << std::flush;
                     if (!processes.end_others(what, hint)) processes.abort_all();
                   });
}

/// Ends all ranks after an error in this rank. Otherwise the other ranks would wait for this rank.
[[noreturn]] void end_all(Processes& processes, const std::string& what, const std::string& hint) {
  const auto rank = static_cast<std::size_t>(processes.rank());
  const auto node = static_cast<std::size_t>(processes.nodes()[rank]);
  const Error error(fmt::format("rank {} of {} on {}: {}", rank, processes.count(), processes.node_names()[node], what),
                    hint);
  if (!processes.end_others(error.what(), error.hint())) {
    // abort_all() also ends this process, so the error is printed first.
    print_error(error.what(), hint);
    std::cerr << std::flush;
    processes.abort_all();
  }
  throw error;
}

}  // namespace

void add_live_options(const Command& command, LiveRequest& request) {
  command.add_switch("--mpi", request.mpi, "measure by MPI among the ranks that mpirun or srun started");
  command.add_switch("--nccl", request.nccl, "measure by NCCL among GPUs, one per rank; torchrun can start them, too");
  command.add_option("--simulated", request.simulated,
                     "measure on a simulated network: 'ranks=8 nodes=2 latency=5 us bandwidth=12.5 GB/s'", "PROPERTIES");
  command.add_option("--measure", request.measure,
                     fmt::format("measurements to make, from {} (default: all)", fmt::join(measure_words(), ", ")), "LIST");
  command.add_option("--smallest", request.smallest, "smallest message", "SIZE").default_str("4 B");
  command.add_option("--largest", request.largest, "largest message", "SIZE").default_str("4 MiB; 1 GiB with --nccl");
  add_number(command, "--limit", request.limit, 0, 1e6, "seconds per message size of each table (default 0.1)");
  command.add_option("--kernel", request.kernel,
                     "kernel to overlap with a collective, as in a profile (default: a convolution)");
  command.add_option("--backend", request.backend,
                     "back end that runs the overlapped kernel (default: onednn; cuda with --nccl)");
  command.add_option("--buffers", request.buffers, "buffers of --nccl: in-place, as in DDP and FSDP, or separate")
      .default_str("in-place");
  command.add_option("--rendezvous", request.rendezvous,
                     "where NCCL's ranks meet: HOST:PORT of rank 0, or mpi; default: what the launcher sets", "ADDRESS");
  add_number(command, "--patience", request.patience, 0.1, 86400,
             "seconds that ranks wait to connect (default 120) or for a heartbeat (default 30)");
  command.add_option("--osu", request.osu, "write the times into this file in the format of the OSU micro-benchmarks",
                     "FILE");
}

LiveSweep measure_live(const LiveRequest& request, const LiveOutputs& others) {
  if ((request.mpi ? 1 : 0) + (request.nccl ? 1 : 0) + (request.simulated.empty() ? 0 : 1) != 1) {
    throw Error("choose one of --mpi, --nccl, --simulated", "use for example mpirun -n 4 ddl-oracle calibrate live --mpi");
  }
  const SweepPlan plan = plan_of(request);
  check_nccl_options(request);
  LiveOutputs outputs = others;
  outputs.emplace_back("--osu", request.osu);
  const std::unique_ptr<Transport> transport = open_transport(request);
  Processes& processes = transport->processes();
  if (processes.count() == 1) return sweep(request, outputs, plan, *transport);
  try {
    const RankWatch watch = watch_ranks(request, processes);
    LiveSweep live = sweep(request, outputs, plan, *transport);
    if (live.speaks && !watch.warning().empty()) live.result.warnings.push_back(watch.warning());
    return live;
  } catch (const EndedElsewhere&) {
    throw;  // every rank has this error, so no rank waits
  } catch (const Error& error) {
    end_all(processes, error.what(), error.hint());
  } catch (const std::exception& error) {
    end_all(processes, error.what(), "");
  }
}

void LiveSweep::add_above_fits(Document& document) const {
  document.line(where);
  if (!series.empty() || result.tables.empty()) return;
  document.apart(Verbatim{print_osu(result.tables, "NCCL")});
}

std::string LiveSweep::with_measured(const std::string& coefficients, const std::string& machine, const std::string& source,
                                     std::vector<std::string>& warnings) const {
  std::string text = coefficients;
  if (!result.contention.empty()) {
    const std::vector<MeasuredContention> measured = measured_contention(result.contention, load_machine(machine), source);
    if (measured.empty()) {
      warnings.push_back(fmt::format("φ is not written: no network level of {} connects nodes", quote(machine)));
    } else {
      text = with_contention_section(text, parse_coefficients(text, "--output").contention, measured);
    }
  }
  if (result.overlap) {
    const std::string what = fmt::format("an allreduce of {} among {} ranks, overlapped with {}; ",
                                         humanize(Bytes(static_cast<double>(result.overlap->bytes))), result.overlap->ranks,
                                         result.overlap->kernel);
    if (const auto measured = measured_overlap(*result.overlap, what + source)) {
      text = with_overlap_section(text, *measured);
    } else {
      warnings.emplace_back(
          "the overlap slowdown is not written: it needs several ranks, and times of kernels and collective alone");
    }
  }
  static_cast<void>(parse_coefficients(text, "--output"));  // throws Error if the new text cannot be read back
  return text;
}

void LiveSweep::add_to(Json& report) const {
  report["sweep"] = where;
  report["contention"] = json_list(result.contention, [](const ContentionPoint& point) -> Json {
    return {{"groups", point.groups},
            {"slowdown", point.slowdown},
            {"slowdown_interval", {point.interval.low, point.interval.high}}};
  });
  if (const auto& overlap = result.overlap) {
    report["overlap"] = {{"kernel", overlap->kernel},
                         {"bytes", overlap->bytes},
                         {"ranks", overlap->ranks},
                         {"kernel_alone_s", overlap->kernel_alone.value()},
                         {"kernel_overlapped_s", overlap->kernel_overlapped.value()},
                         {"exchange_alone_s", overlap->exchange_alone.value()},
                         {"exchange_overlapped_s", overlap->exchange_overlapped.value()}};
  } else {
    report["overlap"] = nullptr;
  }
}

void LiveSweep::add_below_fits(Document& document) const {
  if (!result.contention.empty()) {
    Table table({figures("concurrent groups"), figures("time per byte"), figures("95 % interval")});
    for (const ContentionPoint& point : result.contention) {
      table.add({std::to_string(point.groups), fmt::format("{:.3f}", point.slowdown),
                 fmt::format("{:.3f} to {:.3f}", point.interval.low, point.interval.high)});
    }
    document.section();
    document.line("Time of concurrent groups between nodes, relative to a single group");
    document.add(std::move(table));
  }
  if (const auto& overlap = result.overlap) {
    const auto alone_and_overlapped = [](Seconds alone, Seconds with) {
      return alone > Seconds(0) ? fmt::format("{} alone, {} overlapped: {:.2f} times as long", humanize(alone),
                                              humanize(with), with / alone)
                                : fmt::format("{} overlapped", humanize(with));
    };
    document.section();
    document.line(fmt::format("An allreduce of {} among {} rank{}, overlapped with kernels ({})",
                              humanize(Bytes(static_cast<double>(overlap->bytes))), overlap->ranks,
                              overlap->ranks == 1 ? "" : "s", overlap->kernel));
    document.line("collective: " + alone_and_overlapped(overlap->exchange_alone, overlap->exchange_overlapped), 2);
    document.line("kernel: " + alone_and_overlapped(overlap->kernel_alone, overlap->kernel_overlapped), 2);
  }
}

}  // namespace ddl
