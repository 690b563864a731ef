#include "kernels/hardware/nccl_api.h"

#include <dlfcn.h>

#include <string_view>
#include <vector>

namespace tally::kernels::hardware::nccl {
namespace {

constexpr std::string_view kUsual[] = {"librccl.so.1", "librccl.so", "libnccl.so.2"};

/// Sets a function; false where the library does not have it.
template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

/// The name of the first function that is missed; null where all are there.
const char* find_all(void* library, Functions& f) {
  const char* missing = nullptr;
  const auto need = [&](const char* name, auto& function) {
    if (!find(library, name, function) && missing == nullptr) missing = name;
  };
  need("ncclGetVersion", f.GetVersion);
  need("ncclGetUniqueId", f.GetUniqueId);
  need("ncclCommInitRank", f.CommInitRank);
  need("ncclCommInitAll", f.CommInitAll);
  need("ncclCommDestroy", f.CommDestroy);
  need("ncclCommAbort", f.CommAbort);
  need("ncclCommGetAsyncError", f.CommGetAsyncError);
  need("ncclGetErrorString", f.GetErrorString);
  need("ncclGroupStart", f.GroupStart);
  need("ncclGroupEnd", f.GroupEnd);
  need("ncclAllReduce", f.AllReduce);
  need("ncclReduceScatter", f.ReduceScatter);
  need("ncclAllGather", f.AllGather);
  need("ncclSend", f.Send);
  need("ncclRecv", f.Recv);
  need("ncclRedOpCreatePreMulSum", f.RedOpCreatePreMulSum);
  need("ncclRedOpDestroy", f.RedOpDestroy);
  find(library, "ncclGetLastError", f.optional.GetLastError);
  find(library, "ncclAlltoAll", f.optional.AlltoAll);
  find(library, "ncclMemAlloc", f.optional.MemAlloc);
  find(library, "ncclMemFree", f.optional.MemFree);
  find(library, "ncclCommWindowRegister", f.optional.CommWindowRegister);
  find(library, "ncclCommWindowDeregister", f.optional.CommWindowDeregister);
  return missing;
}

}  // namespace

model::Result<std::shared_ptr<const Api>> Api::open(const std::string& library) {
  std::vector<std::string> names{library};
  if (library.empty()) names.assign(std::begin(kUsual), std::end(kUsual));
  std::string reasons;
  for (const std::string& name : names) {
    void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      reasons += (reasons.empty() ? "" : "; ") + std::string(dlerror());
      continue;
    }
    const std::shared_ptr<Api> api(new Api);
    api->library_ = name;
    if (const char* missing = find_all(handle, api->functions_)) {
      return model::Error{"--subject nccl=" + name,
                          "the library has no function " + std::string(missing),
                          "a library with NCCL's C API, 2.10 or later: librccl.so.1, libnccl.so.2"};
    }
    return std::shared_ptr<const Api>(api);
  }
  return model::Error{"--subject nccl" + (library.empty() ? "" : "=" + library), reasons,
                      "--subject nccl=FILE, or the library's folder in LD_LIBRARY_PATH"};
}

DataType data_type(model::ElementType element) {
  using model::Format, model::Moved;
  constexpr std::pair<model::ElementType, DataType> kTypes[] = {
      {Format::f32, kFloat32}, {Format::f16, kFloat16}, {Format::bf16, kBfloat16},
      {Moved::int8, kInt8},    {Moved::int32, kInt32},  {Moved::int64, kInt64},
      {Moved::f64, kFloat64},
  };
  for (const auto& [known, type] : kTypes) {
    if (known == element) return type;
  }
  TALLY_CHECK(false, "an element type that NCCL has");
  return kInt8;
}

Api::Enqueued Api::enqueue(model::Collective collective, model::ElementType element, RedOp op,
                           std::size_t count, const RankPart& part) const {
  const DataType type = data_type(element);
  const auto& [comm, ranks, input, output, stream] = part;
  const Functions& f = functions_;
  switch (collective) {
    case model::Collective::all_reduce:
      return {f.AllReduce(input, output, count, type, op, comm, stream), "ncclAllReduce"};
    case model::Collective::reduce_scatter:
      return {f.ReduceScatter(input, output, count, type, op, comm, stream), "ncclReduceScatter"};
    case model::Collective::all_gather:
      return {f.AllGather(input, output, count, type, comm, stream), "ncclAllGather"};
    case model::Collective::all_to_all:
      break;
    case model::Collective::all_to_all_v:
      TALLY_CHECK(false, "NCCL has no such collective");
  }
  if (f.optional.AlltoAll != nullptr) {
    return {f.optional.AlltoAll(input, output, count, type, comm, stream), "ncclAlltoAll"};
  }
  const auto is_refused = [](Outcome outcome) {
    return outcome != kSuccess && outcome != kInProgress;
  };
  const std::size_t block = count * element.bytes();
  for (int peer = 0; peer < ranks; ++peer) {
    const auto* from = static_cast<const std::byte*>(input) + peer * block;
    auto* to = static_cast<std::byte*>(output) + peer * block;
    const Outcome sent = f.Send(from, count, type, peer, comm, stream);
    if (is_refused(sent)) return {sent, "ncclSend"};
    const Outcome received = f.Recv(to, count, type, peer, comm, stream);
    if (is_refused(received)) return {received, "ncclRecv"};
  }
  return {kSuccess, "ncclRecv"};
}

std::string Api::version() const {
  int code = 0;
  if (functions_.GetVersion(&code) != kSuccess) return "unknown";
  // Since 2.9: major * 10000 + minor * 100 + patch.
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

std::string Api::describe(Outcome outcome, Comm comm) const {
  std::string text = functions_.GetErrorString(outcome);
  if (functions_.optional.GetLastError != nullptr) {
    const char* last = functions_.optional.GetLastError(comm);
    if (last != nullptr && *last != '\0') text += " (" + std::string(last) + ")";
  }
  return text;
}

}  // namespace tally::kernels::hardware::nccl
