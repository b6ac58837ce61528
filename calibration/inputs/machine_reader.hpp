#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/enum_array.hpp"
#include "estimator/inputs/machine.hpp"

namespace ddl {

/// A number of a machine file: its text and its citation.
struct SourcedNumber {
  std::string key;           ///< `device.peak.fp32`, `levels.rack.rails`
  std::string value;         ///< `15.7 TFLOP/s`
  std::string source;        ///< the citation; for a derived number: the derivation
  std::string source_key{};  ///< the key of the citation in the file; empty for a derived number
};

/// The kind of a bundled machine: its section in the list of machines.
enum class MachineKind { cloud, cluster, server, workstation };
template <>
inline constexpr EnumNames<MachineKind> enum_names<MachineKind>{"cloud", "cluster", "server", "workstation"};

/// Whether to read the measured kernels of a machine's device.
enum class KernelTables { read, left_out };

/// A machine, and the source of each of its numbers.
struct SourcedMachine {
  Machine machine;
  std::vector<SourcedNumber> numbers;  ///< in the order of the file
  std::string extends{};               ///< name of the machine that the file extends, if any
  std::optional<MachineKind> kind{};   ///< unset if the file does not give it
  std::vector<std::string> aliases{};  ///< other names, as people use them
  bool has_kernels = false;            ///< whether a device file has kernels of the device, even if they were not read
};

/// Names of the bundled machines, sorted.
[[nodiscard]] std::vector<std::string> machine_names();
/// Loads a bundled machine by name (`DGX A100` is `dgx-a100`), or the user's own file if the name has a '/' or ends in
/// `.yaml` or `.yml`. Throws Error with "did you mean" for an unknown name.
[[nodiscard]] Machine load_machine(const std::string& name_or_path);
[[nodiscard]] SourcedMachine load_sourced_machine(const std::string& name_or_path,
                                                  KernelTables kernels = KernelTables::read);

/// Reads a machine file (docs/machines.md). `origin` is printed in errors. The reader is strict:
/// every number must have a unit and a source. The source must be listed in the file, or in a file
/// that it extends. A path in `extends:` is relative to the folder of `origin`.
[[nodiscard]] Machine parse_machine(std::string text, std::string origin);
[[nodiscard]] SourcedMachine parse_sourced_machine(std::string text, std::string origin);

}  // namespace ddl
