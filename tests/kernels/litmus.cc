#include "tests/kernels/litmus.h"

#include <cstring>
#include <map>

#include "kernels/emulator/depth_first.h"
#include "kernels/emulator/happens_before.h"

namespace tally::kernels::emulator::litmus {

using What = Operation::What;

Operation load(int reg, int variable, Order order, Scope scope) {
  return {What::load, variable, reg, 0, order, scope};
}
Operation store(int variable, std::uint32_t value, Order order, Scope scope) {
  return {What::store, variable, 0, value, order, scope};
}
Operation add(int reg, int variable, Order order, Scope scope) {
  return {What::add, variable, reg, 0, order, scope};
}
Operation fence(Order order, Scope scope) { return {What::fence, 0, 0, 0, order, scope}; }
Operation barrier() { return {What::barrier}; }
Operation issue(int reg, int variable, Order order, Scope scope) {
  return {What::issue, variable, reg, 0, order, scope};
}
Operation bind(int reg, int variable) { return {What::bind, variable, reg}; }
Operation go_on_if(int reg, std::uint32_t value) { return {What::go_on_if, 0, reg, value}; }
Operation wait(int variable, std::uint32_t value, Order order, Scope scope) {
  return {What::wait, variable, 0, value, order, scope};
}
Operation expect(int variable, std::uint32_t value) { return {What::expect, variable, 0, value}; }

Laboratory::Laboratory(const Program& program, const Gfx942& machine)
    : program_(program), machine_(machine) {
  constexpr std::size_t kOwnLine = 128;
  int ranks = 1;
  for (const Variable& one : program.variables) ranks = std::max(ranks, one.owner + 1);
  for (const Thread& one : program.threads) ranks = std::max(ranks, one.rank + 1);
  memory_ = std::make_unique<Memory>(ranks, program.variables.size() * Memory::room(kOwnLine));
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    const Variable& one = program.variables[i];
    addresses_.push_back(
        one.is_beside
            ? addresses_[i - 1] + program.variables[i - 1].bytes
            : memory_->allocate(one.owner, "variable", kOwnLine, std::byte{0}, 0, one.allocation)
                  .first);
  }
  std::map<std::pair<int, int>, int> groups;
  std::map<std::array<int, 3>, int> waves;
  for (const Thread& one : program.threads) {
    Place place;
    place.slot = static_cast<int>(places_.size());
    place.id = {one.rank, one.block, place.slot};
    place.workgroup =
        groups.try_emplace({one.rank, one.block}, static_cast<int>(groups.size())).first->second;
    place.wave = waves.try_emplace({one.rank, one.block, one.wave}, static_cast<int>(waves.size()))
                     .first->second;
    places_.push_back(place);
  }
}

Laboratory::~Laboratory() = default;

class Laboratory::Run : public MemoryListener {
 public:
  Run(Laboratory& of, Choices& choices, Races races);
  Outcome outcome();

 private:
  struct State {
    std::size_t next = 0;
    std::map<int, std::pair<LoadTicket, Access>> in_flight;  // by register
    bool at_barrier = false;
    std::uintptr_t sleeps_on = 0;
  };

  void performed(const void* address, std::size_t bytes, StoreToken token) override;
  void launch(int number);
  void run_launch();
  void finish(int number);
  void step(int slot);
  void access(int slot, const Operation& operation, const Access& access);
  void arrive(int slot);
  void end_if_done(int slot);
  const Thread& thread(int slot) const { return of_.program_.threads[slot]; }

  Laboratory& of_;
  Choices& choices_;
  std::unique_ptr<HappensBefore> order_;
  std::unique_ptr<MemoryModel> model_;
  std::vector<State> states_;
  std::vector<Upcoming> upcoming_;
  SlotSet runnable_;
  std::vector<Place> running_;
  Clock known_;
  Outcome outcome_;
};

