#pragma once

#include <string>

namespace ddl {

/// Reports why the running test case cannot run here. The test case must then return. A program ends with exit code 77,
/// which CTest reports as skipped, if every test case that ran reports this and no test failed.
void cannot_run(const std::string& reason);

}  // namespace ddl
