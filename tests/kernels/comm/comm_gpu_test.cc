// Goal: on GPUs a communicator launches what was asked, in the same way on all ranks, and a rank
// that is lost or differs is an error on all.
// Method: threads, each with a runtime whose device is host memory, meet over TCP as processes do;
// what would be launched is looked at, and waits that gave up are written where kernels write them.

#include "kernels/comm/comm.h"
#include "kernels/comm/tcp_socket.h"
#include "tests/kernels/comm/rank_threads.h"
#include "tests/kernels/hardware/host_gpu_runtime.h"
#include "tests/support/catch.h"

namespace tally {

namespace comm {
namespace {
thread_local test::HostGpuRuntime* runtime_of_thread = nullptr;
}
}  // namespace comm

kernels::hardware::GpuRuntime* kernels::hardware::linked_gpu_runtime() {
  return comm::runtime_of_thread;
}

namespace comm {
namespace {

using model::Format;

constexpr std::int64_t kCount = 300;

/// A process: its runtime, its communicator, and what it launched.
class Process {
 public:
  Process(test::HostMachine& machine, int rank, int ranks, int port, Options options = {},
          int device = 0, const std::string& backend = "gpu")
      : runtime_(machine, 1) {
    runtime_of_thread = &runtime_;
    runtime_.on_launch = [this](const test::SeenLaunch& launch) {
      launches.push_back(launch);
      if (peer_to_give_up >= 0) *launch.launch.own.stuck = {1, 0, peer_to_give_up, 1};
    };
    options.world = World{rank, ranks, rank, "127.0.0.1", port};
    if (!options.max_message_bytes) options.max_message_bytes = 64 << 10;
    options.timeout = Milliseconds(5000);
    const auto made = new_comm(backend, {Device::Kind::gpu, device}, "test", options);
    if (made) comm_ = *made;
    if (!made) refused_ = made.error().what;
  }
  ~Process() {
    if (memory_ != nullptr) runtime_.free(memory_);
    if (comm_) comm_->finalize();
    comm_.reset();
    runtime_of_thread = nullptr;
  }

  const std::string& refused() const { return refused_; }
  Communicator& comm() { return *comm_; }
  Tensor tensor(std::int64_t count = kCount) {
    if (memory_ == nullptr) memory_ = runtime_.allocate(1 << 20);
    return {memory_, count, Format::f32};
  }
  std::string sum(std::int64_t count = kCount) {
    Tensor one = tensor(count);
    const auto work = comm().all_reduce(one, ReduceOp::SUM, false);
    return work ? "" : work.error().what;
  }

  std::vector<test::SeenLaunch> launches;
  int peer_to_give_up = -1;

