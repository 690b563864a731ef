// Goal: a library with NCCL's C API is found and called as NCCL's own header declares it.
// Method: our declarations against nccl.h, where it is installed; the real library as far as it
// goes without a GPU; libraries that are not there, or are something else.

#include "kernels/hardware/nccl_api.h"

#include <dlfcn.h>

#include <cstdio>

#include "tests/support/catch.h"

// Of nccl.h, as it declares the functions; it needs CUDA's headers.
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>
#define TALLY_HAS_NCCL_H 1
#endif

namespace {

namespace nccl = tally::kernels::hardware::nccl;

#if defined(TALLY_HAS_NCCL_H)
static_assert(sizeof(nccl::UniqueId) == sizeof(ncclUniqueId) &&
              alignof(nccl::UniqueId) == alignof(ncclUniqueId));
static_assert(sizeof(nccl::DataType) == sizeof(ncclDataType_t) &&
              sizeof(nccl::RedOp) == sizeof(ncclRedOp_t) &&
              sizeof(nccl::Outcome) == sizeof(ncclResult_t));
static_assert(int{nccl::kSuccess} == ncclSuccess && int{nccl::kInProgress} == ncclInProgress);
static_assert(int{nccl::kInt8} == ncclInt8 && int{nccl::kUint8} == ncclUint8 &&
              int{nccl::kInt32} == ncclInt32 && int{nccl::kUint32} == ncclUint32 &&
              int{nccl::kInt64} == ncclInt64 && int{nccl::kUint64} == ncclUint64 &&
              int{nccl::kFloat16} == ncclFloat16 && int{nccl::kFloat32} == ncclFloat32 &&
              int{nccl::kFloat64} == ncclFloat64 && int{nccl::kBfloat16} == ncclBfloat16);
static_assert(int{nccl::kSum} == ncclSum && int{nccl::kProd} == ncclProd &&
              int{nccl::kMax} == ncclMax && int{nccl::kMin} == ncclMin &&
              int{nccl::kAvg} == ncclAvg);
static_assert(int{nccl::kScalarDevice} == ncclScalarDevice &&
              int{nccl::kScalarHostImmediate} == ncclScalarHostImmediate);
static_assert(nccl::kSymmetricWindow == NCCL_WIN_COLL_SYMMETRIC);
constexpr bool kHasHeader = true;
#else
constexpr bool kHasHeader = false;
#endif

}  // namespace

TEST_CASE("our declarations have the values of nccl.h", "[verify]") {
  if (!kHasHeader) std::puts("not compared: nccl.h is not installed");  // else at compile time
  SUCCEED();
}

TEST_CASE("the fake library has the C API, and says which version it is", "[verify]") {
  const auto api = nccl::Api::open(TALLY_FAKE_NCCL);
  REQUIRE(api);
  CHECK((*api)->version() == "2.28.9");
  CHECK((*api)->library() == TALLY_FAKE_NCCL);
  CHECK((*api)->functions().optional.AlltoAll != nullptr);
  CHECK((*api)->functions().optional.MemAlloc == nullptr);
  CHECK((*api)->describe(static_cast<nccl::Outcome>(5)) ==
        "invalid usage (the fake library's own words)");
}

TEST_CASE("the installed NCCL opens without a GPU", "[verify]") {
  if (dlopen("libnccl.so.2", RTLD_LAZY) == nullptr) {
    std::puts("not opened: libnccl.so.2 is not installed");
    return;
  }
  const auto api = nccl::Api::open("libnccl.so.2");
  REQUIRE(api);
  CHECK((*api)->version().starts_with("2."));
}

TEST_CASE("a file that is not there, or is no such library, is an error that says so", "[verify]") {
  const auto absent = nccl::Api::open("libabsent_nccl.so");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().where == "--subject nccl=libabsent_nccl.so");
  CHECK(absent.error().what.find("libabsent_nccl.so") != std::string::npos);
  CHECK_FALSE(absent.error().hint.empty());
  const auto other = nccl::Api::open("libm.so.6");
  REQUIRE_FALSE(other);
  CHECK(other.error().what == "the library has no function ncclGetVersion");
}
