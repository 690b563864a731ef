// Goal: the emulator runs threads, blocks, ranks and streams as a GPU may, tells the same story
// for the same seed, and names whoever hangs or strays.
// Method: kernels of a few lines, each about one promise of gpu.h or emulator.h.

#include "kernels/emulator/emulator.h"

#include <cstring>
#include <set>

#include "kernels/emulator/emulated_gpu.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

using Lines = std::vector<std::string>;

/// Two or more virtual GPUs with a buffer of 16 numbers each.
struct Gpus {
  explicit Gpus(int ranks, std::uint64_t seed = 1)
      : memory(ranks, 1 << 14),
        choices(seed, RandomWalk::Grain::coarse),
        emulator(memory, ranks, choices) {
    for (int rank = 0; rank < ranks; ++rank) {
      Buffer& buffer = memory.allocate(rank, "numbers", 64, std::byte{0});
      numbers.push_back(reinterpret_cast<std::uint32_t*>(buffer.first));
    }
  }

  Memory memory;
  RandomWalk choices;
  Emulator emulator;
  std::vector<std::uint32_t*> numbers;  // [rank]
};

bool wait_for(EmulatedGpu& gpu, const std::uint32_t* flag, std::uint32_t value) {
  return gpu.wait(flag, Reached{value}, Acquire{}, System{});
}

void raise(EmulatedGpu& gpu, std::uint32_t* flag, std::uint32_t value) {
  gpu.store_flag(flag, value, Release{}, System{});
}

/// The order in which 2 ranks of 2 blocks of 4 threads come out of a block barrier.
std::string order_of(std::uint64_t seed) {
  Gpus gpus(2, seed);
  std::string order;
  for (int rank = 0; rank < 2; ++rank) {
    gpus.emulator.launch(rank, {2, 4, 64}, [&order, rank](EmulatedGpu& gpu) {
      gpu.block_barrier();
      order += static_cast<char>('a' + 8 * rank + 4 * gpu.block() + gpu.thread());
    });
  }
  gpus.emulator.run();
  return order;
}

}  // namespace

TEST_CASE("the same seed gives the same order, others give others", "[kernels]") {
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::string order = order_of(seed);
    REQUIRE(order.size() == 16);
    REQUIRE(order_of(seed) == order);
    orders.insert(order);
  }
  REQUIRE(orders.size() > 15);
}

TEST_CASE("a kernel sees its geometry, and every thread runs once", "[kernels]") {
  Gpus gpus(1);
  std::multiset<std::pair<int, int>> seen;
  gpus.emulator.launch(0, {3, 5, 32}, [&](EmulatedGpu& gpu) {
    seen.insert({gpu.block(), gpu.thread()});
    if (gpu.blocks() != 3 || gpu.threads() != 5 || gpu.wave() != 32) seen.insert({-1, -1});
  });
  gpus.emulator.run();
  std::multiset<std::pair<int, int>> expected;
  for (int block = 0; block < 3; ++block) {
    for (int thread = 0; thread < 5; ++thread) expected.insert({block, thread});
  }
  REQUIRE(seen == expected);
}

TEST_CASE("a block barrier parts what its block did before from what it does after", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Gpus gpus(1, seed);
    bool saw_all = true;
    gpus.emulator.launch(0, {2, 4, 64}, [&](EmulatedGpu& gpu) {
      std::uint32_t* mine = gpus.numbers[0] + 4 * gpu.block();
      for (std::uint32_t round = 1; round <= 3; ++round) {
        gpu.store(mine + gpu.thread(), round);
        gpu.block_barrier();
        for (int t = 0; t < 4; ++t) saw_all &= gpu.load(mine + t) == round;
        gpu.block_barrier();
      }
    });
    REQUIRE(gpus.emulator.run().hang.empty());
    REQUIRE(saw_all);
  }
}

TEST_CASE("a thread that has returned is not waited for at the block barrier", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Gpus gpus(1, seed);
    int passed = 0;
    gpus.emulator.launch(0, {1, 4, 64}, [&](EmulatedGpu& gpu) {
      if (gpu.thread() == 2) return;
      gpu.block_barrier();
      ++passed;
    });
    REQUIRE(gpus.emulator.run().hang.empty());
    REQUIRE(passed == 3);
  }
}

