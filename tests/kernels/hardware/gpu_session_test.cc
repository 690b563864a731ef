// Goal: a session gives every rank memory of its own that all its peers reach, whether ranks share
// a GPU, a process, or neither; what is missing is an error of all, and a lost peer has a name.
// Method: devices are the host's memory, processes are threads, and launches are looked at.

#include "kernels/hardware/gpu_session.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "kernels/scratch_size.h"
#include "tests/kernels/hardware/host_gpu_runtime.h"
#include "tests/kernels/hardware/thread_exchange.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::test {
namespace {

using namespace kernels::hardware;
using kernels::kMaxRanks, kernels::Launch, kernels::RankCall;
using Created = model::Result<std::unique_ptr<GpuSession>>;

constexpr SessionOptions kOptions{4000, 12000, 4, 64};
constexpr KernelName kFlat{model::Collective::all_reduce, "flat", {}};

std::vector<int> shares_of(int ranks, int devices) {
  std::vector<int> all;
  for (const Share& share : share_out(ranks, devices)) {
    all.insert(all.end(), {share.device, share.first_rank, share.ranks});
  }
  return all;
}

/// Launches the first share's ranks with buffers that are told apart, and shows what was launched.
SeenLaunch launch(GpuSession& session, HostGpuRuntime& runtime, int share = 0) {
  std::vector<RankCall> calls(session.shares()[share].ranks);
  for (std::size_t i = 0; i < calls.size(); ++i) calls[i].input = &calls[i];
  SeenLaunch seen;
  runtime.on_launch = [&](const SeenLaunch& launched) { seen = launched; };
  runtime.use(session.shares()[share].device);
  const Stream stream = runtime.create_stream();
  session.launch(share, stream, {kFlat, 2, 32, 10, 1.5f, calls});
  runtime.destroy(stream);
  runtime.on_launch = nullptr;
  for (std::size_t i = 0; i < calls.size(); ++i) REQUIRE(seen.launch.calls[i].input == &calls[i]);
  return seen;
}

/// Memory of a launch: where it begins, and how much of it there must be.
struct Piece {
  const std::byte* first;
  std::size_t bytes;
};

std::vector<Piece> pieces(const Launch& l, int places) {
  std::vector<Piece> all;
  const auto add = [&](const void* first, std::size_t bytes) {
    all.push_back({static_cast<const std::byte*>(first), bytes});
  };
  for (int rank = 0; rank < l.ranks; ++rank) {
    add(l.peers.scratch[rank], kOptions.scratch_bytes);
    add(l.peers.flags[rank], 4u * kMaxRanks * kOptions.max_blocks);
    add(l.peers.counts[rank], 8u * kMaxRanks * kOptions.max_blocks);
    add(l.peers.packets[rank], kOptions.packet_bytes);
  }
  add(l.own.epochs, 4u * places * kOptions.max_blocks);
  add(l.own.packet_epochs, 4u * places * kOptions.max_blocks);
  add(l.own.stuck, sizeof(kernels::Stuck) * places);
  return all;
}

/// All is there, zero, as aligned as an allocation, and no two pieces share a byte.
void require_sound(const SeenLaunch& seen, HostGpuRuntime& runtime) {
  auto all = pieces(seen.launch, seen.places);
  runtime.use(seen.device);
  for (const Piece& piece : all) {
    REQUIRE(reinterpret_cast<std::uintptr_t>(piece.first) % 256 == 0);
    REQUIRE(runtime.reaches(piece.first, piece.bytes));
    REQUIRE(std::all_of(piece.first, piece.first + piece.bytes,
                        [](std::byte b) { return b == std::byte{0}; }));
  }
  std::sort(all.begin(), all.end(),
            [](const Piece& a, const Piece& b) { return a.first < b.first; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    REQUIRE(all[i - 1].first + all[i - 1].bytes <= all[i].first);
  }
}

bool same_peers(const Launch& a, const Launch& b) {
  return std::memcmp(&a.peers, &b.peers, sizeof a.peers) == 0;
}

/// Calls work(process, exchange) in a thread for each of two processes.
template <class Work>
void in_two_processes(Work work) {
  ThreadExchange exchange(2);
  const auto run = [&](int process) {
    ThreadExchange::End end(exchange, process);
    work(process, end);
  };
  std::thread second(run, 1);
  run(0);
  second.join();
}

/// What creating a session says in both processes, each with a rank on a device of its own.
std::vector<std::string> errors_of_two(HostGpuRuntime& first, HostGpuRuntime& second,
                                       const SessionOptions& of_second = kOptions,
                                       const Share& share_of_second = {0, 1, 1}) {
  std::vector<std::string> errors(2);
  in_two_processes([&](int process, Exchange& exchange) {
    const Created created =
        process == 0 ? GpuSession::create(first, exchange, {{0, 0, 1}}, kOptions)
                     : GpuSession::create(second, exchange, {share_of_second}, of_second);
    if (!created) errors[process] = created.error().what;
  });
  return errors;
}

}  // namespace

TEST_CASE("ranks are shared out evenly and in order", "[kernels]") {
  REQUIRE(shares_of(8, 1) == std::vector{0, 0, 8});
  REQUIRE(shares_of(8, 2) == std::vector{0, 0, 4, 1, 4, 4});
  REQUIRE(shares_of(8, 3) == std::vector{0, 0, 3, 1, 3, 3, 2, 6, 2});
  REQUIRE(shares_of(2, 4) == std::vector{0, 0, 1, 1, 1, 1});
}

TEST_CASE("virtual ranks on one GPU have memory of their own, and nothing is left", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 1);
  NoExchange alone;
  {
    const Created session = GpuSession::create(runtime, alone, share_out(3, 1), kOptions);
    REQUIRE(bool(session));
    const SeenLaunch seen = launch(**session, runtime);
    require_sound(seen, runtime);
    REQUIRE((seen.blocks == 2 && seen.threads == 32 && seen.places == 3));
    const Launch& l = seen.launch;
    REQUIRE((l.ranks == 3 && l.first_rank == 0 && l.count == 10 && l.factor == 1.5f));
    REQUIRE(l.own.max_blocks == 4);
    REQUIRE(l.own.words_of_packets == 12000 / (3 * kernels::packet_bytes_of_word(16)));
    REQUIRE(launch(**session, runtime).launch.number == l.number + 1);
    REQUIRE(runtime.live() == 2);
  }
  REQUIRE(runtime.live() == 0);
}

