// Whatever the bytes, the text of a table of GPUs is a connected machine, or an error with a hint.

#include <cstdint>

#include "model/topology_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally::model;
  const auto machine = parse_topology_text("fuzz.txt", {reinterpret_cast<const char*>(data), size});
  if (machine) {
    TALLY_CHECK(is_connected(machine->topology), "a machine that falls apart");
    for (const Link& link : machine->topology.links) {
      TALLY_CHECK(link.bytes_per_s > 0 && link.latency_ns >= 0, "a link without a rate");
    }
  } else {
    TALLY_CHECK(!machine.error().what.empty() && !machine.error().hint.empty(), "a silent error");
  }
  return 0;
}
