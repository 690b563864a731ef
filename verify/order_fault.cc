#include "verify/order_fault.h"

#include <fmt/format.h>

namespace tally::verify {
namespace {

namespace emulator = kernels::emulator;

std::string describe(const emulator::StaleRead& stale, const emulator::Memory& memory) {
  return fmt::format("stale read of {}: {}; it misses a store that is ordered before it",
                     memory.describe(stale.address), emulator::describe(stale.read));
}

}  // namespace

std::vector<OrderFault> order_faults(const emulator::Trace& trace, const emulator::Memory& memory) {
  std::vector<OrderFault> faults;
  for (const emulator::Race& race : trace.races) {
    faults.push_back({emulator::describe(race, memory), lines_of(race)});
  }
  for (const emulator::StaleRead& stale : trace.stale_reads) {
    faults.push_back({describe(stale, memory), lines_of(stale)});
  }
  return faults;
}

std::string lines_of(const emulator::Race& race) {
  std::string first = source_line(race.first.site), second = source_line(race.second.site);
  if (second < first) std::swap(first, second);
  return first + " and " + second;
}

std::string lines_of(const emulator::StaleRead& stale) { return source_line(stale.read.site); }

std::string source_line(const std::source_location& where) {
  const std::string_view path = where.file_name();
  return fmt::format("{}:{}", path.substr(path.rfind('/') + 1), where.line());
}

}  // namespace tally::verify
