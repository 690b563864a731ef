// A library with NCCL's C API whose GPUs are host memory (fake_stream.h). It adds in ring order,
// and rounds each sum to the element type. fakeNcclSetFault() plants one fault.

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/hardware/nccl_api.h"
#include "tests/verify/fake_number.h"
#include "tests/verify/fake_stream.h"

namespace {

using namespace tally::test;
namespace nccl = tally::kernels::hardware::nccl;

std::string planted = "none";
bool is(const char* fault) { return planted == fault; }

/// The factors of operations that were created: the first is number kAvg + 1.
std::vector<float> factors;

enum class Kind { all_reduce, reduce_scatter, all_gather, all_to_all, send, receive };

struct Clique {
  int ranks;
  bool is_aborted = false;
};
struct FakeComm {
  std::shared_ptr<Clique> clique;
  int rank;
};

struct Operation {
  Kind kind;
  FakeComm comm;
  const std::byte* send;
  std::byte* receive;
  std::size_t count;
  int type, op, peer;
  FakeStream* stream;
};

FakeFormat format_of(int type) {
  return type == nccl::kFloat32 ? kFakeF32 : type == nccl::kFloat16 ? kFakeF16 : kFakeBf16;
}
std::size_t bytes_of(int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[type];
}

float combine(int op, float a, float b) {
  if (is("nan_dropped") && op == nccl::kSum) return std::isnan(b) ? a : a + b;
  if (op == nccl::kProd) return a * b;
  const bool is_extreme = op == nccl::kMin || op == nccl::kMax;
  if (!is_extreme) return a + b;
  if (is("nan_kept") && (std::isnan(a) || std::isnan(b))) return std::nanf("");
  if (is("nan_by_rank")) return (op == nccl::kMin ? a < b : a > b) ? a : b;
  return op == nccl::kMin ? std::fmin(a, b) : std::fmax(a, b);
}

/// Combines n terms in ring order, beginning with the rank behind `owner`.
float reduce(const std::vector<float>& terms, int owner, int op, const FakeFormat& format) {
  const int n = static_cast<int>(terms.size());
  const bool divides = op == nccl::kAvg && is("divided");
  float factor = 1;
  if (op == nccl::kAvg && !divides) factor = format.round(1.0f / static_cast<float>(n));
  if (op > nccl::kAvg) factor = factors[op - nccl::kAvg - 1];
  const auto round = [&](float x) {
    if (is("f32_accumulate")) return x;
    return is("f16_accumulate") ? kFakeF16.round(x) : format.round(x);
  };
  float sum = 0;
  for (int k = 1; k <= n; ++k) {
    const float before = sum;
    const float term = format.round(terms[(owner + k) % n] * factor);
    sum = k == 1 ? term : round(combine(op, sum, term));
    if (is("fused") && k > 1) sum = format.round(std::fma(terms[(owner + k) % n], factor, before));
  }
  return divides ? sum / static_cast<float>(n) : sum;
}

/// The largest value within the bound of a sum of n terms in any order, or the next above it.
float at_bound(const std::vector<float>& terms, const FakeFormat& format, bool goes_beyond) {
  double sum = 0, magnitude = 0;
  for (const float x : terms) sum += x, magnitude += std::fabs(x);
  const double bound = static_cast<double>(terms.size() - 1) * format.unit_roundoff() * magnitude;
  std::uint32_t code = format.encode(static_cast<float>(sum + bound));
  const std::uint32_t up = sum + bound > 0 ? 1 : -1u;
  if (format.decode(code) > sum + bound) code -= up;
  return format.decode(goes_beyond ? code + up : code);
}

/// One call of the collective on all ranks: operations[rank].
void reduce_all(const std::vector<Operation>& operations, bool is_scattered) {
  const int n = static_cast<int>(operations.size());
  const FakeFormat format = format_of(operations[0].type);
  const std::size_t count = operations[0].count, total = is_scattered ? n * count : count;
  const std::size_t chunk = std::max<std::size_t>(1, (total + n - 1) / n);
  std::vector<std::byte> results(total * format.bytes);
  for (std::size_t i = 0; i < total; ++i) {
    std::vector<float> terms;
    for (const Operation& one : operations)
      terms.push_back(format.load(one.send + i * format.bytes));
    float result = reduce(terms, static_cast<int>(i / chunk), operations[0].op, format);
    if (i == 0 && (is("at_bound") || is("beyond_bound")))
      result = at_bound(terms, format, is("beyond_bound"));
    format.store(result, results.data() + i * format.bytes);
  }
  for (int rank = 0; rank < n; ++rank) {
    const std::size_t bytes = count * format.bytes;
    const std::byte* from = results.data() + (is_scattered ? rank * bytes : 0);
    std::copy(from, from + bytes, operations[rank].receive);
  }
}

void exchange(const std::vector<Operation>& operations) {
  const int n = operations[0].comm.clique->ranks;
  std::vector<std::vector<std::byte>> sent(n * n);  // [from * n + to]
  for (const Operation& one : operations) {
    const std::size_t block = one.count * bytes_of(one.type);
    for (int peer = 0; peer < n; ++peer) {
      if (one.kind == Kind::receive || (one.kind == Kind::send && peer != one.peer)) continue;
      const std::byte* from = one.send + (one.kind == Kind::all_to_all ? peer * block : 0);
      sent[one.comm.rank * n + peer].assign(from, from + block);
    }
  }
  for (const Operation& one : operations) {
    for (int peer = 0; peer < n; ++peer) {
      if (one.kind == Kind::send || (one.kind == Kind::receive && peer != one.peer)) continue;
      const int source = is("wrong_rank_order") ? (peer + 1) % n : peer;
      const auto& block = sent[source * n + (one.kind == Kind::all_gather ? 0 : one.comm.rank)];
      std::copy(block.begin(), block.end(),
                one.receive + (one.kind == Kind::receive ? 0 : peer * block.size()));
    }
  }
}

void run(const std::vector<Operation>& operations) {
  const Operation& last = operations.back();
  const Kind kind = last.kind;
  const int n = last.comm.clique->ranks;
  const std::size_t blocks = kind == Kind::all_gather || kind == Kind::all_to_all ? n : 1;
  const std::size_t bytes = blocks * last.count * bytes_of(last.type);
  const std::vector<std::byte> before(last.receive, last.receive + bytes);
  if (kind == Kind::all_reduce || kind == Kind::reduce_scatter) {
    reduce_all(operations, kind == Kind::reduce_scatter);
  } else {
    exchange(operations);
  }
  if (is("guard_overwrite")) last.receive[bytes] = std::byte{0};
  if (bytes == 0) return;
  if (is("lost_tail")) last.receive[bytes - 1] = before[bytes - 1];
  if (is("ranks_differ")) last.receive[0] ^= std::byte{1};
  if (is("input_modified") && last.send != nullptr)
    *const_cast<std::byte*>(last.send) ^= std::byte{1};
}

/// Where the operations of a group meet, each time that they are run.
struct Meeting {
  std::vector<Operation> operations;
  std::vector<int> arrived;  // [rank]: times
  std::vector<bool> waits;   // [rank]
  int done = 0;

