#pragma once

// Judges subjects that do not say in which order they add: libraries that are not ours.

#include "verify/judge.h"

namespace tally::verify {

/// As judge_exact, but that a result may be whatever verify::AnyOrder allows; what only moves must
/// have the bits of `moved`, NaN payloads included. The judgement is exact where each result can be
/// only one, and says with which readings and orders the bits agree (Judgement::matches):
/// - premultiplied, divided, fused; nan_kept, nan_dropped: readings of the operation, where there
///   are several (verify::Reading);
/// - ascending: ranks combined one by one from rank 0 up, each result rounded to the element type;
/// - ring: so too, but from any rank up, and round; each element from its own;
/// - exact: the exact sum or mean, rounded once.
/// Signs of zeros do not count in the last three. inputs, moved: [call][rank].
Judgement judge_any_order(const Case& c, const std::vector<reference::RankBuffers>& inputs,
                          const std::vector<reference::RankBuffers>& moved,
                          const Observation& seen);

}  // namespace tally::verify
