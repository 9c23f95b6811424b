// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Peak loops. The multiply-add loops use all registers for independent chains,
// more than two pipes with a latency of six cycles need; the read loop sums a
// buffer that exceeds all caches.
#include "tools/commands/bench/Limits.h"
#include "runtime/base/InstructionSet.h"
#include "runtime/base/Threads.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <sys/mman.h>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace transom;
using namespace transom::tools;

namespace {
typedef float Vector4 __attribute__((vector_size(16)));
typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector16 __attribute__((vector_size(64)));
typedef uint64_t Words2 __attribute__((vector_size(16)));
typedef uint64_t Words4 __attribute__((vector_size(32)));
typedef uint64_t Words8 __attribute__((vector_size(64)));

/// The loops for one instruction set; each returns a number that depends on all
/// its work, so that the compiler cannot drop it.
struct PeakLoops {
  double (*multiply)(int64_t steps); ///< f32
  int64_t flops;                     ///< per step
  double (*multiplyBf16)(int64_t steps);
  int64_t bf16Flops;
  double (*read)(const char *bytes, int64_t size);
  double (*multiplyInt8)(int64_t steps) = nullptr;
  int64_t int8Flops = 0;
};
} // namespace

/// Defines the two loops for one vector width. `NAME##Multiply` runs `steps`
/// steps with one multiply-add in each of CHAINS chains; `NAME##Read` reads a
/// buffer whose size is a multiple of 8 vectors.
#define TRANSOM_LOOPS(NAME, ATTRIBUTE, CHAINS, REGISTER, FLOATS, WORDS)        \
  ATTRIBUTE static double NAME##Multiply(int64_t steps) {                      \
    FLOATS sums[CHAINS];                                                       \
    for (int i = 0; i < CHAINS; ++i)                                           \
      sums[i] = FLOATS{} + static_cast<float>(i);                              \
    FLOATS factor = FLOATS{} + 0.001f, term = FLOATS{} + 0.001f;               \
    asm volatile("" : REGISTER(factor), REGISTER(term));                       \
    _Pragma("clang loop unroll(disable)") for (int64_t step = 0; step < steps; \
                                               ++step) {                       \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < CHAINS; ++i)      \
          sums[i] = __builtin_elementwise_fma(factor, term, sums[i]);          \
    }                                                                          \
    double total = 0;                                                          \
    for (int i = 0; i < CHAINS; ++i)                                           \
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

#if defined(__x86_64__)
TRANSOM_LOOPS(avx2, __attribute__((target("avx2,fma"))), 12, "+v", Vector8,
              Words4)
TRANSOM_LOOPS(avx512,
              __attribute__((target("avx512f,avx512vl,fma"),
                             min_vector_width(512))),
              24, "+v", Vector16, Words8)

/// Like the loops above, with bf16 pairs.
__attribute__((target("avx512f,avx512vl,avx512bf16"),
               min_vector_width(512))) static double
avx512Bf16Multiply(int64_t steps) {
  __m512 sums[24];
  for (int i = 0; i < 24; ++i)
    sums[i] = _mm512_set1_ps(static_cast<float>(i));
  __m512i pairs = _mm512_set1_epi16(0x3f80); // ones
  asm volatile("" : "+v"(pairs));
  __m512bh ones;
  __builtin_memcpy(&ones, &pairs, sizeof ones);
#pragma clang loop unroll(disable)
  for (int64_t step = 0; step < steps; ++step) {
#pragma clang loop unroll(full)
    for (int i = 0; i < 24; ++i)
      sums[i] = _mm512_dpbf16_ps(sums[i], ones, ones);
  }
  double total = 0;
  for (int i = 0; i < 24; ++i)
    total += _mm512_cvtss_f32(sums[i]);
  return total;
}

/// Like the loops above, with four bytes per lane.
#define TRANSOM_BYTE_LOOP(NAME, ATTRIBUTE, CHAINS, WORDS, BITS)                \
  ATTRIBUTE static double NAME(int64_t steps) {                                \
    WORDS sums[CHAINS];                                                        \
    for (int i = 0; i < CHAINS; ++i)                                           \
      sums[i] = _mm##BITS##_set1_epi32(i);                                     \
    WORDS bytes = _mm##BITS##_set1_epi8(1);                                    \
    asm volatile("" : "+v"(bytes));                                            \
    _Pragma("clang loop unroll(disable)") for (int64_t step = 0; step < steps; \
                                               ++step) {                       \
      _Pragma("clang loop unroll(full)") for (int i = 0; i < CHAINS; ++i)      \
          sums[i] = BYTE_PRODUCT_##BITS(sums[i], bytes, bytes);                \
    }                                                                          \
    double total = 0;                                                          \
    for (int i = 0; i < CHAINS; ++i)                                           \
      total += _mm##BITS##_cvtsi##BITS##_si32(sums[i]);                        \
    return total;                                                              \
  }
