#pragma once

// Test cases that cannot run on this machine say so and are counted.

#include <string>

namespace tally::test {

/// Marks the current test case as one that cannot run here and prints why; the case then returns:
///     if (!have_gpu()) return tally::test::skip_case("no GPU");
/// A program whose every selected case was skipped exits with kSkipStatus, which CTest shows as
/// Skipped. A failure in any case wins over a skip.
void skip_case(const std::string& reason);

inline constexpr int kSkipStatus = 77;

}  // namespace tally::test
