#include "reference/npy.h"

#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>

#include "model/number_format.h"
#include "reference/convert.h"

namespace tally::reference {
namespace {

using model::Error;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr const char* kShapeHint = "save a C-ordered float32 array of shape [ranks, elements]";

/// What stands in the header's dictionary.
struct Header {
  std::string_view descr;
  std::string_view fortran_order;
  std::vector<std::int64_t> shape;
};

/// A reader of the one Python literal that the header is: a dictionary of strings, a boolean and
/// a tuple of integers. Anything else is refused.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : rest_(text) {}

  std::optional<Header> parse() {
    Header header;
    int seen = 0;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
      const auto key = quoted();
      if (!key || !take(':')) return std::nullopt;
      if (*key == "descr") {
        const auto value = quoted();
        if (!value) return std::nullopt;
        header.descr = *value;
        seen |= 1;
      } else if (*key == "fortran_order") {
        header.fortran_order = word();
        seen |= 2;
      } else if (*key == "shape") {
        if (!shape(header.shape)) return std::nullopt;
        seen |= 4;
      } else {
        return std::nullopt;
      }
      if (!take(',') && peek() != '}') return std::nullopt;
    }
    skip_space();
    if (seen != 7 || !rest_.empty()) return std::nullopt;
    return header;
  }

 private:
  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  char peek() {
    skip_space();
    return rest_.empty() ? '\0' : rest_.front();
  }
  bool take(char c) {
    if (peek() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string_view> quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::string_view word() {
    skip_space();
    std::size_t n = 0;
    while (n < rest_.size() &&
           ((rest_[n] >= 'A' && rest_[n] <= 'Z') || (rest_[n] >= 'a' && rest_[n] <= 'z')))
      ++n;
    const std::string_view text = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return text;
  }
  bool shape(std::vector<std::int64_t>& dimensions) {
    if (!take('(')) return false;
    while (!take(')')) {
      std::int64_t value = 0;
      int digits = 0;
      for (; peek() >= '0' && peek() <= '9'; rest_.remove_prefix(1), ++digits) {
        if (digits == 15) return false;  // no file holds 10^15 elements
        value = value * 10 + (rest_.front() - '0');
      }
      if (digits == 0 || dimensions.size() == 8) return false;
      dimensions.push_back(value);
      if (!take(',') && peek() != ')') return false;
    }
    return true;
  }

  std::string_view rest_;
};

/// The dictionary's text, and where the data begins.
struct Preamble {
  std::string_view header;
  std::size_t data;
};

model::Result<Preamble> read_preamble(const std::string& name, std::string_view bytes) {
  if (bytes.substr(0, kMagic.size()) != kMagic) {
    return Error{name, "is not a .npy file: the first bytes are not \\x93NUMPY", kShapeHint};
  }
  const Error truncated{name, "is truncated inside its header", "the file ends too early"};
  if (bytes.size() < 10) return truncated;
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    return Error{name, "has .npy format version " + std::to_string(version),
                 "versions 1 to 3 can be read"};
  }
  const std::size_t prefix = version == 1 ? 10 : 12;
  if (bytes.size() < prefix) return truncated;
  std::size_t length = 0;
  for (std::size_t i = prefix; i-- > 8;)
    length = length << 8 | static_cast<unsigned char>(bytes[i]);
  if (bytes.size() - prefix < length) return truncated;
  return Preamble{bytes.substr(prefix, length), prefix + length};
}

}  // namespace

model::Result<Tensor> parse_npy(const std::string& name, std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto preamble = read_preamble(name, text);
  if (!preamble) return preamble.error();
  const auto header = HeaderParser(preamble->header).parse();
  if (!header) {
    return Error{name, "has a header that is not the dictionary of descr, fortran_order and shape",
                 kShapeHint};
  }
  const bool is_f32 = header->descr == "<f4";
  if (!is_f32 && header->descr != "<f2") {
    return Error{name, "has dtype '" + std::string(header->descr) + "'",
                 "float32 ('<f4') and float16 ('<f2') can be read: array.astype('<f4')"};
  }
  if (header->fortran_order != "False") {
    return Error{name, "is in Fortran order, or does not say", "numpy.ascontiguousarray first"};
  }
  if (header->shape.size() != 2 || header->shape[0] < 1) {
    return Error{name, "has " + std::to_string(header->shape.size()) + " dimensions, or no row",
                 kShapeHint};
  }
  Tensor tensor{header->shape[0], header->shape[1], {}};
  const std::int64_t size = is_f32 ? 4 : 2;
  const auto data = bytes.subspan(preamble->data);
  const auto available = static_cast<std::int64_t>(data.size()) / size;
  const bool fits = tensor.columns == 0 || tensor.rows <= available / tensor.columns;
  if (!fits || tensor.rows * tensor.columns * size != std::ssize(data)) {
    return Error{name,
                 "holds " + std::to_string(data.size()) + " bytes of data for the shape [" +
                     std::to_string(tensor.rows) + ", " + std::to_string(tensor.columns) + "]",
                 "the file is truncated, or its header is wrong"};
  }
  tensor.values.resize(tensor.rows * tensor.columns);
  decode_array(is_f32 ? model::Format::f32 : model::Format::f16, data, tensor.values);
  return tensor;
}

model::Result<Tensor> read_npy(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{path, "cannot be opened", "check the path and its permissions"};
  std::string content;
  char piece[1 << 16];
  while (file.read(piece, sizeof piece) || file.gcount() > 0) content.append(piece, file.gcount());
  if (file.bad()) return Error{path, "cannot be read", "it may be a directory"};
  return parse_npy(path, std::as_bytes(std::span(content)));
}

}  // namespace tally::reference
