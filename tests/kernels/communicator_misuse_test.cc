// Goal: misuse of a communicator stops the program, and says what it was.
// Method: each misuse in a hidden test case, run in a child process.

#include "tests/kernels/communicator_machine.h"
#include "tests/support/aborts.h"
#include "tests/support/catch.h"

namespace tally::test {

TEST_CASE("stream that there is not", "[.]") { Machine().gpus.launch(4, nullptr); }
TEST_CASE("stream of somebody else", "[.]") {
  Machine m;
  m.emulator.add_stream(0);
  m.gpus.add_stream(0);
}
TEST_CASE("kernel that is not in the table", "[.]") {
  Machine m;
  m.gpus.collective(0, {"gossip", Machine::flat_sum().arithmetic, ""}, Machine::call(m.x, m.y));
}
TEST_CASE("event that there is not", "[.]") { Machine().gpus.wait(0, 0); }
TEST_CASE("copy out of bounds", "[.]") {
  Machine m;
  m.gpus.copy(0, m.x[0], m.y[0], Machine::kBytes + 1);
}
TEST_CASE("second capture", "[.]") {
  Machine m;
  m.gpus.begin_capture(0);
  m.gpus.begin_capture(0);
}
TEST_CASE("end of no capture", "[.]") { Machine().gpus.end_capture(0); }
TEST_CASE("event in a capture", "[.]") {
  Machine m;
  m.gpus.begin_capture(0);
  m.gpus.record(0);
}
TEST_CASE("wait in a capture", "[.]") {
  Machine m;
  const int event = m.gpus.record(1);
  m.gpus.begin_capture(0);
  m.gpus.wait(0, event);
}
TEST_CASE("replay in a capture", "[.]") {
  Machine m;
  const Machine::Graphs graphs = m.capture(Machine::call(m.x, m.y));
  m.gpus.begin_capture(0);
  m.replay(0, graphs);
}
TEST_CASE("replay on another rank", "[.]") {
  Machine m;
  m.gpus.replay(1, m.capture(Machine::call(m.x, m.y))[0]);
}
TEST_CASE("synchronisation in a capture", "[.]") {
  Machine m;
  m.gpus.begin_capture(0);
  m.gpus.synchronize();
}

TEST_CASE("misuse of a communicator stops the program", "[kernels]") {
  const std::pair<const char*, const char*> kMisuses[] = {
      {"stream that there is not", "there is no such stream"},
      {"stream of somebody else", "somebody else added streams"},
      {"kernel that is not in the table", "a communicator is asked for a kernel"},
      {"event that there is not", "there is no such event"},
      {"copy out of bounds", "a copy is from one buffer to another"},
      {"second capture", "the stream is being captured already"},
      {"end of no capture", "the stream is not being captured"},
      {"event in a capture", "an event is recorded in a stream"},
      {"wait in a capture", "a stream that is being captured waits"},
      {"replay in a capture", "a graph is replayed into a stream"},
      {"replay on another rank", "a graph is replayed on the rank that captured it"},
      {"synchronisation in a capture", "the host waits while a stream is being captured"},
  };
  for (const auto& [hidden_case, what] : kMisuses) {
    INFO(hidden_case);
    CHECK(aborts(hidden_case, what));
  }
}

}  // namespace tally::test
