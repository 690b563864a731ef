#pragma once

// The buffers of one rank of a case in a device's memory: inputs, poisoned outputs, and guard zones
// around every one of them. All of it is one arena, which one copy fills and one copy brings back.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/hardware/gpu_runtime.h"
#include "verify/subject.h"

namespace tally::verify {

/// What guard zones hold: another byte than outputs do, so that a copy of one into the other shows.
inline constexpr std::byte kGuard{0xC3};
inline constexpr std::size_t kGuardBytes = 1024;

/// Bytes of an arena.
struct Zone {
  std::size_t begin = 0, end = 0;
  std::size_t bytes() const { return end - begin; }
};

/// Where a rank's buffers lie, by Case::placement: at 256 bytes, or one element behind that.
/// Between any two of them, before the first and behind the last lie at least kGuardBytes of guard.
struct BufferLayout {
  struct Call {
    Zone input, output;   // in place one lies inside the other, or they are the same
    Zone sent, received;  // counts of all_to_all_v; of another collective empty
  };
  std::vector<Call> calls;           // of a graph, what it was captured on comes last
  std::vector<std::string> buffers;  // by name: "input of rank 1 in call 0"
  std::vector<Zone> guards;          // number g lies before buffer g; the last behind the last
  std::size_t bytes = 0;
};
BufferLayout lay_out_buffers(const Case& c, int rank);

/// What there is to see of a case of which nothing was run: poisoned outputs.
Observation unwritten(const Case& c);

/// The buffers themselves. They are used again from case to case, and grow as they must. Its
/// functions want the device to be the calling thread's, and the stream to be one of the device's.
class DeviceBuffers {
 public:
  explicit DeviceBuffers(kernels::hardware::GpuRuntime& runtime) : runtime_(runtime) {}
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;

  /// Makes room for what `rank` has in the case. False where there is not enough memory.
  bool prepare(const Case& c, int rank);
  /// Puts what the calls find into the stream: guards, poison, inputs: [call][rank].
  void upload(const std::vector<reference::RankBuffers>& inputs, kernels::hardware::Stream stream);

  void* input(int call) const { return arena_ + layout_.calls[call].input.begin; }
  void* output(int call) const { return arena_ + layout_.calls[call].output.begin; }
  /// Null but for all_to_all_v.
  const std::int64_t* send_counts(int call) const;
  std::int64_t* received_counts(int call) const;
  /// The number of the call that a graph is captured as: behind those of the case.
  int captured() const { return static_cast<int>(layout_.calls.size()) - 1; }
  /// Before a replay and after it: what call `call` finds into the captured buffers, and what it
  /// left in them back.
  void copy_in(int call, kernels::hardware::Stream stream);
  void copy_out(int call, kernels::hardware::Stream stream);

  void download(kernels::hardware::Stream stream);
  /// Once the stream has run: the rank's outputs into seen.outputs[call][rank], which must be
  /// there, and into seen.broken what was written that must not be.
  void collect(const std::vector<reference::RankBuffers>& inputs, Observation& seen) const;

 private:
  void release();
  std::byte* image(const Zone& zone) const { return image_ + zone.begin; }
  void copy(const Zone& to, const Zone& from, kernels::hardware::Stream stream);
  void collect_guards(Observation& seen) const;

  kernels::hardware::GpuRuntime& runtime_;
  Case case_;
  BufferLayout layout_;
  int rank_ = 0;
  std::byte *arena_ = nullptr, *image_ = nullptr;  // image: of the arena, in host memory
  std::size_t capacity_ = 0;
};

}  // namespace tally::verify
