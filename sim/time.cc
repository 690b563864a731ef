#include "sim/time.h"

#include <fmt/format.h>

#include <optional>
#include <queue>
#include <unordered_map>

#include "model/check.h"
#include "sim/critical_path.h"
#include "sim/flows.h"
#include "sim/network.h"

namespace tally::sim {
namespace {

using model::Error;

/// Links, then memories, then codecs, as resources of the flows.
struct Resources {
  int links, gpus;

  int memory(int gpu) const { return links + gpu; }
  int codec(int gpu) const { return links + gpus + gpu; }
  std::vector<double> capacities(const model::Topology& topology, const Costs& costs) const {
    std::vector<double> all;
    for (const model::Link& link : topology.links) all.push_back(link.bytes_per_s);
    const auto rate = [](double known) { return known > 0 ? known : 1; };  // unknown: never used
    all.insert(all.end(), gpus, rate(costs.memory_bytes_per_s));
    all.insert(all.end(), gpus, rate(costs.codec_bytes_per_s));
    return all;
  }
};

class Simulation {
 public:
  Simulation(const Program& program, const model::Topology& topology, const Costs& costs)
      : program_(program),
        topology_(topology),
        costs_(costs),
        resources_{static_cast<int>(topology.links.size()),
                   topology.nodes * topology.gpus_per_node},
        network_(topology),
        flows_(resources_.capacities(topology, costs)),
        lanes_(program.ranks * program.lanes),
        history_(lanes_.size()) {}

  model::Result<Timing> run() {
    const Picos start = costs_.copy_launch + costs_.launch;
    for (int rank = 0; rank < program_.ranks; ++rank) {
      for (int lane = 0; lane < program_.lanes; ++lane) {
        const int number = number_of({rank, lane});
        lanes_[number].next = program_.open({rank, lane});
        wakes_.push({start, number});
      }
    }
    while (!error_ && (!wakes_.empty() || !flows_.empty())) {
      // A lane that wakes when a flow ends may start one: rates are settled after all of them.
      if (flows_.empty() || (!wakes_.empty() && wakes_.top().at <= now_)) {
        wake_next();
      } else if (const Picos end = flows_.next_end(); !wakes_.empty() && wakes_.top().at <= end) {
        wake_next();
      } else {
        end_flows(end);
      }
    }
    if (error_) return *error_;
    for (int number = 0; number < std::ssize(lanes_); ++number) {
      if (lanes_[number].next) return waits_for_ever(number);
    }
    Timing timing = critical_path(history_, costs_, [this](int r) { return name_of(r); });
    timing.events = events_;
    return timing;
  }

 private:
  struct LaneState {
    Stages next;  // null when the lane has ended
    Stage stage;
    int flows = 0;    // of the stage that are under way
    int missing = 0;  // signals that it waits for
    StageRecord record;
    Picos last_end;
  };
  struct Wake {
    Picos at;
    int lane;
    bool operator>(const Wake& o) const { return at != o.at ? at > o.at : lane > o.lane; }
  };
  struct Arrival {
    Picos at;
    int stage;  // of the sender
  };
  /// Signals from one lane to another that nobody has waited for yet.
  struct Mailbox {
    std::vector<Arrival> arrivals;
    int awaited = 0;
  };

  int number_of(LaneId id) const { return id.rank * program_.lanes + id.lane; }
  int rank_of(int lane) const { return lane / program_.lanes; }
  Mailbox& mailbox(int from, int to) {
    return mailboxes_[std::int64_t{from} * std::ssize(lanes_) + to];
  }

  const Route* route(int from, int to) {
    const Route* route = network_.route(from, to);
    if (route == nullptr && !error_) {
      error_ = Error{"machine",
                     "no way from GPU " + std::to_string(from) + " to GPU " + std::to_string(to),
                     "links have directions: give both"};
    }
    return route;
  }

  void wake_next() {
    const Wake wake = wakes_.top();
    wakes_.pop();
    now_ = wake.at;
    LaneState& lane = lanes_[wake.lane];
    if (!lane.next(lane.stage)) {
      lane.next = nullptr;
      return;
    }
    ++events_;
    begin_work(wake.lane);
    if (lane.flows == 0) end_work(wake.lane);
  }

  void begin_work(int number) {
    LaneState& lane = lanes_[number];
    const int self = rank_of(number);
    lane.record = StageRecord{};
    for (const Transfer& transfer : lane.stage.transfers) {
      const Route* way = transfer.is_load ? route(transfer.peer, self) : route(self, transfer.peer);
      if (way == nullptr) return;
      std::vector<int>& uses = scratch_uses_;
      uses.assign(way->links.begin(), way->links.end());
      if (costs_.memory_bytes_per_s > 0) uses.push_back(resources_.memory(transfer.peer));
      const std::int64_t bytes =
          model::ceil_divide(transfer.bytes * costs_.wire_bytes, costs_.data_bytes);
      begin_flow(number, bytes, uses);
    }
    if (costs_.memory_bytes_per_s > 0) {
      begin_flow(number, lane.stage.memory_bytes, {{resources_.memory(self)}});
    }
    if (costs_.codec_bytes_per_s > 0) {
      begin_flow(number, lane.stage.codec_bytes, {{resources_.codec(self)}});
    }
  }

