// Goal: tensors are read bit for bit, and a broken file is answered with where, what and a hint.
// Method: files are composed here byte by byte from the format's description (NumPy Enhancement
// Proposal 1), whole ones and ones with a single fault.

#include "reference/npy.h"

#include <cstring>

#include "tests/support/catch.h"

namespace {

using namespace tally;

std::vector<std::byte> npy(const std::string& header, const std::vector<std::uint32_t>& words,
                           char version = 1) {
  std::string text = "\x93NUMPY";
  text += version;
  text += '\0';
  const std::size_t length = header.size();
  const int prefix = version == 1 ? 2 : 4;
  for (int b = 0; b < prefix; ++b) text += static_cast<char>(length >> (8 * b));
  text += header;
  for (const std::uint32_t word : words) {
    for (int b = 0; b < 4; ++b) text += static_cast<char>(word >> (8 * b));
  }
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }    \n";
const std::vector<std::uint32_t> kWords = {0x3F800000, 0x80000000, 0x7F800000,
                                           0x00000001, 0x7FC00000, 0xC0490FDB};

model::Result<reference::Tensor> parse(const std::vector<std::byte>& bytes) {
  return reference::parse_npy("x.npy", bytes);
}

}  // namespace

TEST_CASE("a float32 file gives its values bit for bit", "[verify]") {
  for (const char version : {'\1', '\2', '\3'}) {
    const auto tensor = parse(npy(kHeader, kWords, version));
    REQUIRE(tensor);
    CHECK(tensor->rows == 2);
    CHECK(tensor->columns == 3);
    REQUIRE(tensor->values.size() == 6);
    CHECK(std::memcmp(tensor->values.data(), kWords.data(), 24) == 0);
    CHECK(tensor->row(1).size() == 3);
    CHECK(tensor->row(1)[0] == 0x1p-149f);
  }
}

TEST_CASE("a float16 file gives its exact values", "[verify]") {
  const auto tensor =
      parse(npy("{'shape': (1, 2), 'fortran_order': False, 'descr': '<f2'}", {0x0001'7BFF}));
  REQUIRE(tensor);
  CHECK(tensor->values == std::vector<float>{65504.0f, 0x1p-24f});
}

TEST_CASE("a file of no elements is read", "[verify]") {
  const auto tensor = parse(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (8, 0)}", {}));
  REQUIRE(tensor);
  CHECK(tensor->columns == 0);
}

TEST_CASE("every file with one fault is refused, and says where and what", "[verify]") {
  const auto with_header = [](const std::string& header) { return npy(header, kWords); };
  const std::string f4 = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
  struct Broken {
    const char* what;
    std::vector<std::byte> bytes;
    const char* said;
  };
  auto whole = npy(kHeader, kWords);
  auto cut = whole, longer = whole, magic = whole, version = whole, header_cut = whole;
  cut.pop_back();
  longer.push_back(std::byte{0});
  magic[1] = std::byte{'X'};
  version[6] = std::byte{9};
  header_cut.resize(20);
  const Broken all[] = {
      {"empty", {}, "not a .npy file"},
      {"wrong magic", magic, "not a .npy file"},
      {"unknown version", version, "format version 9"},
      {"truncated data", cut, "23 bytes of data"},
      {"more data than the shape", longer, "25 bytes of data"},
      {"truncated header", header_cut, "truncated inside its header"},
      {"header longer than the file", npy(std::string(70000, ' '), kWords), "header"},
      {"float64", with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}"), "<f8"},
      {"big-endian", with_header("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}"),
       ">f4"},
      {"objects", with_header("{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}"), "|O"},
      {"Fortran order", with_header("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}"),
       "Fortran"},
      {"one dimension", with_header(f4 + "(6,)}"), "1 dimensions"},
      {"three dimensions", with_header(f4 + "(1, 2, 3)}"), "3 dimensions"},
      {"no row", with_header(f4 + "(0, 6)}"), "no row"},
      {"shape beyond the data", with_header(f4 + "(2, 4)}"), "24 bytes of data"},
      {"shape that overflows", with_header(f4 + "(999999999999999, 999999999999999)}"), "24 bytes"},
      {"absurd number", with_header(f4 + "(99999999999999999999, 3)}"), "dictionary"},
      {"negative shape", with_header(f4 + "(-2, 3)}"), "dictionary"},
      {"no shape", with_header("{'descr': '<f4', 'fortran_order': False}"), "dictionary"},
      {"unknown key", with_header("{'descr': '<f4', 'evil': 1}"), "dictionary"},
      {"trailing text", with_header(kHeader + "x"), "dictionary"},
      {"not a dictionary", with_header("hello"), "dictionary"},
  };
  for (const Broken& broken : all) {
    INFO(broken.what);
    const auto tensor = parse(broken.bytes);
    REQUIRE_FALSE(tensor);
    CHECK(tensor.error().where == "x.npy");
    CHECK(tensor.error().what.find(broken.said) != std::string::npos);
    CHECK_FALSE(tensor.error().hint.empty());
  }
}

TEST_CASE("a file that is not there is an error", "[verify]") {
  REQUIRE_FALSE(reference::read_npy("no/such/file.npy"));
  CHECK(reference::read_npy("no/such/file.npy").error().where == "no/such/file.npy");
  REQUIRE_FALSE(reference::read_npy("."));
}
