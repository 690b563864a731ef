#pragma once

// What went wrong in a run, as far as a chart of it has to show it.

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/emulator/emulator.h"

namespace tally::verify {

/// With more threads than these a chart has names instead of columns.
inline constexpr std::size_t kMostColumns = 4;

/// What a thread does that is no event of the log.
struct LastWords {
  kernels::emulator::ThreadId thread;
  std::string mark, text;
};

/// What a chart is about: events of the log, and what to say about them.
struct Story {
  std::vector<kernels::emulator::ThreadId> threads;
  std::size_t end = 0;                                     // of the events that matter
  std::vector<std::pair<std::size_t, std::string>> marks;  // event, "1>"
  std::vector<std::span<const std::byte>> focus;           // the bytes in question
  std::vector<LastWords> last_words;
  std::vector<std::string> places;  // and as Memory describes them
  std::string moral;
};

/// Of the race that is the log's `number`-th. All traces have a log.
Story story_of_race(const kernels::emulator::Trace& trace, const kernels::emulator::Memory& memory,
                    std::size_t number);
Story story_of_stale_read(const kernels::emulator::Trace& trace,
                          const kernels::emulator::Memory& memory,
                          const kernels::emulator::StaleRead& stale);
Story story_of_hang(const kernels::emulator::Trace& trace);
/// Of a byte that is wrong at the end: who stored it last, what that thread had read for it, and
/// who stored that before and after.
Story story_of_value(const kernels::emulator::Trace& trace, const kernels::emulator::Memory& memory,
                     const std::byte* wrong);

bool same(const kernels::emulator::ThreadId& a, const kernels::emulator::ThreadId& b);
/// Whether an access has a byte in common.
bool touches(const kernels::emulator::Event& event, std::span<const std::byte> bytes);

}  // namespace tally::verify
