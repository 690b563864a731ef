#pragma once

// The device half of virtual_ranks.h. The source that includes this has included the header of its
// Gpu before, and names it: using ThisGpu = ...;

#include <algorithm>
#include <functional>

#include "kernels/gpu_call.cuh"
#include "kernels/launch.cuh"
#include "model/check.h"
#include "tests/kernels/gpu/virtual_ranks.h"

namespace tally::kernels::test {

template <class Algorithm, class R>
__global__ void __launch_bounds__(kMaxThreads)
    kernel_of_virtual_ranks(const typename R::Arguments* of_rank, int blocks) {
  ThisGpu gpu(blockIdx.x % blocks, blocks);
  Algorithm::template run<R>(gpu, of_rank[blockIdx.x / blocks]);
}

inline constexpr std::size_t kGuardBytes = 1024;
inline constexpr std::byte kPoison{0xCB};
inline constexpr std::size_t kArgumentsRoom = 512 * kMaxRanks;
/// Bytes of codes of the longest call that packets have room for.
inline constexpr std::size_t kLargestPacketed = 1 << 19;

/// Device memory that is freed with its owner.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t bytes) {
    TALLY_GPU_CALL(hipMalloc(&first_, bytes));
    TALLY_GPU_CALL(hipMemset(first_, 0, bytes));
  }
  ~DeviceBuffer() { TALLY_GPU_CALL(hipFree(first_)); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  std::byte* at(std::size_t offset) const { return static_cast<std::byte*>(first_) + offset; }
  template <class T>
  T* as() const {
    return static_cast<T*>(first_);
  }

 private:
  void* first_ = nullptr;
};

struct VirtualRanks::State {
  /// The buffers of one rank. Of input and output, each call has a slot with guards on both sides.
  struct Rank {
    Rank(const State& s, int blocks)
        : input(s.calls * s.slot_bytes),
          output(s.calls * s.slot_bytes),
          scratch(s.largest_bytes),
          flags(sizeof(std::uint32_t) * kMaxRanks * blocks),
          epochs(sizeof(std::uint32_t) * blocks),
          packets(4 * s.grid.ranks * kLargestPacketed),
          packet_epochs(sizeof(std::uint32_t) * blocks * s.grid.threads),
          stuck(sizeof(Stuck)) {}
    DeviceBuffer input, output, scratch, flags, epochs, packets, packet_epochs, stuck;
  };

  State(const Grid& g, int n, std::size_t bytes)
      : grid(g),
        calls(n),
        largest_bytes(std::max<std::size_t>(bytes, 16) + 256),
        slot_bytes((largest_bytes + 2 * kGuardBytes + 255) / 256 * 256),
        arguments(n * kArgumentsRoom) {
    for (int r = 0; r < grid.ranks; ++r) ranks.push_back(std::make_unique<Rank>(*this, g.blocks));
  }

  std::size_t element_offset(int slot, const Call& call) const {
    return slot * slot_bytes + kGuardBytes +
           call.shift * model::format(call.arithmetic.element).bytes();
  }
  const DeviceBuffer& output_buffer(int rank, const Call& call) const {
    return call.in_place ? ranks[rank]->input : ranks[rank]->output;
  }

  template <class R>
  typename R::Arguments bind(int rank, int slot, const Call& call) const {
    using Storage = typename R::Element::Storage;
    typename R::Arguments a{};
    const std::size_t offset = element_offset(slot, call);
    a.input = reinterpret_cast<const Storage*>(ranks[rank]->input.at(offset));
    a.output = reinterpret_cast<Storage*>(output_buffer(rank, call).at(offset));
    a.count = call.count;
    a.rank = rank;
    a.ranks = grid.ranks;
    a.codec = R::Codec::Parameters::of(call.arithmetic.wire);
    for (int r = 0; r < grid.ranks; ++r) {
      a.scratch[r] = ranks[r]->scratch.template as<typename R::Codec::Packet>();
      a.flags[r] = ranks[r]->flags.template as<std::uint32_t>();
      a.packets.of_rank[r] = ranks[r]->packets.template as<std::uint64_t>();
    }
    a.packets.words = kLargestPacketed / sizeof(Word);
    a.packets.epochs = ranks[rank]->packet_epochs.template as<std::uint32_t>();
    a.packets.threads = grid.blocks * grid.threads;
    a.epochs = ranks[rank]->epochs.template as<std::uint32_t>();
    a.stuck = ranks[rank]->stuck.template as<Stuck>();
    return a;
  }

