#pragma once

#include "cli/options/configurations/config_entry.hpp"
#include "cli/options/configurations/script_values.hpp"

namespace ddl {

/// Replaces references of OmegaConf, such as `${model.seq_length}`, `${.seq_length}` and `${oc.env:NODES,4}`, by the values
/// of these keys, and computes the products and quotients of NeMo's launcher: `${multiply:4, ${.hidden_size}}`. `values`:
/// the environment variables that `${oc.env:NODES}` reads. A value with a reference that the file does not resolve becomes
/// unknown.
void resolve_references(ConfigEntries& settings, const ScriptValues& values);

}  // namespace ddl
