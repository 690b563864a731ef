#pragma once

// What a sequence of calls on virtual GPUs shares: staging, packets, flags, counts and epochs of
// every rank.

#include <vector>

#include "kernels/emulator/emulator.h"
#include "kernels/movement.h"
#include "kernels/scratch_size.h"

namespace tally::kernels::emulator {

/// The addresses of one call, by rank, and its number as the host counts calls, from 0. Faithful
/// kernels have no use for that. Counts are all_to_all_v's: [ranks] in the memory of each rank.
struct Call {
  std::int64_t count = 0;
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::uint32_t number = 0;
  std::vector<const std::int64_t*> send_counts = {};
  std::vector<std::int64_t*> received_counts = {};
};

/// The buffers that outlive a call. Scratch is filled with 0x7F, so that what it held before a
/// call is seen when it leaks; as the flag of a packet that is due after 2^31 calls, when all
/// packets have been written again. Counts are -1, lest a kernel that reads them too early goes on
/// for as many elements as 0x7F7F... are.
struct Session {
  /// `scratch_bytes` hold the largest call's wire bytes, in whole words; `packet_bytes` its
  /// packets, where algorithms send any. scratch_size.h says how many.
  Session(Memory& memory, int ranks, const Geometry& geometry, std::size_t scratch_bytes,
          std::size_t packet_bytes = 0);
  /// Room of a Memory that a session takes on each rank.
  static std::size_t room(const Geometry& geometry, std::size_t scratch_bytes,
                          std::size_t packet_bytes = 0);

  int ranks;
  Geometry geometry;
  std::vector<Buffer> scratch, flags, counts, epochs, packets, packet_epochs, stuck;  // [rank]
  Peers peers;
};

/// What one rank's launch is given. `arithmetic` says the length, scale and rule of blocks, and the
/// factor. The session outlives it.
template <class R>
typename R::Arguments bind(const Session& session, const Call& call, int rank,
                           const model::Arithmetic& arithmetic = {}) {
  const auto numbers = [](const Buffer& b) { return reinterpret_cast<std::uint32_t*>(b.first); };
  Launch launch{};
  launch.own.epochs = numbers(session.epochs[rank]);
  launch.own.packet_epochs = numbers(session.packet_epochs[rank]);
  launch.own.stuck = reinterpret_cast<Stuck*>(session.stuck[rank].first);
  launch.own.max_blocks = session.geometry.blocks;
  launch.own.words_of_packets = static_cast<std::int64_t>(
      session.packets[rank].bytes /
      (packet_bytes_of_word(sizeof(typename R::Codec::Packet)) * session.ranks));
  launch.calls[0] = {call.inputs[rank], call.outputs[rank],
                     call.send_counts.empty() ? nullptr : call.send_counts[rank],
                     call.received_counts.empty() ? nullptr : call.received_counts[rank]};
  launch.count = call.count;
  launch.ranks = session.ranks;
  launch.first_rank = rank;
  launch.rounds = session.geometry.rounds;
  launch.factor = model::premultiplier(arithmetic, session.ranks);
  launch.wire = BlockParameters::of(arithmetic.wire);
  launch.number = call.number;
  typename R::Arguments a = arguments<R>(launch, 0);
  a.peers = &session.peers;
  return a;
}

}  // namespace tally::kernels::emulator
