#pragma once

#include <optional>
#include <string>

// Readers of scripts in files that are not shell scripts. In the returned scripts, every line of the file keeps its
// position.

namespace ddl {

/// Whether a path is that of a makefile: `Makefile`, `GNUmakefile`, `train.mk`.
[[nodiscard]] bool is_makefile(const std::string& path);
/// Returns the text of a makefile as a shell reads it. Recipes lose the signs `@`, `-` and `+` of make, and variables become
/// those of a shell (`N ?= 8`, `$(N)`, `$$HOME`).
[[nodiscard]] std::string script_of_makefile(const std::string& text);

[[nodiscard]] bool is_markdown(const std::string& path);
/// Returns the commands in the blocks of code of a page as the text of a script. If one block alone starts a program with
/// arguments, returns this block and the blocks before it that only set variables. Throws Error if several blocks do,
/// because each may be another training.
[[nodiscard]] std::string script_of_page(const std::string& text, const std::string& path);

/// Returns the commands of a cluster's job in YAML as the text of a script. The number of nodes, and of GPUs on each, become
/// the variables NNODES and NPROC_PER_NODE, and the GPU's name a directive of Slurm. Reads jobs of Kubernetes (Job,
/// PyTorchJob, MPIJob, JobSet, RayJob, …), SkyPilot, Azure ML, dstack, Determined, Vertex AI and Docker Compose. Empty if
/// the text is not such a job, or starts no command.
[[nodiscard]] std::optional<std::string> script_of_job(const std::string& text, const std::string& path);

}  // namespace ddl