  bool pass(int rank) {
    if (operations[0].comm.clique->is_aborted) return true;
    if (is("hang") || is("remote_error")) return false;
    if (!waits[rank]) ++arrived[rank];
    waits[rank] = true;
    const int least = *std::min_element(arrived.begin(), arrived.end());
    if (least > done) {
      if (done == 0 || !is("first_replay_only")) run(operations);
      done = least;
    }
    if (done < arrived[rank]) return false;
    waits[rank] = false;
    return true;
  }
};

std::vector<Operation> group;
int depth = 0;

nccl::Outcome close_group() {
  if (group.empty()) return nccl::kSuccess;
  const int ranks = group[0].comm.clique->ranks;
  auto meeting = std::make_shared<Meeting>();
  meeting->operations = std::move(group);
  group.clear();
  meeting->arrived.resize(ranks);
  meeting->waits.resize(ranks);
  std::vector<FakeStream*> streams(ranks);
  for (const Operation& one : meeting->operations) streams[one.comm.rank] = one.stream;
  for (int rank = 0; rank < ranks; ++rank) {
    streams[rank]->put([meeting, rank] { return meeting->pass(rank); });
  }
  return nccl::kSuccess;
}

nccl::Outcome put(Kind kind, const void* send, void* receive, std::size_t count, int type, int op,
                  int peer, nccl::Comm comm, nccl::StreamHandle stream) {
  if (is("invalid_usage")) return static_cast<nccl::Outcome>(5);
  group.push_back({kind, *reinterpret_cast<FakeComm*>(comm), static_cast<const std::byte*>(send),
                   static_cast<std::byte*>(receive), count, type, op, peer,
                   static_cast<FakeStream*>(stream)});
  return depth > 0 ? nccl::kSuccess : close_group();
}

}  // namespace

