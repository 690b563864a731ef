// Whatever the bytes, the text of a table of GPUs is a connected machine, or an error with a hint.

#include <cstdint>

#include "fuzz/topology_check.h"
#include "model/topology_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tally::fuzz::check_machine(
      tally::model::parse_topology_text("fuzz.txt", {reinterpret_cast<const char*>(data), size}));
  return 0;
}
