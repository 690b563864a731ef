// What docs/communicator.md shows: four virtual GPUs, a thread for each, sum their gradients.

#include <cstdio>
#include <thread>

#include "kernels/comm/comm.h"

using namespace tally::comm;

namespace {

/// What each rank does; with the launcher's variables this would be a process's main().
void run_rank(int rank, int ranks) {
  Options options;
  options.world = World{rank, ranks};
  const Device device{Device::Kind::virtual_gpu, rank};
  const auto comm = new_comm("emulator", device, "example", options);
  if (!comm) {
    std::fprintf(stderr, "%s: %s\n", comm.error().where.c_str(), comm.error().what.c_str());
    return;
  }
  std::vector<float> gradients(1000, static_cast<float>(rank));
  Tensor tensor{gradients.data(), 1000, tally::model::Format::f32};

  const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, /*async_op=*/true);
  const auto error = work ? (*work)->wait() : work.error();
  if (error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error->what.c_str());
    return;
  }
  if (rank == 0) std::printf("the sum of 0 to %d is %g\n", ranks - 1, gradients[999]);
  (*comm)->finalize();
}

}  // namespace

int main() {
  std::vector<std::jthread> ranks;
  for (int rank = 0; rank < 4; ++rank) ranks.emplace_back(run_rank, rank, 4);
}
