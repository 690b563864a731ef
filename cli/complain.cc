#include "cli/complain.h"

#include <fmt/format.h>

#include <cstdio>

#include "cli/command.h"

namespace tally::cli {

int complain(const model::Error& error) {
  fmt::print(stderr, "tally: {}: {}\n  hint: {}\n", error.where, error.what, error.hint);
  return kBadInput;
}

}  // namespace tally::cli