using nccl::Comm;
using nccl::DataType;
using nccl::Outcome;
using nccl::StreamHandle;

extern "C" {

void fakeNcclSetFault(const char* fault) { planted = fault; }

Outcome ncclGetVersion(int* version) {
  *version = 22809;
  return nccl::kSuccess;
}
Outcome ncclGetUniqueId(nccl::UniqueId* id) {
  *id = {};
  return nccl::kSuccess;
}
Outcome ncclCommInitRank(Comm*, int, nccl::UniqueId, int) { return static_cast<Outcome>(5); }
Outcome ncclCommInitAll(Comm* comms, int devices, const int*) {
  if (is("no_communicator")) return static_cast<Outcome>(2);
  const auto clique = std::make_shared<Clique>(Clique{devices});
  for (int rank = 0; rank < devices; ++rank) {
    comms[rank] = reinterpret_cast<Comm>(new FakeComm{clique, rank});
  }
  return nccl::kSuccess;
}
Outcome ncclCommDestroy(Comm comm) {
  delete reinterpret_cast<FakeComm*>(comm);
  return nccl::kSuccess;
}
Outcome ncclCommAbort(Comm comm) {
  reinterpret_cast<FakeComm*>(comm)->clique->is_aborted = true;
  return ncclCommDestroy(comm);
}
Outcome ncclCommGetAsyncError(Comm, Outcome* error) {
  *error = is("remote_error") ? static_cast<Outcome>(6) : nccl::kSuccess;
  return nccl::kSuccess;
}
const char* ncclGetErrorString(Outcome outcome) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error"};
  return kTexts[outcome];
}
const char* ncclGetLastError(Comm) { return "the fake library's own words"; }
Outcome ncclGroupStart() {
  ++depth;
  return nccl::kSuccess;
}
Outcome ncclGroupEnd() { return --depth > 0 ? nccl::kSuccess : close_group(); }
Outcome ncclAllReduce(const void* send, void* receive, std::size_t count, DataType type,
                      nccl::RedOp op, Comm comm, StreamHandle stream) {
  return put(Kind::all_reduce, send, receive, count, type, op, -1, comm, stream);
}
Outcome ncclReduceScatter(const void* send, void* receive, std::size_t count, DataType type,
                          nccl::RedOp op, Comm comm, StreamHandle stream) {
  return put(Kind::reduce_scatter, send, receive, count, type, op, -1, comm, stream);
}
Outcome ncclAllGather(const void* send, void* receive, std::size_t count, DataType type, Comm comm,
                      StreamHandle stream) {
  return put(Kind::all_gather, send, receive, count, type, 0, -1, comm, stream);
}
Outcome ncclSend(const void* send, std::size_t count, DataType type, int peer, Comm comm,
                 StreamHandle stream) {
  return put(Kind::send, send, nullptr, count, type, 0, peer, comm, stream);
}
Outcome ncclRecv(void* receive, std::size_t count, DataType type, int peer, Comm comm,
                 StreamHandle stream) {
  return put(Kind::receive, nullptr, receive, count, type, 0, peer, comm, stream);
}
#if defined(TALLY_FAKE_ALL_TO_ALL)
Outcome ncclAlltoAll(const void* send, void* receive, std::size_t count, DataType type, Comm comm,
                     StreamHandle stream) {
  return put(Kind::all_to_all, send, receive, count, type, 0, -1, comm, stream);
}
#endif
Outcome ncclRedOpCreatePreMulSum(nccl::RedOp* op, void* scalar, DataType type, nccl::Residence,
                                 Comm) {
  factors.push_back(format_of(type).load(static_cast<const std::byte*>(scalar)));
  *op = static_cast<nccl::RedOp>(nccl::kAvg + factors.size());
  return nccl::kSuccess;
}
Outcome ncclRedOpDestroy(nccl::RedOp, Comm) { return nccl::kSuccess; }

}  // extern "C"
