#include "tests/cli/tally_program.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

namespace tally::test {

CommandResult run_tally(const std::string& arguments) {
  return run_command(std::string(TALLY_PROGRAM) + " " + arguments + " 2>&1");
}

std::string standard_output(const std::string& arguments) {
  return run_command(std::string(TALLY_PROGRAM) + " " + arguments + " 2>/dev/null").output;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

TemporaryFile::TemporaryFile(const std::string& name)
    : path_(std::filesystem::temp_directory_path() /
            ("tally_cli_test_" + std::to_string(getpid()) + "_" + name)) {}

void TemporaryFile::write(const std::string& bytes) {
  std::ofstream(path_, std::ios::binary) << bytes;
}

std::string TemporaryFile::read() const {
  std::ifstream file(path_);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tally::test