#define BYTE_PRODUCT_256 _mm256_dpbusd_avx_epi32
#define BYTE_PRODUCT_512 _mm512_dpbusd_epi32
TRANSOM_BYTE_LOOP(avxInt8Multiply, __attribute__((target("avx2,avxvnni"))), 12,
                  __m256i, 256)
TRANSOM_BYTE_LOOP(avx512Int8Multiply,
                  __attribute__((target("avx512f,avx512vl,avx512vnni"),
                                 min_vector_width(512))),
                  24, __m512i, 512)

/// Configures AMX tiles with 16 rows of 64 bytes; fills two with this word.
__attribute__((target("amx-tile"))) static void loadTiles(uint32_t word) {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  static_assert(sizeof config == 64);
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  alignas(64) uint32_t words[16 * 16];
  std::fill(std::begin(words), std::end(words), word);
  _tile_loadd(4, words, 64);
  _tile_loadd(5, words, 64);
}

/// Like the loops above, with tiles of 16 rows with 32 bf16 elements or 64
/// bytes: one step adds four tile products. Zero operands would be faster (1.26
/// times on a Sapphire Rapids).
#define TRANSOM_TILE_LOOP(NAME, FEATURE, WORD, MULTIPLY)                       \
  __attribute__((target("amx-tile," FEATURE))) static double NAME(             \
      int64_t steps) {                                                         \
    loadTiles(WORD);                                                           \
    _Pragma("clang loop unroll(disable)") for (int64_t step = 0; step < steps; \
                                               ++step) {                       \
      MULTIPLY(0, 4, 5);                                                       \
      MULTIPLY(1, 4, 5);                                                       \
      MULTIPLY(2, 4, 5);                                                       \
      MULTIPLY(3, 4, 5);                                                       \
    }                                                                          \
    float sums[16 * 16];                                                       \
    _tile_stored(0, sums, 64);                                                 \
    _tile_release();                                                           \
    return sums[0];                                                            \
  }
TRANSOM_TILE_LOOP(amxBf16Multiply, "amx-bf16", 0x3f803f80, _tile_dpbf16ps)
TRANSOM_TILE_LOOP(amxInt8Multiply, "amx-int8", 0x01010101, _tile_dpbsud)

static PeakLoops getPeakLoops(const std::string &isa) {
  const InstructionSet *known = findInstructionSet(isa);
  if (!known || known->vectorBits != 512) {
    PeakLoops loops = {avx2Multiply, 2 * 12 * 8, nullptr, 0, avx2Read};
    if (known && known->dotInt8) {
      loops.multiplyInt8 = avxInt8Multiply;
      loops.int8Flops = 8 * 12 * 8;
    }
    return loops;
  }
  PeakLoops loops = {avx512Multiply, 2 * 24 * 16, nullptr, 0, avx512Read};
  if (known->amx) {
    loops.multiplyBf16 = amxBf16Multiply;
    loops.bf16Flops = int64_t(4) * 2 * 16 * 16 * amxBf16Depth;
  } else if (known->dotBf16) {
    loops.multiplyBf16 = avx512Bf16Multiply;
    loops.bf16Flops = 4 * 24 * 16;
  }
  if (known->amx) {
    loops.multiplyInt8 = amxInt8Multiply;
    loops.int8Flops = int64_t(4) * 2 * 16 * 16 * amxInt8Depth;
  } else if (known->dotInt8) {
    loops.multiplyInt8 = avx512Int8Multiply;
    loops.int8Flops = 8 * 24 * 16;
  }
  return loops;
}
#else
TRANSOM_LOOPS(narrow, , 24, "+w", Vector4, Words2)

static PeakLoops getPeakLoops(const std::string &) {
  return {narrowMultiply, 2 * 24 * 4, nullptr, 0, narrowRead};
}
#endif

using Clock = std::chrono::steady_clock;

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

namespace {
/// Work that all threads run at once in a burst.
struct BurstTask {
  std::function<double(unsigned)> work;
  double seconds = 0; ///< from the first begin to the last end
};
} // namespace

/// Runs the tasks sequentially, each on all threads, or on fewer if the system
/// refuses to create some; returns the thread count. Each task starts with a
/// spinning barrier, so that all threads begin together.
static unsigned doTogether(unsigned threads, std::vector<BurstTask> &tasks) {
  std::atomic<unsigned> arrived{0}, size{0};
  std::vector<double> sinks(threads);
  std::vector<std::vector<Clock::time_point>> begins(
      tasks.size(), std::vector<Clock::time_point>(threads)),
      ends = begins;
  // Each thread runs all tasks, with a barrier before each.
  auto body = [&](unsigned index) {
    while (size.load() == 0)
      std::this_thread::yield();
    for (size_t i = 0; i < tasks.size(); ++i) {
      const auto all = static_cast<unsigned>(i + 1) * size.load();
      arrived.fetch_add(1);
      for (int spins = 0; arrived.load() < all; ++spins)
        if (spins > 10000)
          std::this_thread::yield();
      begins[i][index] = Clock::now();
      sinks[index] += tasks[i].work(index);
      ends[i][index] = Clock::now();
    }
  };
  // Start the threads. They wait until the final count is known.
  std::vector<std::thread> team;
  for (unsigned i = 1; i < threads; ++i) {
    std::optional<std::thread> thread = startThread([&body, i] { body(i); });
    if (!thread)
      break;
    team.push_back(std::move(*thread));
  }
  const auto count = static_cast<unsigned>(team.size()) + 1;
  size = count;
  body(0);
  for (std::thread &thread : team)
    thread.join();
  // A task lasts from the first begin to the last end.
  for (size_t i = 0; i < tasks.size(); ++i)
    tasks[i].seconds =
        std::chrono::duration<double>(
            *std::max_element(ends[i].begin(), ends[i].begin() + count) -
            *std::min_element(begins[i].begin(), begins[i].begin() + count))
            .count();
  volatile double sink = 0; // keeps the work from being dropped
  for (double value : sinks)
    sink = sink + value;
  return count;
}

