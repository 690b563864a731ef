#include "kernels/emulator/mutation.h"

#include <string_view>

namespace tally::kernels::emulator {

std::string project_path(const char* file) {
  const std::string_view path = file;
  for (const std::string_view folder : {"tests/", "verify/", "kernels/"}) {
    const std::size_t at = path.rfind(folder);
    if (at != path.npos && (at == 0 || path[at - 1] == '/')) return std::string(path.substr(at));
  }
  return std::string(path);
}

Site site_of(Ordering ordering, const std::source_location& location, Order order, Scope scope) {
  return {ordering, project_path(location.file_name()), location.line(), location.column(), order,
          scope};
}

}  // namespace tally::kernels::emulator
