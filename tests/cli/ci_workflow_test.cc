// Goal: what docs/ci.md and the workflow beside it tell a runner to do, tally can do.
// Method: every line that calls ./tally is scanned: its command and each of its flags stand in that
// command's help. A misspelt flag is found missing.

#include <fstream>
#include <regex>

#include "tests/cli/tally_program.h"
#include "tests/support/catch.h"

namespace {

using namespace tally;

/// The calls of ./tally in a file, from there to the end of the line.
std::vector<std::string> calls_in(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> calls;
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find("./tally ");
    if (at != std::string::npos) calls.push_back(line.substr(at + 8));
  }
  return calls;
}

/// The flags of a call that its command's help does not have.
std::string unknown_flags(const std::string& call) {
  const std::string command = call.substr(0, call.find_first_of(" `"));
  if (command == "list") return "";
  const std::string help = test::run_tally(command + " --help").output;
  std::string unknown;
  const std::regex flag("--[a-z]+");
  for (std::sregex_iterator i(call.begin(), call.end(), flag), end; i != end; ++i) {
    if (help.find(i->str() + " ") == std::string::npos &&
        help.find(i->str() + "\n") == std::string::npos) {
      unknown += i->str();
    }
  }
  return unknown;
}

}  // namespace

TEST_CASE("every call in the workflow and in its document has flags that exist", "[cli]") {
  for (const char* path : {"docs/mi300x_runner.yml", "docs/ci.md"}) {
    const auto calls = calls_in(path);
    CHECK(calls.size() >= 3);
    for (const std::string& call : calls) {
      CAPTURE(path, call);
      CHECK(unknown_flags(call) == "");
    }
  }
}

TEST_CASE("the scan finds a flag that does not exist", "[cli]") {
  CHECK(unknown_flags("verify --subject gpu --jnuit x.xml") == "--jnuit");
}
