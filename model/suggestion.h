#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tally::model {

/// The hint "did you mean 'x'?" where one of `known` is near; else empty.
std::string near_miss(std::string_view unknown, const std::vector<std::string>& known);

/// The hint for a name that is not among `known`: "did you mean 'x'?" where one is near, else the
/// list.
std::string suggestion(std::string_view unknown, const std::vector<std::string>& known);

}  // namespace tally::model
