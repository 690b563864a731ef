#pragma once

// Built schedules for tests: as text, in any shape, and what closed forms say of them.

#include <cstdint>
#include <string>
#include <vector>

#include "model/builders.h"

namespace tally::test {

/// The steps of a lane: "1.output[0,4) = 0 + 0.scratch[0,4) + 1.scratch[0,4)", "signal 0.0".
std::vector<std::string> texts(const model::Schedule& schedule, int rank, int lane);

inline constexpr model::Arithmetic kPlain{model::Format::f32};
inline constexpr model::Arithmetic kHalf{model::Format::bf16};
inline constexpr model::Arithmetic kFp8{model::Format::bf16,
                                        model::cast_wire(model::Format::e4m3fnuz), model::Op::sum,
                                        model::Accumulate::f32};
inline const std::vector<std::int64_t> kNine = {5, 4, 3, 2, 1, 0, 5, 4, 3};  // between 3 ranks

/// Bytes that `elements` take as whole words, at `bytes` an element.
std::int64_t words(std::int64_t elements, std::int64_t bytes);

/// Drawn by RapidCheck.
struct AnyShape {
  model::Shape shape;
  std::int64_t wire_bytes;  // of one element
};
AnyShape any_shape();
/// The shape as all_to_all_v takes it: with any counts, out of place.
model::Shape with_counts(model::Shape shape);

/// All pairs of different ranks, each lane with its like, `times` times.
std::vector<model::Edge> all_pairs(int ranks, int lanes, int times);

}  // namespace tally::test
