#include "cli/options/licenses.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace ddl {
namespace {

/// The license of a library. The facts are from the copyright files of the Debian packages. `license` is an SPDX identifier.
struct License {
  std::string_view library, license, holder, where;
};
constexpr std::array licenses{
    License{"ddl-oracle", "MIT", "the authors of ddl-oracle", "LICENSE"},
    License{"CLI11", "BSD-3-Clause", "2017-2020 University of Cincinnati", "https://github.com/CLIUtils/CLI11"},
    License{"Eigen", "MPL-2.0", "Benoit Jacob, Gael Guennebaud and others", "https://eigen.tuxfamily.org"},
    License{"fmt", "MIT", "2012 Victor Zverovich", "https://github.com/fmtlib/fmt"},
    License{"JSON for Modern C++", "MIT", "2013-2022 Niels Lohmann", "https://github.com/nlohmann/json"},
    License{"libevent", "BSD-3-Clause", "2000-2007 Niels Provos, 2007-2012 Niels Provos and Nick Mathewson",
            "https://libevent.org"},
    License{"toml++", "MIT", "2020-2022 Mark Gillard", "https://github.com/marzer/tomlplusplus"},
    License{"yaml-cpp", "MIT", "2008 Jesse Beder", "https://github.com/jbeder/yaml-cpp"},
    License{"libstdc++", "GPL-3.0-or-later WITH GCC-exception-3.1", "Free Software Foundation", "https://gcc.gnu.org"},
    License{"glibc (in the static program)", "LGPL-2.1-or-later", "Free Software Foundation",
            "https://www.gnu.org/software/libc; build ddl-oracle to link it with another one"},
    License{"oneDNN (module backend-onednn)", "Apache-2.0", "2016 Intel Corporation",
            "https://github.com/oneapi-src/oneDNN"},
    License{"ONNX (module import-onnx)", "Apache-2.0", "ONNX Project Contributors", "https://github.com/onnx/onnx"},
    License{"Protocol Buffers (module import-onnx)", "BSD-3-Clause", "2008 Google Inc.",
            "https://github.com/protocolbuffers/protobuf"},
};

}  // namespace

std::string licenses_text() {
  std::string text =
      "Libraries that the program and its modules are built from or linked with. CUDA, cuDNN, NCCL and MPI are those of "
      "the\n"
      "machine, under their own terms.\n";
  for (const License& each : licenses)
    text += fmt::format("{}: {}, copyright {}, {}\n", each.library, each.license, each.holder, each.where);
  return text;
}

}  // namespace ddl
