#include "sim/units.h"

#include <cmath>

#include "model/check.h"

namespace tally::sim {

Picos from_nanos(double nanos) { return {std::llround(nanos * 1e3)}; }

Picos transfer_time(std::int64_t bytes, double bytes_per_s) {
  TALLY_CHECK(bytes >= 0 && bytes_per_s > 0, "a transfer of something at some bandwidth");
  return {static_cast<std::int64_t>(std::ceil(static_cast<double>(bytes) * (1e12 / bytes_per_s)))};
}

}  // namespace tally::sim
