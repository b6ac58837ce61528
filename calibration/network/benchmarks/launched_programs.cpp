#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <string_view>

#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"

namespace ddl {
namespace {

using Words = std::vector<BenchmarkWord>;

/// Maximum number of words of a command that a backslash continues on the next line.
constexpr std::size_t most_words = 1000;

/// The fact that an option of a launcher states.
enum class Given { ranks, nodes, ranks_per_node, hosts };
struct LaunchOption {
  std::string_view launcher, name;
  Given given;
};
// Sources: manual pages of srun (Slurm 23.11), mpirun (Open MPI 4.1), mpiexec (Intel MPI 2021, MPICH 4) and mpirun_rsh
// (MVAPICH2 2.3).
constexpr std::array launch_options{
    LaunchOption{"srun", "-n", Given::ranks},
    LaunchOption{"srun", "--ntasks", Given::ranks},
    LaunchOption{"srun", "-N", Given::nodes},
    LaunchOption{"srun", "--nodes", Given::nodes},
    LaunchOption{"srun", "--ntasks-per-node", Given::ranks_per_node},
    LaunchOption{"mpi", "-n", Given::ranks},
    LaunchOption{"mpi", "-np", Given::ranks},
    LaunchOption{"mpi", "--np", Given::ranks},
    LaunchOption{"mpi", "-N", Given::ranks_per_node},
    LaunchOption{"mpi", "-npernode", Given::ranks_per_node},
    LaunchOption{"mpi", "--npernode", Given::ranks_per_node},
    LaunchOption{"mpi", "-ppn", Given::ranks_per_node},
    LaunchOption{"mpi", "-perhost", Given::ranks_per_node},
    LaunchOption{"mpi", "-H", Given::hosts},
    LaunchOption{"mpi", "-host", Given::hosts},
    LaunchOption{"mpi", "--host", Given::hosts},
    LaunchOption{"mpi", "-hosts", Given::hosts},
};

std::optional<int> count_in(std::string_view text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || value < 1 || value > most_exchange_ranks)
    return std::nullopt;
  return value;
}

std::string_view last_part(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// The launcher that a word names: `srun`, `mpi` for mpirun, mpiexec and mpirun_rsh; otherwise empty.
std::string_view launcher_of(std::string_view word) {
  const std::string_view name = last_part(word);
  if (name == "srun") return "srun";
  constexpr std::array<std::string_view, 4> launchers{"mpirun", "mpiexec", "mpiexec.hydra", "mpirun_rsh"};
  return std::ranges::find(launchers, name) == launchers.end() ? "" : "mpi";
}

/// The benchmark that a word names, without its path and a suffix such as `.exe`; empty for another word. The programs of
/// IMB count as one benchmark.
std::string benchmark_in(std::string_view word) {
  const std::string_view name = last_part(word);
  if (name.starts_with("IMB-")) return "IMB";
  if (hccl_operation(name)) return std::string(name);
  if (name.starts_with("osu_")) return std::string(name.substr(0, name.find('.')));
  return nccl_program(word).value_or("");
}

/// The facts of one command line. The words after the program are its own arguments.
class Command {
 public:
  explicit Command(const Words& words) {
    std::string_view launcher;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view word = words[i].text;
      if (launcher.empty()) {
        launcher = launcher_of(word);
      } else if (program_ = benchmark_in(word); !program_.empty()) {
        read_arguments(words, i);
        return;
      } else {
        read_option(launcher, word, i + 1 < words.size() ? words[i + 1].text : std::string_view());
      }
    }
  }

  /// Empty if the command starts no benchmark.
  [[nodiscard]] const std::string& program() const { return program_; }

  [[nodiscard]] ExchangeFacts facts() const {
    ExchangeFacts facts;
    facts.ranks = ranks_;
    facts.nodes = nodes_;
    if (!facts.ranks && nodes_ && per_node_) facts.ranks = product(*nodes_, *per_node_);
    if (!facts.nodes && ranks_ && per_node_ && *ranks_ % *per_node_ == 0) facts.nodes = *ranks_ / *per_node_;
    if (facts.ranks) facts.ranks = product(*facts.ranks, gpus_of_process_);
    if (facts.ranks && facts.nodes && *facts.nodes > *facts.ranks) return {};
    return facts;
  }

 private:
  static std::optional<int> product(int a, int b) {
    const std::int64_t all = std::int64_t{a} * b;
    return all <= most_exchange_ranks ? std::optional(static_cast<int>(all)) : std::nullopt;
  }

  /// An option with its value in the next word, after `=`, or, for an option of one letter, in the same word: `-N2`.
  void read_option(std::string_view launcher, std::string_view word, std::string_view next) {
    if (launcher == "mpi" && word.ends_with("map-by")) word = "--map-by";
    if (word == "--map-by" && next.starts_with("ppr:")) {  // ppr:8:node
      const std::size_t end = next.find(':', 4);
      if (end != std::string_view::npos && next.substr(end + 1).starts_with("node"))
        per_node_ = count_in(next.substr(4, end - 4));
      return;
    }
    for (const LaunchOption& option : launch_options) {
      if (option.launcher != launcher) continue;
      if (word == option.name) return set(option.given, next);
      if (!word.starts_with(option.name)) continue;
      const std::string_view rest = word.substr(option.name.size());
      if (rest.front() == '=') return set(option.given, rest.substr(1));
      if (option.name.size() == 2 && count_in(rest)) return set(option.given, rest);
    }
  }

  void set(Given given, std::string_view value) {
    if (given == Given::ranks) ranks_ = count_in(value);
    if (given == Given::nodes) nodes_ = count_in(value);
    if (given == Given::ranks_per_node) per_node_ = count_in(value);
    if (given != Given::hosts) return;
    std::set<std::string_view> hosts;  // node1:8,node2:8
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t end = std::min(value.find(',', at), value.size());
      const std::string_view host = value.substr(at, end - at);
      hosts.insert(host.substr(0, host.find(':')));
      at = end + 1;
    }
    if (!hosts.empty()) nodes_ = static_cast<int>(hosts.size());
  }

  /// A process of nccl-tests has a rank on each of `-g` GPUs in each of `-t` threads.
  void read_arguments(const Words& words, std::size_t at) {
    if (!nccl_program(words[at].text)) return;
    for (++at; at + 1 < words.size(); ++at) {
      const std::string_view word = words[at].text;
      if (word != "-g" && word != "-t" && word != "--ngpus" && word != "--nthreads") continue;
      gpus_of_process_ = product(gpus_of_process_, count_in(words[at + 1].text).value_or(1)).value_or(1);
    }
  }

  std::optional<int> ranks_, nodes_, per_node_;
  int gpus_of_process_ = 1;
  std::string program_;
};

}  // namespace

LaunchedPrograms launched_programs(const BenchmarkText& text) {
  LaunchedPrograms all;
  Words words;
  for (const BenchmarkLine& line : text.lines()) {
    for (const BenchmarkWord& word : line.words()) words.push_back(word);
    const bool goes_on = !words.empty() && words.back().text == "\\";
    if (goes_on) words.pop_back();
    if (goes_on && words.size() < most_words) continue;
    const Command command(words);
    words.clear();
    if (command.program().empty()) continue;
    const ExchangeFacts facts = command.facts();
    ExchangeFacts& agreed = all.try_emplace(command.program(), facts).first->second;
    if (agreed.ranks != facts.ranks) agreed.ranks.reset();
    if (agreed.nodes != facts.nodes) agreed.nodes.reset();
  }
  return all;
}

}  // namespace ddl
