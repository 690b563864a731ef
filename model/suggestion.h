#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tally::model {

/// The hint for a name that is not among `known`: "did you mean 'x'?" where one is near, else the
/// list.
std::string suggestion(std::string_view unknown, const std::vector<std::string>& known);

}  // namespace tally::model
