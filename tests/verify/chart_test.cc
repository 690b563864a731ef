// Goal: a chart shows what a reader needs to see what went wrong, and no more than a screen of it.
// Method: small kernels with one fault each are run in a given order, and their charts are read.

#include "verify/chart.h"

#include <algorithm>
#include <sstream>

#include "kernels/emulator/emulated_gpu.h"
#include "tests/support/catch.h"

namespace {

using namespace tally;
using namespace tally::kernels;
using namespace tally::kernels::emulator;

/// Two ranks with one data word and one flag each.
struct Machine {
  Memory memory{2, 4 * Memory::room(256)};
  std::uint32_t *data[2], *flag[2], *other[2];
  Machine() {
    for (int rank = 0; rank < 2; ++rank) {
      data[rank] = allocate(rank, "data");
      flag[rank] = allocate(rank, "flags");
      other[rank] = allocate(rank, "other");
    }
  }
  std::uint32_t* allocate(int rank, const char* name) {
    auto* first = memory.allocate(rank, name, 256, std::byte{0}).first;
    return reinterpret_cast<std::uint32_t*>(first);
  }

  /// Of a run in which nobody is interrupted. The kernel is told its rank.
  std::string chart(const std::function<void(EmulatedGpu&, int)>& kernel, int threads = 1,
                    const void* wrong = nullptr) {
    Scripted usual({});
    Settings settings;
    settings.finds_races = wrong == nullptr;
    settings.keeps_log = true;
    Emulator emulator(memory, 2, usual, settings);
    for (int rank = 0; rank < 2; ++rank) {
      emulator.launch(rank, {1, threads, 64}, [&, rank](EmulatedGpu& gpu) { kernel(gpu, rank); });
    }
    return verify::draw_chart(emulator.run(), memory, "", static_cast<const std::byte*>(wrong));
  }
};

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

/// The one line that holds `part`; "" where there is none or several.
std::string line_with(const std::string& chart, const std::string& part) {
  std::string found;
  for (const std::string& line : lines(chart)) {
    if (line.find(part) == std::string::npos) continue;
    if (!found.empty()) return "";
    found = line;
  }
  return found;
}

}  // namespace

