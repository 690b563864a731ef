#include "tests/support/child_process.h"

#include <sys/wait.h>

#include <array>
#include <cstdio>

#include "model/check.h"

namespace tally::test {

CommandResult run_command(const std::string& line) {
  std::FILE* pipe = popen(line.c_str(), "r");
  TALLY_CHECK(pipe != nullptr, "popen failed");
  CommandResult result{0, ""};
  std::array<char, 4096> buffer;
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    result.output.append(buffer.data(), n);
  }
  const int state = pclose(pipe);
  result.status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return result;
}

}  // namespace tally::test
