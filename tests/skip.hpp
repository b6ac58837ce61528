#pragma once

#include <string>

namespace ddl {

/// Reports why the running test case cannot run here; the case then returns. A program in which every test case that ran
/// reports this, and nothing failed, ends with exit code 77, which CTest reports as skipped.
void cannot_run(const std::string& reason);

}  // namespace ddl
