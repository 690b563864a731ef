#include "kernels/emulator/session.h"

namespace tally::kernels::emulator {
namespace {

std::size_t flag_bytes(const Geometry& geometry) {
  return sizeof(std::uint32_t) * kMaxRanks * geometry.blocks;
}
std::size_t count_bytes(const Geometry& geometry) {
  return sizeof(std::int64_t) * kMaxRanks * geometry.blocks;
}
std::size_t epoch_bytes(const Geometry& geometry) {
  return sizeof(std::uint32_t) * geometry.blocks;
}

}  // namespace

std::size_t Session::room(const Geometry& geometry, std::size_t scratch_bytes,
                          std::size_t packet_bytes) {
  return Memory::room(scratch_bytes) + Memory::room(flag_bytes(geometry)) +
         Memory::room(count_bytes(geometry)) + Memory::room(epoch_bytes(geometry)) +
         Memory::room(packet_bytes) + Memory::room(epoch_bytes(geometry)) +
         Memory::room(sizeof(Stuck));
}

Session::Session(Memory& memory, int ranks_in_all, const Geometry& launch_geometry,
                 std::size_t scratch_bytes, std::size_t packet_bytes)
    : ranks(ranks_in_all), geometry(launch_geometry), peers{} {
  const std::byte stale{0x7F}, zero{0}, refusals{0xFF};
  for (int rank = 0; rank < ranks; ++rank) {
    scratch.push_back(memory.allocate(rank, "scratch", scratch_bytes, stale));
    flags.push_back(memory.allocate(rank, "flags", flag_bytes(geometry), zero));
    counts.push_back(memory.allocate(rank, "counts", count_bytes(geometry), refusals));
    epochs.push_back(memory.allocate(rank, "epochs", epoch_bytes(geometry), zero));
    packets.push_back(memory.allocate(rank, "packets", packet_bytes, stale));
    packet_epochs.push_back(
        memory.allocate(rank, "packet epochs", epoch_bytes(geometry), zero));
    stuck.push_back(memory.allocate(rank, "stuck", sizeof(Stuck), zero));
    peers.scratch[rank] = scratch[rank].first;
    peers.flags[rank] = reinterpret_cast<std::uint32_t*>(flags[rank].first);
    peers.packets[rank] = reinterpret_cast<std::uint64_t*>(packets[rank].first);
    peers.counts[rank] = reinterpret_cast<std::int64_t*>(counts[rank].first);
  }
}

}  // namespace tally::kernels::emulator
