#include "verify/conversion_check.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

namespace tally::verify {

bool check_conversions(kernels::hardware::GpuRuntime& runtime, std::vector<int> devices,
                       std::ostream& out) {
  const auto all = runtime.devices();
  if (devices.empty()) {
    for (int device = 0; device < static_cast<int>(all.size()); ++device) devices.push_back(device);
  }
  bool are_equal = true;
  for (const int device : devices) {
    runtime.use(device);
    for (const auto& found : runtime.compare_conversions()) {
      nlohmann::ordered_json line{{"type", "conversion"},
                                  {"device", device},
                                  {"architecture", all[device].architecture},
                                  {"conversion", found.conversion},
                                  {"inputs", found.inputs},
                                  {"different", found.different}};
      if (found.different > 0) line["first"] = fmt::format("0x{:08x}", found.first);
      out << line.dump() << '\n';
      are_equal = are_equal && found.different == 0;
    }
  }
  return are_equal;
}

}  // namespace tally::verify