TEST_CASE("the chart of a race has its two accesses, in their threads' columns", "[verify]") {
  Machine m;
  const std::string chart = m.chart([&](EmulatedGpu& gpu, int me) {
    if (me == 0) {
      for (int i = 0; i < 9; ++i) gpu.store(m.other[0] + i, 1u);
      gpu.store(m.data[1] + 2, 0x3F80'0000u);
      gpu.store_flag(m.flag[1], 1, Relaxed{}, System{});
    } else {
      gpu.wait(m.flag[1], Reached{1}, Acquire{}, System{});
      gpu.load(m.data[1] + 2);
    }
  });
  INFO(chart);
  CHECK(line_with(chart, "1>").find("*    |    store 4                data of rank 1 +8") !=
        std::string::npos);
  CHECK(line_with(chart, "1>").find("= 0x3f800000") != std::string::npos);
  CHECK(line_with(chart, "1>").find("chart_test.cc:") != std::string::npos);
  CHECK(line_with(chart, "2>").find("|    *    load 4") != std::string::npos);
  CHECK(line_with(chart, "store 4 relaxed system").find("= 1 ") != std::string::npos);
  CHECK(line_with(chart, "|--->*    wait 4 acquire system") != "");
  CHECK(line_with(chart, "... 9 accesses") != "");
  CHECK(line_with(chart, "1 and 2 touch data of rank 1, byte 8; nothing orders 1 before 2") != "");
  for (const std::string& line : lines(chart)) CHECK(line.size() <= 100);
}

TEST_CASE("the chart of a hang ends with who waits for what", "[verify]") {
  Machine m;
  const std::string chart = m.chart([&](EmulatedGpu& gpu, int me) {
    gpu.store_flag(m.flag[1 - me], 1, Release{}, System{});
    gpu.wait(m.flag[me], Reached{static_cast<std::uint32_t>(1 + me)}, Acquire{}, System{});
    gpu.fence(Release{}, System{});  // after it gave up
  });
  INFO(chart);
  CHECK(line_with(chart, "X>").find("waits for flags of rank 1 to reach 2") != std::string::npos);
  CHECK(line_with(chart, "it holds 1, last written by rank 0 block 0 thread 0") != "");
  CHECK(line_with(chart, "nobody can go on") != "");
  CHECK(line_with(chart, "fence") != "");  // of the rank whose wait was over
}

TEST_CASE("of accesses at the same lines those are marked that race", "[verify]") {
  Machine m;
  const std::string chart = m.chart([&](EmulatedGpu& gpu, int me) {
    for (std::uint32_t round = 1; round <= 3; ++round) {
      if (me == 0) {
        gpu.store(m.data[1], round);
        if (round < 3) gpu.fence(Release{}, System{});
        gpu.store_flag(m.flag[1], round, Relaxed{}, System{});
        gpu.wait(m.flag[0], Reached{round}, Acquire{}, System{});
      } else {
        gpu.wait(m.flag[1], Reached{round}, Acquire{}, System{});
        gpu.load(m.data[1]);
        gpu.store_flag(m.flag[0], round, Release{}, System{});
      }
    }
  });
  INFO(chart);
  CHECK(line_with(chart, "1>").find("store 4                data of rank 1          = 3") !=
        std::string::npos);
  CHECK(line_with(chart, "2>").find("load 4                 data of rank 1          = 3") !=
        std::string::npos);
}

TEST_CASE("packets are counted, and only those in question shown with both words", "[verify]") {
  Machine m;
  const std::string chart = m.chart([&](EmulatedGpu& gpu, int me) {
    auto* packets = reinterpret_cast<std::uint64_t*>(m.data[1]);
    std::uint64_t seen = 0;
    const auto arrived = [&](int i) {
      struct {
        std::uint64_t target;
        bool operator()(std::uint64_t value) const { return value >> 32 == target; }
      } const has_flag{7};
      return gpu.wait_packet(packets + i, has_flag, seen, Relaxed{}, System{});
    };
    if (me == 0) {
      for (int i = 0; i < 5; ++i) {
        gpu.store_packet(packets + i, 0x7'0000'00ABull, Relaxed{}, System{});
      }
    } else {
      for (int i = 0; i < 6; ++i) arrived(i);  // the last one never comes
    }
  });
  INFO(chart);
  CHECK(line_with(chart, "... 5 accesses") != "");
  CHECK(line_with(chart, "X>").find("waits for data of rank 1, byte 40 to reach 7") !=
        std::string::npos);

  Machine racy;
  const std::string race = racy.chart([&](EmulatedGpu& gpu, int me) {
    auto* packet = reinterpret_cast<std::uint64_t*>(racy.data[1]);
    if (me == 0) gpu.store_packet(packet, 0x7'0000'00ABull, Relaxed{}, System{});
    if (me == 1) gpu.load(packet);
  });
  INFO(race);
  CHECK(
      line_with(race, "1>").find("store 8 relaxed system data of rank 1          = 0x7'000000ab") !=
      std::string::npos);
}

TEST_CASE("a chart of many threads names them, and is not long", "[verify]") {
  Machine m;
  const std::string chart = m.chart(
      [&](EmulatedGpu& gpu, int me) {
        for (int i = 0; i < 20; ++i) gpu.fence(Release{}, System{});
        gpu.wait(m.flag[me] + gpu.thread(), Reached{1}, Acquire{}, System{});
      },
      32);
  INFO(chart);
  CHECK(line_with(chart, "r0 b0 t3       waits for flags of rank 0, byte 12 to reach 1") != "");
  CHECK(line_with(chart, "nobody can go on; 52 more threads wait") != "");
  CHECK(line_with(chart, "rows are left out") != "");
  CHECK(lines(chart).size() < 100);
}

TEST_CASE("a run in which nothing went wrong has no chart", "[verify]") {
  Machine m;
  CHECK(m.chart([&](EmulatedGpu& gpu, int) { gpu.load(m.data[0]); }).empty());
}

TEST_CASE("the chart of a wrong value has who stored it, of what, and what came too late",
          "[verify]") {
  Machine m;
  const auto kernel = [&](EmulatedGpu& gpu, int me) {
    if (me == 0) {
      gpu.load(m.other[0]);
      gpu.store(m.other[0], 7u);  // for another value
      gpu.store(m.data[0] + 1, gpu.load(m.data[1]) + 1);
    } else {
      gpu.store(m.data[1], 41u);
    }
  };
  const std::string chart = m.chart(kernel, 1, m.data[0] + 1);
  INFO(chart);
  CHECK(line_with(chart, "1>").find("*    |    store 4                data of rank 0 +4") !=
        std::string::npos);
  CHECK(line_with(chart, "2>").find("store 4                data of rank 1") != std::string::npos);
  CHECK(line_with(chart, "load 4                 data of rank 1") != "");
  CHECK(chart.find("1 stores what is wrong in data of rank 0, byte 4; 2 comes after") !=
        std::string::npos);
  CHECK(m.chart(kernel, 1, m.data[1] + 9) == "");  // nobody stored that
}
