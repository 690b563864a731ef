#pragma once

// Orders and scopes that no healthy kernel uses: planted faults and litmus tests do.

namespace tally::kernels {

struct Plain {};  // no atomic
struct Agent {};

}  // namespace tally::kernels
