#pragma once

// Schedules that are broken at one place after the other.

#include <functional>
#include <string>
#include <vector>

#include "model/schedule.h"

namespace tally::test {

/// Whether prove() has no counterexample.
bool is_accepted(const model::Schedule& schedule);

/// Whether a step writes elements, at least one; whether it is a signal.
bool moves_data(const model::Step& step);
bool is_signal(const model::Step& step);

/// The slices of a step that moves data, the destination last.
std::vector<model::Slice*> slices_of(model::Step& step);

/// Changes step `index` of a lane; false where it changed nothing.
using BreakStep = std::function<bool(model::Lane& lane, std::size_t index, int rank)>;
/// Which schedule prove() accepted after `break_step` had changed one step of which `is_meant` is
/// true, each in its turn; "" where it rejected them all, and there was one.
std::string accepted_break(const model::Schedule& whole, bool (*is_meant)(const model::Step&),
                           const BreakStep& break_step);

}  // namespace tally::test
