#pragma once

// What a program does with its GPUs between allocating and synchronising: launches, copies,
// collectives, events, and graphs that are captured once and replayed. The emulator's; the one for
// hardware has the same functions.

#include <map>
#include <variant>

#include "kernels/emulator/kernel_table.h"

namespace tally::kernels::emulator {

class Communicator {
 public:
  /// Works captured from one stream. A kernel's arguments are those of the capture, for ever: what
  /// changes between replays has to be in memory.
  class Graph {
    friend class Communicator;
    struct Copy {
      void* to;
      const void* from;
      std::size_t bytes;
    };
    using Work = std::variant<Kernel, Copy>;
    std::vector<Work> works;
    int rank = 0;
  };

  /// Both outlive the communicator, and the emulator has the streams that this one adds. Rank r has
  /// stream r from the beginning.
  Communicator(Emulator& emulator, const Session& session);

  int add_stream(int rank);
  /// The collectives of a rank run one after another, in the order of these calls, whatever their
  /// streams: they share its staging and flags. One in another stream than the last waits for all
  /// that is in that stream by then; in the same stream nothing but the stream orders them. `call`
  /// holds all ranks' addresses; this launches the stream's rank. The kernel is in the table.
  void collective(int stream, const KernelKey& kernel, const Call& call);
  /// Any other kernel, in the session's geometry. It and a copy wait for nothing but their stream.
  void launch(int stream, Kernel kernel);
  void copy(int stream, void* to, const void* from, std::size_t bytes);

  /// An event behind what is in the stream; what is put behind a wait begins after the event. Not
  /// part of a capture.
  int record(int stream);
  void wait(int stream, int event);

  /// What is put into the stream from here on is captured, and not run.
  void begin_capture(int stream);
  Graph end_capture(int stream);
  /// On a stream of the rank that captured it; as one collective.
  void replay(int stream, const Graph& graph);

  /// Runs everything, and says what happened since the last time. No stream is being captured.
  Trace synchronize();

 private:
  /// Of a stream that there is.
  bool is_captured(int stream) const;
  /// Captures the work, or puts it into the stream.
  void put(int stream, const Graph::Work& work);
  /// Puts what belongs together behind the rank's earlier collectives.
  template <class Put>
  void in_turn(int stream, Put put_all);

  Emulator& emulator_;
  const Session& session_;
  std::vector<int> ranks_;         // [stream]
  std::map<int, int> last_;        // rank: the stream of its latest collective
  std::map<int, Graph> captures_;  // by stream
};

}  // namespace tally::kernels::emulator
