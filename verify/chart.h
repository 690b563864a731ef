#pragma once

// A run as a message-sequence chart in text: who did what in which order, and where it went wrong.

#include <string>

#include "kernels/emulator/emulator.h"

namespace tally::verify {

/// A column for each thread that has to do with the failure and a row for each step, in the order
/// of the run, as far as it matters: what touches the bytes in question, and all that orders. Where
/// more than four threads take part, the thread's name instead of the columns. The failure is the
/// hang, else the race or stale read at `lines` (see OrderFault), else the first, else the byte at
/// `wrong`, which was stored; "" where there is none. The trace has a log.
std::string draw_chart(const kernels::emulator::Trace& trace,
                       const kernels::emulator::Memory& memory, const std::string& lines,
                       const std::byte* wrong = nullptr);

}  // namespace tally::verify
