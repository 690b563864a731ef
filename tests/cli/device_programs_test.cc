// Goal: the programs for GPUs that this machine may not have are whole: they hold code for their
// GPU, they run, and they say why a subject is not available.
// Method: run them here, and look for the marks that compilers leave beside device code.

#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/child_process.h"
#include "tests/support/skip.h"

namespace tally::test {
namespace {

/// A program, why there is none where its name is empty, and what shows that it has its kernels.
struct Program {
  std::string file, missing, mark;
  int marks;  // that there are at least
};
// Each source that is compiled for gfx942 leaves a bundle with an entry of that name.
const Program kGfx942{TALLY_PROGRAM_GFX942, TALLY_MISSING_GFX942, "hipv4-amdgcn-amd-amdhsa--gfx942",
                      2};
const Program kSm90{TALLY_PROGRAM_SM_90, TALLY_MISSING_SM_90, ".nv_fatbin", 1};

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

std::string read(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// What the program's `list` says of the subject gpu.
std::string gpu_of(const std::string& program) {
  const CommandResult result = run_command("'" + program + "' list 2>&1");
  INFO(result.output);
  REQUIRE(result.status == 0);
  const std::size_t line = result.output.find("  gpu ");
  REQUIRE(line != std::string::npos);
  const std::size_t words = result.output.find_first_not_of(' ', line + 5);
  return result.output.substr(words, result.output.find('\n', words) - words);
}

void require_whole(const Program& program) {
  if (program.file.empty()) return skip_case(program.missing);
  REQUIRE(count(read(program.file), program.mark) >= program.marks);
  const std::string gpu = gpu_of(program.file);
  const std::string reason = "not available here: no GPU: ";
  const bool says_why = gpu.starts_with(reason) && gpu.size() > reason.size();
  INFO(gpu);
  REQUIRE((gpu == "available" || says_why));
  if (!says_why) return;
  const auto result = run_command("'" + program.file + "' verify --subject gpu 2>&1");
  REQUIRE(result.status == 3);
  REQUIRE(count(result.output, gpu.substr(0, gpu.find(':'))) == 1);
}

}  // namespace

TEST_CASE("tally_gfx942 has gfx942's kernels and runs where there is no GPU", "[cli]") {
  require_whole(kGfx942);
}

TEST_CASE("tally_sm_90 has sm_90's kernels and runs where there is no GPU", "[cli]") {
  require_whole(kSm90);
}

TEST_CASE("a file without device code has none of its marks", "[cli]") {
  for (const Program& program : {kGfx942, kSm90}) {
    REQUIRE(count(read(TALLY_HOST_LIBRARY), program.mark) == 0);
  }
}

}  // namespace tally::test
