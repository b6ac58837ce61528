#pragma once

#include <optional>

#include "estimator/exchanges/exchange.hpp"
#include "estimator/layers/job.hpp"
#include "estimator/plan/plan.hpp"
#include "estimator/step/term.hpp"

namespace ddl {

/// Returns the time per step of reading samples into the devices, before overlap; zero if the
/// datasheet of the machine does not describe the storage.
[[nodiscard]] Term input_time(const Job& job, const Plan& plan, const ExchangeTimes& exchanges, bool with_slopes = false);
/// Returns the time per step in which nodes read files, as a part of input_time. The time depends
/// only on the degrees and the batch of the plan.
[[nodiscard]] Seconds file_time(const Job& job, const Plan& plan);

/// Returns the images per second that the host of one node decodes and transforms, with the workers of the plan's ranks.
/// Returns 0 if the data set has no encoded images, if the datasheet does not state the cores, or if the software decodes no
/// images.
[[nodiscard]] double decoding_rate(const Job& job, const Plan& plan);
/// Returns the time per step in which hosts decode images; zero if they do not decode while they train.
[[nodiscard]] Seconds decoding_time(const Job& job, const Plan& plan);
/// Returns the time in which nodes read files and decode images: the longer of the two times, because loaders do both at
/// once, or their sum if samples are not prefetched.
[[nodiscard]] Seconds reading_time(const Job& job, const Plan& plan);

/// Where a node finds the samples that it reads in an epoch after the first one.
enum class SamplePlace { host_memory, local_disk, shared_storage };
[[nodiscard]] SamplePlace sample_place(const Job& job, const Plan& plan);
/// Returns the rate at which one node reads and writes the shared storage. If the datasheet describes the storage without
/// this rate, it is the bandwidth of the node's links into the network. Empty if the datasheet does not describe the
/// storage, or if there is one node.
[[nodiscard]] std::optional<Bandwidth> shared_rate_of_node(const Machine& machine);
/// Returns the number of nodes of a plan that read samples.
[[nodiscard]] double reading_nodes(const Job& job, const Plan& plan);
/// Returns the bytes of samples that each node has: the data set, or with staged shards the samples of its ranks and those
/// that its ranks receive, (1 + Q)·N/M samples a rank [Nguyen et al., "Why globally re-shuffle?", IPDPS 2022, section III].
[[nodiscard]] Bytes bytes_on_node(const Job& job, const Plan& plan);
/// Returns whether the disk of a node can hold the data set; true if the size of the disk is unknown.
[[nodiscard]] bool fits_local_storage(const Job& job);
/// Returns whether the memory of a node's host can hold the data set after it was read.
[[nodiscard]] bool fits_host_memory(const Job& job);
/// Returns whether the time of reading counts as zero because the bandwidth of the samples' storage is unknown.
[[nodiscard]] bool reads_in_no_time(const Job& job, const Plan& plan);

}  // namespace ddl
