#pragma once

// The built program, as tests of the command line run it.

#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/child_process.h"

namespace tally::test {

/// Runs tally with standard error on standard output.
CommandResult run_tally(const std::string& arguments);
/// What tally says on standard output.
std::string standard_output(const std::string& arguments);

std::vector<std::string> lines(const std::string& text);

/// A file of this test program's own, removed at the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& name);
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  std::string path() const { return path_.string(); }
  void write(const std::string& bytes);
  std::string read() const;

 private:
  std::filesystem::path path_;
};

}  // namespace tally::test
