// Goal: messages pass, and fail to pass, between threads as the sequences of LLVM's "Memory Model
// GFX942" let them on MI300X, and happens-before finds the programs that LLVM gives no meaning.
// Method: litmus tests with all choices where there are few, else many random ones. `allows` means
// that the weak outcome was found, `forbids` that it was not.

#include "tests/kernels/litmus_table.h"

namespace tally::kernels::emulator::litmus {
namespace {

constexpr Order kRelaxed = Order::relaxed, kAcquire = Order::acquire, kRelease = Order::release;
constexpr Scope kWorkgroup = Scope::workgroup, kAgent = Scope::agent, kSystem = Scope::system;

bool flag_without_data(const Outcome& o) { return o.r(0) == 1 && o.r(1) == 0; }

/// Data and flag at their reader, as a push protocol has them; or at the writer.
const std::vector<Variable> kAtReader{{1}, {1}}, kAtWriter{{0}, {1}};

/// Thread 0 writes data x and then flag f; thread 1 reads the flag, and then the data if it is set.
Program message(std::vector<Operation> writer, std::vector<Operation> reader,
                std::vector<Variable> variables = kAtWriter) {
  return {std::move(variables), {{0, 0, std::move(writer)}, {1, 0, std::move(reader)}}};
}
Program message(Order publish, Order look, Scope of_writer, Scope of_reader, Thread writer,
                Thread reader) {
  writer.operations = {store(x, 1), store(f, 1, publish, of_writer)};
  reader.operations = {load(0, f, look, of_reader), go_on_if(0, 1), load(1, x)};
  return {{{writer.rank}, {reader.rank}}, {writer, reader}};
}

const std::vector<Operation> kFencedWriter{store(x, 1), fence(kRelease), store(f, 1, kRelaxed)};
const std::vector<Operation> kPlainWriter{store(x, 1), store(f, 1, kRelaxed)};
const std::vector<Operation> kFencedReader{load(0, f, kRelaxed), go_on_if(0, 1), fence(kAcquire),
                                           load(1, x)};
const std::vector<Operation> kPlainReader{load(0, f, kRelaxed), go_on_if(0, 1), load(1, x)};

}  // namespace

TEST_CASE("a message without order arrives late, and is a race", "[kernels]") {
  for (const auto& variables : {kAtWriter, kAtReader}) {
    check({"1: relaxed flag", Machine::allows, Language::races,
           message(kPlainWriter, kPlainReader, variables), flag_without_data});
    check({"4: fence of the writer only", Machine::allows, Language::races,
           message(kFencedWriter, kPlainReader, variables), flag_without_data});
    check({"5: fence of the reader only", Machine::allows, Language::races,
           message(kPlainWriter, kFencedReader, variables), flag_without_data});
  }
}

TEST_CASE("a message with release and acquire of system scope arrives", "[kernels]") {
  for (const Gfx942& machine : {Gfx942{}, kCpx}) {
    check({"2: release and acquire", Machine::forbids, Language::race_free,
           message(kRelease, kAcquire, kSystem, kSystem, {0}, {1}), flag_without_data, machine});
    for (const auto& variables : {kAtWriter, kAtReader}) {
      check({"3: fences", Machine::forbids, Language::race_free,
             message(kFencedWriter, kFencedReader, variables), flag_without_data, machine});
    }
  }
}

TEST_CASE("a scope that leaves the reader out is too narrow", "[kernels]") {
  check({"6: workgroup scope between GPUs", Machine::allows, Language::races,
         message(kRelease, kAcquire, kWorkgroup, kWorkgroup, {0}, {1}), flag_without_data});
  check({"6: workgroup scope, other XCD", Machine::allows, Language::races,
         message(kRelease, kAcquire, kWorkgroup, kWorkgroup, {0, 0}, {0, 1}), flag_without_data});
  check({"6: workgroup scope, same XCD", Machine::allows, Language::races,
         message(kRelease, kAcquire, kWorkgroup, kWorkgroup, {0, 0}, {0, 8}), flag_without_data});
  // With eight L2s the sequences of agent scope push and drop as those of system scope do.
  check({"9: agent scope between GPUs, SPX", Machine::forbids, Language::races,
         message(kRelease, kAcquire, kAgent, kSystem, {0}, {1}), flag_without_data});
  check({"9: agent scope between GPUs, CPX", Machine::allows, Language::races,
         message(kRelease, kAcquire, kAgent, kSystem, {0}, {1}), flag_without_data, kCpx});
}

TEST_CASE("a scope that includes the reader is wide enough", "[kernels]") {
  check({"7: workgroup scope in one workgroup", Machine::forbids, Language::race_free,
         message(kRelease, kAcquire, kWorkgroup, kWorkgroup, {0, 0, {}, 0}, {0, 0, {}, 1}),
         flag_without_data});
  for (const Gfx942& machine : {Gfx942{}, kCpx}) {
    for (const int block : {1, 8}) {
      check({"8: agent and system scope in one GPU", Machine::forbids, Language::race_free,
             message(kRelease, kAcquire, kAgent, kSystem, {0, 0}, {0, block}), flag_without_data,
             machine});
      check({"8: agent scope in one GPU", Machine::forbids, Language::race_free,
             message(kRelease, kAcquire, kAgent, kAgent, {0, 0}, {0, block}), flag_without_data,
             machine});
    }
  }
}

TEST_CASE("updates continue a release sequence; stores do in the machine only", "[kernels]") {
  check({"10: a relaxed update between",
         Machine::forbids,
         Language::race_free,
         {{{0}, {1}},
          {{0, 0, {store(x, 1), store(f, 1, kRelease)}},
           {1, 0, {add(2, f, kRelaxed)}},
           {1, 1, {load(0, f, kAcquire), go_on_if(0, 2), load(1, x)}}}},
         [](const Outcome& o) { return o.r(0) == 2 && o.r(1) == 0; }});
  check({"11: a relaxed store behind", Machine::forbids, Language::races,
         message({store(x, 1), store(f, 1, kRelease), store(f, 2, kRelaxed)},
                 {load(0, f, kAcquire), go_on_if(0, 2), load(1, x)}),
         [](const Outcome& o) { return o.r(0) == 2 && o.r(1) == 0; }});
}

TEST_CASE("order is handed on by a chain of scopes", "[kernels]") {
  const Program chain{
      {{0}, {0}, {1}},
      {{0, 0, {store(x, 1), store(f, 1, kRelease, kWorkgroup)}, 0},
       {0, 0, {load(0, f, kAcquire, kWorkgroup), go_on_if(0, 1), store(g, 1, kRelease)}, 1},
       {1, 0, {load(1, g, kAcquire), go_on_if(1, 1), load(2, x)}}}};
  const auto weak = [](const Outcome& o) { return o.r(1) == 1 && o.r(2) == 0; };
  check({"12: workgroup, then system", Machine::forbids, Language::race_free, chain, weak});
  check({"12: a release that covers its own wave only",
         Machine::allows,
         Language::race_free,
         chain,
         weak,
         {.release_covers_workgroup = false}});
  // The same with a block barrier, as kernels have it.
  Program barriers = chain;
  barriers.threads[0].operations = {store(x, 1), barrier()};
  barriers.threads[1].operations = {barrier(), store(g, 1, kRelease)};
  check({"12: block barrier, then system", Machine::forbids, Language::race_free, barriers, weak});
  check({"12: block barrier, own wave only",
         Machine::allows,
         Language::race_free,
         barriers,
         weak,
         {.release_covers_workgroup = false}});
  // A fence of each wave ahead of the barrier needs no such cover.
  barriers.threads[0].operations = {store(x, 1), fence(kRelease), barrier()};
  check({"12: fence, block barrier, then system",
         Machine::forbids,
         Language::race_free,
         barriers,
         weak,
         {.release_covers_workgroup = false}});
}

TEST_CASE("three threads hand on what they saw if they acquire and release", "[kernels]") {
  const auto wrc = [](Order publish, Order look) {
    return Program{{{0}, {1}},
                   {{0, 0, {store(x, 1, publish)}},
                    {1, 0, {load(0, x, look), go_on_if(0, 1), store(y, 1, publish)}},
                    {2, 0, {issue(1, y, look), issue(2, x, kRelaxed), bind(1, y), bind(2, x)}}}};
  };
  const auto weak = [](const Outcome& o) { return o.r(0) == 1 && o.r(1) == 1 && o.r(2) == 0; };
  check({"20: WRC relaxed", Machine::allows, Language::race_free, wrc(kRelaxed, kRelaxed), weak});
  Program ordered = wrc(kRelease, kAcquire);
  ordered.threads[2].operations = {load(1, y, kAcquire), load(2, x, kRelaxed)};
  check({"21: WRC release and acquire", Machine::forbids, Language::race_free, ordered, weak});
  check({"21: the same, own wave only",
         Machine::forbids,
         Language::race_free,
         ordered,
         weak,
         {.release_covers_workgroup = false}});
  const Program isa2{{{0}, {1}, {2}},
                     {{0, 0, {store(x, 1), store(y, 1, kRelease)}},
                      {1, 0, {load(0, y, kAcquire), go_on_if(0, 1), store(z, 1, kRelease)}},
                      {2, 0, {load(1, z, kAcquire), go_on_if(1, 1), load(2, x)}}}};
  check({"22: ISA2 release and acquire", Machine::forbids, Language::race_free, isa2,
         [](const Outcome& o) { return o.r(1) == 1 && o.r(2) == 0; }});
}

TEST_CASE("a kernel's end and the host's waiting order all; a flag alone does not", "[kernels]") {
  for (const int owner : {0, 1}) {
    check({"39: the next kernel, ordered by the host",
           Machine::forbids,
           Language::race_free,
           {{{owner}}, {{0, 0, {store(x, 1)}}, {1, 0, {load(0, x)}, 0, 1}}},
           [](const Outcome& o) { return o.r(0) == 0; }});
    check({"40: a flag on the device only", Machine::allows, Language::races,
           message(kPlainWriter, kPlainReader, {{owner}, {1}}), flag_without_data});
  }
}

}  // namespace tally::kernels::emulator::litmus