 private:
  test::HostGpuRuntime runtime_;
  std::shared_ptr<Communicator> comm_;  // null where it was refused
  std::string refused_;
  void* memory_ = nullptr;
};

int free_port() { return port_of(*listen_at("127.0.0.1", 0)); }

/// Ranks as processes of one host, and what each says.
std::vector<std::string> on_processes(
    int ranks, const std::function<std::string(test::HostMachine&, int, int)>& of_rank) {
  test::HostMachine machine;
  const int port = free_port();
  return on_threads(ranks, [&](int rank) { return of_rank(machine, rank, port); });
}

}  // namespace

TEST_CASE("a call is one launch of the rank, with its buffers and its arithmetic", "[kernels]") {
  const auto said = on_processes(3, [](test::HostMachine& machine, int rank, int port) {
    Options options;
    options.hints = {{"blocks", "5"}, {"threads", "128"}, {"rounds", "3"}};
    Process process(machine, rank, 3, port, options);
    if (!process.refused().empty()) return process.refused();
    Tensor tensor = process.tensor();
    const auto work = process.comm().all_reduce(tensor, make_premul_sum(0.3), true);
    if (!work || (*work)->wait() || !(*work)->is_completed()) return std::string("no work");
    if (process.launches.size() != 1) return std::string("no launch");
    const auto& [device, blocks, threads, places, launch] = process.launches[0];
    if (blocks != 5 || threads != 128 || places != 1) return std::string("another grid");
    if (launch.rounds != 3 || launch.ranks != 3 || launch.first_rank != rank ||
        launch.count != kCount) {
      return std::string("another call");
    }
    if (launch.calls[0].input != tensor.data || launch.calls[0].output != tensor.data) {
      return std::string("other buffers");
    }
    return std::string(launch.factor == 0.3f ? "" : "another factor");
  });
  REQUIRE(said == std::vector<std::string>(3));
}

TEST_CASE("a long sum is launched in pieces, no elements and a barrier are well too", "[kernels]") {
  const auto said = on_processes(2, [](test::HostMachine& machine, int rank, int port) {
    Process process(machine, rank, 2, port);
    const std::string failed = process.sum(40'000);  // of 16,384
    std::string counts;
    for (const auto& launch : process.launches) counts += std::to_string(launch.launch.count) + " ";
    const bool barrier = bool(process.comm().barrier(false));
    const std::size_t with_barrier = process.launches.size();
    return failed + counts + process.sum(0) + (barrier && with_barrier == 4 ? "" : "no barrier") +
           (process.launches.size() == with_barrier ? "" : "a launch of nothing");
  });
  REQUIRE(said == std::vector<std::string>(2, "16384 16384 7232 "));
}

TEST_CASE("all_to_all_v is launched with a bound of 0 too, since counts may be above it",
          "[kernels]") {
  const auto said = on_processes(2, [](test::HostMachine& machine, int rank, int port) {
    Process process(machine, rank, 2, port);
    Tensor output = process.tensor(0), input = process.tensor(0);
    output.data = nullptr;
    std::vector<std::int64_t> sent(2), received(2);
    const auto work =
        process.comm().all_to_all_v_single(output, input, sent.data(), received.data(), 0, false);
    return std::string(work && process.launches.size() == 1 ? "" : "no launch");
  });
  REQUIRE(said == std::vector<std::string>(2));
}

TEST_CASE("a wait that gave up breaks the communicator on every rank, and names who is lost",
          "[kernels]") {
  const auto said = on_processes(3, [](test::HostMachine& machine, int rank, int port) {
    Process process(machine, rank, 3, port);
    if (rank == 1) return std::string();  // leaves before it has launched anything
    process.peer_to_give_up = 1;
    const std::string first = process.sum();
    return first + " | " + process.sum();
  });
  for (const int rank : {0, 2}) {
    const std::string lost =
        "rank " + std::to_string(rank) + ", block 0, gave up waiting for rank 1: rank 1 left";
    REQUIRE(said[rank] == lost + " | the communicator is broken: " + lost);
  }
}

TEST_CASE("where all are alive, a wait that gave up says so", "[kernels]") {
  const auto said = on_processes(2, [](test::HostMachine& machine, int rank, int port) {
    Process process(machine, rank, 2, port);
    process.peer_to_give_up = 1 - rank;
    return process.sum();
  });
  REQUIRE(said == std::vector<std::string>{"rank 0, block 0, gave up waiting for rank 1",
                                           "rank 1, block 0, gave up waiting for rank 0"});
}

TEST_CASE("where calls are checked, those that differ are not launched", "[kernels]") {
  const auto said = on_processes(3, [](test::HostMachine& machine, int rank, int port) {
    Options options;
    options.check_calls = true;
    Process process(machine, rank, 3, port, options);
    const std::string first = process.sum(kCount + (rank == 2 ? 1 : 0));
    const std::size_t launches = process.launches.size();
    return first + (launches == 0 ? "" : ", launched") + process.sum();
  });
  REQUIRE(said[0].starts_with("the calls differ: rank 0 has all_reduce of 300 f32, sum"));
  REQUIRE(said[0].find("launched") == std::string::npos);
  REQUIRE(said == std::vector<std::string>(3, said[0]));
}

TEST_CASE("a rank without its GPU is every rank's error", "[kernels]") {
  const auto said = on_processes(2, [](test::HostMachine& machine, int rank, int port) {
    return Process(machine, rank, 2, port, {}, rank == 1 ? 7 : 0).refused();
  });
  REQUIRE(said == std::vector<std::string>(2, "rank 1: there is no GPU 7"));
}

TEST_CASE("backend rcclx launches with RCCLX's arithmetic", "[kernels]") {
  const auto said = on_processes(2, [](test::HostMachine& machine, int rank, int port) {
    Process process(machine, rank, 2, port, {}, 0, "rcclx");
    Tensor tensor = process.tensor();
    const auto work = process.comm().all_reduce(tensor, ReduceOp::AVG, false);
    return std::to_string(work && !process.launches.empty() ? process.launches[0].launch.factor
                                                            : 0);
  });
  REQUIRE(said == std::vector<std::string>(2, "0.500000"));
}

}  // namespace comm
}  // namespace tally