TEST_CASE("plain accesses between ranks are counted on their link, flags are not", "[kernels]") {
  Gpus gpus(3);
  gpus.emulator.launch(1, {1, 1, 64}, [&](EmulatedGpu& gpu) {
    gpu.load(gpus.numbers[0]);                                                // 4 bytes, 0 to 1
    gpu.load(reinterpret_cast<const Word*>(gpus.numbers[2]));                 // 16 bytes, 2 to 1
    gpu.store(reinterpret_cast<Word*>(gpus.numbers[2]), Word{{1, 2, 3, 4}});  // 16, 1 to 2
    gpu.store(gpus.numbers[1], 7u);                                           // at home
    raise(gpu, gpus.numbers[0] + 4, 1);
  });
  const Trace trace = gpus.emulator.run();
  REQUIRE(trace.link_bytes == std::vector<std::int64_t>{0, 4, 0, 0, 0, 16, 0, 16, 0});
  REQUIRE(gpus.numbers[2][3] == 4);
  REQUIRE(gpus.numbers[0][4] == 1);
}

TEST_CASE("a completed wait is an edge from the thread that wrote the flag", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Gpus gpus(2, seed);
    gpus.emulator.launch(0, {2, 1, 64}, [&](EmulatedGpu& gpu) {
      if (gpu.block() == 1) raise(gpu, gpus.numbers[1], 5);
    });
    gpus.emulator.launch(1, {3, 1, 64}, [&](EmulatedGpu& gpu) {
      if (gpu.block() == 2 && wait_for(gpu, gpus.numbers[1], 5)) wait_for(gpu, gpus.numbers[1], 4);
    });
    const Trace trace = gpus.emulator.run();
    REQUIRE(trace.edges == std::map<Edge, int>{{{0, 1, 1, 2}, 2}});
  }
}

TEST_CASE("launches of one rank run in order, ranks side by side", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Gpus gpus(2, seed);
    std::string order;
    // Rank 0 needs rank 1's second launch, and that needs rank 0's first.
    gpus.emulator.launch(0, {1, 2, 64}, [&](EmulatedGpu& gpu) {
      if (gpu.thread() == 0) raise(gpu, gpus.numbers[1], 1);
      order += 'a';
    });
    gpus.emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) {
      wait_for(gpu, gpus.numbers[0], 1);
      order += 'b';
    });
    gpus.emulator.launch(1, {1, 3, 64}, [&](EmulatedGpu& gpu) { gpu.block_barrier(); });
    gpus.emulator.launch(1, {2, 1, 64}, [&](EmulatedGpu& gpu) {
      wait_for(gpu, gpus.numbers[1], 1);
      if (gpu.block() == 1) raise(gpu, gpus.numbers[0], 1);
    });
    const Trace trace = gpus.emulator.run();
    REQUIRE(trace.hang.empty());
    REQUIRE(order == "aab");
  }
}

TEST_CASE("a hang is found, and says who waits for which flag of whom", "[kernels]") {
  Gpus gpus(2);
  bool gave_up = false;
  gpus.emulator.launch(0, {2, 4, 64}, [&](EmulatedGpu& gpu) {
    if (gpu.block() != 1 || gpu.thread() != 3) return;
    gave_up = !wait_for(gpu, gpus.numbers[0] + 2, 1);
    gpu.store(gpus.numbers[0], 77u);
  });
  const Trace trace = gpus.emulator.run();
  REQUIRE(trace.hang == Lines{"rank 0 block 1 thread 3 waits for numbers of rank 0, byte 8 to "
                              "reach 1; it holds 0, never written"});
  REQUIRE(gave_up);
  REQUIRE(gpus.numbers[0][0] == 77);  // the kernel went on to its end
}

