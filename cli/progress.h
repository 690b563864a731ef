#pragma once

// How far a run is, for who watches it: on standard error, and only where that is a terminal and
// standard output is not.

#include <cstddef>

namespace tally::cli {

class Progress {
 public:
  /// Says so after every `stride` of `total`, and at the end.
  Progress(std::size_t total, std::size_t stride, const char* what);
  void step();

 private:
  std::size_t total_, stride_, done_ = 0;
  const char* what_;
  bool on_;
};

}  // namespace tally::cli
