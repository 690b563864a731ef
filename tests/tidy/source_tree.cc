#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "model/check.h"

namespace tally::tidy {
namespace {

namespace fs = std::filesystem;

bool is_left_out(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  if (entry.is_directory()) return name == "build" || (name[0] == '.' && name != ".ci");
  return name == ".git" || name.ends_with(".actual");  // a file in a further working tree of git
}

}  // namespace

std::vector<SourceFile> read_source_tree() {
  std::vector<SourceFile> files;
  const fs::path root(TALLY_SOURCE_DIR);
  for (fs::recursive_directory_iterator i(root), end; i != end; ++i) {
    if (is_left_out(*i)) {
      if (i->is_directory()) i.disable_recursion_pending();
      continue;
    }
    if (!i->is_regular_file()) continue;
    std::ifstream stream(i->path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(stream), {});
    if (text.find('\0') != std::string::npos) continue;
    files.push_back(snippet(i->path().lexically_relative(root).generic_string(), text));
  }
  TALLY_CHECK(!files.empty(), "no files under " TALLY_SOURCE_DIR);
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

SourceFile snippet(std::string path, std::string_view text) {
  SourceFile file{std::move(path), {}};
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

std::string report(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings) {
    text += f.path + ":" + std::to_string(f.line) + ": " + f.what + "\n";
  }
  return text;
}

bool is_code(std::string_view path) {
  constexpr std::array<std::string_view, 5> kSuffixes{".h", ".cc", ".hip", ".cu", ".cuh"};
  return std::any_of(kSuffixes.begin(), kSuffixes.end(),
                     [&](std::string_view suffix) { return path.ends_with(suffix); });
}

std::string_view room_of(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) { return path.substr(path.rfind('/') + 1); }

std::string without_comment(std::string_view line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (!quoted && line.substr(i, 2) == "//") {
      return std::string(line.substr(0, i));
    }
  }
  return std::string(line);
}

}  // namespace tally::tidy
