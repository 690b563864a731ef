// Goal: a graph runs what was captured, with the arguments of the capture, when it is replayed.
// Method: captures and replays of a few lines; beside each, the same without the capture.

#include "tests/kernels/communicator_machine.h"
#include "tests/support/catch.h"

namespace tally::test {

using namespace kernels;
using namespace kernels::emulator;

TEST_CASE("what is captured does not run", "[kernels]") {
  for (const bool is_captured : {true, false}) {
    Machine m;
    Machine::fill(m.x, 1);
    for (int rank = 0; rank < 2; ++rank) {
      if (is_captured) m.gpus.begin_capture(rank);
      m.gpus.collective(rank, Machine::flat_sum(), Machine::call(m.x, m.y));
      m.gpus.copy(rank, m.z[rank], m.x[rank], Machine::kBytes);
      m.gpus.launch(rank, showing(m, m.x[rank]));
      if (is_captured) m.gpus.end_capture(rank);
    }
    REQUIRE(m.gpus.synchronize().edges.empty() == is_captured);
    REQUIRE(Machine::all_are(m.y, is_captured ? 0 : 2));
    REQUIRE(Machine::all_are(m.z, is_captured ? 0 : 1));
    REQUIRE(m.shown == (is_captured ? "" : "11"));
  }
}

TEST_CASE("a capture takes what is put into its own stream only", "[kernels]") {
  Machine m;
  m.gpus.begin_capture(0);
  m.gpus.launch(m.second[0], storing(m.x[0], 1));
  m.gpus.launch(0, storing(m.x[0], 2));
  const Communicator::Graph graph = m.gpus.end_capture(0);
  m.gpus.launch(0, storing(m.y[0], 3));  // after the capture
  m.gpus.synchronize();
  REQUIRE(*m.x[0] == 1);
  REQUIRE(*m.y[0] == 3);
  m.gpus.replay(m.second[0], graph);
  m.gpus.synchronize();
  REQUIRE(*m.x[0] == 2);
}

TEST_CASE("a replay has the arguments of its capture, a call those that it is given", "[kernels]") {
  for (const bool is_captured : {true, false}) {
    Machine m;
    Machine::fill(m.x, 1);
    Machine::fill(m.z, 5);
    Call call = Machine::call(m.x, m.y);
    const Machine::Graphs graphs = m.capture(call);
    call = Machine::call(m.z, m.z);
    call.count = 3;
    if (is_captured) {
      m.replay(0, graphs);
    } else {
      m.all_reduce(0, call);
    }
    m.gpus.synchronize();
    REQUIRE(Machine::all_are(m.y, is_captured ? 2 : 0));
    REQUIRE(Machine::all_are(m.z, 5) == is_captured);
    REQUIRE(m.z[1][2] == (is_captured ? 5 : 10));
    REQUIRE(m.z[1][3] == 5);
  }
}

TEST_CASE("every replay sees what is in memory by then", "[kernels]") {
  Machine m;
  const Machine::Graphs graphs = m.capture(Machine::call(m.x, m.y));
  for (const float value : {1.0f, 7.0f, 7.0f, 0.5f}) {
    Machine::fill(m.x, value);
    m.replay(0, graphs);
    REQUIRE(m.gpus.synchronize().hang.empty());
    REQUIRE(Machine::all_are(m.y, 2 * value));
  }
}

TEST_CASE("replays in a row and graphs in turn run in the order of the calls", "[kernels]") {
  REQUIRE(shown([](Machine& m) {
            Machine::fill(m.x, 1);
            const auto there = m.capture(Machine::call(m.x, m.y));
            const auto back = m.capture(Machine::call(m.y, m.x));
            const auto in_place = m.capture(Machine::call(m.x, m.x));
            for (const int which : {0, 1, 1}) {
              m.replay(which, there);     // y = 2 x
              m.replay(1 - which, back);  // x = 2 y
              m.replay(which, in_place);  // x = 2 x
              m.replay(which, in_place);
            }
            m.gpus.launch(m.second[0], showing(m, m.x[0]));
          }) == Strings{"4096"});
}

TEST_CASE("copies in a capture are made at every replay, in their place", "[kernels]") {
  const auto program = [](bool is_captured) {
    return [is_captured](Machine& m) {
      Machine::Graphs graphs;
      const Call in_place = Machine::call(m.y, m.y);
      for (int rank = 0; rank < 2; ++rank) {
        const auto copy = [&] { m.gpus.copy(rank, m.y[rank], m.x[rank], Machine::kBytes); };
        if (!is_captured) copy();
        m.gpus.begin_capture(rank);
        if (is_captured) copy();
        m.gpus.collective(rank, Machine::flat_sum(), in_place);
        m.gpus.copy(rank, m.z[rank], m.y[rank], Machine::kBytes);
        m.gpus.launch(rank, showing(m, m.z[rank]));
        graphs.push_back(m.gpus.end_capture(rank));
      }
      for (const float value : {1.0f, 3.0f}) {
        Machine::fill(m.x, value);
        m.replay(0, graphs);
        m.gpus.synchronize();
        m.shown += Machine::all_are(m.z, 2 * value) ? ' ' : '!';
      }
    };
  };
  REQUIRE(shown(program(true)) == Strings{"22 66 "});
  REQUIRE(shown(program(false)) == Strings{"22 44!"});
}

}  // namespace tally::test
