// Goal: streams, events, copies, collectives and the host order exactly what they promise to order.
// Method: programs of a few lines under many seeds, in strong memory and in gfx942's caches; what
// they showed, and whether there was a hang, a race or a stale read, as one set of strings. Beside
// each order that holds, the program without it shows another.

#include "tests/kernels/communicator_machine.h"
#include "tests/support/catch.h"

namespace tally::test {

using namespace kernels;
using namespace kernels::emulator;

TEST_CASE("what is in one stream runs in order, two streams of a rank do not", "[kernels]") {
  const auto program = [](int reader) {
    return [reader](Machine& m) {
      m.gpus.launch(0, storing(m.x[0], 1));
      m.gpus.launch(m.stream(reader, 0), showing(m, m.x[0]));
      m.gpus.launch(0, storing(m.x[0], 2));
    };
  };
  REQUIRE(shown(program(0)) == Strings{"1"});
  REQUIRE(shown(program(1)) == Strings{"0 race", "1 race", "2 race"});
}

TEST_CASE("a kernel sees what another block stored in the kernel before it", "[kernels]") {
  const auto program = [](int writer) {
    return [writer](Machine& m) {
      m.gpus.launch(0, showing(m, m.x[0]));
      m.gpus.launch(m.stream(writer, 0), storing(m.x[0], 1, 1));
      m.gpus.launch(0, showing(m, m.x[0]));
    };
  };
  REQUIRE(shown(program(0)) == Strings{"01"});
  REQUIRE(shown(program(1)) == Strings{"00 race", "01 race", "11 race"});
}

TEST_CASE("a kernel sees in a peer's memory what another block stored in the kernel before it",
          "[kernels]") {
  const auto program = [](Machine& m) {
    m.gpus.launch(0, showing(m, m.x[1]));
    m.gpus.launch(0, storing(m.x[1], 1, 1));
    m.gpus.launch(0, showing(m, m.x[1]));
  };
  // A lazy runtime leaves it in the L2 of the block that stored it.
  REQUIRE(shown(program) == Strings{"00 stale", "01"});
  REQUIRE(shown(program, false) == Strings{"01"});
}

TEST_CASE("kernels in two streams of a rank run side by side", "[kernels]") {
  const auto program = [](int which) {
    return [which](Machine& m) {
      // Each tells the other that it is there, and waits for it.
      auto* flags = reinterpret_cast<std::uint32_t*>(m.x[0]);
      for (const int own : {0, 1}) {
        m.gpus.launch(m.stream(own * which, 0), [flags, own](EmulatedGpu& gpu) {
          gpu.store_flag(flags + own, 1, Release{}, Agent{});
          gpu.wait(flags + 1 - own, Reached{1}, Acquire{}, Agent{});
        });
      }
    };
  };
  REQUIRE(shown(program(1)) == Strings{""});
  REQUIRE(shown(program(0)) == Strings{" hang"});
}

TEST_CASE("what is behind a wait for an event sees what precedes the event", "[kernels]") {
  for (const int rank : {0, 1}) {  // whose second stream waits for rank 0's first
    const auto program = [rank](bool has_event) {
      return [=](Machine& m) {
        m.gpus.launch(0, storing(m.x[0], 1));
        const int event = m.gpus.record(0);
        if (has_event) m.gpus.wait(m.second[rank], event);
        m.gpus.launch(m.second[rank], showing(m, m.x[0]));
      };
    };
    REQUIRE(shown(program(true)) == Strings{"1"});
    REQUIRE(shown(program(false)) == Strings{"0 race", "1 race"});
  }
}

TEST_CASE("an event carries what was stored in a peer's memory to the peer", "[kernels]") {
  const auto program = [](bool has_event) {
    return [has_event](Machine& m) {
      m.gpus.launch(0, storing(m.x[1], 1));
      const int event = m.gpus.record(0);
      if (has_event) m.gpus.wait(1, event);
      m.gpus.launch(1, showing(m, m.x[1]));
    };
  };
  REQUIRE(shown(program(true)) == Strings{"1"});
  REQUIRE(shown(program(false)) == Strings{"0 race", "1 race"});
}

TEST_CASE("who waits for an event sees a peer's memory as it is, whatever its caches held",
          "[kernels]") {
  const auto program = [](bool has_event) {
    return [has_event](Machine& m) {
      m.gpus.launch(m.second[1], showing(m, m.x[0] + 1));  // the same cache line
      m.gpus.launch(0, storing(m.x[0], 1));
      const int event = m.gpus.record(0);
      if (has_event) m.gpus.wait(1, event);
      m.gpus.launch(1, showing(m, m.x[0]));
    };
  };
  REQUIRE(shown(program(true)) == Strings{"01", "10"});
  REQUIRE(shown(program(false)) == Strings{"00 race", "01 race", "10 race"});
}

TEST_CASE("an event says nothing of what is put into its stream later", "[kernels]") {
  REQUIRE(shown([](Machine& m) {
            const int event = m.gpus.record(0);
            m.gpus.launch(0, storing(m.x[0], 1));
            m.gpus.wait(m.second[0], event);
            m.gpus.launch(m.second[0], showing(m, m.x[0]));
          }) == Strings{"0 race", "1 race"});
}

TEST_CASE("a copy sees what precedes it in its stream", "[kernels]") {
  const auto program = [](int which) {
    return [which](Machine& m) {
      m.gpus.launch(0, storing(m.x[0], 1));
      m.gpus.copy(m.stream(which, 0), m.y[1], m.x[0], sizeof(float));
      m.gpus.launch(m.stream(which, 0), showing(m, m.y[1]));
    };
  };
  REQUIRE(shown(program(0)) == Strings{"1"});
  REQUIRE(shown(program(1)) == Strings{"0 race", "1 race"});
}

TEST_CASE("a copy is seen by what follows it in its stream", "[kernels]") {
  const auto program = [](int which) {
    return [which](Machine& m) {
      *m.x[0] = 1;
      m.gpus.copy(0, m.y[0], m.x[0], sizeof(float));
      m.gpus.launch(m.stream(which, 0), showing(m, m.y[0]));
    };
  };
  REQUIRE(shown(program(0)) == Strings{"1"});
  REQUIRE(shown(program(1)) == Strings{"0 race", "1 race"});
}

TEST_CASE("a copy is seen in a peer's memory that was read before", "[kernels]") {
  const auto program = [](int which) {
    return [which](Machine& m) {
      *m.x[0] = 1;
      m.gpus.launch(0, showing(m, m.y[1]));
      m.gpus.copy(m.stream(which, 0), m.y[1], m.x[0], sizeof(float));
      m.gpus.launch(0, showing(m, m.y[1]));
    };
  };
  REQUIRE(shown(program(0)) == Strings{"01"});
  REQUIRE(shown(program(1)) == Strings{"00 race", "01 race", "11 race"});
}

TEST_CASE("a copy wakes who waits for what it writes", "[kernels]") {
  const auto program = [](float value) {
    return [value](Machine& m) {
      *m.x[0] = value;
      m.gpus.launch(0, [&m](EmulatedGpu& gpu) {
        const auto* flag = reinterpret_cast<const std::uint32_t*>(m.y[0]);
        gpu.wait(flag, Reached{1}, Acquire{}, System{});
      });
      m.gpus.copy(m.second[0], m.y[0], m.x[0], sizeof(float));
    };
  };
  REQUIRE(shown(program(1)) == Strings{" race"});  // a copy is no atomic
  REQUIRE(shown(program(0)) == Strings{" hang race"});
}

TEST_CASE("the host sees what it has synchronised with, and what it then writes is seen",
          "[kernels]") {
  const auto program = [](bool synchronises) {
    return [synchronises](Machine& m) {
      m.gpus.launch(0, storing(m.x[1], 1));
      m.gpus.launch(0, showing(m, m.x[1]));
      if (synchronises) m.synchronize();
      m.shown += *m.x[1] == 1 ? '+' : '-';
      *m.x[1] = 2;
      for (const int rank : {0, 1}) {
        m.gpus.launch(rank, showing(m, m.x[1]));
        if (synchronises) m.synchronize();
      }
    };
  };
  REQUIRE(shown(program(true)) == Strings{"1+22"});
  REQUIRE(!shown(program(false)).contains("1+22"));
}

TEST_CASE("a race is told once, when the host synchronises next", "[kernels]") {
  Machine m;
  m.gpus.launch(0, storing(m.x[0], 1));
  m.gpus.launch(m.second[0], storing(m.x[0], 2));
  REQUIRE(m.gpus.synchronize().races.size() == 1);
  REQUIRE(m.gpus.synchronize().races.empty());
}

TEST_CASE("collectives of a rank run one after another, whatever their streams", "[kernels]") {
  const auto program = [](const auto& second_call) {
    return [second_call](Machine& m) {
      Machine::fill(m.x, 1);
      m.all_reduce(0, Machine::call(m.x, m.y));
      second_call(m, Machine::call(m.y, m.z));
      m.synchronize();
      m.shown += Machine::all_are(m.z, 4) ? " right" : " wrong";
    };
  };
  const auto in_turn = [](Machine& m, const Call& call) { m.all_reduce(1, call); };
  const auto beside = [](Machine& m, const Call& call) {
    for (int rank = 0; rank < 2; ++rank) {
      const Kernel kernel = find_binder(Machine::flat_sum())(m.session, call, rank);
      m.gpus.launch(m.second[rank], kernel);  // which waits for nothing but its stream
    }
  };
  REQUIRE(shown(program(in_turn)) == Strings{" right"});
  REQUIRE(shown(program(beside)).contains(" race wrong"));
}

TEST_CASE("a collective waits for no copies and launches of other streams", "[kernels]") {
  REQUIRE(shown([](Machine& m) {
            Machine::fill(m.x, 1);
            m.gpus.copy(0, m.x[0], m.y[0], sizeof(float));
            m.all_reduce(1, Machine::call(m.x, m.z));
            m.gpus.launch(m.second[0], showing(m, m.z[0]));
          }) == Strings{"1 race", "2 race"});
}

}  // namespace tally::test
