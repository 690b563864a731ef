#pragma once

// The files that results are written to.

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/result.h"

namespace tally::cli {

class OutputFiles {
 public:
  /// A new, empty file of that name; it lives as long as this.
  model::Result<std::ostream*> open(const std::string& name);

  /// Where lines of one form go: nowhere (null) without a name, standard output for "-", else a new
  /// file.
  model::Result<std::ostream*> open_or_stdout(const std::string& name);

  /// Writes out what is left, standard output too; an error where not everything could be written.
  std::optional<model::Error> finish();

 private:
  std::vector<std::unique_ptr<std::ofstream>> files_;
};

}  // namespace tally::cli
