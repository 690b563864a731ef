#include "kernels/comm/backend.h"

#include "kernels/scratch_size.h"

namespace tally::comm {

std::string Issue::text() const {
  std::string text(model::name(collective));
  text += " of " + std::to_string(count) + ' ' + std::string(arithmetic.element.name());
  if (!model::only_moves(collective)) {
    text += ", " + std::string(model::name(arithmetic.op));
    if (arithmetic.op == model::Op::premul_sum) text += " of " + std::to_string(arithmetic.factor);
    text += ", accumulated in " + std::string(model::name(arithmetic.accumulate));
  }
  if (!arithmetic.wire.is_none()) text += ", wire " + arithmetic.wire.name();
  return text + ", " + algorithm;
}

std::size_t Capacity::scratch_bytes(int ranks) const {
  // Elements travel as they are at worst: a code of one byte and a share of a scale are less than
  // an element of two. Each rank's slot is filled up to a unit, of 128 elements of 8 bytes at most.
  constexpr std::size_t kMostPadding = 1024;
  return static_cast<std::size_t>(message_bytes) + ranks * kMostPadding + model::kWordBytes;
}

std::size_t Capacity::packet_bytes(int ranks) const {
  const std::int64_t words = model::ceil_divide(low_latency_bytes, model::kWordBytes);
  return words * ranks * kernels::packet_bytes_of_word(model::kWordBytes);
}

}  // namespace tally::comm
