#pragma once

// The properties that every all-reduce has by definition, of any subject.

#include <string>

#include "tests/reference/collective_properties.h"
#include "verify/subject.h"

namespace tally::test {

/// The subject as one of the properties'; its kernels with a fault planted where one is named.
PropertySubject property_subject(const verify::Subject& subject, const std::string& fault = "");

bool has_kernel(const verify::Subject& subject, const std::string& algorithm,
                const model::Arithmetic& arithmetic, const std::string& fault = "");

/// Every property, of drawn cases without a wire and with blocks.
void require_properties(const verify::Subject& subject);

}  // namespace tally::test
