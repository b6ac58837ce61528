#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// The first host of a list as Slurm writes it: `node[07-12,20],login` begins with `node07`. Nothing where it is no such
/// list.
[[nodiscard]] std::optional<std::string> first_slurm_host(std::string_view list);

}  // namespace ddl
