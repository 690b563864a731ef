// Whatever the bytes, topology XML is a connected machine, or an error with a hint.

#include <cstdint>

#include "fuzz/topology_check.h"
#include "model/topology_xml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tally::fuzz::check_machine(
      tally::model::parse_topology_xml("fuzz.xml", {reinterpret_cast<const char*>(data), size}));
  return 0;
}
