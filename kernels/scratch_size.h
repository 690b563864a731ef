#pragma once

// How much of a communicator's memory a call needs on each rank.

#include <cstddef>
#include <string_view>

#include "model/collective.h"

namespace tally::kernels {

/// Scratch, in bytes: whole words of codes, and behind them the scales, in whole words too.
std::size_t scratch_bytes(model::Collective collective, const model::Arithmetic& arithmetic,
                          int ranks, std::int64_t count);

/// Room for packets, in bytes: none where the algorithm sends none.
std::size_t packet_bytes(model::Collective collective, std::string_view algorithm,
                         const model::Arithmetic& arithmetic, int ranks, std::int64_t count);

}  // namespace tally::kernels
