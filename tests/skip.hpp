#pragma once

#include <string>

namespace ddl {

/// Says why the running test case cannot be tried here; the case returns then. A program in which every test case that ran
/// says so, and nothing failed, ends with exit code 77, which CTest reports as skipped.
void cannot_run(const std::string& reason);

}  // namespace ddl