/// Returns the step count that takes about two milliseconds.
static int64_t getSteps(double (*loop)(int64_t)) {
  const int64_t some = 100000;
  auto start = Clock::now();
  volatile double sink = loop(some);
  (void)sink;
  return std::max<int64_t>(
      some, static_cast<int64_t>(2e-3 / secondsSince(start) * some));
}

LimitMeter::LimitMeter(const std::string &isa, unsigned threads,
                       int64_t callBytes)
    : isa(isa), threads(threads) {
  window = int64_t(32) << 20;
  region = window * std::max<int64_t>(2, 4 / threads);
  // Data that a call reads may stay cached between calls. In that case a burst
  // reads all of it, repeatedly if it is small. The loops require a multiple of
  // eight vectors.
  const int64_t step = 8 * 64;
  const int64_t share = (callBytes / threads + step - 1) / step * step;
  if (share > 0 && share < region) {
    region = share;
    passes = (window + share - 1) / share;
    window = std::min(share, window);
  }
  // Use small pages like a mapped artifact. Populate them up front, writable so
  // that they do not share the zero page.
  void *pages = mmap(nullptr, static_cast<size_t>(region) * threads,
                     PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (pages != MAP_FAILED)
    buffer = static_cast<char *>(pages);
}

LimitMeter::~LimitMeter() {
  if (buffer)
    munmap(buffer, static_cast<size_t>(region) * threads);
}

void LimitMeter::burst() {
  // Run each loop on all threads for a short time.
  const PeakLoops loops = getPeakLoops(isa);
  const int64_t steps = getSteps(loops.multiply);
  const int64_t bf16Steps =
      loops.multiplyBf16 ? getSteps(loops.multiplyBf16) : 0;
  const int64_t int8Steps =
      loops.multiplyInt8 ? getSteps(loops.multiplyInt8) : 0;
  std::vector<BurstTask> tasks;
  tasks.push_back({[&](unsigned) { return loops.multiply(steps); }});
  tasks.push_back({[&](unsigned index) {
    double sum = 0;
    for (int64_t pass = 0; buffer && pass < passes; ++pass)
      sum += loops.read(buffer + index * region + at, window);
    return sum;
  }});
  if (bf16Steps)
    tasks.push_back({[&](unsigned) { return loops.multiplyBf16(bf16Steps); }});
  if (int8Steps)
    tasks.push_back({[&](unsigned) { return loops.multiplyInt8(int8Steps); }});
  const unsigned started = doTogether(threads, tasks);
  at = at + 2 * window <= region ? at + window : 0;

  // Keep the best result over all bursts.
  auto keep = [&](double &best, double work, const BurstTask &task) {
    best = std::max(best, work * started / task.seconds);
  };
  keep(limits.flops, static_cast<double>(loops.flops * steps), tasks[0]);
  if (buffer)
    keep(limits.bandwidth, static_cast<double>(window * passes), tasks[1]);
  // Without instructions for a type, the f32 limit applies.
  if (bf16Steps)
    keep(limits.bf16Flops, static_cast<double>(loops.bf16Flops * bf16Steps),
         tasks[2]);
  else
    limits.bf16Flops = limits.flops;
  if (int8Steps)
    keep(limits.int8Flops, static_cast<double>(loops.int8Flops * int8Steps),
         tasks.back());
  else
    limits.int8Flops = limits.flops;
}

void LimitMeter::finish() {
  for (int quiet = 0, all = 0; quiet < 8 && all < 48; ++quiet, ++all) {
    const MachineLimits before = limits;
    burst();
    if (limits.flops > 1.005 * before.flops ||
        limits.bf16Flops > 1.005 * before.bf16Flops ||
        limits.int8Flops > 1.005 * before.int8Flops ||
        limits.bandwidth > 1.005 * before.bandwidth)
      quiet = 0;
  }
}

MachineLimits transom::tools::measureLimits(const std::string &isa,
                                            unsigned threads) {
  LimitMeter meter(isa, threads);
  meter.finish();
  return meter.best();
}
