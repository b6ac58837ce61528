#pragma once

#include "cli/options/configurations/config_entry.hpp"

namespace ddl {

/// Replaces references of OmegaConf, such as `${model.seq_length}`, `${.seq_length}` and `${oc.env:NODES,4}`, by the values
/// of these keys, and computes the products and quotients of NeMo's launcher: `${multiply:4, ${.hidden_size}}`. A value with
/// a reference that the file does not resolve becomes unknown.
void resolve_references(ConfigEntries& settings);

}  // namespace ddl