TEST_CASE("two GPUs of a process reach each other's memory at the same addresses", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 2);
  NoExchange alone;
  const Created session = GpuSession::create(runtime, alone, share_out(5, 2), kOptions);
  REQUIRE(bool(session));
  const SeenLaunch first = launch(**session, runtime, 0), second = launch(**session, runtime, 1);
  require_sound(first, runtime);
  require_sound(second, runtime);
  REQUIRE((second.device == 1 && second.launch.first_rank == 3 && second.places == 2));
  REQUIRE(same_peers(first.launch, second.launch));
  REQUIRE(first.launch.own.epochs != second.launch.own.epochs);
}

TEST_CASE("two processes open each other's memory, and free it when nobody has it", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtimes[2] = {{machine, 2}, {machine, 2}};
  SeenLaunch seen[2];
  in_two_processes([&](int process, Exchange& exchange) {
    HostGpuRuntime& runtime = runtimes[process];
    const std::vector<Share> shares =
        process == 0 ? std::vector<Share>{{0, 0, 2}, {1, 2, 1}} : std::vector<Share>{{1, 3, 1}};
    const Created session = GpuSession::create(runtime, exchange, shares, kOptions);
    if (session) seen[process] = launch(**session, runtime);
    exchange.all_gather({});  // until both have launched
  });
  REQUIRE((seen[0].launch.ranks == 4 && seen[1].launch.ranks == 4));
  REQUIRE((seen[0].launch.first_rank == 0 && seen[1].launch.first_rank == 3));
  REQUIRE(same_peers(seen[0].launch, seen[1].launch));
  REQUIRE((runtimes[0].live() == 0 && runtimes[1].live() == 0));
}

TEST_CASE("what one process lacks is an error of both, which leaves nothing", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime large(machine, 1), small(machine, 1, 1000);
  for (const std::string& error : errors_of_two(large, small)) {
    REQUIRE(error.starts_with("process 1: device 0 has no "));
    REQUIRE(error.ends_with(" bytes free"));
  }
  HostGpuRuntime other(machine, 1);
  other.imports = false;
  for (const std::string& error : errors_of_two(large, other)) {
    REQUIRE(error == "process 1: device 0 cannot reach device 0 of process 0");
  }
  SessionOptions more = kOptions;
  ++more.scratch_bytes;
  for (const std::string& error : errors_of_two(large, other, more)) {
    REQUIRE(error == "processes ask for scratch of different sizes");
  }
  for (const int first : {0, 2}) {
    for (const std::string& error : errors_of_two(large, other, kOptions, {0, first, 1})) {
      REQUIRE(error == "the processes do not share out the ranks in order");
    }
  }
  REQUIRE((large.live() == 0 && small.live() == 0 && other.live() == 0));
}

TEST_CASE("GPUs of a process that cannot reach each other are an error", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 2);
  runtime.apart.insert({1, 0});
  NoExchange alone;
  const Created session = GpuSession::create(runtime, alone, share_out(2, 2), kOptions);
  REQUIRE(!session);
  REQUIRE(session.error().what == "device 1 cannot reach device 0");
  REQUIRE(runtime.live() == 0);
}

