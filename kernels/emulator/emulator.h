#pragma once

// Runs kernels on virtual GPUs: every thread of every block of every rank is a fibre, and Choices
// decide who goes on. The same choices give the same run.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/emulator/gfx942_memory.h"
#include "kernels/emulator/happens_before.h"
#include "kernels/emulator/mutation.h"
#include "kernels/gpu.h"

namespace tally::kernels::emulator {

class EmulatedGpu;

/// One launch: `blocks` of `threads`. `wave` is the GPU's wave size, 32 or 64.
struct Geometry {
  int blocks = 2, threads = 64, wave = 64;
  int rounds = 1;  // that flat algorithms work in; the emulator does not look at it
};

/// A kernel with its arguments bound; called once by every thread.
using Kernel = std::function<void(EmulatedGpu&)>;

/// A completed wait: which thread's store it saw.
struct Edge {
  int from_rank, from_block, to_rank, to_block;
  friend auto operator<=>(const Edge&, const Edge&) = default;
};

enum class MemoryKind : std::uint8_t { strong, gfx942 };

/// How a run is watched, and what is different from an ordinary one.
struct Settings {
  MemoryKind memory = MemoryKind::strong;
  Gfx942 gfx942 = {};
  bool finds_races = false;
  bool keeps_log = false;
  std::optional<Mutation> mutation = {};
};

/// One line of the log. wait: one that is over; its looks before were accesses. race: the next of
/// Trace::races was found, and the line before is its second access. hang: nobody can go on; what
/// follows is done by threads whose waits gave up.
struct Event {
  enum class What : std::uint8_t { access, fence, block_barrier, wait, race, hang };
  What what;
  ThreadId thread;
  /// Of a fence the order, the scope and the site; of a barrier the site.
  Access access;
  std::uint64_t value = 0;  // the first 8 bytes that were read or written
};

/// What a run was, beside the bytes it left in memory.
struct Trace {
  /// Bytes that plain accesses moved over each directed link, and packets, [from * ranks + to].
  std::vector<std::int64_t> link_bytes;
  /// Completed waits, with how often.
  std::map<Edge, int> edges;
  /// Accesses outside every buffer, as sentences; at most the first ten.
  std::vector<std::string> out_of_bounds;
  /// Who waited for what when nothing could go on; empty when all kernels finished.
  std::vector<std::string> hang;
  /// Where Settings::finds_races.
  std::vector<Race> races;
  std::vector<StaleRead> stale_reads;
  /// Where Settings::keeps_log: what was done, in the order of the run, and the lines that order.
  std::vector<Event> log;
  std::set<Site> sites;
};

/// Each rank has a stream of its own number; add_stream makes more. What is in one stream runs one
/// after another, the streams side by side.
class Emulator {
 public:
  /// The choices outlive the emulator.
  Emulator(Memory& memory, int ranks, Choices& choices, const Settings& settings = {});
  ~Emulator();

  int add_stream(int rank);
  void launch(int stream, const Geometry& geometry, Kernel kernel);
  /// By a copy engine, which sees what precedes it in the stream and is seen by what follows.
  void copy(int stream, void* to, const void* from, std::size_t bytes);
  /// An event that happens when all that is in the stream before it is done. What is in a stream
  /// behind a wait begins after the event.
  int record(int stream);
  void wait(int stream, int event);

  /// Runs until all streams are empty, and says what happened since the last run. On a hang every
  /// wait gives up, as it does on hardware after its time limit, and the kernels run to their ends.
  /// The host then knows all that was done, and what is put into streams later begins after it.
  Trace run();

 private:
  friend class EmulatedGpu;
  struct Thread;
  struct Block;
  struct Stream;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tally::kernels::emulator
