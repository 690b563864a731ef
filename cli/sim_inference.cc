#include "cli/sim_inference.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "verify/csv_field.h"

namespace tally::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string name_of(const model::WireSize& size, const model::ElementType& otherwise) {
  return size.is_none() ? std::string(otherwise.name()) : size.name;
}

double gib(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

Json part_fields(const sim::Part& part) {
  return {{"block", part.block}, {"operation", part.operation},
          {"times", part.times}, {"each_us", part.each.micros()},
          {"path", part.path},   {"bound_by", part.bound_by},
          {"flops", part.flops}, {"bytes", part.bytes}};
}

Json fields(const sim::Question& q, const sim::Answer& a) {
  return {{"model", q.model},
          {"machine", q.machine},
          {"nodes", q.nodes},
          {"tp", q.tp},
          {"phase", sim::name(q.phase)},
          {"batch", q.batch},
          {"context", q.context},
          {"dtype", q.dtype.name()},
          {"weights", name_of(q.weights, q.dtype)},
          {"kv_cache", name_of(q.kv_cache, q.dtype)},
          {"library", q.library},
          {"version", q.version},
          {"algorithm", q.algorithm},
          {"wire", q.wire.name},
          {"launch", sim::name(q.launch)},
          {"time_us", a.time.micros()},
          {"compute_us", a.compute.micros()},
          {"launch_us", a.launch.micros()},
          {"communication_us", a.communication.micros()},
          {"communication_share", a.communication_share()},
          {"tokens_per_s", a.tokens_per_s},
          {"weights_bytes", a.memory.weights},
          {"kv_cache_bytes", a.memory.kv_cache},
          {"activation_bytes", a.memory.activations},
          {"capacity_bytes", a.memory.capacity},
          {"fits", a.memory.fits()}};
}

Json fields(const sim::Claim& claim) {
  return {{"claim", claim.what},
          {"source", claim.source},
          {"settings", claim.settings},
          {"unit", claim.unit},
          {"claimed_low", claim.claimed_low},
          {"claimed_high", claim.claimed_high},
          {"computed_low", claim.least()},
          {"computed_median", claim.median()},
          {"computed_high", claim.most()},
          {"differs_by", claim.differs_by()},
          {"nearest", claim.nearest().value},
          {"nearest_setting", claim.nearest().setting},
          {"why", claim.why}};
}

void write_line(std::ostream& out, const Json& object) {
  out << object.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

void write_csv(std::ostream& out, const Json& object, bool with_header) {
  std::string header, row;
  for (const auto& [key, value] : object.items()) {
    header += (header.empty() ? "" : ",") + key;
    if (&value != &object.front()) row += ',';
    row += verify::csv_field(value.is_string() ? value.get<std::string>() : value.dump());
  }
  if (with_header) out << header << '\n';
  out << row << '\n';
}

std::string claimed(const sim::Claim& c) {
  if (c.kind == sim::Claimed::at_most) return fmt::format("up to {} {}", c.claimed_high, c.unit);
  if (c.claimed_low == c.claimed_high) return fmt::format("{} {}", c.claimed_low, c.unit);
  return fmt::format("{}..{} {}", c.claimed_low, c.claimed_high, c.unit);
}

// Words in lines of at most 100 columns, each after `indent`.
void write_wrapped(std::ostream& out, const std::string& indent, const std::string& text) {
  constexpr std::size_t kColumns = 100;
  std::string line = indent;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (line.size() > indent.size() && line.size() + 1 + end - begin > kColumns) {
      out << line << '\n';
      line = std::string(indent.size(), ' ');
    }
    if (line.back() != ' ') line += ' ';
    line.append(text, begin, end - begin);
    begin = end + 1;
  }
  out << line << '\n';
}

}  // namespace

