#include "tests/reference/collective_properties.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cmath>

#include "model/partition.h"
#include "reference/convert.h"

namespace tally::test {
namespace {

using model::Arithmetic;
using model::Format;
using model::NumberFormat;
using reference::RankBuffers;

/// A call of the case with its inputs, in the case's own place and lanes.
PropertyCall call_of(const PropertyCase& c, RankBuffers inputs) {
  const auto bytes = static_cast<std::size_t>(model::format(c.shape.arithmetic.element).bytes());
  const auto count = static_cast<std::int64_t>(inputs[0].size() / bytes);
  return {c.schedule(count), std::move(inputs), c.seed};
}

RankBuffers run(const PropertySubject& subject, const PropertyCase& c, const RankBuffers& inputs) {
  return subject(std::vector{call_of(c, inputs)})[0];
}

template <class MakeCode>
RankBuffers fill(const PropertyCase& c, MakeCode make_code) {
  const Format id = c.shape.arithmetic.element;
  Random random(c.seed);
  RankBuffers inputs(c.shape.ranks);
  for (auto& input : inputs) {
    for (std::int64_t i = 0; i < c.shape.count; ++i) append_code(id, make_code(random), input);
  }
  return inputs;
}

RankBuffers any_bits(const PropertyCase& c) {
  return fill(c, [&](Random& random) { return edge_code(c.shape.arithmetic, random); });
}

std::uint32_t code_of(Format id, float x) {
  return reference::encode(id, x, model::Rounding::nearest_even, model::kAsFormat);
}

/// -1, 0 or 1 times a power of two that is one for the whole case: of at most 8 ranks every sum is
/// exact, on every wire whose scales are powers of two.
RankBuffers exact_in_any_order(const PropertyCase& c) {
  const Format id = c.shape.arithmetic.element;
  const float unit = std::ldexp(1.0f, static_cast<int>(c.seed % 4));
  return fill(c, [&](Random& random) {
    return code_of(id, unit * static_cast<float>(static_cast<int>(random.below(3)) - 1));
  });
}
bool may_be_exact(const PropertyCase& c) {
  const model::Wire& wire = c.shape.arithmetic.wire;
  return c.shape.ranks <= 8 && (!wire.is_block() || wire.scale == Format::e8m0);
}

/// Between 1/8 and 8, of either sign: no sum overflows and no NaN comes up by itself.
RankBuffers ordinary(const PropertyCase& c) {
  const Format id = c.shape.arithmetic.element;
  return fill(c, [&](Random& random) {
    const float size = std::ldexp(1 + static_cast<float>(random.below(256)) / 256,
                                  static_cast<int>(random.below(6)) - 3);
    return code_of(id, random.below(2) != 0 ? size : -size);
  });
}

/// Inputs for properties that cut a message: chunks move, and with them the order of a ring.
RankBuffers for_moving_chunks(const PropertyCase& c) {
  return c.algorithm == "ring" ? exact_in_any_order(c) : any_bits(c);
}
bool may_move_chunks(const PropertyCase& c) { return c.algorithm != "ring" || may_be_exact(c); }

std::vector<std::byte> elements(const PropertyCase& c, const std::vector<std::byte>& codes,
                                std::int64_t begin, std::int64_t end) {
  const std::int64_t bytes = model::format(c.shape.arithmetic.element).bytes();
  return {codes.begin() + begin * bytes, codes.begin() + end * bytes};
}
RankBuffers elements(const PropertyCase& c, const RankBuffers& all, std::int64_t begin,
                     std::int64_t end) {
  RankBuffers some;
  for (const auto& codes : all) some.push_back(elements(c, codes, begin, end));
  return some;
}

std::string difference(const PropertyCase& c, const RankBuffers& got, const RankBuffers& want) {
  return first_difference(c.shape.arithmetic.element, got, want);
}

void set_code(const PropertyCase& c, std::vector<std::byte>& codes, std::int64_t index,
              std::uint32_t code) {
  std::vector<std::byte> bytes;
  append_code(c.shape.arithmetic.element, code, bytes);
  std::copy(bytes.begin(), bytes.end(), codes.begin() + index * std::ssize(bytes));
}

/// The elements whose result depends on element `index` of the inputs.
model::Range reach(const PropertyCase& c, std::int64_t index) {
  const std::int64_t length = c.shape.arithmetic.wire.length;
  const std::int64_t begin = index / length * length;
  return {begin, std::min(begin + length, c.shape.count)};
}

std::string ranks_agree(const PropertySubject& subject, const PropertyCase& c) {
  const RankBuffers outputs = run(subject, c, any_bits(c));
  return difference(c, outputs, RankBuffers(outputs.size(), outputs[0]));
}

std::string ranks_permute(const PropertySubject& subject, const PropertyCase& c) {
  if (!may_be_exact(c)) return "";
  RankBuffers inputs = exact_in_any_order(c);
  const RankBuffers want = run(subject, c, inputs);
  Random random(c.seed);
  std::rotate(inputs.begin(), inputs.begin() + random.below(c.shape.ranks), inputs.end());
  if (random.below(2) != 0) std::reverse(inputs.begin(), inputs.end());
  return difference(c, run(subject, c, inputs), want);
}

// The sums of flat and tree start at +0; a ring's start with a rank's value, which may be -0.
std::string zeros_sum_to_plus_zero(const PropertySubject& subject, const PropertyCase& c) {
  const std::uint32_t minus = model::format(c.shape.arithmetic.element).sign_mask();
  const RankBuffers zeros = fill(
      c, [&](Random& random) { return c.algorithm != "ring" && random.below(2) != 0 ? minus : 0; });
  return difference(c, run(subject, c, zeros), fill(c, [](Random&) { return 0u; }));
}

std::string nan_stays_in_place(const PropertySubject& subject, const PropertyCase& c) {
  if (c.shape.count == 0) return "";
  const Format id = c.shape.arithmetic.element;
  RankBuffers inputs = ordinary(c);
  RankBuffers want = run(subject, c, inputs);
  Random random(c.seed);
  const auto index = static_cast<std::int64_t>(random.bits() % c.shape.count);
  set_code(c, inputs[random.below(c.shape.ranks)], index, model::format(id).nan_code());
  const model::Range nans = reach(c, index);
  for (auto& output : want) {
    for (std::int64_t i = nans.begin; i < nans.end; ++i) {
      set_code(c, output, i, model::format(id).nan_code());
    }
  }
  return difference(c, run(subject, c, inputs), want);
}

std::string elements_are_apart(const PropertySubject& subject, const PropertyCase& c) {
  if (c.shape.count == 0) return "";
  const NumberFormat& f = model::format(c.shape.arithmetic.element);
  RankBuffers inputs = any_bits(c);
  const RankBuffers before = run(subject, c, inputs);
  Random random(c.seed);
  const auto index = static_cast<std::int64_t>(random.bits() % c.shape.count);
  const std::uint32_t loud[] = {f.nan_code(), f.infinity_code(), f.max_code(), 0};
  for (auto& input : inputs) set_code(c, input, index, loud[random.below(std::size(loud))]);
  const RankBuffers after = run(subject, c, inputs);
  const model::Range touched = reach(c, index);
  const std::string below =
      difference(c, elements(c, after, 0, touched.begin), elements(c, before, 0, touched.begin));
  if (below != "") return below;
  return difference(c, elements(c, after, touched.end, c.shape.count),
                    elements(c, before, touched.end, c.shape.count));
}

std::string in_place_is_out_of_place(const PropertySubject& subject, const PropertyCase& c) {
  const RankBuffers inputs = any_bits(c);
  PropertyCase other = c;
  other.shape.in_place = !c.shape.in_place;
  return difference(c, run(subject, other, inputs), run(subject, c, inputs));
}

std::string lanes_change_nothing(const PropertySubject& subject, const PropertyCase& c) {
  const RankBuffers inputs = any_bits(c);
  PropertyCase other = c;
  other.shape.lanes = c.shape.lanes + 1;
  return difference(c, run(subject, other, inputs), run(subject, c, inputs));
}

std::string pieces_make_the_whole(const PropertySubject& subject, const PropertyCase& c) {
  if (!may_move_chunks(c)) return "";
  const RankBuffers inputs = for_moving_chunks(c);
  const RankBuffers whole = run(subject, c, inputs);
  const std::int64_t piece = c.shape.ranks * c.shape.arithmetic.wire.unit();
  for (std::int64_t begin = 0; begin < c.shape.count; begin += piece) {
    const std::int64_t end = std::min(begin + piece, c.shape.count);
    const std::string found = difference(c, run(subject, c, elements(c, inputs, begin, end)),
                                         elements(c, whole, begin, end));
    if (found != "") return "from element " + std::to_string(begin) + ": " + found;
  }
  return "";
}

std::string counts_share_their_beginnings(const PropertySubject& subject, const PropertyCase& c) {
  if (!may_move_chunks(c)) return "";
  const RankBuffers inputs = for_moving_chunks(c);
  const RankBuffers whole = run(subject, c, inputs);
  const std::int64_t length = c.shape.arithmetic.wire.length;
  for (std::int64_t count = std::max<std::int64_t>(0, c.shape.count - 2); count < c.shape.count;
       ++count) {
    const std::int64_t common = count / length * length;  // a shorter last block is another block
    const RankBuffers shorter = run(subject, c, elements(c, inputs, 0, count));
    const std::string found =
        difference(c, elements(c, shorter, 0, common), elements(c, whole, 0, common));
    if (found != "") return "of " + std::to_string(count) + " elements: " + found;
  }
  return "";
}

std::string calls_leave_nothing_behind(const PropertySubject& subject, const PropertyCase& c) {
  const RankBuffers inputs = ordinary(c);
  PropertyCase louder = c;
  louder.shape.count += 200;
  const std::uint32_t nan = model::format(c.shape.arithmetic.element).nan_code();
  const std::vector<PropertyCall> calls = {
      call_of(louder, fill(louder, [&](Random&) { return nan; })), call_of(c, inputs)};
  return difference(c, subject(calls)[1], run(subject, c, inputs));
}

constexpr CollectiveProperty kProperties[] = {
    {"all ranks end with the same bits", ranks_agree},
    {"the order of the ranks does not matter where sums are exact", ranks_permute},
    {"zeros sum to +0", zeros_sum_to_plus_zero},
    {"a NaN on any rank is a NaN there, in its block, and nowhere else", nan_stays_in_place},
    {"an element changes none outside its block", elements_are_apart},
    {"in place equals out of place", in_place_is_out_of_place},
    {"the number of lanes changes nothing", lanes_change_nothing},
    {"pieces of ranks * unit elements make the whole", pieces_make_the_whole},
    {"messages of other lengths begin alike", counts_share_their_beginnings},
    {"what a call left in scratch does not show in the next", calls_leave_nothing_behind},
};

}  // namespace

PropertySubject subject_of(
    std::function<RankBuffers(const model::Schedule&, const RankBuffers&)> run) {
  return [run = std::move(run)](std::span<const PropertyCall> calls) {
    std::vector<RankBuffers> outputs;
    for (const PropertyCall& call : calls) outputs.push_back(run(call.schedule, call.inputs));
    return outputs;
  };
}

std::span<const CollectiveProperty> collective_properties() { return kProperties; }

std::string PropertyCase::text() const {
  const Arithmetic& a = shape.arithmetic;
  return algorithm + "/" + std::string(model::format(a.element).name) + "/" + a.wire.name() + "/" +
         std::string(name(a.op)) + "/" + std::string(name(a.accumulate)) +
         "/ranks=" + std::to_string(shape.ranks) + "/count=" + std::to_string(shape.count) +
         "/lanes=" + std::to_string(shape.lanes) + (shape.in_place ? "/in_place" : "") +
         "/seed=" + std::to_string(seed);
}

model::Schedule PropertyCase::schedule(std::int64_t count) const {
  model::Shape of_call = shape;
  of_call.count = count;
  return model::find_builder(model::Collective::all_reduce, algorithm)->build(of_call);
}

namespace {

/// All of the range from the first case on: RapidCheck's own begins with the small numbers.
template <class T>
rc::Gen<T> in_range(T min, T max) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<T>(min, max));
}

}  // namespace

