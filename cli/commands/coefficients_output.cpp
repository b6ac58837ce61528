#include "cli/commands/coefficients_output.hpp"

#include <ctime>
#include <filesystem>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/version.hpp"

namespace ddl {

std::string today() { return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr))); }

std::string coefficients_to_extend(const std::string& path, const std::string& machine, const std::string& begin_with) {
  if (path == "-") throw Error("coefficients can only be written into a file", "name the file: -o coefficients.yaml");
  std::error_code unknown;
  const bool exists = std::filesystem::exists(path, unknown);
  if (exists && is_input_file(path)) {
    throw Error(fmt::format("--output {} would overwrite an input file", quote_path(path)), "use another name");
  }
  if (exists && !begin_with.empty()) {
    throw Error(fmt::format("{} exists already, and its contents would be lost", quote_path(path)),
                "leave --coefficients out to extend the file, or use another name with -o");
  }
  const std::string origin = exists ? path : begin_with;
  std::string text = exists ? read_file(path) : coefficients_text(begin_with, machine);
  const std::string name = load_machine(machine).name;
  if (text.empty() && !exists) {
    return fmt::format(
        "format: 1\nname: {0}-measured\nmachine: {0}\ndescription: what was measured of this machine\n"
        "generator: ddl-oracle {1}\ndate: {2}\nsources: {{}}\n",
        name, version(), today());
  }
  if (const Coefficients before = parse_coefficients(text, origin); before.machine != name) {
    throw Error(
        fmt::format("{} has coefficients of the machine {}, not of {}", quote(origin), quote(before.machine), quote(name)),
        exists ? "write into another file" : "use coefficients of this machine, or none");
  }
  return text;
}

}  // namespace ddl
