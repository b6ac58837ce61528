#include "core/gzip.hpp"

#include <string>
#include <string_view>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;

namespace {

std::string bytes_of(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) bytes += static_cast<char>(16 * digit(hex[i]) + digit(hex[i + 1]));
  return bytes;
}

// Written by Python's gzip module: with fixed codes and a file name, with codes of its own, and stored.
const std::string fixed = bytes_of("1f8b08080000000002ff742e6a736f6e004b4c4aa42ae40200c766357f51000000");
const std::string dynamic = bytes_of(
    "1f8b08000000000002ff1591491500310843efa840028b22c256ff0a8639955768c94f92dc0c8d67efc95ae185ef9259e86bb5224c4408"
    "c74aad06d7cd714dc9151deb2c48516fe8a8f2b24b75d3735ef278a5b62b39ac263a78c2b064df791a2f5a9d88ae9f5c61c5ceb53c4ef3"
    "5a9834d6dc95ef815d239e0f71f1deb913cc643748f74e92291dc637dee102dce630eb6a18e534329b535ab49fce7b88de39d6462b17ad"
    "47c566683e65398412537ec572d06423b2a19d150d47b7e65267b00779d14b7737a533a80645b2540fb2cd2f867c3bb27c8c2c67ab05fe"
    "130abf4382c6293bf6b623f39e19743999be24b6337eb16ee93920b2c5e1137a9a18efd0e26849020bb7a832dac44ba954c7aedd8fdcfa"
    "4e94fc115aebf975dcc0d0bb45a7895d9f4cff12ead45f8a76da49a64ef7e49853df3ddf7642fd192d9a1d8a9068b3f3d23dc157812f46"
    "cb73e3fc56f60faae31fa158020000");
const std::string stored = bytes_of("1f8b0800000000000403010600f9ff73746f7265640bf9435606000000");
constexpr std::size_t most = 1 << 20;

}  // namespace

TEST_CASE("a file of gzip is decompressed, member by member") {
  std::string twice;
  for (int i = 0; i < 40; ++i) twice += "ab";
  twice += "\n";
  CHECK(is_gzip(fixed));
  CHECK_FALSE(is_gzip("{}"));
  CHECK(gunzip(fixed, most, "t.gz") == twice);
  const std::string text = gunzip(dynamic, most, "t.gz");
  CHECK(text.size() == 600);
  CHECK(text.starts_with("c\n322bebh2hh"));
  CHECK(gunzip(stored, most, "t.gz") == "stored");
  CHECK(gunzip(stored + fixed, most, "t.gz") == "stored" + twice);
}

TEST_CASE("a damaged file of gzip is refused, whatever is damaged") {
  for (const std::string& whole : {fixed, dynamic, stored}) {
    for (std::size_t i = 0; i < whole.size(); ++i) {
      CHECK(error_of([&] {
              (void)gunzip(whole.substr(0, i), most, "t.gz");
            }).starts_with("t.gz: this gzip file is damaged: "));
    }
    // After the header, the checksum shows each damaged byte, except bits that no block uses.
    const std::string text = gunzip(whole, most, "t.gz");
    for (std::size_t i = whole.size() / 2; i < whole.size(); ++i) {
      std::string other = whole;
      other[i] = static_cast<char>(other[i] ^ 0x10);
      std::string found = text;
      const std::string error = error_of([&] { found = gunzip(other, most, "t.gz"); });
      CHECK((error.starts_with("t.gz: this gzip file is damaged: ") || found == text));
    }
  }
  CHECK(error_of([] { (void)gunzip(dynamic, 599, "t.gz"); }).starts_with("t.gz: the decompressed file is longer"));
}