PropertyCase any_property_case(const std::vector<std::string>& algorithms,
                               const std::vector<Arithmetic>& arithmetics, int most_ranks) {
  PropertyCase c;
  c.algorithm = *rc::gen::elementOf(algorithms).as("algorithm");
  const auto chosen = *in_range<std::size_t>(0, arithmetics.size()).as("arithmetic");
  c.shape.arithmetic = arithmetics[chosen];
  if (c.algorithm == "ring" && c.shape.arithmetic.wire.is_none()) {
    c.shape.arithmetic.accumulate = model::Accumulate::element;  // the only one that it has
  }
  c.shape.ranks = *in_range(1, most_ranks + 1).as("ranks");
  c.shape.lanes = *in_range(1, 4).as("lanes");
  c.shape.in_place = *in_range(0, 2).as("in place") != 0;
  const int units = *in_range(0, 3).as("units");
  const int beside = *rc::gen::elementOf(std::vector<int>{-2, -1, 0, 1, 2, 37, 130}).as("beside");
  const std::int64_t exact = units * c.shape.ranks * c.shape.arithmetic.wire.unit();
  c.shape.count = std::max<std::int64_t>(0, exact + beside);
  c.seed = *in_range<std::uint64_t>(0, 1'000'000).as("seed");
  RC_LOG(c.text());
  return c;
}

std::uint32_t edge_code(const Arithmetic& a, Random& random) {
  const NumberFormat& f = model::format(a.element);
  const std::uint32_t any = static_cast<std::uint32_t>(random.bits() >> 32) & f.code_mask();
  if (random.below(2) != 0) return any;
  const NumberFormat& wire = model::format(a.wire.code_format(a.element));
  const auto of_wire = [&](double x) { return code_of(a.element, static_cast<float>(x)); };
  const double step = model::power_of_two(wire.max_exponent() - wire.fraction_bits - 1);
  const std::uint32_t edges[] = {0,
                                 std::uint32_t{1} << f.fraction_bits,
                                 f.max_code(),
                                 f.infinity_code(),
                                 f.nan_code(),
                                 of_wire(1),
                                 of_wire(wire.min_positive()),
                                 of_wire(wire.min_positive() / 2),
                                 of_wire(wire.min_normal()),
                                 of_wire(wire.max_finite()),
                                 of_wire(wire.max_finite() + step)};
  const std::uint32_t near = edges[random.below(std::size(edges))] + random.below(5) - 2;
  return ((any & f.sign_mask()) | near) & f.code_mask();
}

}  // namespace tally::test
