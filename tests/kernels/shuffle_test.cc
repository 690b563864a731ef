// Goal: the emulator's shuffles give each thread what it asks for, whatever the order in which the
// threads come, and a shuffle to which not all come is found.
// Method: kernels of a few lines, in every group size of a wave.

#include "kernels/emulator/emulated_gpu.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

/// One virtual GPU, and a launch of one block.
Trace run(const Geometry& geometry, std::uint64_t seed, Kernel kernel) {
  Memory memory(1, 1 << 12);
  RandomWalk choices(seed, RandomWalk::Grain::coarse);
  Emulator emulator(memory, 1, choices);
  emulator.launch(0, geometry, std::move(kernel));
  return emulator.run();
}

std::uint32_t value_of(int thread) { return 1000u + static_cast<std::uint32_t>(thread); }

}  // namespace

TEST_CASE("a shuffle gives the value of the source, within each group", "[kernels]") {
  for (const int wave : {32, 64}) {
    for (int width = 1; width <= wave; width *= 2) {
      for (int source = 0; source < width; ++source) {
        int right = 0;
        const Trace trace = run({1, 64, wave}, 7, [&](EmulatedGpu& gpu) {
          const int wanted = gpu.thread() / width * width + source;
          const std::uint32_t got = gpu.shuffle(value_of(gpu.thread()), source, width);
          right += got == value_of(wanted) ? 1 : 0;
        });
        CAPTURE(wave, width, source);
        REQUIRE(trace.hang.empty());
        REQUIRE(right == 64);
      }
    }
  }
}

TEST_CASE("an xor-shuffle gives the value of the partner", "[kernels]") {
  for (int width = 1; width <= 32; width *= 2) {
    for (int mask = 0; mask < width; ++mask) {
      int right = 0;
      run({1, 32, 32}, 7, [&](EmulatedGpu& gpu) {
        const std::uint32_t got = gpu.shuffle_xor(value_of(gpu.thread()), mask, width);
        right += got == value_of(gpu.thread() ^ mask) ? 1 : 0;
      });
      CAPTURE(width, mask);
      REQUIRE(right == 32);
    }
  }
}

TEST_CASE("shuffles in a row keep apart, under every order of the threads", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    int right = 0;
    run({2, 16, 64}, seed, [&](EmulatedGpu& gpu) {
      std::uint32_t sum = value_of(gpu.thread());
      for (int mask = 1; mask < 8; mask *= 2) sum += gpu.shuffle_xor(sum, mask, 8);
      const std::uint32_t first = gpu.shuffle(sum, 0, 16);
      const std::uint32_t base = gpu.thread() < 8 ? 0 : 64;
      right += sum == 8 * 1000 + 28 + base && first == 8 * 1000 + 28 ? 1 : 0;
    });
    REQUIRE(right == 2 * 16);
  }
}

TEST_CASE("groups of a wave need not come together", "[kernels]") {
  int right = 0;
  const Trace trace = run({1, 8, 64}, 3, [&](EmulatedGpu& gpu) {
    if (gpu.thread() >= 4) return;
    right += gpu.shuffle(value_of(gpu.thread()), 3, 4) == value_of(3) ? 1 : 0;
  });
  REQUIRE(trace.hang.empty());
  REQUIRE(right == 4);
}

TEST_CASE("a shuffle that a thread of the group leaves out is a hang, and is named", "[kernels]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    int finished = 0;
    const Trace trace = run({1, 4, 64}, seed, [&](EmulatedGpu& gpu) {
      if (gpu.thread() != 2) gpu.shuffle(1, 0, 4);
      ++finished;
    });
    REQUIRE(trace.hang ==
            std::vector<std::string>{
                "rank 0 block 0 thread 0 waits in a shuffle among 4 threads, to which not all of "
                "them come",
                "rank 0 block 0 thread 1 waits in a shuffle among 4 threads, to which not all of "
                "them come",
                "rank 0 block 0 thread 3 waits in a shuffle among 4 threads, to which not all of "
                "them come"});
    REQUIRE(finished == 4);  // the kernel went on to its end
  }
}

TEST_CASE("a thread at the block barrier is not in the shuffle", "[kernels]") {
  const Trace trace = run({1, 2, 64}, 1, [&](EmulatedGpu& gpu) {
    if (gpu.thread() == 0) {
      gpu.shuffle(1, 0, 2);
      gpu.block_barrier();
    } else {
      gpu.block_barrier();
      gpu.shuffle(1, 0, 2);
    }
  });
  REQUIRE(!trace.hang.empty());
  REQUIRE(trace.hang[0].rfind("rank 0 block 0 thread 0 waits in a shuffle", 0) == 0);
}

TEST_CASE("threads that shuffle in groups of different sizes hang", "[kernels]") {
  const Trace trace =
      run({1, 4, 64}, 1, [&](EmulatedGpu& gpu) { gpu.shuffle(1, 0, gpu.thread() < 2 ? 4 : 2); });
  REQUIRE(trace.hang.size() == 2);  // threads 0 and 1; the others are a whole group
}

}  // namespace tally::kernels::emulator
