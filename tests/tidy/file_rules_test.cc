// Goal: every file is used, can be named without its folder, and scripts and lists can be read.
// Method: compare the files with the CMakeLists.txt beside or above them, and with the includes.

#include <map>
#include <regex>
#include <set>

#include "tests/support/catch.h"
#include "tests/support/child_process.h"
#include "tests/tidy/source_tree.h"

namespace tally::tidy {
namespace {

// Every word of the build files, as a path from the root.
std::set<std::string> built_paths(const std::vector<SourceFile>& files) {
  static const std::regex word(R"re([^\s()"]+)re");
  std::set<std::string> paths;
  for (const SourceFile& file : files) {
    if (name_of(file.path) != "CMakeLists.txt") continue;
    const std::string folder = file.path.substr(0, file.path.size() - name_of(file.path).size());
    for (const std::string& line : file.lines) {
      const std::string code = line.substr(0, line.find('#'));
      for (std::sregex_iterator i(code.begin(), code.end(), word), end; i != end; ++i) {
        const std::string from_root = "${PROJECT_SOURCE_DIR}/";
        const std::string text = i->str();
        paths.insert(text.starts_with(from_root) ? text.substr(from_root.size()) : folder + text);
      }
    }
  }
  return paths;
}

std::set<std::string> included_paths(const std::vector<SourceFile>& files) {
  static const std::regex quoted(R"re(^\s*#.*"([^"]+)")re");  // HWY_TARGET_INCLUDE is a #define
  std::set<std::string> paths;
  for (const SourceFile& file : files) {
    if (!is_code(file.path)) continue;
    for (const std::string& line : file.lines) {
      std::smatch match;
      if (std::regex_search(line, match, quoted)) paths.insert(match[1].str());
    }
  }
  return paths;
}

std::vector<Finding> dead_files(const std::vector<SourceFile>& files) {
  const std::set<std::string> built = built_paths(files), included = included_paths(files);
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!is_code(file.path)) continue;
    if (file.path.ends_with(".h") || file.path.ends_with(".cuh")) {
      if (included.count(file.path) == 0) findings.push_back({file.path, 0, "nobody includes it"});
    } else if (built.count(file.path) == 0 && included.count(file.path) == 0) {
      findings.push_back({file.path, 0, "no CMakeLists.txt names it"});
    }
  }
  return findings;
}

std::vector<Finding> shared_names(const std::vector<SourceFile>& files) {
  std::map<std::string_view, std::string> first;
  std::vector<Finding> findings;
  for (const SourceFile& file : files) {
    if (!is_code(file.path)) continue;
    const auto [at, is_new] = first.emplace(name_of(file.path), file.path);
    if (!is_new) findings.push_back({file.path, 0, "has the name of " + at->second});
  }
  return findings;
}

std::vector<Finding> unreadable_packages(const SourceFile& file) {
  const std::string name = "[a-z0-9][a-z0-9+.-]+";
  const std::regex line_form("\\s*(" + name + "(\\s*\\|\\s*" + name + ")*)?\\s*(#.*)?");
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (std::regex_match(file.lines[i], line_form)) continue;
    findings.push_back({file.path, i + 1, "not a package or a | b"});
  }
  return findings;
}

}  // namespace

TEST_CASE("the rules see the sources, the scripts and the documents", "[tidy]") {
  std::set<std::string> paths;
  for (const SourceFile& file : read_source_tree()) paths.insert(file.path);
  for (const std::string path : {"model/number_format.h", ".ci/run", "docs/hacking.md"}) {
    CAPTURE(path);
    REQUIRE(paths.count(path) == 1);
  }
  REQUIRE(paths.lower_bound("build/") == paths.lower_bound("build0"));
}

TEST_CASE("no file is dead", "[tidy]") { REQUIRE(report(dead_files(read_source_tree())) == ""); }

TEST_CASE("the rule on dead files sees one", "[tidy]") {
  const SourceFile build = snippet("sim/CMakeLists.txt", "tally_library(sim SOURCES a.cc f/b.cc)");
  REQUIRE(dead_files({build, snippet("sim/a.cc", ""), snippet("sim/f/b.cc", "")}).empty());
  REQUIRE(dead_files({build, snippet("sim/c.cc", "")}).size() == 1);
  REQUIRE(dead_files({build, snippet("kernels/a.cc", "")}).size() == 1);
  REQUIRE(dead_files({snippet("sim/x.h", "")}).size() == 1);
  REQUIRE(dead_files({build, snippet("sim/x.h", ""), snippet("sim/a.cc", "#include \"sim/x.h\"")})
              .empty());
}

TEST_CASE("no two files of code have the same name", "[tidy]") {
  REQUIRE(report(shared_names(read_source_tree())) == "");
  REQUIRE(shared_names({snippet("sim/x.h", ""), snippet("verify/x.h", "")}).size() == 1);
  REQUIRE(shared_names({snippet("sim/x.h", ""), snippet("sim/x.cc", "")}).empty());
}

TEST_CASE("the package lists can be read", "[tidy]") {
  std::size_t lists = 0;
  for (const SourceFile& file : read_source_tree()) {
    if (!file.path.starts_with("packages") || !file.path.ends_with(".txt")) continue;
    ++lists;
    REQUIRE(report(unreadable_packages(file)) == "");
  }
  REQUIRE(lists == 2);
  const auto judge = [](std::string_view text) {
    return unreadable_packages(snippet("packages.txt", text)).size();
  };
  REQUIRE(judge("g++\n# why\n\na-1 | b.2  # both\n") == 0);
  REQUIRE(judge("two names\n") == 1);
  REQUIRE(judge("a | \n") == 1);
}

TEST_CASE("the scripts are scripts", "[tidy]") {
  const std::string in_root = "cd " TALLY_SOURCE_DIR " && ";
  for (const std::string script : {"tally", ".ci/run"}) {
    CAPTURE(script);
    REQUIRE(test::run_command(in_root + "bash -n " + script + " 2>&1").output == "");
    REQUIRE(test::run_command(in_root + "test -x " + script).status == 0);
  }
  REQUIRE(test::run_command("echo 'if then' | bash -n 2>/dev/null").status != 0);
}

}  // namespace tally::tidy
