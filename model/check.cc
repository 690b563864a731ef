#include "model/check.h"

#include <cstdio>
#include <cstdlib>

namespace tally::model {

void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: internal error: %s\n", file, line, what);
  std::abort();
}

}  // namespace tally::model
