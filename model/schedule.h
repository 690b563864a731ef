#pragma once

// A schedule: one collective algorithm for one size, as data. Readers: reference/ (values and
// proofs), sim/ (time), and the tie of the kernels to it (tests/kernels).

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "model/collective.h"
#include "model/partition.h"

namespace tally::model {

enum class Role : std::uint8_t { input, output, scratch };

/// Data crosses between ranks in words of this size: a slice's bytes round up to it. The scales of
/// a block wire cross beside them, one by one.
inline constexpr std::int64_t kWordBytes = 16;

/// A buffer that every rank has. An encoded buffer holds codes of the wire (with wire none: the
/// elements themselves), the others hold elements. Where the operation premultiplies, whoever reads
/// elements of the input reads them multiplied by model::premultiplier in f32, and rounded to the
/// element type; nobody else multiplies.
struct Buffer {
  std::string name;
  Role role;
  bool encoded;
  std::int64_t elements;
  /// What crosses a link for each word: more than the word where flags are stored between the
  /// codes.
  std::int64_t bytes_per_word = kWordBytes;
};

/// Elements `range` of buffer number `buffer` of rank `rank`.
struct Slice {
  int rank, buffer;
  Range range;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// destination = source, decoded and encoded as the two buffers ask.
struct Copy {
  Slice source, destination;
};

/// Elementwise: the accumulator starts at `start`, takes the decoded sources in order by the
/// schedule's operation, is divided once by `divisor`, and is rounded or encoded into the
/// destination, which may be one of the sources.
struct Reduce {
  enum class Start : std::uint8_t { plus_zero, one, first_source };
  std::vector<Slice> sources;
  Slice destination;
  Start start = Start::plus_zero;
  int divisor = 1;
};

/// Tells lane `lane` of `rank` that everything before this step is done.
struct Signal {
  int rank, lane;
};

/// Waits for one Signal of lane `lane` of `rank`: the n-th wait matches the n-th signal.
struct Wait {
  int rank, lane;
};

using Step = std::variant<Copy, Reduce, Signal, Wait>;
using Lane = std::vector<Step>;  // executed in order

struct Schedule {
  std::string algorithm;
  Collective collective = Collective::all_reduce;
  Arithmetic arithmetic;
  int ranks = 1;
  std::int64_t count = 0;
  bool in_place = false;  // input and output share memory, as in_place_offset() says
  std::vector<Buffer> buffers;
  std::vector<std::vector<Lane>> lanes;        // [rank][lane]; the lanes of a rank run side by side
  std::vector<std::int64_t> send_counts = {};  // [from * ranks + to], of all_to_all_v only
};

/// The index of the only buffer with that role.
int buffer_with(const Schedule& schedule, Role role);

/// Where the elements of a rank's buffer lie: in the same buffer, or, for input and output in
/// place, in the larger of the two, after `offset` elements.
struct Home {
  int buffer;
  std::int64_t offset;
};
Home home(const Schedule& schedule, int rank, int buffer);

/// The elements of a rank's input and output that mean something: all of them, but the blocks only
/// for all_to_all_v, whose buffers have room for blocks of `count` each.
std::int64_t used_inputs(const Schedule& schedule, int rank);
std::int64_t used_outputs(const Schedule& schedule, int rank);

/// What a used output element must be made of, whichever the collective.
Contributions contributions(const Schedule& schedule, int rank, std::int64_t output_element);

/// Bytes that cross each directed link, [from * ranks + to], without the flags of signals and the
/// counts of all_to_all_v, which are no elements. A lane that reads another rank's buffer moves
/// bytes from there to itself; one that writes moves them there.
std::vector<std::int64_t> link_bytes(const Schedule& schedule);

/// One signal-wait edge between two lanes, with how often it occurs.
struct Edge {
  int from_rank, from_lane, to_rank, to_lane;
  int times;
  friend bool operator==(const Edge&, const Edge&) = default;
};
/// All edges by from_rank, from_lane, to_rank, to_lane. Counts the waits.
std::vector<Edge> wait_edges(const Schedule& schedule);

}  // namespace tally::model