TEST_CASE("a process that is lost is an error of those that are left", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 1);
  ThreadExchange exchange(2);
  exchange.lose();
  ThreadExchange::End end(exchange, 0);
  const Created session = GpuSession::create(runtime, end, {{0, 0, 1}}, kOptions);
  REQUIRE(!session);
  REQUIRE(session.error().what == "a process was lost while ranks were shared out");
}

TEST_CASE("a call that does not fit is refused, and says why", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 1);
  NoExchange alone;
  const Created created = GpuSession::create(runtime, alone, share_out(8, 1), kOptions);
  const GpuSession& session = **created;
  const auto refused = [&](GroupCall call) { return session.cannot_launch(0, call).value_or(""); };
  const GroupCall fits{kFlat, 2, 32, 1000, 1, {}};
  GroupCall call = fits;
  REQUIRE(refused(call) == "");
  call.count = 1001;
  REQUIRE(refused(call) == "the communicator was not made for so many elements");
  call = {{model::Collective::all_reduce, "flat_ll", {}}, 2, 32, 100, 1, {}};
  REQUIRE(refused(call) == "the communicator was not made for so many elements");
  call = fits;
  call.blocks = 3;
  REQUIRE(refused(call) ==
          "all blocks have to be on the GPU at once, which takes 16 of these for 8 ranks");
  call = fits;
  call.threads = 128;
  REQUIRE(refused(call) == "the communicator was not made for so large a launch");
  call.threads = 1024;
  REQUIRE(refused(call) == "a block has at most 512 threads on a GPU");
  call.threads = 12;
  call.kernel.arithmetic.wire = *model::parse_wire("e4m3fn:b128:f32");
  REQUIRE(refused(call) == "a block of the wire needs whole groups of threads in a wave");
  runtime.has_kernel = [](const KernelName& name) { return name.algorithm != "flat"; };
  REQUIRE(refused(fits) == "the GPU has no such kernel");
}

namespace {

/// A session whose rank 4, on the second device, has given up.
struct Broken {
  Broken() {
    runtime.on_launch = [](const SeenLaunch& seen) {
      if (seen.device == 1) seen.launch.own.stuck[1] = {1, 2, 0, 7};
    };
    for (const int share : {0, 1}) {
      runtime.use(share);
      const Stream stream = runtime.create_stream();
      const std::vector<RankCall> calls((*session)->shares()[share].ranks);
      (*session)->launch(share, stream, {kFlat, 2, 32, 10, 1, calls});
      runtime.destroy(stream);
    }
  }
  HostMachine machine;
  HostGpuRuntime runtime{machine, 2};
  NoExchange alone;
  Created session = GpuSession::create(runtime, alone, share_out(5, 2), kOptions);
};

}  // namespace

TEST_CASE("a wait that gave up is named, and breaks the session", "[kernels]") {
  Broken broken;
  REQUIRE(!(*broken.session)->is_broken());
  const std::optional<Lost> lost = (*broken.session)->lost();
  REQUIRE(lost.has_value());
  REQUIRE(lost->text() == "rank 4, block 2, gave up waiting for rank 0");
  REQUIRE((*broken.session)->is_broken());
}

TEST_CASE("where no wait gave up nobody is lost", "[kernels]") {
  HostMachine machine;
  HostGpuRuntime runtime(machine, 1);
  NoExchange alone;
  const Created session = GpuSession::create(runtime, alone, share_out(2, 1), kOptions);
  launch(**session, runtime);
  REQUIRE(!(*session)->lost().has_value());
  REQUIRE(!(*session)->is_broken());
}

TEST_CASE("launch on a broken session", "[.]") {
  Broken broken;
  (*broken.session)->lost();
  launch(**broken.session, broken.runtime);
}
TEST_CASE("launch of what does not fit", "[.]") {
  Broken broken;
  const std::vector<RankCall> calls(3);
  (*broken.session)->launch(0, nullptr, {kFlat, 100, 32, 10, 1, calls});
}
TEST_CASE("launch with too few buffers", "[.]") {
  Broken broken;
  (*broken.session)->launch(0, nullptr, {kFlat, 1, 32, 10, 1, {}});
}
TEST_CASE("misuse of a session stops the program", "[kernels]") {
  REQUIRE(aborts("launch on a broken session", "a peer was lost"));
  REQUIRE(aborts("launch of what does not fit", "cannot_launch() has nothing against the call"));
  REQUIRE(aborts("launch with too few buffers", "a call has the buffers of the share's ranks"));
}

}  // namespace tally::test
