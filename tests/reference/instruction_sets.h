#pragma once

// The fast code of reference/ is compiled for several instruction sets; a test can ask for each.

#include <hwy/highway.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/support/catch.h"

namespace tally::test {

/// Runs a check on every instruction set that is compiled in and present here.
inline void for_each_instruction_set(const std::function<void()>& check) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  REQUIRE_FALSE(targets.empty());
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    INFO("instruction set " << hwy::TargetName(target));
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace tally::test
