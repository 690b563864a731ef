#pragma once

// The memory that a call needs of its communicator, on each rank.

#include <cstddef>
#include <string_view>

#include "kernels/low_latency.h"
#include "model/schedule.h"

namespace tally::kernels {

/// Elements that a rank's scratch holds: where it has a slot for each rank, whole units of each.
inline std::int64_t scratch_elements(model::Collective collective, const model::Wire& wire,
                                     int ranks, std::int64_t count) {
  if (collective == model::Collective::all_reduce || collective == model::Collective::all_gather) {
    return count;
  }
  return ranks * model::ceil_divide(count, wire.unit()) * wire.unit();
}

/// Bytes of scratch: whole words of codes, and behind them the scales, in whole words too.
inline std::size_t scratch_bytes(model::Collective collective, const model::Arithmetic& arithmetic,
                                 int ranks, std::int64_t count) {
  const model::Wire& wire = arithmetic.wire;
  const std::int64_t elements = scratch_elements(collective, wire, ranks, count);
  const std::int64_t words =
      model::ceil_divide(wire.code_bytes(elements, arithmetic.element), model::kWordBytes);
  const std::int64_t more = model::ceil_divide(wire.scale_bytes(elements), model::kWordBytes);
  return static_cast<std::size_t>(model::kWordBytes * (words + more));
}

/// What one word of a sender takes in the packets of a rank: each 4 bytes are 8, in two halves.
constexpr std::size_t packet_bytes_of_word(std::size_t word_bytes) {
  return 2 * word_bytes / sizeof(std::uint32_t) * sizeof(std::uint64_t);
}

/// Bytes for packets beside the scratch: none where the algorithm sends none.
inline std::size_t packet_bytes(std::string_view algorithm, const model::Arithmetic& arithmetic,
                                int ranks, std::int64_t count) {
  if (algorithm != "flat_ll") return 0;
  const std::size_t words = scratch_bytes(model::Collective::all_reduce, arithmetic, ranks, count);
  return packet_bytes_of_word(words) * ranks;
}

}  // namespace tally::kernels
