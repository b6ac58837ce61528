// Replaces libFuzzer in a build without libFuzzer. It runs the fuzzer's function on every file of a folder.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: replay FOLDER...\n";
    return 2;
  }
  try {
    std::vector<std::filesystem::path> inputs;
    for (int i = 1; i < argc; ++i) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
        if (entry.is_regular_file()) inputs.push_back(entry.path());
      }
    }
    std::ranges::sort(inputs);
    for (const std::filesystem::path& input : inputs) {
      std::cout << input.string() << std::endl;  // flushed, so that the last printed file is the one that crashed
      std::ifstream in(input, std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
      LLVMFuzzerTestOneInput(data.data(), data.size());
    }
    if (inputs.empty()) {
      std::cerr << "no inputs in " << argv[1] << '\n';
      return 1;
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "replay: " << error.what() << '\n';
    return 1;
  }
}
