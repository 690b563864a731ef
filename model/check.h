#pragma once

// TALLY_CHECK is for our own mistakes: always on, names the place, stops the program.

namespace tally::model {
[[noreturn]] void check_failed(const char* file, int line, const char* what);
}

#define TALLY_CHECK(condition, what) \
  ((condition) ? void(0) : ::tally::model::check_failed(__FILE__, __LINE__, what))
