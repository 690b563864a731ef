// Goal: an access that strays is named and does no harm to the emulator, and a broken guard zone
// is named too.
// Method: kernels that read and write beside a buffer on purpose.

#include <cstring>

#include "kernels/emulator/emulated_gpu.h"
#include "kernels/emulator/memory.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::kernels::emulator {
namespace {

using Lines = std::vector<std::string>;

/// What one thread of rank 0 of 2 did, beside a buffer of 10 bytes on each rank.
struct Stray {
  Trace trace;
  Lines guards;
};

Stray run_one_thread(const std::function<void(EmulatedGpu&, std::byte* own, std::byte* peers)>& f) {
  Memory memory(2, 1 << 13);
  std::byte* own = memory.allocate(0, "small", 10, std::byte{1}).first;
  std::byte* peers = memory.allocate(1, "small", 10, std::byte{2}).first;
  RandomWalk choices(1, RandomWalk::Grain::coarse);
  Emulator emulator(memory, 2, choices);
  emulator.launch(0, {1, 1, 64}, [&](EmulatedGpu& gpu) { f(gpu, own, peers); });
  Stray stray;
  stray.trace = emulator.run();
  stray.guards = memory.broken_guards();
  return stray;
}

}  // namespace

TEST_CASE("accesses inside a buffer are in bounds up to its last byte", "[kernels]") {
  const Stray stray = run_one_thread([](EmulatedGpu& gpu, std::byte* own, std::byte* peers) {
    gpu.store(own + 9, gpu.load(peers + 9));
    gpu.store(peers, gpu.load(own));
  });
  REQUIRE(stray.trace.out_of_bounds.empty());
  REQUIRE(stray.guards.empty());
}

TEST_CASE("a read behind a buffer is named and given what is there", "[kernels]") {
  std::byte seen{};
  const Stray stray = run_one_thread(
      [&](EmulatedGpu& gpu, std::byte*, std::byte* peers) { seen = gpu.load(peers + 10); });
  REQUIRE(stray.trace.out_of_bounds == Lines{"rank 0 block 0 thread 0 reads 1 bytes at small of "
                                             "rank 1, byte 10, which is outside it"});
  REQUIRE(stray.guards.empty());
  REQUIRE(seen == std::byte{0xA5});
}

TEST_CASE("an access that leaves a buffer halfway is out of bounds", "[kernels]") {
  const Stray stray = run_one_thread([](EmulatedGpu& gpu, std::byte* own, std::byte*) {
    gpu.load(reinterpret_cast<const Word*>(own));
  });
  REQUIRE(stray.trace.out_of_bounds == Lines{"rank 0 block 0 thread 0 reads 16 bytes at small of "
                                             "rank 0, which is outside it"});
}

TEST_CASE("a write behind or before a buffer is named, and its guard zone is broken", "[kernels]") {
  const Stray behind = run_one_thread(
      [](EmulatedGpu& gpu, std::byte*, std::byte* peers) { gpu.store(peers + 12, std::byte{0}); });
  REQUIRE(behind.trace.out_of_bounds.size() == 1);
  REQUIRE(behind.guards.size() == 1);
  REQUIRE(behind.guards[0].find("behind") != std::string::npos);
  REQUIRE(behind.guards[0].find("small of rank 1") != std::string::npos);
  REQUIRE(behind.guards[0].find('2') != std::string::npos);
  const Stray before = run_one_thread(
      [](EmulatedGpu& gpu, std::byte* own, std::byte*) { gpu.store(own - 3, std::byte{0}); });
  REQUIRE(before.trace.out_of_bounds.size() == 1);
  REQUIRE(before.guards.size() == 1);
  REQUIRE(before.guards[0].find("before small of rank 0") != std::string::npos);
}

TEST_CASE("the farthest byte of a guard zone is watched, also behind a misaligned buffer",
          "[kernels]") {
  for (const std::size_t misalignment : {0u, 4u, 255u}) {
    for (const int offset : {-512, -1, 10, 10 + 511}) {
      Memory memory(1, 1 << 13);
      Buffer& buffer = memory.allocate(0, "small", 10, std::byte{1}, misalignment);
      REQUIRE(reinterpret_cast<std::uintptr_t>(buffer.first) % 256 == misalignment);
      REQUIRE(memory.broken_guards().empty());
      buffer.first[offset] = std::byte{0};
      REQUIRE(memory.broken_guards().size() == 1);
    }
  }
}

TEST_CASE("at most ten strays are named", "[kernels]") {
  const Stray stray = run_one_thread([](EmulatedGpu& gpu, std::byte* own, std::byte*) {
    for (int i = 0; i < 100; ++i) gpu.load(own + 10 + i);
  });
  REQUIRE(stray.trace.out_of_bounds.size() == 10);
}

TEST_CASE("an address of no GPU reads as zero, takes no write and fails a wait", "[kernels]") {
  std::uint32_t host = 7;
  std::uint32_t seen = 1;
  bool waited = true;
  const Stray stray = run_one_thread([&](EmulatedGpu& gpu, std::byte*, std::byte*) {
    seen = gpu.load(&host);
    gpu.store(&host, 9u);
    gpu.store_flag(&host, 9u, Release{}, System{});
    waited = gpu.wait(&host, Reached{7}, Acquire{}, System{});
    gpu.load(static_cast<const std::uint32_t*>(nullptr));
  });
  REQUIRE(seen == 0);
  REQUIRE(host == 7);
  REQUIRE(!waited);
  REQUIRE(stray.trace.out_of_bounds.size() == 5);
  REQUIRE(stray.trace.out_of_bounds[0] ==
          "rank 0 block 0 thread 0 reads 4 bytes at no buffer, which is outside it");
}

TEST_CASE("every address has one owner", "[kernels]") {
  Memory memory(3, 5000);
  for (int rank = 0; rank < 3; ++rank) {
    const Buffer buffer = memory.allocate(rank, "flags", 100, std::byte{0});
    REQUIRE(memory.owner(buffer.first) == rank);
    REQUIRE(memory.owner(buffer.first + 99) == rank);
    REQUIRE(memory.find(buffer.first, 100) != nullptr);
    REQUIRE(memory.find(buffer.first, 101) == nullptr);
    REQUIRE(memory.describe(buffer.first + 64) ==
            "flags of rank " + std::to_string(rank) + ", byte 64");
  }
  REQUIRE(memory.owner(&memory) == -1);
  REQUIRE(memory.find(&memory, 1) == nullptr);
}

TEST_CASE("a full virtual GPU", "[.]") {
  Memory memory(1, 4096);
  for (int i = 0; i < 5; ++i) memory.allocate(0, "buffer", 1, std::byte{0});
}
TEST_CASE("a misalignment of a whole alignment", "[.]") {
  Memory memory(1, 8192);
  memory.allocate(0, "buffer", 1, std::byte{0}, 256);
}

TEST_CASE("an allocation that cannot be stops the program", "[kernels]") {
  REQUIRE(test::aborts("a full virtual GPU", "the virtual GPU's memory is full"));
  REQUIRE(test::aborts("a misalignment of a whole alignment", "a misalignment is less than"));
}

}  // namespace tally::kernels::emulator
