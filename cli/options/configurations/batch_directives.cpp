#include "cli/options/configurations/batch_directives.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/recognition.hpp"
#include "core/find.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// A resource type of the cluster ABCI that stands for a whole node, with the number of GPUs per node [ABCI's user guides,
/// "Job Execution": in ABCI 2.0, rt_F has four V100 and rt_AF has eight A100; in ABCI 3.0, rt_HF has eight H200].
struct NodeType {
  std::string_view name, gpus;
};
constexpr std::array<NodeType, 3> node_types{{{"rt_F", "4"}, {"rt_AF", "8"}, {"rt_HF", "8"}}};

const NodeType* node_type(std::string_view name) {
  return find_where(node_types, [&](const NodeType& each) { return each.name == name; });
}

class DirectiveReader {
 public:
  explicit DirectiveReader(const ShellScript& script) : script_(script) {}

  ConfigEntries read() {
    for (const ScriptDirective& directive : script_.directives) {
      const std::vector<PlacedText>& words = directive.words;
      for (std::size_t i = 0; i < words.size(); ++i) {
        const bool has_next = i + 1 < words.size();
        if (directive.system == "slurm") {
          read_slurm(words, i);
        } else if ((words[i].text == "-l" || words[i].text == "-L") && has_next) {
          read_resources(directive.system, words[i], words[i + 1]);
          ++i;
        } else if (words[i].text == "-q" && has_next) {
          add_gpus_of(directive.system, words[i], words[i + 1].text);
          ++i;
        } else if ((words[i].text == "-nnodes" || words[i].text == "-gpu") && has_next) {
          read_lsf(words[i], words[i + 1]);
          ++i;
        }
      }
    }
    add_gpus_of_tasks();
    return std::move(settings_);
  }

 private:
  /// Adds the GPUs of a node that its tasks request [sbatch(1), --gpus-per-task].
  void add_gpus_of_tasks() {
    const auto number_of = [&](std::string_view key) -> std::int64_t {
      std::int64_t number = 0;
      for (const ConfigEntry& setting : settings_) {
        // A type of GPU may stand before the number: a100:1.
        const std::string value = setting.value.substr(setting.value.rfind(':') + 1);
        if (setting.key == key && setting.is_known) std::from_chars(value.data(), value.data() + value.size(), number);
      }
      return number;
    };
    constexpr std::int64_t most = 1'000;
    const std::int64_t each = number_of("slurm:--gpus-per-task"), tasks = number_of("slurm:--ntasks-per-node");
    if (each < 1 || tasks < 1 || each > most || tasks > most) return;
    const auto of_task = std::ranges::find(settings_, "slurm:--gpus-per-task", &ConfigEntry::key);
    if (of_task == settings_.end()) return;
    ConfigEntry node = *of_task;
    node.key = "slurm:--gpus-per-node";
    node.value = std::to_string(each * tasks);
    add_setting(settings_, std::move(node));
  }

  void read_slurm(const std::vector<PlacedText>& words, std::size_t& i) {
    const PlacedText& word = words[i];
    if (!word.text.starts_with('-') || word.text.size() < 2) return;
    const std::size_t equals = word.text.find('=');
    const bool is_long = word.text.starts_with("--");
    if (is_long && equals != std::string::npos) {
      const PlacedText value = word.part(equals + 1);
      add("slurm:" + word.text.substr(0, equals), word, &value);
    } else if (!is_long && word.text.size() > 2) {
      const PlacedText value = word.part(2);
      add("slurm:" + word.text.substr(0, 2), word, &value);
    } else if (i + 1 < words.size() && !words[i + 1].text.starts_with('-')) {
      add("slurm:" + word.text, word, &words[i + 1]);
      ++i;
    } else {
      add("slurm:" + word.text, word, nullptr);
    }
  }

  /// Reads a list of requested resources: `select=16:ncpus=8:ngpus=8`, `nodes=4:ppn=8:gpus=8`, `rt_AF=16`, `node=4`.
  void read_resources(const std::string& system, const PlacedText& at, const PlacedText& text) {
    if (text.text.find('+') != std::string::npos) return;  // a request for different types of nodes
    for (std::size_t from = 0; from < text.text.size();) {
      const std::size_t end = std::min(text.text.find_first_of(":,", from), text.text.size());
      const PlacedText part = text.part(from, end);
      from = end + 1;
      const std::size_t equals = part.text.find('=');
      if (equals == std::string::npos) continue;
      const std::string name = part.text.substr(0, equals);
      const PlacedText value = part.part(equals + 1);
      if (name == "select" || name == "nodes" || name == "node" || node_type(name) != nullptr) {
        add(system + ":-l select", at, &value);
        add_gpus_of(system, part, name);
      } else if (name == "ngpus" || name == "gpus" || name == "gpu") {
        add(system + ":-l ngpus", at, &value);
      }
    }
  }

  void add_gpus_of(const std::string& system, const PlacedText& at, std::string_view name) {
    const NodeType* type = node_type(name);
    if (type == nullptr) return;
    PlacedText gpus{.text = std::string(type->gpus), .start = at.origin()};
    gpus.origins.push_back(at.origin());
    add(system + ":-l ngpus", at, &gpus);
  }

  /// Reads an option of the batch system LSF: `-nnodes 16`, `-gpu "num=6:mode=shared"`.
  void read_lsf(const PlacedText& at, const PlacedText& value) {
    if (at.text == "-nnodes") return add("lsf:-nnodes", at, &value);
    const std::size_t from = value.text.find("num=");
    if (from == std::string::npos) return;
    const PlacedText number = value.part(from + 4, value.text.find_first_not_of("0123456789", from + 4));
    add("lsf:-gpu", at, &number);
  }

