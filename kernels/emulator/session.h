#pragma once

// What a sequence of calls on virtual GPUs shares: staging, packets, flags and epochs of every
// rank.

#include <vector>

#include "kernels/all_reduce.h"
#include "kernels/emulator/emulator.h"

namespace tally::kernels::emulator {

/// The addresses of one call, by rank, and its number as the host counts calls, from 0. Faithful
/// kernels have no use for that.
struct Call {
  std::int64_t count = 0;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::uint32_t number = 0;
};

/// The buffers that outlive a call. Scratch is filled with 0x7F, so that what it held before a
/// call is seen when it leaks; as the flag of a packet that is due after 2^31 calls, when all
/// packets have been written again.
struct Session {
  /// `scratch_bytes` hold the largest call's wire bytes, in whole words; `packet_bytes` its
  /// packets, where algorithms send any. kernel_table.h says how many.
  Session(Memory& memory, int ranks, const Geometry& geometry, std::size_t scratch_bytes,
          std::size_t packet_bytes = 0);
  /// Room of a Memory that a session takes on each rank.
  static std::size_t room(const Geometry& geometry, std::size_t scratch_bytes,
                          std::size_t packet_bytes = 0);

  int ranks;
  Geometry geometry;
  std::vector<Buffer> scratch, flags, epochs, packets, packet_epochs, stuck;  // [rank]
};

/// What one word of a sender takes in the packets of a rank: each 4 bytes are 8, in two halves.
constexpr std::size_t packet_bytes_of_word(std::size_t word_bytes) {
  return 2 * word_bytes / sizeof(std::uint32_t) * sizeof(std::uint64_t);
}

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
    a.packets.of_rank[r] = reinterpret_cast<std::uint64_t*>(session.packets[r].first);
  }
  a.epochs = reinterpret_cast<std::uint32_t*>(session.epochs[rank].first);
  a.packets.words = static_cast<std::int64_t>(
      session.packets[rank].bytes / (packet_bytes_of_word(sizeof(Packet)) * session.ranks));
  a.packets.epochs = reinterpret_cast<std::uint32_t*>(session.packet_epochs[rank].first);
  a.packets.threads = session.geometry.blocks * session.geometry.threads;
  if constexpr (requires { a.number; }) a.number = call.number;
  a.stuck = reinterpret_cast<Stuck*>(session.stuck[rank].first);
  return a;
}

}  // namespace tally::kernels::emulator
