#include "kernels/scratch_size.h"

#include "model/schedule.h"

namespace tally::kernels {

std::size_t scratch_bytes(model::Collective, const model::Arithmetic& arithmetic, int,
                          std::int64_t count) {
  const model::Wire& wire = arithmetic.wire;
  const std::int64_t words =
      model::ceil_divide(wire.code_bytes(count, arithmetic.element), model::kWordBytes);
  const std::int64_t more = model::ceil_divide(wire.scale_bytes(count), model::kWordBytes);
  return static_cast<std::size_t>(model::kWordBytes * (words + more));
}

std::size_t packet_bytes(model::Collective collective, std::string_view algorithm,
                         const model::Arithmetic& arithmetic, int ranks, std::int64_t count) {
  if (algorithm != "flat_ll") return 0;
  return 4 * scratch_bytes(collective, arithmetic, ranks, count) * ranks;
}

}  // namespace tally::kernels
