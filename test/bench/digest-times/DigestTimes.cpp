// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// digest-times MODEL: prints as JSON the fastest digest time for an artifact in
// milliseconds, with and without the CPU's SHA instructions.
#include "runtime/artifact/Digest.h"
#include "runtime/artifact/Elf.h"
#include "runtime/base/File.h"
#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace transom;

static constexpr int numRuns = 200;

/// Returns milliseconds for the fastest of many runs.
static double measure(std::string_view bytes, uint64_t digestOffset,
                      Sha256::Engine engine) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int i = 0; i != numRuns; ++i) {
    const Clock::time_point start = Clock::now();
    const auto digest = computeArtifactDigest(bytes, digestOffset, engine);
    asm volatile("" : : "g"(digest.data()) : "memory");
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    best = std::min(best, time.count());
  }
  return best;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: digest-times MODEL\n");
    return 2;
  }
  Result<MappedFile> file = MappedFile::open(argv[1]);
  Result<ElfImage> image =
      file ? readElf(file->bytes(), argv[1]) : file.takeError();
  if (!image || !image->digest) {
    std::fprintf(stderr, "digest-times: error: %s\n",
                 image ? "the model has no digest"
                       : image.error().message.c_str());
    return 3;
  }
  const uint64_t offset =
      uint64_t(image->digest->data() - file->bytes().data());
  uint64_t covered = 0;
  for (size_t i = 0; i + 1 < image->segments.size(); ++i)
    covered += image->segments[i].size;
  std::printf("{\"bytes\": %llu, \"ms\": %.4f, \"ms_portable\": %.4f}\n",
              static_cast<unsigned long long>(covered),
              measure(file->bytes(), offset, Sha256::Engine::Automatic),
              measure(file->bytes(), offset, Sha256::Engine::Portable));
}
