#pragma once

#include <optional>
#include <string>

namespace ddl {

/// Returns the commands of a cluster's job in YAML as the text of a script, in which every line of the job stays in its
/// place. The number of nodes, and of GPUs on each, become the variables NNODES and NPROC_PER_NODE, and the GPU's name a
/// directive of Slurm. Reads jobs of Kubernetes (Job, PyTorchJob, MPIJob, JobSet, RayJob, …), SkyPilot, Azure ML, dstack,
/// Determined, Vertex AI and Docker Compose. Empty if the text is none of these, or starts no command.
[[nodiscard]] std::optional<std::string> script_of_job(const std::string& text, const std::string& path);

}  // namespace ddl