Laboratory::Run::Run(Laboratory& of, Choices& choices, Races races)
    : of_(of), choices_(choices), states_(of.places_.size()) {
  for (std::byte* variable : of.addresses_) std::memset(variable, 0, sizeof(Value));
  model_ = gfx942_memory(*of.memory_, *this, choices, of.machine_);
  const auto slots = static_cast<int>(of.places_.size());
  runnable_.resize(slots);
  for (const Place& place : of.places_) upcoming_.push_back({place, nullptr});
  if (races == Races::ignored) return;
  order_ = std::make_unique<HappensBefore>(*of.memory_);
  order_->resize(slots);
}

Outcome Laboratory::Run::outcome() {
  int launches = 0;
  for (const Thread& one : of_.program_.threads) launches = std::max(launches, one.launch + 1);
  for (int number = 0; number < launches; ++number) {
    launch(number);
    run_launch();
    finish(number);
  }
  for (std::size_t i = 0; i < of_.addresses_.size(); ++i) {
    std::memcpy(&outcome_.memory.emplace_back(), of_.addresses_[i],
                of_.program_.variables[i].bytes);
  }
  if (order_ != nullptr) {
    outcome_.raced = !order_->races().empty();
    outcome_.stale = !order_->stale_reads().empty();
  }
  return outcome_;
}

void Laboratory::Run::launch(int number) {
  running_.clear();
  for (const Place& place : of_.places_) {
    if (thread(place.slot).launch != number) continue;
    running_.push_back(place);
    runnable_.insert(place.slot);
    end_if_done(place.slot);
  }
  for (const Place& place : running_) model_->kernel_begins(place.id.rank, {&place, 1});
  if (order_ != nullptr) order_->kernel_begins(running_, known_);
  for (const Place& place : running_) {
    for (std::size_t i = 0; i < of_.addresses_.size(); ++i) {
      Value value;
      model_->load(place, {of_.addresses_[i], of_.program_.variables[i].bytes, AccessKind::load},
                   &value);
    }
  }
}

void Laboratory::Run::run_launch() {
  int current = -1;
  for (;;) {
    if (runnable_.empty()) {
      if (!model_->settle()) return;
      if (runnable_.empty()) return;
      current = -1;
    }
    current = choices_.thread({runnable_, current, upcoming_});
    model_->breathe();
    step(current);
    if (!runnable_.contains(current)) current = -1;
  }
}

void Laboratory::Run::finish(int) {
  for (const Place& place : running_) {
    const State& state = states_[place.slot];
    outcome_.hung |= state.sleeps_on != 0 || state.at_barrier;
    model_->kernel_ends(place.id.rank, {&place, 1});
  }
  if (order_ != nullptr) order_->kernel_ends(running_, known_);
  for (const Place& place : of_.places_) model_->synchronise(place.id.rank);
}

void Laboratory::Run::performed(const void* address, std::size_t bytes, StoreToken token) {
  if (token != 0 && order_ != nullptr) order_->performed(token);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t slot = 0; slot < states_.size(); ++slot) {
    std::uintptr_t& at = states_[slot].sleeps_on;
    if (at == 0 || at + sizeof(std::uint32_t) <= begin || begin + bytes <= at) continue;
    at = 0;
    runnable_.insert(static_cast<int>(slot));
  }
}

void Laboratory::Run::end_if_done(int slot) {
  if (states_[slot].next >= thread(slot).operations.size()) runnable_.erase(slot);
}

void Laboratory::Run::step(int slot) {
  const Operation& operation = thread(slot).operations[states_[slot].next++];
  const Place& place = of_.places_[slot];
  switch (operation.what) {
    case What::fence:
      model_->fence(place, operation.order, operation.scope);
      if (order_ != nullptr) order_->fence(place, operation.order, operation.scope);
      break;
    case What::barrier:
      arrive(slot);
      break;
    case What::go_on_if:
      break;  // decided with the access before it
    default: {
      const auto kind = operation.what == What::store ? AccessKind::store
                        : operation.what == What::add ? AccessKind::update
                                                      : AccessKind::load;
      access(slot, operation,
             {of_.address(operation.variable), of_.program_.variables[operation.variable].bytes,
              kind, operation.order, operation.scope});
    }
  }
  State& state = states_[slot];
  const auto& all = thread(slot).operations;
  while (state.next < all.size() && all[state.next].what == What::go_on_if) {
    const bool goes_on = outcome_.r(all[state.next].reg) == all[state.next].value;
    state.next = goes_on ? state.next + 1 : all.size();
  }
  end_if_done(slot);
}

