#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ddl {

/// The first host of a list in Slurm's syntax: `node[07-12,20],login` begins with `node07`. Empty for any other text.
[[nodiscard]] std::optional<std::string> first_slurm_host(std::string_view list);

}  // namespace ddl
