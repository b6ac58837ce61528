#include "calibration/network/sweep/transports.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/sweep/agreement.hpp"
#include "calibration/network/sweep/rendezvous/meeting_place.hpp"
#include "calibration/network/sweep/rendezvous/tcp_processes.hpp"
#include "calibration/network/sweep/transport_module.hpp"
#include "calibration/network/sweep/transports/simulated/network_text.hpp"
#include "core/error.hpp"
#include "core/module_loader.hpp"
#include "core/source_text.hpp"
#include "profiler/measurement/rank.hpp"

namespace ddl {
namespace {

/// The NCCL transport, together with the object through which the processes joined. This object must outlive the transport.
template <class By>
class JoinedBy final : public Transport {
 public:
  JoinedBy(std::unique_ptr<By> by, std::unique_ptr<Transport> nccl) : by_(std::move(by)), nccl_(std::move(nccl)) {}
  [[nodiscard]] std::string name() const override { return nccl_->name(); }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> details() const override { return nccl_->details(); }
  [[nodiscard]] Processes& processes() override { return nccl_->processes(); }
  [[nodiscard]] const std::vector<int>& nodes() const override { return nccl_->nodes(); }
  [[nodiscard]] std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) override {
    return nccl_->time(step, repetitions);
  }

 private:
  std::unique_ptr<By> by_;
  std::unique_ptr<Transport> nccl_;
};

template <class By>
std::unique_ptr<Transport> open_with(std::unique_ptr<By> by, Processes& processes, const TransportModule& nccl,
                                     const TransportOptions& options) {
  std::unique_ptr<Transport> opened;
  do_or_agree(processes, [&] { opened = nccl.open(&processes, options); });
  return std::make_unique<JoinedBy<By>>(std::move(by), std::move(opened));
}

const TransportModule& mpi_module() {
  return load_module<TransportModule>("transport-mpi", "ddl_transport_mpi", "libopenmpi-dev");
}

bool has_mpi() {
  try {
    static_cast<void>(mpi_module());
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_by_mpi(const LaunchedRank& rank, const std::string& rendezvous) {
  if (!rendezvous.empty()) return rendezvous == "mpi";
  return (rank.launcher == "Open MPI" || rank.launcher == "PMI") && has_mpi();
}

/// Throws Error if a launcher sets the number of processes, but gives ranks in variables that this program does not read.
void require_known_launcher(const Environment& environment) {
  constexpr std::string_view hint =
      "start the processes by torchrun, srun or mpirun; or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT "
      "for each";
  for (const char* const name : {"MV2_COMM_WORLD_SIZE", "JSM_NAMESPACE_SIZE", "FLUX_JOB_SIZE", "LOCAL_WORLD_SIZE"}) {
    const char* const value = environment(name);
    if (value == nullptr || std::string_view(value) == "1" || std::string_view(value).empty()) continue;
    throw Error(fmt::format("the environment variable {} is {}, but the rank of this process is unknown: each process would "
                            "measure the same GPU alone",
                            name, quote(value)),
                std::string(hint));
  }
  // A process with rank 0 may be alone, so only a higher rank shows that there are several processes.
  if (const char* const rank = environment("PMIX_RANK"); rank != nullptr && std::string_view(rank) != "0") {
    throw Error(fmt::format("the environment variable PMIX_RANK is {}, but the number of ranks is unknown: each process "
                            "would measure the same GPU alone",
                            quote(rank)),
                std::string(hint));
  }
}

}  // namespace

std::unique_ptr<Transport> open_mpi() {
  std::unique_ptr<Transport> mpi = mpi_module().open(nullptr, {});
  // If a launcher does not support this MPI, each of its processes becomes a separate MPI job, and would measure alone.
  const LaunchedRank launched = this_rank();
  if (const int joined = mpi->processes().count(); joined != launched.ranks && !launched.launcher.empty()) {
    throw Error(fmt::format("{} started {} processes, but {} joined by MPI", launched.launcher, launched.ranks, joined),
                "start the processes by the mpirun of this MPI, or with the matching srun --mpi=pmix (see srun --mpi=list)");
  }
  return mpi;
}

std::unique_ptr<Transport> open_nccl(const JoiningOptions& joining, const TransportOptions& options) {
  // The module is loaded first. If it is missing, the processes need not join.
  const auto& nccl = load_module<TransportModule>("transport-nccl", "ddl_transport_nccl", "CUDA and NCCL with its header");
  const LaunchedRank rank = this_rank();
  if (rank.launcher.empty()) {
    require_known_launcher(process_environment());
    if (!joining.rendezvous.empty()) {
      throw Error("--rendezvous is for several processes, but the rank of this process is unknown",
                  "start the processes by torchrun, srun or mpirun; or set RANK, WORLD_SIZE and LOCAL_RANK for each");
    }
  }
  if (rank.ranks == 1) return nccl.open(nullptr, options);
  const bool by_mpi = is_by_mpi(rank, joining.rendezvous);
  if (by_mpi) {
    std::unique_ptr<Transport> mpi = open_mpi();
    Processes& processes = mpi->processes();
    return open_with(std::move(mpi), processes, nccl, options);
  }
  const std::optional<MeetingPlace> place = meeting_place(rank, joining.rendezvous);
  if (!place) {
    throw Error(fmt::format("{} started {} processes, but there is no rendezvous", rank.launcher, rank.ranks),
                "set MASTER_ADDR and MASTER_PORT, or use --rendezvous HOST:PORT, where rank 0 listens; or build with MPI");
  }
  auto processes = std::make_unique<TcpProcesses>(rank, *place, options.patience);
  Processes& joined = *processes;
  return open_with(std::move(processes), joined, nccl, options);
}

std::string warning_of_being_alone(const Environment& environment) {
  const char* const tasks = environment("SLURM_NTASKS");
  if (tasks == nullptr || std::string_view(tasks) == "1" || !this_rank(environment).launcher.empty()) return {};
  return fmt::format("this process is alone in an allocation of {} tasks: launch it with srun to start all of them", tasks);
}

std::unique_ptr<Transport> open_simulated_network(const std::string& figures, const std::string& origin) {
  return make_simulated_network(parse_simulated_network(figures, origin));
}

}  // namespace ddl