void inference_table(std::ostream& out, const sim::Question& q, const sim::Answer& a) {
  out << fmt::format("# {}, {} of {} x {} tokens, {} weights, {} cache; {} GPUs of {}, {} {}, {}\n",
                     q.model, sim::name(q.phase), q.batch, q.context, name_of(q.weights, q.dtype),
                     name_of(q.kv_cache, q.dtype), q.tp, q.machine, q.library, q.algorithm,
                     sim::name(q.launch));
  out << fmt::format("# {:<16} {:<22} {:>5} {:>10} {:>11} {:>7}  {}\n", "block", "operation",
                     "times", "each us", "all us", "share", "bound by");
  for (const sim::Part& part : a.parts) {
    const double all = part.times * part.each.micros();
    out << fmt::format("  {:<16} {:<22} {:>5} {:>10.3f} {:>11.2f} {:>6.2f}%  {}{}\n", part.block,
                       part.operation, part.times, part.each.micros(), all,
                       100 * all / a.time.micros(), part.bound_by,
                       part.is_communication ? " (" + part.path + ")" : "");
  }
  out << fmt::format("# compute {:.1f} us, launches {:.1f} us, communication {:.1f} us: {:.1f} %\n",
                     a.compute.micros(), a.launch.micros(), a.communication.micros(),
                     100 * a.communication_share());
  out << fmt::format("# time to the {} token {:.3f} ms, {:.1f} tokens/s\n",
                     q.phase == sim::InferencePhase::decode ? "next" : "first",
                     a.time.micros() / 1e3, a.tokens_per_s);
  const sim::MemoryNeed& m = a.memory;
  out << fmt::format(
      "# memory of a GPU: weights {:.2f} + cache {:.2f} + activations {:.2f} = {:.2f}"
      " GiB, of {:.2f}: {}\n",
      gib(m.weights), gib(m.kv_cache), gib(m.activations), gib(m.total()), gib(m.capacity),
      m.fits() ? "fits" : "DOES NOT FIT; times are of a GPU with more memory");
}

void inference_json(std::ostream& out, const sim::Question& question, const sim::Answer& answer) {
  Json object = fields(question, answer);
  for (const sim::Part& part : answer.parts) object["parts"].push_back(part_fields(part));
  write_line(out, object);
}

void inference_csv(std::ostream& out, const sim::Question& question, const sim::Answer& answer,
                   bool with_header) {
  write_csv(out, fields(question, answer), with_header);
}

void claims_table(std::ostream& out, std::span<const sim::Claim> claims) {
  out << fmt::format("# {:<54} {:>12} {:>10} {:>17} {:>9}\n", "claim", "claimed", "computed",
                     "from .. to", "differs");
  for (const sim::Claim& c : claims) {
    const bool at_most = c.kind == sim::Claimed::at_most;
    const std::string spread = fmt::format("{:.3g} .. {:.3g}", c.least(), c.most());
    out << fmt::format("  {:<54} {:>12} {:>8.3g} {:<1} {:>17} {:>+9.3g}\n", c.what, claimed(c),
                       at_most ? c.most() : c.median(), c.unit, spread, c.differs_by());
    const auto extreme = [&](const sim::Sample& sample) {
      return fmt::format("{:.3g} {}: {}; {}", sample.value, c.unit, sample.setting, sample.detail);
    };
    write_wrapped(out, "      over ", c.settings);
    if (c.samples.size() > 1) {
      write_wrapped(out, "      least ", extreme(c.samples.front()));
      write_wrapped(out, "      nearest ", extreme(c.nearest()));
    }
    write_wrapped(out, "      most ", extreme(c.samples.back()));
    write_wrapped(out, "      why ", c.why);
  }
}

void claims_json(std::ostream& out, std::span<const sim::Claim> claims) {
  for (const sim::Claim& claim : claims) {
    Json object = fields(claim);
    for (const sim::Sample& sample : claim.samples) {
      object["samples"].push_back(
          {{"value", sample.value}, {"setting", sample.setting}, {"detail", sample.detail}});
    }
    write_line(out, object);
  }
}

void claims_csv(std::ostream& out, std::span<const sim::Claim> claims) {
  bool is_first = true;
  for (const sim::Claim& claim : claims) {
    write_csv(out, fields(claim), is_first);
    is_first = false;
  }
}

}  // namespace tally::cli
