// Goal: on real GPUs the kernels have the properties that every all-reduce has by definition.
// Method: the properties of the reference's tests, with the GPUs of this machine as their subject.

#include "tests/support/catch.h"
#include "tests/support/skip.h"
#include "tests/verify/subject_properties.h"
#include "verify/gpu_subject.h"

namespace tally::verify {

TEST_CASE("the kernels' all-reduce on GPUs", "[verify][gpu]") {
  const FoundSubject found = *find_subject("gpu", {kernels::hardware::linked_gpu_runtime(), {}});
  if (found.subject == nullptr) return test::skip_case(found.unavailable);
  test::require_properties(*found.subject);
}

}  // namespace tally::verify
