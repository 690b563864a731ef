#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

namespace tally::cli {

Progress::Progress(std::size_t total, std::size_t stride, const char* what)
    : total_(total),
      stride_(stride),
      what_(what),
      on_(isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0) {}

void Progress::step() {
  ++done_;
  if (!on_ || (done_ % stride_ != 0 && done_ != total_)) return;
  fmt::print(stderr, "\r{} of {} {}{}", done_, total_, what_, done_ == total_ ? "\n" : "");
}

}  // namespace tally::cli
