#pragma once

// What a sequence of calls on virtual GPUs shares: staging, flags and epochs of every rank.

#include <vector>

#include "kernels/all_reduce.h"
#include "kernels/emulator/emulator.h"

namespace tally::kernels::emulator {

/// The addresses of one call, by rank.
struct Call {
  std::int64_t count = 0;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
};

/// The buffers that outlive a call. Scratch is filled with 0x7F, so that what it held before a
/// call is seen when it leaks.
struct Session {
  /// `scratch_bytes` hold the largest call's wire bytes, in whole packets.
  Session(Memory& memory, int ranks, const Geometry& geometry, std::size_t scratch_bytes);
  /// Room of a Memory that a session takes on each rank.
  static std::size_t room(const Geometry& geometry, std::size_t scratch_bytes);

  int ranks;
  Geometry geometry;
  std::vector<Buffer> scratch, flags, epochs, stuck;  // [rank]
};

/// The arguments of one rank's launch; `wire` says the length, scale and rule of blocks.
template <class R>
typename R::Arguments bind(const Session& session, const Call& call, int rank,
                           const model::Wire& wire = model::kNoWire) {
  using E = typename R::Element;
  using Packet = typename R::Codec::Packet;
  typename R::Arguments a{};
  a.input = static_cast<const typename E::Storage*>(call.inputs[rank]);
  a.output = static_cast<typename E::Storage*>(call.outputs[rank]);
  a.count = call.count;
  a.rank = rank;
  a.ranks = session.ranks;
  a.codec = R::Codec::Parameters::of(wire);
  for (int r = 0; r < session.ranks; ++r) {
    a.scratch[r] = reinterpret_cast<Packet*>(session.scratch[r].first);
    a.flags[r] = reinterpret_cast<std::uint32_t*>(session.flags[r].first);
  }
  a.epochs = reinterpret_cast<std::uint32_t*>(session.epochs[rank].first);
  a.stuck = reinterpret_cast<Stuck*>(session.stuck[rank].first);
  return a;
}

}  // namespace tally::kernels::emulator
