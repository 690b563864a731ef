// One rank of a program that mpirun or torchrun starts, on a GPU: all ranks sum, and each looks at
// its sum. To be run where there are GPUs:
//     mpirun -np 2 comm_launched_rank          torchrun --nproc-per-node 2 --no-python ...

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/comm/comm.h"
#include "kernels/hardware/gpu_runtime.h"

namespace {

using namespace tally::comm;
namespace hardware = tally::kernels::hardware;

std::optional<std::string> variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

int fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return 1;
}

int run(hardware::GpuRuntime& runtime) {
  const auto world = world_from_environment(variable);
  if (!world) return fail(world.error().where + ": " + world.error().what);
  const int device = world->local_rank % static_cast<int>(runtime.devices().size());
  Options options;
  options.world = *world;
  options.timeout = Milliseconds(20'000);
  const auto comm = new_comm("gpu", {Device::Kind::gpu, device}, "launched", options);
  if (!comm) return fail(comm.error().where + ": " + comm.error().what);

  runtime.use(device);
  const hardware::Stream stream = runtime.create_stream();
  std::vector<float> x(100'001, static_cast<float>(world->rank + 1));
  void* const memory = runtime.allocate(x.size() * sizeof(float));
  const auto copy = [&](void* to, const void* from) {
    runtime.copy(to, from, x.size() * sizeof(float), stream);
    runtime.synchronize(stream);
  };
  copy(memory, x.data());
  Tensor tensor{memory, static_cast<std::int64_t>(x.size()), tally::model::Format::f32};
  const auto work = (*comm)->all_reduce(tensor, ReduceOp::SUM, /*async_op=*/true);
  const auto error = work ? (*work)->wait() : work.error();
  if (error) return fail(error->what);
  copy(x.data(), memory);
  for (const float value : x) {
    if (value != static_cast<float>(world->size * (world->size + 1) / 2)) return fail("wrong sum");
  }
  std::printf("rank %d of %d on device %d: the sum is %g\n", world->rank, world->size, device,
              static_cast<double>(x.back()));
  (*comm)->finalize();
  return 0;
}

}  // namespace

int main() {
  hardware::GpuRuntime* const runtime = hardware::linked_gpu_runtime();
  if (runtime == nullptr || runtime->devices().empty()) return fail("no GPU"), 3;
  return run(*runtime);
}
