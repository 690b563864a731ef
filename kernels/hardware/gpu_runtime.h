#pragma once

// A GPU vendor's runtime, as host code sees it: memory, streams, graphs, peers, launches. There is
// one implementation, gpu_runtime.cuh, compiled once for each device; a program links one or none.
//
// What should not fail (a copy, a launch) stops the program with the call and the error's name.
// What may be absent says so in its result.

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/launch.h"
#include "model/collective.h"

namespace tally::kernels::hardware {

/// Opaque: the runtime's own.
struct StreamTag;
struct EventTag;
struct GraphTag;
using Stream = StreamTag*;
using Event = EventTag*;
using Graph = GraphTag*;

struct Device {
  std::string name, architecture;  // "NVIDIA H200", "sm_90"
  int processors = 0, wave = 0;
  std::size_t memory_bytes = 0;
};

struct Versions {
  std::string vendor;  // cuda, hip
  int driver = 0, runtime = 0;
};

/// A kernel by what it computes.
struct KernelName {
  model::Collective collective = model::Collective::all_reduce;
  std::string_view algorithm;
  model::Arithmetic arithmetic;
};

/// A conversion by the hardware against the software's, over all inputs. Two NaNs are equal.
struct ConversionDifference {
  std::string conversion;
  std::uint64_t inputs = 0, different = 0;
  std::uint32_t first = 0;  // the least input that differs, where any does
};

/// Memory of another process, as 64 bytes that may be sent to it.
using MemoryHandle = std::array<std::byte, 64>;

class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;

  /// The devices that are there; where there are none, why, in `unavailable()`.
  virtual std::span<const Device> devices() const = 0;
  virtual const std::string& unavailable() const = 0;
  virtual Versions versions() const = 0;

  /// Makes `device` the calling thread's: what follows is done there.
  virtual void use(int device) = 0;

  /// Ordinary device memory, 256-byte aligned; null where there is not enough.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Memory whose stores and polls cross between GPUs: uncached where the vendor has that
  /// (hipDeviceMallocUncached), else ordinary.
  virtual void* allocate_shared(std::size_t bytes) = 0;
  virtual void free(void* memory) = 0;
  /// Host memory that copies reach without staging.
  virtual void* allocate_host(std::size_t bytes) = 0;
  virtual void free_host(void* memory) = 0;

  /// Lets this thread's device reach `peer`'s memory; false where it cannot.
  virtual bool enable_peer(int peer) = 0;
  virtual MemoryHandle export_memory(void* memory) = 0;
  /// Null where it cannot be opened.
  virtual void* import_memory(const MemoryHandle& handle) = 0;
  virtual void close_memory(void* imported) = 0;

  virtual Stream create_stream() = 0;
  virtual void destroy(Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;
  /// Whether all that was put into the stream has ended.
  virtual bool is_idle(Stream stream) = 0;
  virtual Event create_event() = 0;
  virtual void destroy(Event event) = 0;
  virtual void record(Event event, Stream stream) = 0;
  virtual void wait(Stream stream, Event event) = 0;
  virtual void synchronize(Event event) = 0;
  virtual double microseconds(Event begin, Event end) = 0;

  /// Asynchronous; `to` and `from` in any memory.
  virtual void copy(void* to, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual void fill(void* to, std::byte value, std::size_t bytes, Stream stream) = 0;

  /// What this thread puts into the stream from here on is captured, and not run.
  virtual void begin_capture(Stream stream) = 0;
  virtual Graph end_capture(Stream stream) = 0;
  virtual void replay(Graph graph, Stream stream) = 0;
  virtual void destroy(Graph graph) = 0;

  /// Null where there is no such kernel.
  virtual const void* find_kernel(const KernelName& name) const = 0;
  /// How many blocks of the kernel are on the thread's device at once.
  virtual int resident_blocks(const void* kernel, int threads) const = 0;
  /// A grid of `blocks` blocks for each of the `places` ranks of the launch. All have to be on the
  /// device at once, or they wait for each other until they give up.
  virtual void launch(const void* kernel, int blocks, int threads, int places, Stream stream,
                      const Launch& launch) = 0;

  /// On the calling thread's device: all that the kernels use, 2^32 values to encode, all codes to
  /// decode.
  virtual std::vector<ConversionDifference> compare_conversions() = 0;
};

/// The runtime that this program was linked with; null where it was linked with none.
GpuRuntime* linked_gpu_runtime();

}  // namespace tally::kernels::hardware
