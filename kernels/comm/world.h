#pragma once

// Which process this is, among how many, and where they meet: what a launcher (torchrun, mpirun)
// says in the environment.

#include <functional>
#include <optional>
#include <string>

#include "model/result.h"

namespace tally::comm {

struct World {
  int rank = 0, size = 1;
  int local_rank = 0;  // among the processes of this host
  /// Where rank 0 listens.
  std::string address = "127.0.0.1";
  int port = 29500;
};

/// The value of a variable; nothing where it is not set. Only main() knows getenv.
using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

/// torchrun's RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; where RANK is not set,
/// those of Open MPI's mpirun (OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK); where neither is, a world
/// of one. Where torchrun's agent itself listens at MASTER_PORT
/// (TORCHELASTIC_USE_AGENT_STORE=True), the port is the next one. A value that is no number or out
/// of range is an error that names it.
model::Result<World> world_from_environment(const Lookup& lookup);

}  // namespace tally::comm
