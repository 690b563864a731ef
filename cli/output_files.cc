#include "cli/output_files.h"

#include <iostream>

namespace tally::cli {

model::Result<std::ostream*> OutputFiles::open(const std::string& name) {
  files_.push_back(std::make_unique<std::ofstream>(name));
  if (!*files_.back()) {
    return model::Error{name, "cannot be written", "check the folder and its permissions"};
  }
  return files_.back().get();
}

model::Result<std::ostream*> OutputFiles::open_or_stdout(const std::string& name) {
  if (name.empty()) return static_cast<std::ostream*>(nullptr);
  if (name == "-") return static_cast<std::ostream*>(&std::cout);
  return open(name);
}

std::optional<model::Error> OutputFiles::finish() {
  std::cout.flush();
  bool written = bool(std::cout);
  for (const auto& file : files_) written &= bool(file->flush());
  if (written) return std::nullopt;
  return model::Error{"results", "could not all be written", "is the disk full?"};
}

}  // namespace tally::cli
