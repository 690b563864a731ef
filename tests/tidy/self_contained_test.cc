// Goal: every header compiles by itself, so that no file depends on the order of its includes.
// Method: give each header alone to the compiler, two at a time.

#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/catch.h"
#include "tests/support/child_process.h"
#include "tests/tidy/source_tree.h"

namespace tally::tidy {
namespace {

// Headers for a device's own compiler; the programs that are built there check them.
constexpr std::array<std::string_view, 2> kDeviceFolders{"kernels/amd/", "kernels/nvidia/"};

bool is_for_a_device(std::string_view path) {
  for (const std::string_view folder : kDeviceFolders) {
    if (path.starts_with(folder)) return true;
  }
  return false;
}

// What the compiler says to the header alone; empty where it compiles.
std::string complaint(const std::string& path) {
  static const std::string flags =
      test::run_command("pkg-config --cflags-only-I eigen3 | tr '\\n' ' '").output;
  const test::CommandResult result =
      test::run_command(TALLY_CXX " -std=c++20 -fsyntax-only -I " TALLY_SOURCE_DIR " " + flags +
                        " -include " + path + " -x c++ /dev/null 2>&1");
  if (result.status == 0) return "";
  return result.output.empty() ? "the compiler failed in silence" : result.output;
}

std::vector<std::string> complaints(const std::vector<std::string>& paths) {
  std::vector<std::string> results(paths.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < paths.size(); i = next++) results[i] = complaint(paths[i]);
  };
  complaint("/dev/null");  // the flags are asked for once, before there are two threads
  std::thread second(work);
  work();
  second.join();
  return results;
}

}  // namespace

TEST_CASE("every header compiles alone", "[tidy]") {
  std::vector<std::string> paths;
  for (const SourceFile& file : read_source_tree()) {
    if (file.path.ends_with(".h") && !is_for_a_device(file.path)) paths.push_back(file.path);
  }
  REQUIRE(paths.size() > 5);
  const std::vector<std::string> results = complaints(paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    INFO(results[i]);
    CHECK((paths[i] + (results[i].empty() ? "" : " does not compile")) == paths[i]);
  }
}

TEST_CASE("a header that lacks an include is rejected", "[tidy]") {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("tally_needs_string_" + std::to_string(getpid()) + ".h");
  std::ofstream(path) << "#pragma once\nstd::string name();\n";
  const std::string without = complaint(path);
  std::ofstream(path) << "#pragma once\n#include <string>\nstd::string name();\n";
  const std::string with = complaint(path);
  std::filesystem::remove(path);
  REQUIRE(without != "");
  REQUIRE(with == "");
}

}  // namespace tally::tidy
