#pragma once

// The project's text files, as the tidy rules see them, and what a rule answers.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tally::tidy {

/// A text file; the path is relative to the root, with forward slashes.
struct SourceFile {
  std::string path;
  std::vector<std::string> lines;
};

/// One broken rule. Line 0 means the whole file.
struct Finding {
  std::string path;
  std::size_t line;
  std::string what;
};

/// All text files of the project in the order of their paths. Left out: what is built, hidden
/// folders other than .ci, and files that hold a NUL byte.
std::vector<SourceFile> read_source_tree();

/// A file that exists only in a test.
SourceFile snippet(std::string path, std::string_view text);

/// One finding a line, as path:line: what; empty where there are none.
std::string report(const std::vector<Finding>& findings);

/// C++, HIP and CUDA sources and headers.
bool is_code(std::string_view path);

/// The part of the path before the first slash; empty for a file at the root.
std::string_view room_of(std::string_view path);
/// The part after the last slash.
std::string_view name_of(std::string_view path);

/// The line without its // comment.
std::string without_comment(std::string_view line);

}  // namespace tally::tidy
