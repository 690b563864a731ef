// Goal: the rooms use each other only in the direction that keeps their arithmetic independent.
// Method: read every #include of the project's own headers, and every library in a DEPENDS list.

#include <algorithm>
#include <map>
#include <regex>

#include "tests/support/catch.h"
#include "tests/tidy/source_tree.h"

namespace tally::tidy {
namespace {

using Rooms = std::vector<std::string_view>;

// What each room may use besides itself.
const std::map<std::string_view, Rooms>& allowed_rooms() {
  static const std::map<std::string_view, Rooms> allowed{
      {"model", {}},
      {"reference", {"model"}},
      {"sim", {"model"}},
      {"kernels", {"model"}},
      {"verify", {"model", "reference", "sim", "kernels"}},
      {"study", {"model", "reference", "sim"}},
      {"cli", {"model", "reference", "sim", "kernels", "verify", "study"}},
      {"fuzz", {"model", "reference", "sim", "kernels", "verify", "study", "cli"}},
      {"tests", {"model", "reference", "sim", "kernels", "verify", "study", "cli", "fuzz"}},
  };
  return allowed;
}

bool may_use(std::string_view user, std::string_view used) {
  const Rooms& rooms = allowed_rooms().at(user);
  return user == used || std::find(rooms.begin(), rooms.end(), used) != rooms.end();
}

// The room that a line uses, through an include or the name of a library; empty where none.
std::string used_room(const SourceFile& file, const std::string& line) {
  static const std::regex include(R"re(^\s*#\s*include\s*["<](\w+)/)re");
  static const std::regex library(R"(\btally_(\w+))");
  std::smatch match;
  const bool found = is_code(file.path) ? std::regex_search(line, match, include)
                                        : std::regex_search(line, match, library);
  if (!found || allowed_rooms().count(match[1].str()) == 0) return "";
  return match[1].str();
}

std::vector<Finding> wrong_directions(const std::vector<SourceFile>& files) {
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    const std::string_view room = room_of(file.path);
    if (allowed_rooms().count(room) == 0) continue;
    if (!is_code(file.path) && name_of(file.path) != "CMakeLists.txt") continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::string used = used_room(file, file.lines[i]);
      if (used.empty() || may_use(room, used)) continue;
      findings.push_back({file.path, i + 1, std::string(room) + " may not use " + used});
    }
  }
  return findings;
}

// Includes are written from the root, so that a file's place in the order can be read off them.
std::vector<Finding> relative_includes(const std::vector<SourceFile>& files) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!is_code(file.path)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      std::smatch match;
      if (!std::regex_search(file.lines[i], match, include)) continue;
      const std::string path = match[1].str();
      if (path.find('/') == std::string::npos || path[0] == '.') {
        findings.push_back({file.path, i + 1, "an include that does not start at the root"});
      }
    }
  }
  return findings;
}

std::string judged(std::string path, std::string_view text) {
  return report(wrong_directions({snippet(std::move(path), text)}));
}

}  // namespace

TEST_CASE("no room uses a room that stands beside or above it", "[tidy]") {
  REQUIRE(report(wrong_directions(read_source_tree())) == "");
}

TEST_CASE("includes are written from the root", "[tidy]") {
  REQUIRE(report(relative_includes(read_source_tree())) == "");
}

TEST_CASE("the include rule rejects every forbidden pair of rooms and no other", "[tidy]") {
  for (const auto& [user, rooms] : allowed_rooms()) {
    for (const auto& [used, unused] : allowed_rooms()) {
      const std::string path = std::string(user) + "/x.cc", name(used);
      CAPTURE(path, name);
      REQUIRE(judged(path, "#include \"" + name + "/x.h\"\n").empty() == may_use(user, used));
    }
  }
}

TEST_CASE("the include rule names the place", "[tidy]") {
  REQUIRE(judged("kernels/amd/x.hip", "\n  #include \"reference/convert.h\"\n") ==
          "kernels/amd/x.hip:2: kernels may not use reference\n");
  REQUIRE(judged("sim/x.h", "#include <verify/case.h>") == "sim/x.h:1: sim may not use verify\n");
  REQUIRE(judged("model/CMakeLists.txt", "tally_library(model\n  DEPENDS tally_sim\n  )") ==
          "model/CMakeLists.txt:2: model may not use sim\n");
  REQUIRE(judged("model/x.h", "#include <string>\n#include \"model/y.h\"\n").empty());
}

TEST_CASE("the rule on relative includes rejects one", "[tidy]") {
  const auto judge = [](std::string_view text) {
    return relative_includes({snippet("sim/x.cc", text)}).size();
  };
  REQUIRE(judge("#include \"x.h\"") == 1);
  REQUIRE(judge("#include \"../model/x.h\"") == 1);
  REQUIRE(judge("#include \"sim/x.h\"\n#include <cmath>") == 0);
}

}  // namespace tally::tidy