TEST_CASE("a hang tells what the flag holds and who wrote it last", "[kernels]") {
  Gpus gpus(2);
  gpus.emulator.launch(0, {1, 2, 64}, [&](EmulatedGpu& gpu) {
    if (gpu.thread() == 0) raise(gpu, gpus.numbers[1], 4);
    gpu.block_barrier();
    if (gpu.thread() == 1) raise(gpu, gpus.numbers[1], 5);
  });
  gpus.emulator.launch(1, {1, 1, 64}, [&](EmulatedGpu& gpu) {
    wait_for(gpu, gpus.numbers[1], 6);
    wait_for(gpu, gpus.numbers[1], 5);
  });
  const Trace trace = gpus.emulator.run();
  REQUIRE(trace.hang ==
          Lines{"rank 1 block 0 thread 0 waits for numbers of rank 1 to reach 6; it holds 5, "
                "last written by rank 0 block 0 thread 1"});
  REQUIRE(trace.edges == std::map<Edge, int>{{{0, 0, 1, 0}, 1}});
}

TEST_CASE("where several write a flag, the edge comes from the last", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Gpus gpus(3, seed);
    for (const int rank : {0, 1}) {
      gpus.emulator.launch(rank, {1, 1, 64}, [&, rank](EmulatedGpu& gpu) {
        const auto turn = static_cast<std::uint32_t>(rank);
        wait_for(gpu, gpus.numbers[2], turn);  // rank 1 after rank 0
        raise(gpu, gpus.numbers[2], turn + 1);
      });
    }
    gpus.emulator.launch(2, {1, 1, 64},
                         [&](EmulatedGpu& gpu) { wait_for(gpu, gpus.numbers[2], 2); });
    const Trace trace = gpus.emulator.run();
    REQUIRE(trace.edges == std::map<Edge, int>{{{0, 0, 1, 0}, 1}, {{1, 0, 2, 0}, 1}});
  }
}

TEST_CASE("threads at a block barrier behind a hung one get free with it", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Gpus gpus(1, seed);
    int passed = 0;
    gpus.emulator.launch(0, {2, 3, 64}, [&](EmulatedGpu& gpu) {
      if (gpu.block() == 0 && gpu.thread() == 0) wait_for(gpu, gpus.numbers[0], 1);
      gpu.block_barrier();
      gpu.block_barrier();
      ++passed;
    });
    const Trace trace = gpus.emulator.run();
    REQUIRE(trace.hang.size() == 1);
    REQUIRE(trace.hang[0].rfind("rank 0 block 0 thread 0 waits for numbers", 0) == 0);
    REQUIRE(passed == 6);
  }
}

TEST_CASE("a launch behind a hung one still runs, and its waits give up at once", "[kernels]") {
  Gpus gpus(1);
  bool second_gave_up = false;
  gpus.emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) { wait_for(gpu, gpus.numbers[0], 1); });
  gpus.emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) {
    second_gave_up = !wait_for(gpu, gpus.numbers[0], 2);
  });
  REQUIRE(gpus.emulator.run().hang.size() == 1);
  REQUIRE(second_gave_up);
}

TEST_CASE("a second run begins a trace of its own", "[kernels]") {
  Gpus gpus(2);
  gpus.emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) {
    gpu.load(gpus.numbers[1]);
    wait_for(gpu, gpus.numbers[0], 1);
  });
  REQUIRE(!gpus.emulator.run().hang.empty());
  gpus.emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) { gpu.load(gpus.numbers[1]); });
  gpus.emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) { wait_for(gpu, gpus.numbers[0], 1); });
  gpus.emulator.launch(1, {1, 1, 64}, [&](EmulatedGpu& gpu) { raise(gpu, gpus.numbers[0], 1); });
  const Trace trace = gpus.emulator.run();
  REQUIRE(trace.hang.empty());  // this time the wait does not give up
  REQUIRE(trace.link_bytes == std::vector<std::int64_t>{0, 0, 4, 0});
  REQUIRE(trace.edges.size() == 1);
}

TEST_CASE("a flag's value may wrap around", "[kernels]") {
  REQUIRE(Reached{0xFFFF'FFFF}(0xFFFF'FFFF));
  REQUIRE(Reached{0xFFFF'FFFF}(0));
  REQUIRE(Reached{0xFFFF'FFFF}(0x7FFF'FFFE));
  REQUIRE(!Reached{0xFFFF'FFFF}(0xFFFF'FFFE));
  REQUIRE(!Reached{0xFFFF'FFFF}(0x7FFF'FFFF));
  REQUIRE(!Reached{0}(0xFFFF'FFFF));
  REQUIRE(Reached{0}(0x7FFF'FFFF));
}

}  // namespace tally::kernels::emulator
