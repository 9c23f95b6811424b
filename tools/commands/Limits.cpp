// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peak loops. The FMA loop keeps enough independent chains in registers to
// fill two pipes of four cycles; the read loop sums a buffer that no cache
// holds.
#include "tools/commands/Limits.h"
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

using namespace transom::tools;

/// Independent multiply-adds in flight, and lanes of the widest vector.
static constexpr int chains = 12;

#if defined(__x86_64__)
#define TRANSOM_AVX2 __attribute__((target("avx2,fma")))
#define TRANSOM_AVX512                                                         \
  __attribute__((target("avx512f,fma"), min_vector_width(512)))
#define TRANSOM_REGISTER "+v"
#else
#define TRANSOM_AVX2
#define TRANSOM_AVX512
#define TRANSOM_REGISTER "+m"
#endif

typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector16 __attribute__((vector_size(64)));
typedef uint64_t Words4 __attribute__((vector_size(32)));
typedef uint64_t Words8 __attribute__((vector_size(64)));

/// The two loops for one width of vectors. `NAME##Fma` does `steps` steps of
/// one multiply-add in each chain; `NAME##Read` reads a buffer of a multiple of
/// 8 vectors. Both give a number that depends on all they did.
#define TRANSOM_LOOPS(NAME, ATTRIBUTE, FLOATS, WORDS)                          \
  ATTRIBUTE static double NAME##Fma(int64_t steps) {                           \
    FLOATS sums[chains];                                                       \
    for (int i = 0; i < chains; ++i)                                           \
      sums[i] = FLOATS{} + static_cast<float>(i);                              \
    FLOATS factor = FLOATS{} + 0.999f, term = FLOATS{} + 0.001f;               \
    asm volatile("" : TRANSOM_REGISTER(factor), TRANSOM_REGISTER(term));       \
    for (int64_t step = 0; step < steps; ++step) {                             \
      _Pragma("clang fp contract(fast)")                                       \
          _Pragma("clang loop unroll(full)") for (int i = 0; i < chains; ++i)  \
              sums[i] = sums[i] * factor + term;                               \
    }                                                                          \
    double total = 0;                                                          \
    for (int i = 0; i < chains; ++i)                                           \
      total += sums[i][0];                                                     \
    return total;                                                              \
  }                                                                            \
  ATTRIBUTE static double NAME##Read(const char *bytes, int64_t size) {        \
    const WORDS *at = reinterpret_cast<const WORDS *>(bytes);                  \
    const WORDS *end = reinterpret_cast<const WORDS *>(bytes + size);          \
    WORDS sums[8] = {};                                                        \
    for (; at < end; at += 8) {                                                \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < 8; ++i)           \
          sums[i] += at[i];                                                    \
    }                                                                          \
    uint64_t total = 0;                                                        \
    for (int i = 0; i < 8; ++i)                                                \
      total += sums[i][0];                                                     \
    return static_cast<double>(total);                                         \
  }

TRANSOM_LOOPS(avx2, TRANSOM_AVX2, Vector8, Words4)
TRANSOM_LOOPS(avx512, TRANSOM_AVX512, Vector16, Words8)

/// Seconds until all of `threads` calls of `work` are done, at best of
/// `rounds`.
static double bestSeconds(unsigned threads, int rounds,
                          const std::function<double(unsigned)> &work) {
  double best = 1e9;
  std::vector<double> results(threads); // keeps the work from being dropped
  for (int round = 0; round < rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> team;
    for (unsigned i = 1; i < threads; ++i)
      team.emplace_back([&, i] { results[i] = work(i); });
    results[0] = work(0);
    for (std::thread &thread : team)
      thread.join();
    best = std::min(best, std::chrono::duration<double>(
                              std::chrono::steady_clock::now() - start)
                              .count());
  }
  volatile double sink = 0;
  for (double result : results)
    sink = sink + result;
  return best;
}

MachineLimits transom::tools::measureLimits(const std::string &isa,
                                            unsigned threads) {
  const bool wide = isa.compare(0, 6, "avx512") == 0;
  const int64_t steps = 5000000;
  const int64_t bytes = int64_t(128) << 20; // a thread
  MachineLimits limits;
  double seconds = bestSeconds(threads, 3, [&](unsigned) {
    return wide ? avx512Fma(steps) : avx2Fma(steps);
  });
  limits.flops = 2.0 * chains * (wide ? 16 : 8) * static_cast<double>(steps) *
                 threads / seconds;
  // Aligned to the widest vector.
  std::vector<Vector16> buffer(static_cast<size_t>(bytes) / sizeof(Vector16) *
                               threads);
  std::fill(buffer.begin(), buffer.end(), Vector16{} + 1.0f);
  const char *data = reinterpret_cast<const char *>(buffer.data());
  seconds = bestSeconds(threads, 5, [&](unsigned i) {
    const char *share = data + i * bytes;
    return wide ? avx512Read(share, bytes) : avx2Read(share, bytes);
  });
  limits.bandwidth = static_cast<double>(bytes) * threads / seconds;
  return limits;
}