  /// Puts the ranks' arguments of one call where its kernel finds them.
  template <class R>
  const typename R::Arguments* bind_all(int slot, const Call& call) const {
    std::vector<typename R::Arguments> of_rank;
    for (int rank = 0; rank < grid.ranks; ++rank) of_rank.push_back(bind<R>(rank, slot, call));
    const std::size_t bytes = of_rank.size() * sizeof(of_rank[0]);
    static_assert(sizeof(typename R::Arguments) * kMaxRanks <= kArgumentsRoom);
    std::byte* to = arguments.at(slot * kArgumentsRoom);
    TALLY_GPU_CALL(hipMemcpy(to, of_rank.data(), bytes, hipMemcpyHostToDevice));
    return reinterpret_cast<const typename R::Arguments*>(to);
  }

  const Grid grid;
  const int calls;
  const std::size_t largest_bytes, slot_bytes;
  DeviceBuffer arguments;
  std::vector<std::unique_ptr<Rank>> ranks;
};

/// Calls visit<R>(kernel) for the kernel of that call.
template <class Visit>
void with_kernel(const Call& call, Visit visit) {
  bool found = false;
  for_each_recipe([&]<class R>(const model::Arithmetic& arithmetic) {
    if (recipe_name(arithmetic) != recipe_name(call.arithmetic)) return;
    for_each_algorithm<R>([&]<class Algorithm>() {
      if (Algorithm::kName != call.algorithm) return;
      found = true;
      void (*const kernel)(const typename R::Arguments*, int) =
          &kernel_of_virtual_ranks<Algorithm, R>;
      visit.template operator()<R>(kernel);
    });
  });
  TALLY_CHECK(found, "no kernel for this call");
}

VirtualRanks::VirtualRanks(const Grid& grid, int calls, std::size_t largest_bytes)
    : state_(std::make_unique<State>(grid, calls, largest_bytes)) {
  TALLY_CHECK(grid.threads <= kMaxThreads, "a block has at most kMaxThreads threads");
  TALLY_CHECK(grid.ranks <= kMaxRanks, "there are at most kMaxRanks ranks");
  TALLY_CHECK(grid.ranks * grid.blocks <= find_device().processors,
              "all blocks must be on the GPU at once, or they wait for each other for ever");
}

VirtualRanks::~VirtualRanks() = default;

void VirtualRanks::prepare(int slot, const Call& call, const RankBuffers& inputs) {
  const State& s = *state_;
  for (int r = 0; r < s.grid.ranks; ++r) {
    for (const DeviceBuffer* buffer : {&s.ranks[r]->input, &s.ranks[r]->output}) {
      TALLY_GPU_CALL(hipMemset(buffer->at(slot * s.slot_bytes), int(kPoison), s.slot_bytes));
    }
    TALLY_CHECK(inputs[r].size() <= s.largest_bytes - 256, "the call does not fit its slot");
    if (inputs[r].empty()) continue;
    TALLY_GPU_CALL(hipMemcpy(s.ranks[r]->input.at(s.element_offset(slot, call)), inputs[r].data(),
                             inputs[r].size(), hipMemcpyHostToDevice));
  }
}

void VirtualRanks::launch(const std::vector<Call>& calls) {
  const State& s = *state_;
  const int blocks = s.grid.blocks;
  std::vector<std::function<void()>> launches;  // so that nothing lies between the kernels
  for (int slot = 0; slot < static_cast<int>(calls.size()); ++slot) {
    TALLY_CHECK(can_launch(calls[slot].arithmetic.wire, s.grid.threads, ThisGpu::kWave),
                "blocks of the grid cannot run the wire");
    TALLY_CHECK(calls[slot].algorithm != FlatLl::kName || s.largest_bytes <= kLargestPacketed,
                "the call is too long for packets");
    with_kernel(calls[slot], [&]<class R>(auto kernel) {
      const auto* arguments = s.bind_all<R>(slot, calls[slot]);
      launches.push_back([&s, blocks, arguments, kernel] {
        kernel<<<s.grid.ranks * blocks, s.grid.threads>>>(arguments, blocks);
        TALLY_GPU_CALL(hipGetLastError());
      });
    });
  }
  for (const auto& launch : launches) launch();
  TALLY_GPU_CALL(hipDeviceSynchronize());
}

