// Goal: processes with a GPU each meet over TCP, open each other's memory, leave the reference's
// bits, and name a process that was killed.
// Method: forked processes, before any of them has touched a GPU; where there is one GPU, two
// processes share it. Skipped where there is none.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>

#include "kernels/comm/comm.h"
#include "kernels/comm/gpu_backend.h"
#include "kernels/comm/tcp_socket.h"
#include "tests/kernels/comm/comm_ranks.h"
#include "tests/kernels/comm/rank_threads.h"
#include "tests/support/catch.h"
#include "tests/support/skip.h"

namespace tally::comm {
namespace {

namespace hardware = kernels::hardware;
using model::Collective, model::Format;
using reference::RankBuffers;

/// What each process says; of one that a signal ended, "killed".
std::vector<std::string> on_processes(int ranks, const std::function<std::string(int)>& of_rank) {
  std::vector<pid_t> children;
  std::vector<int> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    int ends_of_pipe[2];
    if (pipe(ends_of_pipe) != 0) return {};
    const pid_t child = fork();
    if (child == 0) {
      const std::string said = of_rank(rank);
      const bool was_written =
          write(ends_of_pipe[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
      _exit(was_written ? 0 : 1);
    }
    ::close(ends_of_pipe[1]);
    children.push_back(child);
    ends.push_back(ends_of_pipe[0]);
  }
  std::vector<std::string> all(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    char bytes[256];
    for (ssize_t got = 0; (got = read(ends[rank], bytes, sizeof bytes)) > 0;) {
      all[rank].append(bytes, static_cast<std::size_t>(got));
    }
    int status = 0;
    waitpid(children[rank], &status, 0);
    ::close(ends[rank]);
    if (WIFSIGNALED(status)) all[rank] = "killed";
  }
  return all;
}

int devices_here() {
  const auto said = on_processes(1, [](int) {
    const auto* runtime = hardware::linked_gpu_runtime();
    return std::to_string(runtime == nullptr ? 0 : runtime->devices().size());
  });
  return std::stoi(said.front());
}

/// A process's communicator, and memory of its GPU.
class OnGpu {
 public:
  OnGpu(int rank, int ranks, int port, Options options = {}) {
    runtime_.use(device_of(rank));
    options.world = World{rank, ranks, rank, "127.0.0.1", port};
    options.timeout = Milliseconds(30'000);
    const auto made = new_comm("gpu", {Device::Kind::gpu, device_of(rank)}, "hardware", options);
    if (!made) {
      std::fprintf(stderr, "rank %d: %s\n", rank, made.error().what.c_str());
      _exit(1);
    }
    comm = *made;
    stream_ = runtime_.create_stream();
  }
  /// A copy on the GPU; and back.
  void* put(const void* from, std::size_t bytes) {
    void* const to = runtime_.allocate(bytes + 1);
    copy(to, from, bytes);
    return to;
  }
  void copy(void* to, const void* from, std::size_t bytes) {
    runtime_.copy(to, from, bytes, stream_);
    runtime_.synchronize(stream_);
  }
  /// A sum of one element, 1 from each rank.
  std::string sum(std::int64_t count = 1) {
    const std::vector<float> ones(static_cast<std::size_t>(count), 1);
    Tensor tensor{put(ones.data(), ones.size() * sizeof(float)), count, Format::f32};
    const auto work = comm->all_reduce(tensor, ReduceOp::SUM, false);
    if (!work) return work.error().what;
    float sum = 0;
    copy(&sum, tensor.data, sizeof sum);
    return sum == static_cast<float>(comm->get_size()) ? "" : "a wrong sum";
  }

  std::shared_ptr<Communicator> comm;

 private:
  int device_of(int rank) const { return rank % static_cast<int>(runtime_.devices().size()); }
  hardware::GpuRuntime& runtime_ = *hardware::linked_gpu_runtime();
  hardware::Stream stream_ = nullptr;
};

/// "" where the rank's output is the reference's.
std::string compared(OnGpu& gpu, const Case& c, int rank) {
  const RankBuffers inputs = inputs_of(c);
  const auto chooser = choose_by_table(c.options.algorithms, c.options.wire, c.options.accumulate);
  const auto how = chooser->choose(c.request, c.ranks);
  const RankBuffers wanted = expected(c, how->algorithm, how->arithmetic, inputs);
  const Request& r = c.request;
  const int bytes = r.dtype.bytes();
  const bool in_place = r.collective == Collective::all_reduce;
  Tensor input{gpu.put(inputs[rank].data(), inputs[rank].size()),
               static_cast<std::int64_t>(inputs[rank].size()) / bytes, r.dtype};
  std::vector<std::byte> got(wanted[rank].size(), std::byte{0x5A});
  Tensor output = in_place ? input
                           : Tensor{gpu.put(got.data(), got.size()),
                                    static_cast<std::int64_t>(got.size()) / bytes, r.dtype};
  const auto work = call(*gpu.comm, r, output, input);
  if (!work) return work.error().what;
  gpu.copy(got.data(), output.data, got.size());
  return got == wanted[rank] ? "" : "other bits of " + std::string(model::name(r.collective));
}

}  // namespace

TEST_CASE("processes leave the reference's bits", "[gpu]") {
  const int ranks = std::max(2, devices_here());
  if (devices_here() == 0) return test::skip_case("no GPU");
  const int port = port_of(*listen_at("127.0.0.1", 0));
  for (const model::Wire& wire : {model::kNoWire, model::cast_wire(Format::e4m3fn)}) {
    const auto said = on_processes(ranks, [&](int rank) -> std::string {
      Options options;
      options.wire = wire;
      OnGpu gpu(rank, ranks, port, options);
      for (int collective = 0; collective < 4; ++collective) {
        for (const std::int64_t count : {0, 1, 1000, 65'537, 1'000'003}) {
          const Case c{{static_cast<Collective>(collective), count, Format::bf16}, ranks, options};
          if (const auto wrong = compared(gpu, c, rank); !wrong.empty()) return wrong;
        }
      }
      return gpu.comm->barrier(false) && !gpu.comm->finalize() ? "" : "no end";
    });
    REQUIRE(said == std::vector<std::string>(ranks));
  }
}

TEST_CASE("a process that is killed is named by the others, and by every later call", "[gpu]") {
  const int ranks = std::max(2, devices_here());
  if (devices_here() == 0) return test::skip_case("no GPU");
  const int port = port_of(*listen_at("127.0.0.1", 0));
  std::vector<std::string> said;
  const double seconds = seconds_of([&] {
    said = on_processes(ranks, [&](int rank) -> std::string {
      OnGpu gpu(rank, ranks, port);
      const std::string first = gpu.sum();
      if (rank == ranks - 1) raise(SIGKILL);
      const std::string second = gpu.sum();
      return first + second + " | " + gpu.sum();
    });
  });
  // Whoever a kernel was waiting for when it gave up, the rendezvous knows who is gone.
  const std::string left = ": rank " + std::to_string(ranks - 1) + " left";
  for (int rank = 0; rank + 1 < ranks; ++rank) {
    const std::string first = said[rank].substr(0, said[rank].find(" | "));
    REQUIRE(first.starts_with("rank " + std::to_string(rank) + ", block "));
    REQUIRE(first.ends_with(left));
    REQUIRE(said[rank] == first + " | the communicator is broken: " + first);
  }
  REQUIRE(said.back() == "killed");
  REQUIRE(seconds < 30);
}

TEST_CASE("calls that differ are told where they are checked", "[gpu]") {
  const int ranks = std::max(2, devices_here());
  if (devices_here() == 0) return test::skip_case("no GPU");
  const int port = port_of(*listen_at("127.0.0.1", 0));
  const auto said = on_processes(ranks, [&](int rank) -> std::string {
    Options options;
    options.check_calls = true;
    OnGpu gpu(rank, ranks, port, options);
    const std::string first = gpu.sum(1 + rank);
    return first.substr(0, first.find(':')) + gpu.sum();
  });
  REQUIRE(said == std::vector<std::string>(ranks, "the calls differ"));
}

}  // namespace tally::comm
