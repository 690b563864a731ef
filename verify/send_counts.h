#pragma once

// What ranks send each other in the calls of an all_to_all_v case.

#include <cstdint>
#include <vector>

#include "verify/subject.h"

namespace tally::verify {

/// What rank `from` sends to rank `to` in a call, [from * ranks + to]: none, all, or some of the
/// call's count, which bounds them. In the last of several calls one rank has a count above the
/// bound. Empty for another collective.
std::vector<std::int64_t> send_counts(const Case& c, int call);

/// Whether a count is above the bound, so that nobody may write to its output.
bool is_refused(const Case& c, int call);

/// What all ranks are told that they received, [to * ranks + from], by the contract of
/// kernels/all_to_all_v.h.
std::vector<std::int64_t> received_counts(const Case& c, int call);

/// Adds to seen.broken where rank `rank` was told otherwise.
void check_received_counts(const Case& c, int call, int rank,
                           const std::vector<std::int64_t>& received, Observation& seen);

/// Elements of the output of `rank` that the call writes; of another collective all.
std::int64_t written_elements(const Case& c, int call, int rank);

}  // namespace tally::verify
