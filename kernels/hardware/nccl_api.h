#pragma once

// NCCL's C API, as RCCL, RCCLX and others have it too, found in a library at run time: nothing here
// needs NCCL to be built. The declarations are ours; the ABI is nccl.h's of NCCL 2.28, of which
// nothing that is used here has changed since 2.10, when bf16 and ncclAvg came.

#include <cstddef>
#include <memory>
#include <string>

#include "model/collective.h"
#include "model/result.h"

namespace tally::kernels::hardware::nccl {

struct CommTag;
struct WindowTag;
using Comm = CommTag*;       // ncclComm_t
using Window = WindowTag*;   // ncclWindow_t
using StreamHandle = void*;  // cudaStream_t, hipStream_t: what a GpuRuntime's Stream points to

struct UniqueId {
  char bytes[128];
};

// The enumerations are ints in C.
enum Outcome : int { kSuccess = 0, kInProgress = 7 };
enum DataType : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kUint32 = 3,
  kInt64 = 4,
  kUint64 = 5,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
};
/// Of an element type that NCCL has: those that collectives take.
DataType data_type(model::ElementType element);
/// Those that are built in; ncclRedOpCreatePreMulSum makes more.
enum RedOp : int { kSum = 0, kProd = 1, kMax = 2, kMin = 3, kAvg = 4 };
enum Residence : int { kScalarDevice = 0, kScalarHostImmediate = 1 };
inline constexpr int kSymmetricWindow = 1;

/// The functions, under NCCL's names without "nccl". Those of `Optional` are null where the library
/// does not have them.
struct Functions {
  Outcome (*GetVersion)(int* version);
  Outcome (*GetUniqueId)(UniqueId* id);
  Outcome (*CommInitRank)(Comm* comm, int ranks, UniqueId id, int rank);
  Outcome (*CommInitAll)(Comm* comms, int devices, const int* device_list);
  Outcome (*CommDestroy)(Comm comm);
  Outcome (*CommAbort)(Comm comm);
  Outcome (*CommGetAsyncError)(Comm comm, Outcome* error);
  const char* (*GetErrorString)(Outcome outcome);
  Outcome (*GroupStart)();
  Outcome (*GroupEnd)();
  Outcome (*AllReduce)(const void* send, void* receive, std::size_t count, DataType type, RedOp op,
                       Comm comm, StreamHandle stream);
  Outcome (*ReduceScatter)(const void* send, void* receive, std::size_t receive_count,
                           DataType type, RedOp op, Comm comm, StreamHandle stream);
  Outcome (*AllGather)(const void* send, void* receive, std::size_t send_count, DataType type,
                       Comm comm, StreamHandle stream);
  Outcome (*Send)(const void* send, std::size_t count, DataType type, int peer, Comm comm,
                  StreamHandle stream);
  Outcome (*Recv)(void* receive, std::size_t count, DataType type, int peer, Comm comm,
                  StreamHandle stream);
  Outcome (*RedOpCreatePreMulSum)(RedOp* op, void* scalar, DataType type, Residence residence,
                                  Comm comm);
  Outcome (*RedOpDestroy)(RedOp op, Comm comm);

  struct Optional {
    const char* (*GetLastError)(Comm comm);
    Outcome (*AlltoAll)(const void* send, void* receive, std::size_t count, DataType type,
                        Comm comm, StreamHandle stream);
    Outcome (*MemAlloc)(void** memory, std::size_t bytes);
    Outcome (*MemFree)(void* memory);
    Outcome (*CommWindowRegister)(Comm comm, void* memory, std::size_t bytes, Window* window,
                                  int flags);
    Outcome (*CommWindowDeregister)(Comm comm, Window window);
  } optional;
};

class Api {
 public:
  /// Opens `library`, a file or a name that the loader finds; where it is empty, the first that is
  /// there of librccl.so.1, librccl.so, libnccl.so.2. It stays open for as long as the process
  /// runs, since such libraries have threads of their own.
  static model::Result<std::shared_ptr<const Api>> open(const std::string& library = "");

  const Functions& functions() const { return functions_; }
  const std::string& library() const { return library_; }  // as it was opened
  /// "2.28.9"
  std::string version() const;
  /// Puts one rank's part of a collective into a stream, in a group with the other ranks'; of
  /// moving collectives `op` is not looked at. all_to_all is sends and receives where the library
  /// has no function for it; all_to_all_v is in no library. The first outcome that is no success,
  /// and whose it is.
  struct RankPart {
    Comm comm;
    int ranks;
    const void* input;
    void* output;
    StreamHandle stream;
  };
  struct Enqueued {
    Outcome outcome;
    const char* function;
  };
  Enqueued enqueue(model::Collective collective, model::ElementType element, RedOp op,
                   std::size_t count, const RankPart& part) const;
  /// The library's words for an outcome, and where it has them for the last error of `comm`.
  std::string describe(Outcome outcome, Comm comm = nullptr) const;

 private:
  Api() = default;

  Functions functions_{};
  std::string library_;
};

}  // namespace tally::kernels::hardware::nccl