  void begin_flow(int lane, std::int64_t bytes, std::span<const int> uses) {
    if (bytes == 0) return;
    const int flow = flows_.start(now_, bytes, uses);
    if (flow >= std::ssize(owners_)) owners_.resize(flow + 1);
    owners_[flow] = lane;
    ++events_;
    ++lanes_[lane].flows;
  }

  void end_flows(Picos end) {
    now_ = end;
    for (const auto& [flow, bottleneck] : flows_.end_next()) {
      LaneState& lane = lanes_[owners_[flow]];
      if (lane.last_end < end) {  // of those that end together the first one says what bound it
        lane.last_end = end;
        lane.record.bottleneck = bottleneck;
      }
      if (--lane.flows == 0) end_work(owners_[flow]);
    }
  }

  void end_work(int number) {
    LaneState& lane = lanes_[number];
    lane.record.name = lane.stage.name;
    lane.record.worked = lane.record.ready = now_;
    const int stage = static_cast<int>(history_[number].size());
    for (const LaneId& to : lane.stage.signals) signal(number, stage, number_of(to));
    for (const LaneId& from : lane.stage.waits) {
      Mailbox& box = mailbox(number_of(from), number);
      if (box.arrivals.empty()) {
        ++box.awaited;
        ++lane.missing;
      } else {
        receive(number, number_of(from), box.arrivals.front());
        box.arrivals.erase(box.arrivals.begin());
      }
    }
    if (lane.missing == 0) end_stage(number);
  }

  void signal(int from, int stage, int to) {
    Picos latency = costs_.signal;
    if (rank_of(from) != rank_of(to)) {
      const Route* way = route(rank_of(from), rank_of(to));
      if (way == nullptr) return;
      latency += way->latency;
    }
    Mailbox& box = mailbox(from, to);
    const Arrival arrival{now_ + latency, stage};
    if (box.awaited == 0) {
      box.arrivals.push_back(arrival);
      return;
    }
    --box.awaited;
    receive(to, from, arrival);
    if (--lanes_[to].missing == 0) end_stage(to);
  }

  void receive(int number, int from, const Arrival& arrival) {
    StageRecord& record = lanes_[number].record;
    if (arrival.at <= record.ready) return;
    record.ready = arrival.at;
    record.cause_lane = from;
    record.cause_stage = arrival.stage;
  }

  void end_stage(int number) {
    LaneState& lane = lanes_[number];
    history_[number].push_back(lane.record);
    wakes_.push({lane.record.ready, number});
  }

  std::string name_of(int resource) const {
    if (resource < resources_.links) {
      const model::Link& link = topology_.links[resource];
      return "link " + topology_.vertices[link.from].name + " -> " +
             topology_.vertices[link.to].name;
    }
    const int gpu = (resource - resources_.links) % resources_.gpus;
    const bool is_memory = resource < resources_.codec(0);
    return (is_memory ? "memory of " : "codec of ") + topology_.vertices[gpu].name;
  }

  Error waits_for_ever(int number) const {
    return Error{"schedule",
                 "rank " + std::to_string(rank_of(number)) + ", lane " +
                     std::to_string(number % program_.lanes) + " waits for ever",
                 "a signal is missing: tally check finds it"};
  }

  const Program& program_;
  const model::Topology& topology_;
  const Costs& costs_;
  const Resources resources_;
  Network network_;
  Flows flows_;
  std::vector<LaneState> lanes_;
  std::vector<int> owners_;  // the lane of each flow
  std::vector<int> scratch_uses_;
  std::unordered_map<std::int64_t, Mailbox> mailboxes_;
  std::priority_queue<Wake, std::vector<Wake>, std::greater<Wake>> wakes_;
  Picos now_;
  std::int64_t events_ = 0;
  History history_;
  std::optional<Error> error_;
};

}  // namespace

model::Result<Timing> time(const Program& program, const model::Topology& topology,
                           const Costs& costs) {
  const int gpus = topology.nodes * topology.gpus_per_node;
  if (program.ranks > gpus) {
    return Error{
        "--ranks",
        std::to_string(program.ranks) + " ranks do not go with " + std::to_string(gpus) + " GPUs",
        "at most one rank for each GPU: --nodes"};
  }
  return Simulation(program, topology, costs).run();
}

model::Result<Timing> time(const model::Schedule& schedule, const model::Machine& machine,
                           Launch launch) {
  return time(program_of(schedule), machine.topology, costs_of(machine.gpu, launch));
}

std::string to_text(const Timing& timing) {
  std::string text;
  for (const Phase& phase : timing.phases) {
    const Picos length = phase.end - phase.begin;
    const double share = static_cast<double>(phase.bound.n) / static_cast<double>(length.n);
    text += fmt::format("{:11} {:10.3f} .. {:10.3f} us {:6} x  {} {:.0f} %\n", phase.name,
                        phase.begin.micros(), phase.end.micros(), phase.stages, phase.bound_by,
                        100 * share);
  }
  return text;
}

}  // namespace tally::sim
