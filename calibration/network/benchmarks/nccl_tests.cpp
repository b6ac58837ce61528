#include "calibration/network/benchmarks/nccl_tests.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/source_text.hpp"

namespace ddl {
namespace {

constexpr std::string_view program_suffix = "_perf";
constexpr std::array<std::string_view, 11> programs{"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                                    "broadcast",  "reduce",     "sendrecv",       "gather",
                                                    "scatter",    "hypercube",  "alltoallv"};

bool has_parts(Collective operation) {
  return operation == Collective::allgather || operation == Collective::reduce_scatter ||
         operation == Collective::all_to_all;
}

/// The operation that a program of nccl-tests times. Throws Error if no plan uses this operation.
std::optional<Collective> operation_of(const std::string& program, const PlacedError& error) {
  if (program.empty()) return std::nullopt;
  const auto operation = parse_operation(std::string_view(program).substr(0, program.size() - program_suffix.size()));
  if (!operation) {
    throw error(fmt::format("{} measures an operation that no plan uses", program),
                "supported: all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce and sendrecv");
  }
  return operation;
}

/// The range of rank counts consistent with the data.
struct RankRange {
  double least = 1, most = std::numeric_limits<double>::infinity();
  [[nodiscard]] bool holds(int ranks) const { return ranks >= least && ranks <= most; }
  [[nodiscard]] std::optional<int> only() const {
    return least == most ? std::optional(static_cast<int>(least)) : std::nullopt;
  }
};

/// The possible numbers of ranks n, derived from the two printed bandwidths. The bus bandwidth of
/// an Allreduce is 2(n - 1)/n of the algorithm bandwidth [PERFORMANCE.md]. Both are rounded.
RankRange ranks_by_bandwidth(const std::vector<NcclRow>& rows) {
  double low = 0, high = 2;
  for (const NcclRow& row : rows) {
    for (const NcclTime& time : row.times) {
      if (time.algorithm_bandwidth <= 2 * time.algorithm_rounding) continue;
      low = std::max(low, (time.bus_bandwidth - time.bus_rounding) / (time.algorithm_bandwidth + time.algorithm_rounding));
      high = std::min(high, (time.bus_bandwidth + time.bus_rounding) / (time.algorithm_bandwidth - time.algorithm_rounding));
    }
  }
  constexpr double slack = 1e-6;
  RankRange range;
  if (low > high || low >= 2) return range;  // the two bandwidths contradict the formula
  range.least = std::max(1.0, std::ceil(2 / (2 - low) - slack));
  if (high < 2) range.most = std::floor(2 / (2 - high) + slack);
  return range.most < range.least ? RankRange{} : range;
}

/// Derives the number of ranks. The size column gives the bytes of the full vector, which has one part per rank; the count
/// column gives the elements of one part. The number of ranks is the ratio of the two in bytes.
std::optional<int> ranks_by_parts(const std::vector<NcclRow>& rows) {
  std::optional<double> ranks;
  for (const NcclRow& row : rows) {
    if (row.size <= 0) continue;
    if (row.count <= 0 || row.type_bytes <= 0) return std::nullopt;
    const double parts = row.size / (row.count * row.type_bytes);
    if (parts != std::floor(parts) || parts < 1 || parts > most_exchange_ranks || (ranks && *ranks != parts)) {
      return std::nullopt;
    }
    ranks = parts;
  }
  return ranks && *ranks > 1 ? std::optional(static_cast<int>(*ranks)) : std::nullopt;
}

/// The numbers of ranks and nodes from the run's list of ranks; empty if the list has gaps.
ExchangeFacts listed_facts(const NcclRun& run, const PlacedError& error, std::vector<std::string>& warnings) {
  ExchangeFacts facts;
  facts.ranks = run.rank_count;
  facts.nodes = run.node_count;
  if (run.ranks.empty()) return facts;
  std::set<int> numbers, groups;
  std::set<std::string> hosts;
  for (const NcclRank& each : run.ranks) {
    numbers.insert(each.rank);
    groups.insert(each.group);
    hosts.insert(each.host);
  }
  if (groups.size() > 1) {
    throw error(fmt::format("{} groups ran concurrently, so these are not the times of one group alone", groups.size()),
                "run it without NCCL_TESTS_SPLIT");
  }
  const auto lines = static_cast<std::int64_t>(numbers.size());
  const std::int64_t ranks = lines * run.ranks_per_line;
  if (*numbers.begin() != 0 || *numbers.rbegin() != ranks - run.ranks_per_line || ranks > most_exchange_ranks) {
    warnings.push_back(fmt::format("the file lists {} ranks, but not all ranks from 0 to {}, so the list is ignored", lines,
                                   *numbers.rbegin()));
    return facts;
  }
  facts.ranks = static_cast<int>(ranks);
  facts.nodes = static_cast<int>(hosts.size());
  return facts;
}

/// Derives the number of ranks from sizes, or from bandwidths if the user did not give the number. If the list of ranks
/// contradicts the derived number, the list is incomplete and is discarded.
void check_ranks(const NcclRun& run, Collective operation, ExchangeFacts& stated, bool asked,
                 std::vector<std::string>& warnings) {
  const auto short_list = [&](const std::string& of) {
    warnings.push_back(
        fmt::format("the file lists only {} of {} ranks, so the number of nodes is unknown", *stated.ranks, of));
    stated.ranks.reset();
    stated.nodes.reset();
  };
  if (has_parts(operation)) {
    const auto parts = ranks_by_parts(run.rows);
    if (stated.ranks && parts && *stated.ranks != *parts) short_list(std::to_string(*parts));
    if (!stated.ranks) stated.ranks = parts;
  } else if (operation == Collective::allreduce) {
    const RankRange range = ranks_by_bandwidth(run.rows);
    if (stated.ranks && !range.holds(*stated.ranks)) {
      short_list(range.only() ? std::to_string(*range.only()) : fmt::format("{:.0f} or more", range.least));
    }
    // A list without its first ranks ends with the last rank.
    int last = 0;
    for (const NcclRank& each : run.ranks) {
      const std::int64_t ranks = (std::int64_t{each.rank} + 1) * run.ranks_per_line;
      if (ranks <= most_exchange_ranks) last = std::max(last, static_cast<int>(ranks));
    }
    if (!stated.ranks && !asked && range.least > 2 && last > 2 && range.holds(last)) {
      stated.ranks = last;
      warnings.push_back(
          fmt::format("the file lists ranks up to {}, but the two bandwidths match {} ranks", last - 1, last));
    } else if (!stated.ranks && !asked && range.only()) {
      stated.ranks = range.only();
      warnings.push_back(fmt::format("the file lists no ranks; the two bandwidths match {} ranks", *stated.ranks));
    }
  }
  if (stated.ranks == 1 && operation != Collective::allreduce && !has_parts(operation)) short_list("its");
}

/// The program of nccl-tests that times this operation; empty if there is none.
std::string program_of(Collective operation) {
  const auto* const found = std::find_if(programs.begin(), programs.end(),
                                         [&](std::string_view name) { return parse_operation(name) == operation; });
  return found == programs.end() ? "" : fmt::format("{}{}", *found, program_suffix);
}

/// The result of other_sizes(), which is set if the sizes show that the rows belong to another
/// operation. `whole`: whether the send buffer of a rank has the size in the size column.
struct OtherSizes {
  bool whole = false;
};
std::optional<OtherSizes> other_sizes(const NcclRun& run, Collective operation, std::optional<int> ranks) {
  for (const NcclRow& row : run.rows) {
    if (row.size <= 0 || row.count <= 0 || row.type_bytes <= 0) continue;
    const bool whole = row.size == row.count * row.type_bytes;
    if (has_parts(operation) == whole && !(whole && ranks == 1)) return OtherSizes{whole};
  }
  return std::nullopt;
}

void refuse_other_sizes(const NcclRun& run, Collective operation, std::optional<int> ranks, const PlacedError& error) {
  const std::optional<OtherSizes> other = other_sizes(run, operation, ranks);
  if (!other) return;
  throw error(fmt::format("these are not times of {}: a rank sends {} of the size column", to_string(operation),
                          other->whole ? "all" : "a part"),
              other->whole ? "such sizes match allreduce, broadcast, reduce and point-to-point"
                           : "such sizes match allgather, reduce-scatter and all-to-all");
}

/// Throws Error if the column `redop` contradicts the operation. Point-to-point tests print a reduction that they do not
/// run.
void refuse_other_reduction(const NcclRun& run, Collective operation, const PlacedError& error) {
  if (!run.reduces || operation == Collective::point_to_point) return;
  const bool reduces =
      operation == Collective::allreduce || operation == Collective::reduce || operation == Collective::reduce_scatter;
  if (reduces == *run.reduces) return;
  throw error(fmt::format("these are not times of {}: the column 'redop' {}", to_string(operation),
                          *run.reduces ? "names a reduction" : "names no reduction"),
              *run.reduces ? "reductions are allreduce, reduce and reduce-scatter"
                           : "allgather, all-to-all and broadcast do not reduce");
}

/// Throws Error if the bandwidths contradict a number of ranks.
void refuse_other_ranks(const NcclRun& run, const ExchangeFacts& facts, const PlacedError& error) {
  if (facts.operation != Collective::allreduce || !facts.ranks) return;
  const RankRange range = ranks_by_bandwidth(run.rows);
  if (range.holds(*facts.ranks)) return;
  throw error(fmt::format("{} ranks do not match the two bandwidths of these rows", *facts.ranks),
              range.only() ? fmt::format("the bandwidths match an allreduce among {} ranks", *range.only())
                           : fmt::format("the bandwidths match an allreduce among {:.0f} or more ranks", range.least));
}

/// The operation that alone matches the columns: sizes of a whole vector or of a part, the column `redop`, a root, and bus
/// bandwidths above the algorithm bandwidths, which only an Allreduce has [PERFORMANCE.md].
std::optional<Collective> operation_by_columns(const NcclRun& run) {
  if (ranks_by_bandwidth(run.rows).least > 2 && run.reduces != false && !ranks_by_parts(run.rows))
    return Collective::allreduce;
  const auto sends = [&](bool whole) {
    return std::all_of(run.rows.begin(), run.rows.end(), [whole](const NcclRow& row) {
      return row.size <= 0 || (row.type_bytes > 0 && (row.size == row.count * row.type_bytes) == whole);
    });
  };
  if (!run.reduces) return std::nullopt;
  if (sends(false)) return *run.reduces ? std::optional(Collective::reduce_scatter) : std::nullopt;
  if (!sends(true) || run.has_root != true) return std::nullopt;
  return *run.reduces ? Collective::reduce : Collective::broadcast;
}

/// Returns an error that asks for the operation, with the operations that match the sizes.
Error unknown_operation(const NcclRun& run, const PlacedError& error) {
  const bool has_parts = ranks_by_parts(run.rows).has_value();
  return error(
      "the measured operation is missing",
      fmt::format("set the operation with --operation, or after the file name: FILE,operation={}; such columns match {}",
                  has_parts ? "allgather" : "allreduce", has_parts ? "allgather and all-to-all" : "several operations"));
}

/// The algorithms that NCCL used, keyed by the bytes of the full vector.
std::map<double, std::string> algorithms_of(const NcclRun& run, const ExchangeFacts& facts) {
  std::map<double, std::string> algorithms;
  for (const NcclChoice& choice : run.choices) {
    if (!choice.function.empty() && choice.function != nccl_function(*facts.operation)) continue;
    const bool of_part = choice.of_one_rank && has_parts(*facts.operation);
    if (of_part && !facts.ranks) continue;
    algorithms[of_part ? choice.bytes * *facts.ranks : choice.bytes] = choice.algorithm;
  }
  return algorithms;
}

/// The algorithm for a size, which may have been rounded to whole elements of each rank; empty if unknown.
std::string algorithm_at(const std::map<double, std::string>& algorithms, double size) {
  constexpr double rounding = 0.01;
  const auto found = algorithms.lower_bound(size * (1 - rounding));
  return found != algorithms.end() && found->first <= size * (1 + rounding) ? found->second : "";
}

/// The algorithm that the environment sets. In every version of NCCL, only an Allreduce has alternatives to a ring.
std::string set_algorithm(const NcclRun& run, Collective operation) {
  const auto set = print_nccl_algorithm(run.set_algorithm, run.set_protocol);
  return set && (operation == Collective::allreduce || set->starts_with("Ring")) ? *set : "";
}

}  // namespace

double nccl_type_bytes(std::string_view name) {
  struct Type {
    std::string_view name;
    double bytes;
  };
  constexpr std::array types{Type{"int8", 1},     Type{"uint8", 1},    Type{"char", 1},     Type{"f8e4m3", 1},
                             Type{"f8e5m2", 1},   Type{"fp8_e4m3", 1}, Type{"fp8_e5m2", 1}, Type{"half", 2},
                             Type{"bfloat16", 2}, Type{"int32", 4},    Type{"uint32", 4},   Type{"int", 4},
                             Type{"float", 4},    Type{"int64", 8},    Type{"uint64", 8},   Type{"double", 8}};
  const auto* const found = std::find_if(types.begin(), types.end(), [&](const Type& type) { return type.name == name; });
  return found == types.end() ? 0 : found->bytes;
}

std::optional<std::string> nccl_program(std::string_view word) {
  if (const std::size_t slash = word.find_last_of('/'); slash != std::string_view::npos) word.remove_prefix(slash + 1);
  const std::size_t end = word.find(program_suffix);
  if (end == std::string_view::npos) return std::nullopt;
  // Containers and packages append to the name: all_reduce_perf_mpi, all_reduce_perf.exe.
  const std::string_view after = word.substr(end + program_suffix.size());
  if (!after.empty() && (after.size() < 2 || std::string_view("_-.").find(after.front()) == std::string_view::npos ||
                         after.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
                             std::string_view::npos)) {
    return std::nullopt;
  }
  const std::string_view name = word.substr(0, end);
  if (std::find(programs.begin(), programs.end(), name) == programs.end()) return std::nullopt;
  return std::string(word.substr(0, end + program_suffix.size()));
}

void refuse_broken_list(const NcclRun& run, const PlacedError& error) {
  std::map<std::pair<int, int>, int> listed;
  int most = 1, last = 0, twice = 0;
  for (const NcclRank& each : run.ranks) {
    last = std::max(last, each.rank);
    const int times = ++listed[{each.group, each.rank}];
    if (times > most) twice = each.rank;
    most = std::max(most, times);
  }
  if (most > 1 && last == 0) {
    throw error(fmt::format("{} runs of a single rank each wrote into this output: nothing was exchanged", most),
                "build nccl-tests with MPI=1, so that the processes are ranks of one run");
  }
  if (most > 1) {
    throw error(fmt::format("rank {} is listed {} times: several runs wrote into this output at once", twice, most),
                "write each run into a file of its own");
  }
  std::map<std::pair<std::string, std::string>, const NcclRank*> devices;
  for (const NcclRank& each : run.ranks) {
    // Older versions print a part of the address, which may be 0 in virtual machines, and equal for devices of different
    // PCI domains.
    const bool is_part = each.bus.starts_with("0x");
    if (each.bus.empty() || each.bus == "0x00" || each.bus == "0x0") continue;
    const auto [known, is_new] = devices.insert({{each.host, is_part ? each.bus + " " + each.index : each.bus}, &each});
    if (is_new) continue;
    throw error(fmt::format("ranks {} and {} used the same device of {}, [{}], so no link between devices was measured",
                            known->second->rank, each.rank, each.host, each.bus),
                "run one rank per device; two hosts also need different names");
  }
}

ExchangeSeries series_of(const NcclRun& run, const std::string& file, const AskedFacts& asked, const PlacedError& error,
                         std::vector<std::string>& warnings) {
  ExchangeFacts stated = listed_facts(run, error, warnings);
  stated.operation = run.operation ? run.operation : operation_of(run.program, error);
  auto operation = stated.operation          ? stated.operation
                   : asked.of_file.operation ? asked.of_file.operation
                                             : asked.otherwise.operation;
  // If the sizes contradict the operation in the file name, the name is ignored.
  if (!operation && asked.by_name && !other_sizes(run, *asked.by_name, stated.ranks)) operation = asked.by_name;
  if (!operation) {
    operation = stated.operation = operation_by_columns(run);
    if (operation)
      warnings.push_back(fmt::format("the operation is missing: the columns match {} only", to_string(*operation)));
  }
  if (!operation) throw unknown_operation(run, error);
  refuse_other_sizes(run, *operation, stated.ranks, error);
  refuse_other_reduction(run, *operation, error);
  check_ranks(run, *operation, stated, asked.of_file.ranks || asked.otherwise.ranks, warnings);
  stated.program = run.program.empty() ? program_of(*operation) : run.program;
  const ExchangeFacts facts = settle(stated, asked, error, warnings);
  refuse_other_ranks(run, facts, error);

  refuse_broken_list(run, error);
  ExchangeSeries series = series_with(facts, run.tool, file);
  // In sendrecv, each rank sends to the next rank and receives from the previous rank.
  if (series.operation == Collective::point_to_point) series.pattern = ExchangePattern::both_ways;
  series.device = run.ranks.empty() ? run.device : run.ranks.front().device;
  const std::map<double, std::string> algorithms = algorithms_of(run, facts);
  const std::string set = set_algorithm(run, series.operation);
  std::size_t empty = 0, wrong = 0;
  for (const NcclRow& row : run.rows) {
    const std::string ran = algorithm_at(algorithms, row.size);
    for (const NcclTime& time : row.times) {
      // If a size is below one element per rank, nccl-tests transfers nothing.
      if (row.size <= 0 || time.microseconds <= 0) {
        ++empty;
      } else if (time.wrong) {
        ++wrong;
      } else {
        MeasuredExchange measured{.message = Bytes(row.size),
                                  .time = Seconds(time.microseconds / 1e6),
                                  .in_place = time.in_place,
                                  .line = row.line,
                                  .algorithm = ran.empty() ? set : ran};
        if (time.deviation) measured.spread = Seconds(*time.deviation / 1e6);
        series.rows.push_back(measured);
      }
    }
  }
  if (empty > 0) warnings.push_back(fmt::format("{} rows without bytes or time are ignored", empty));
  if (wrong > 0) warnings.push_back(fmt::format("{} rows with wrong results are ignored", wrong));
  if (series.rows.empty()) throw error("none of these rows has a time", "run the benchmark with larger messages");
  return series;
}

}  // namespace ddl