  void add(std::string key, const PlacedText& at, const PlacedText* value) {
    add_setting(settings_, script_entry(script_, std::move(key), at, value));
  }

  const ShellScript& script_;
  ConfigEntries settings_;
};

}  // namespace

ConfigEntry script_entry(const ShellScript& script, std::string key, const PlacedText& at, const PlacedText* value) {
  ConfigEntry entry{.key = std::move(key),
                    .value = value == nullptr ? std::string() : value->text,
                    .source = script.sources[at.origin().file],
                    .key_offset = at.offset(),
                    .value_offset = at.offset()};
  if (value == nullptr) return entry;
  // If value and argument are in different files, both positions of the entry point at the value.
  if (value->origin().file == at.origin().file) {
    entry.value_offset = value->offset();
  } else {
    entry.source = script.sources[value->origin().file];
    entry.key_offset = entry.value_offset = value->offset();
  }
  const Certainty certainty = value->certainty();
  entry.is_known = certainty == Certainty::known;
  const std::size_t step = value->text.rfind('/');
  if (!entry.is_known && step != std::string::npos && value->part(step + 1).is_known())
    entry.known_end = value->text.substr(step + 1);
  entry.is_of_branches = certainty == Certainty::optional || certainty == Certainty::of_branches;
  return entry;
}

ConfigEntries directive_settings(const ShellScript& script) { return DirectiveReader(script).read(); }

namespace {

/// Returns the number at the end of a value: `8` of `gpu:h100:8`.
std::string count_in(const std::string& gpus) { return gpus.substr(gpus.rfind(':') + 1); }

/// Whether a key is an option of Slurm or MPI for the number of tasks, on each node or on all nodes [sbatch(1), srun(1);
/// Open MPI, mpirun(1); MPICH, mpiexec(1)].
bool counts_tasks(const std::string& key, bool on_each_node) {
  constexpr std::array<std::string_view, 8> on_all{
      "--ntasks", "-n", "--n", "-np", "--np", "-c", "--ntasks-per-gpu", "--ntasks-per-socket"};
  constexpr std::array<std::string_view, 6> on_each{"--ntasks-per-node", "-npernode", "--npernode", "-ppn", "--ppn", "-N"};
  const std::size_t colon = key.find(":-");
  if (colon == std::string::npos) return false;
  const std::string_view launcher = std::string_view(key).substr(0, colon), name = std::string_view(key).substr(colon + 1);
  const bool is_slurms = launcher == "slurm" || launcher == "srun", is_mpis = launcher.starts_with("mpirun");
  if ((!is_slurms && !is_mpis) || (is_slurms && (name == "-N" || name == "-c"))) return false;
  return on_each_node ? contains(on_each, name) : contains(on_all, name);
}

/// Whether a script may start several launchers, such as torchrun, on a node. Options of srun or mpirun, which start the
/// launchers, take precedence over the request of the batch job.
bool may_start_several(const ConfigEntries& settings) {
  int nodes = 1;
  for (const ConfigEntry& each : settings) {
    const ArgumentRow* row = row_named(launcher_rows(), argument_key(each.key));
    if (row != nullptr && row->field == ConfigField::nodes) nodes = std::max(nodes, number_in<int>(each.value).value_or(1));
  }
  const auto is_tasks = [](const ConfigEntry& each) {
    return counts_tasks(each.key, true) || counts_tasks(each.key, false);
  };
  const bool has_starter = std::ranges::any_of(
      settings, [&](const ConfigEntry& each) { return is_tasks(each) && !each.key.starts_with("slurm:"); });
  return std::ranges::any_of(settings, [&](const ConfigEntry& each) {
    if (!is_tasks(each) || (has_starter && each.key.starts_with("slurm:"))) return false;
    const std::optional<int> tasks = each.is_known ? number_in<int>(each.value) : std::nullopt;
    return !tasks || *tasks > (counts_tasks(each.key, true) ? 1 : nodes);
  });
}

}  // namespace

bool is_same_value(RunField field, const std::string& a, const std::string& b) {
  if (field == ConfigField::gpus_per_node) return count_in(a) == count_in(b);
  // `flash2` is a kind of fused attention.
  if (field == ConfigField::attention && (a == "fused" || b == "fused")) return (a == "unfused") == (b == "unfused");
  return a == b;
}

std::optional<FewerStarted> fewer_started(const ConfigEntries& settings, const std::string& requested,
                                          const ConfigEntry& directive, const ConfigEntry& launcher) {
  const auto starts_ranks = [](const std::string& key) {
    return key.starts_with("torchrun:") || key.starts_with("deepspeed:");
  };
  if (starts_ranks(directive.key) || !starts_ranks(launcher.key) || !directive.is_known || !launcher.is_known) return {};
  const auto given = number_in<int>(count_in(requested)), started = number_in<int>(launcher.value);
  if (!given || !started || *started < 1 || *started >= *given) return {};
  if (may_start_several(settings)) return {};
  const Place place = launcher.place();
  return FewerStarted{requested.substr(0, requested.rfind(':') + 1) + launcher.value,
                      fmt::format("{}:{}: of the {} GPUs that the script requests on each node, {} compute{}", place.file,
                                  place.line, *given, *started, *started == 1 ? "s" : "")};
}

}  // namespace ddl
