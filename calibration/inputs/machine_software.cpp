#include "calibration/inputs/machine_software.hpp"

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/machine_text.hpp"

namespace ddl {

std::string machine_software(const std::string& name_or_path) {
  const MachineSheet sheet = load_machine_sheet(name_or_path, KernelTables::left_out);
  const SourcedNumber* const software = find_number(sheet, "software");
  return software == nullptr ? std::string() : software->value;
}

}  // namespace ddl