VirtualRanks::Duration VirtualRanks::time(const Call& call, int times) {
  const State& s = *state_;
  std::vector<double> microseconds;
  hipEvent_t begin, end;
  TALLY_GPU_CALL(hipEventCreate(&begin));
  TALLY_GPU_CALL(hipEventCreate(&end));
  with_kernel(call, [&]<class R>(auto kernel) {
    const auto* arguments = s.bind_all<R>(0, call);
    for (int i = 0; i < times; ++i) {
      TALLY_GPU_CALL(hipEventRecord(begin, nullptr));
      kernel<<<s.grid.ranks * s.grid.blocks, s.grid.threads>>>(arguments, s.grid.blocks);
      TALLY_GPU_CALL(hipGetLastError());
      TALLY_GPU_CALL(hipEventRecord(end, nullptr));
      TALLY_GPU_CALL(hipEventSynchronize(end));
      float milliseconds;
      TALLY_GPU_CALL(hipEventElapsedTime(&milliseconds, begin, end));
      microseconds.push_back(1000.0 * milliseconds);
    }
  });
  TALLY_GPU_CALL(hipEventDestroy(begin));
  TALLY_GPU_CALL(hipEventDestroy(end));
  std::sort(microseconds.begin(), microseconds.end());
  return {microseconds[microseconds.size() / 2], microseconds.front()};
}

RankBuffers VirtualRanks::outputs(int slot, const Call& call) {
  const State& s = *state_;
  RankBuffers all(s.grid.ranks);
  for (int r = 0; r < s.grid.ranks; ++r) {
    all[r].resize(call.count * model::format(call.arithmetic.element).bytes());
    if (all[r].empty()) continue;
    TALLY_GPU_CALL(hipMemcpy(all[r].data(),
                             s.output_buffer(r, call).at(s.element_offset(slot, call)),
                             all[r].size(), hipMemcpyDeviceToHost));
  }
  return all;
}

std::string VirtualRanks::harm(int slot, const Call& call, const RankBuffers& inputs) {
  const State& s = *state_;
  std::vector<std::byte> bytes(s.slot_bytes);
  const auto is_poison = [](std::byte b) { return b == kPoison; };
  for (int r = 0; r < s.grid.ranks; ++r) {
    Stuck stuck;
    TALLY_GPU_CALL(hipMemcpy(&stuck, s.ranks[r]->stuck.at(0), sizeof stuck, hipMemcpyDeviceToHost));
    if (stuck.happened != 0) {
      return "rank " + std::to_string(r) + " block " + std::to_string(stuck.block) +
             " gave up waiting for rank " + std::to_string(stuck.peer);
    }
    const std::size_t first = s.element_offset(slot, call) - slot * s.slot_bytes;
    for (const DeviceBuffer* buffer : {&s.ranks[r]->input, &s.ranks[r]->output}) {
      TALLY_GPU_CALL(hipMemcpy(bytes.data(), buffer->at(slot * s.slot_bytes), s.slot_bytes,
                               hipMemcpyDeviceToHost));
      const bool is_output = buffer == &s.output_buffer(r, call);
      const std::string name = is_output ? "the output of rank " : "the input of rank ";
      const auto begin = bytes.begin() + first, end = begin + inputs[r].size();
      if (!std::all_of(bytes.begin(), begin, is_poison) ||
          !std::all_of(end, bytes.end(), is_poison)) {
        return "a guard zone at " + name + std::to_string(r) + " was written";
      }
      const bool is_input = buffer == &s.ranks[r]->input;
      if (is_input && !is_output && !std::equal(begin, end, inputs[r].begin())) {
        return name + std::to_string(r) + " was changed";
      }
      if (!is_input && !is_output && !std::all_of(begin, end, is_poison)) {
        return "a call in place wrote to the other buffer of rank " + std::to_string(r);
      }
    }
  }
  return "";
}

Device find_device() {
  static const Device found = [] {
    Device device;
    int devices = 0;
    const hipError_t error = hipGetDeviceCount(&devices);
    if (error != hipSuccess || devices == 0) {
      device.unavailable = std::string("hipGetDeviceCount: ") +
                           (error == hipSuccess ? "0 devices" : hipGetErrorName(error));
      return device;
    }
    hipDeviceProp_t properties;
    TALLY_GPU_CALL(hipGetDeviceProperties(&properties, 0));
    TALLY_GPU_CALL(hipDriverGetVersion(&device.driver));
    device.name = properties.name;
    device.processors = properties.multiProcessorCount;
    return device;
  }();
  return found;
}

}  // namespace tally::kernels::test