void Laboratory::Run::access(int slot, const Operation& operation, const Access& access) {
  const Place& place = of_.places_[slot];
  State& state = states_[slot];
  Value& value = outcome_.registers[operation.reg];
  switch (operation.what) {
    case What::store: {
      Value written;
      written.fill(operation.value);
      const StoreToken token = order_ ? order_->store(place, access, &written) : 0;
      model_->store(place, access, &written, token);
      break;
    }
    case What::add: {
      const auto before = model_->update(place, access, [](auto old) { return old + 1; });
      if (order_ != nullptr) order_->update(place, access, before + 1);
      value[0] = static_cast<std::uint32_t>(before);
      break;
    }
    case What::issue:
      state.in_flight[operation.reg] = {model_->issue_load(place, access), access};
      // What is no atomic is in its place in the program; an atomic reads from what it is bound to.
      if (order_ != nullptr && !is_atomic(access.order)) {
        order_->load(place, access, access.address);
      }
      break;
    case What::bind: {
      const auto& [ticket, issued] = state.in_flight.at(operation.reg);
      model_->bind(ticket, &value);
      if (order_ != nullptr && is_atomic(issued.order)) order_->load(place, issued, &value);
      break;
    }
    default:
      model_->load(place, access, &value);
      if (order_ != nullptr) order_->load(place, access, &value);
      outcome_.surprised |= operation.what == What::expect && value[0] != operation.value;
      if (operation.what == What::wait && value[0] < operation.value) {
        --state.next;
        state.sleeps_on = reinterpret_cast<std::uintptr_t>(access.address);
        runnable_.erase(slot);
      }
  }
}

void Laboratory::Run::arrive(int slot) {
  states_[slot].at_barrier = true;
  runnable_.erase(slot);
  std::vector<int> arrived;
  for (const Place& place : running_) {
    if (place.workgroup != of_.places_[slot].workgroup) continue;
    const State& state = states_[place.slot];
    const bool is_done = state.next >= thread(place.slot).operations.size() && !state.at_barrier;
    if (!state.at_barrier && !is_done) return;
    if (state.at_barrier) arrived.push_back(place.slot);
  }
  if (order_ != nullptr) order_->block_barrier(arrived);
  for (const int one : arrived) {
    states_[one].at_barrier = false;
    runnable_.insert(one);
    end_if_done(one);
  }
}

Outcome Laboratory::run(Choices& choices, Races races) {
  return Run(*this, choices, races).outcome();
}

Found search(const Program& program, const Gfx942& machine,
             const std::function<bool(const Outcome&)>& outcome, std::int64_t most_runs) {
  constexpr int kRandomRuns = 20'000;
  Laboratory laboratory(program, machine);
  DepthFirst all(most_runs);
  Found found;
  do {
    DepthFirst::Run choices(all);
    found.outcome = outcome(laboratory.run(choices));
  } while (!found.outcome && all.advance());
  found.runs = all.runs() + found.outcome;
  found.is_exhaustive = all.is_exhausted();
  for (int seed = 0; seed < kRandomRuns && !found.outcome && !found.is_exhaustive; ++seed) {
    RandomWalk choices(seed);
    found.outcome = outcome(laboratory.run(choices));
    ++found.runs;
  }
  return found;
}

bool is_racy(const Program& program, const Gfx942& machine) {
  constexpr int kRandomRuns = 300;
  constexpr int kFirstRuns = 300;
  Laboratory laboratory(program, machine);
  for (int seed = 0; seed < kRandomRuns; ++seed) {
    RandomWalk choices(seed);
    if (laboratory.run(choices, Laboratory::Races::found).raced) return true;
  }
  DepthFirst all(kFirstRuns);
  do {
    DepthFirst::Run choices(all);
    if (laboratory.run(choices, Laboratory::Races::found).raced) return true;
  } while (all.advance());
  return false;
}

}  // namespace tally::kernels::emulator::litmus
