// Whatever the bytes, a machine's own file is a machine that can be laid out, or an error with a
// hint.

#include <cstdint>

#include "model/machine_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tally::model;
  const auto file = parse_machine_file("fuzz.json", {reinterpret_cast<const char*>(data), size});
  if (file) {
    const Topology topology = repeat(lay_out(file->fabric, file->network), 1);
    TALLY_CHECK(topology.gpus_per_node >= 1 && is_connected(topology),
                "a machine that falls apart");
  } else {
    TALLY_CHECK(!file.error().what.empty() && !file.error().hint.empty(), "a silent error");
  }
  return 0;
}
