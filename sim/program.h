#pragma once

// What the lanes of every rank do, as the simulation needs it: how many bytes go where, and who
// tells whom. Lanes are made when they begin, so that thousands of ranks can be simulated.

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "model/builders.h"
#include "model/schedule.h"
#include "model/wire_size.h"

namespace tally::sim {

/// Bytes that a lane loads from a peer's memory, or stores there.
struct Transfer {
  int peer;
  std::int64_t bytes;
  bool is_load;
  friend bool operator==(const Transfer&, const Transfer&) = default;
};

struct LaneId {
  int rank, lane;
  friend bool operator==(const LaneId&, const LaneId&) = default;
};

/// First all the work, at once: none of it depends on another part of it, and a GPU's threads
/// overlap what does not. When it is done the signals; and then the waits, for one signal each.
struct Stage {
  std::string_view name;  // stage, exchange, reduce, gather; barrier where there is no work
  std::vector<Transfer> transfers = {};
  std::int64_t memory_bytes = 0;  // read and written in the rank's own memory by itself
  std::int64_t codec_bytes = 0;   // elements encoded and decoded
  std::vector<LaneId> signals = {}, waits = {};

  bool has_work() const { return !transfers.empty() || memory_bytes > 0 || codec_bytes > 0; }
  bool is_nothing() const { return !has_work() && signals.empty() && waits.empty(); }
  friend bool operator==(const Stage&, const Stage&) = default;
};

/// Gives a lane's stages one after the other; false when there is none left.
using Stages = std::function<bool(Stage&)>;

struct Program {
  int ranks = 1, lanes = 1;
  std::function<Stages(LaneId)> open;
};

/// Any schedule. Its encoded buffers hold the wire's codes, in whole words, as model::link_bytes
/// counts them; a wire whose arithmetic is not here takes the place of the schedule's own.
/// `schedule` outlives the program.
Program program_of(const model::Schedule& schedule, const model::WireSize& wire);
Program program_of(const model::Schedule& schedule);

/// The stages of model::ring_all_reduce, for any number of ranks and without its schedule. As
/// libraries do, each chunk may travel in pieces of its own: while one piece is on its way, the
/// next one is sent, so that the latency of a hop is hidden.
Program ring_program(const model::Shape& shape, const model::WireSize& wire, int pieces = 1);

/// Those of model::hierarchical_all_reduce; with one rank in each node, of
/// model::halving_doubling_all_reduce.
Program hierarchical_program(const model::Shape& shape, const model::WireSize& wire);

/// How many bytes elements take, in whole words: as they are, and as codes of a wire with its
/// scales. `bytes_per_word` is more than the word where flags are stored between the codes.
struct Sizes {
  model::ElementType element;
  model::WireSize wire;

  std::int64_t elements(std::int64_t count) const;
  std::int64_t codes(std::int64_t count, std::int64_t bytes_per_word = model::kWordBytes) const;
  /// What passes through an encoder or a decoder: nothing where there is no wire.
  std::int64_t converted(std::int64_t count) const;
};

}  // namespace tally::sim
