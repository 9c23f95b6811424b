// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two implementations of the SHA-256 compression function: with the x86 SHA
// instructions, and in plain C++. The CPU is queried once. Both exist for one
// text and for several texts at once: each round depends on the previous one,
// so other texts' rounds fill the latency.
#include "runtime/base/Sha256.h"
#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Unrolls the next loop, which has at most 16 iterations.
#if defined(__clang__)
#define TRANSOM_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TRANSOM_UNROLL _Pragma("GCC unroll 16")
#endif

namespace transom {
namespace {

alignas(16) constexpr uint32_t roundConstants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr uint32_t initialState[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                      0xa54ff53a, 0x510e527f, 0x9b05688c,
                                      0x1f83d9ab, 0x5be0cd19};

uint32_t loadBigEndian(const uint8_t *p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 |
         p[3];
}

// Vectors are passed between functions in this file only, so their calling
// convention may depend on flags.
#pragma GCC diagnostic ignored "-Wpsabi"

/// One word per lane.
using Lanes __attribute__((vector_size(4 * Sha256::numLanes))) = uint32_t;

/// The functions below compute with words from one text, `uint32_t`, or from
/// several, `Lanes`.
template <typename Word> inline Word rotate(const Word &x, int by) {
  return x >> by | x << (32 - by);
}

/// One round; only d and h change.
template <typename Word>
inline void portableRound(const Word &a, const Word &b, const Word &c, Word &d,
                          const Word &e, const Word &f, const Word &g, Word &h,
                          const Word &constantAndWord) {
  Word choose = g ^ (e & (f ^ g));
  Word majority = (a & b) | (c & (a | b));
  Word t = h + choose + constantAndWord +
           (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25));
  d += t;
  h = t + majority + (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22));
}

/// Adds a block, whose first 16 words are in `w`, to the state.
template <typename Word> inline void addBlock(Word state[8], Word w[64]) {
  for (int i = 16; i < 64; ++i) {
    const Word &a = w[i - 15], &b = w[i - 2];
    w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
           (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
  }
  Word a = state[0], b = state[1], c = state[2], d = state[3];
  Word e = state[4], f = state[5], g = state[6], h = state[7];
  // Rotate the names instead of the values from round to round.
  const uint32_t *k = roundConstants;
  for (int i = 0; i < 64; i += 8) {
    portableRound<Word>(a, b, c, d, e, f, g, h, k[i] + w[i]);
    portableRound<Word>(h, a, b, c, d, e, f, g, k[i + 1] + w[i + 1]);
    portableRound<Word>(g, h, a, b, c, d, e, f, k[i + 2] + w[i + 2]);
    portableRound<Word>(f, g, h, a, b, c, d, e, k[i + 3] + w[i + 3]);
    portableRound<Word>(e, f, g, h, a, b, c, d, k[i + 4] + w[i + 4]);
    portableRound<Word>(d, e, f, g, h, a, b, c, k[i + 5] + w[i + 5]);
    portableRound<Word>(c, d, e, f, g, h, a, b, k[i + 6] + w[i + 6]);
    portableRound<Word>(b, c, d, e, f, g, h, a, k[i + 7] + w[i + 7]);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void compressPortable(uint32_t state[8], const uint8_t *blocks, size_t count) {
  for (; count > 0; --count, blocks += 64) {
    uint32_t w[64];
    for (int i = 0; i < 16; ++i)
      w[i] = loadBigEndian(blocks + 4 * i);
    addBlock(state, w);
  }
}

void compressLanesPortable(uint32_t states[Sha256::numLanes][8],
                           const uint8_t *const blocks[Sha256::numLanes],
                           size_t count) {
  Lanes state[8];
  for (size_t i = 0; i < 8; ++i)
    for (size_t lane = 0; lane < Sha256::numLanes; ++lane)
      state[i][lane] = states[lane][i];
  for (size_t block = 0; block < count; ++block) {
    Lanes w[64];
    for (size_t i = 0; i < 16; ++i)
      for (size_t lane = 0; lane < Sha256::numLanes; ++lane)
        w[i][lane] = loadBigEndian(blocks[lane] + 64 * block + 4 * i);
    addBlock(state, w);
  }
  for (size_t i = 0; i < 8; ++i)
    for (size_t lane = 0; lane < Sha256::numLanes; ++lane)
      states[lane][i] = state[i][lane];
}

#if defined(__x86_64__)
/// The instructions keep the state as (a b e f) and (c d g h), do two rounds
/// each, and make four schedule words at a time. `N` texts at once.
template <size_t N>
__attribute__((target("sha,sse4.1,ssse3"))) void
compressShaNi(uint32_t *const states[N], const uint8_t *const blocks[N],
              size_t count) {
  const __m128i swapBytes =
      _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  auto load = [](const void *p) __attribute__((target("sha,sse4.1,ssse3"))) {
    return _mm_loadu_si128(static_cast<const __m128i *>(p));
  };
  // Arrange the states for the instructions.
  __m128i abef[N], cdgh[N];
  for (size_t n = 0; n < N; ++n) {
    const __m128i cdab = _mm_shuffle_epi32(load(states[n]), 0xB1);
    const __m128i efgh = _mm_shuffle_epi32(load(states[n] + 4), 0x1B);
    abef[n] = _mm_alignr_epi8(cdab, efgh, 8);
    cdgh[n] = _mm_blend_epi16(efgh, cdab, 0xF0);
  }
  for (size_t block = 0; block < count; ++block) {
    // Load a block from each text in big-endian order.
    __m128i abefBefore[N], cdghBefore[N], w[N][4];
    for (size_t n = 0; n < N; ++n) {
      abefBefore[n] = abef[n], cdghBefore[n] = cdgh[n];
      for (size_t i = 0; i < 4; ++i)
        w[n][i] =
            _mm_shuffle_epi8(load(blocks[n] + 64 * block + 16 * i), swapBytes);
    }
    // Sixteen times four rounds; from the fifth on, extend the schedule.
    TRANSOM_UNROLL
    for (size_t i = 0; i < 16; ++i) {
      TRANSOM_UNROLL
      for (size_t n = 0; n < N; ++n) {
        __m128i &now = w[n][i % 4];
        if (i >= 4) {
          __m128i &before = w[n][(i + 3) % 4];
          now = _mm_sha256msg1_epu32(now, w[n][(i + 1) % 4]);
          now =
              _mm_add_epi32(now, _mm_alignr_epi8(before, w[n][(i + 2) % 4], 4));
          now = _mm_sha256msg2_epu32(now, before);
        }
        const __m128i sum = _mm_add_epi32(now, load(roundConstants + 4 * i));
        cdgh[n] = _mm_sha256rnds2_epu32(cdgh[n], abef[n], sum);
        abef[n] = _mm_sha256rnds2_epu32(abef[n], cdgh[n],
                                        _mm_shuffle_epi32(sum, 0x0E));
      }
    }
    for (size_t n = 0; n < N; ++n) {
      abef[n] = _mm_add_epi32(abef[n], abefBefore[n]);
      cdgh[n] = _mm_add_epi32(cdgh[n], cdghBefore[n]);
    }
  }
  // Store the states in their usual order.
  for (size_t n = 0; n < N; ++n) {
    const __m128i feba = _mm_shuffle_epi32(abef[n], 0x1B);
    const __m128i dchg = _mm_shuffle_epi32(cdgh[n], 0xB1);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(states[n]),
                     _mm_blend_epi16(feba, dchg, 0xF0));
    _mm_storeu_si128(reinterpret_cast<__m128i *>(states[n] + 4),
                     _mm_alignr_epi8(dchg, feba, 8));
  }
}

void compressOneShaNi(uint32_t state[8], const uint8_t *blocks, size_t count) {
  compressShaNi<1>(&state, &blocks, count);
}

/// With two texts at a time all values fit in registers.
void compressLanesShaNi(uint32_t states[Sha256::numLanes][8],
                        const uint8_t *const blocks[Sha256::numLanes],
                        size_t count) {
  for (size_t lane = 0; lane < Sha256::numLanes; lane += 2) {
    uint32_t *const pair[2] = {states[lane], states[lane + 1]};
    compressShaNi<2>(pair, blocks + lane, count);
  }
}

/// The builtin name for 'sha' is missing in older compilers: leaf 7, EBX 29.
bool cpuHasSha() {
  unsigned leaf = 7, a, b, c = 0, d;
  __asm__("cpuid" : "=a"(a), "=b"(b), "+c"(c), "=d"(d) : "a"(leaf));
  return (b >> 29 & 1) && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("ssse3");
}
#endif

} // namespace

Sha256::Sha256() : Sha256(Engine::Automatic) {}

Sha256::Sha256(Engine engine)
    : compress(compressPortable), compressLanes(compressLanesPortable) {
#if defined(__x86_64__)
  static const bool hasSha = cpuHasSha();
  if (engine == Engine::Automatic && hasSha) {
    compress = compressOneShaNi;
    compressLanes = compressLanesShaNi;
  }
#endif
  std::copy_n(initialState, 8, state);
}

void Sha256::update(const void *data, size_t size) {
  if (size == 0)
    return;
  auto *bytes = static_cast<const uint8_t *>(data);
  size_t held = total % 64;
  total += size;
  if (held != 0) {
    size_t taken = std::min(size, 64 - held);
    std::memcpy(pending + held, bytes, taken);
    bytes += taken;
    size -= taken;
    if (held + taken < 64)
      return;
    compress(state, pending, 1);
  }
  if (size >= 64)
    compress(state, bytes, size / 64);
  if (size % 64 != 0)
    std::memcpy(pending, bytes + size / 64 * 64, size % 64);
}

std::array<uint8_t, 32> Sha256::digest() const {
  // Append a one bit, zeros, and the length in bits in the last eight bytes.
  uint8_t tail[128] = {};
  size_t held = total % 64, blocks = held < 56 ? 1 : 2;
  std::memcpy(tail, pending, held);
  tail[held] = 0x80;
  for (int i = 0; i < 8; ++i)
    tail[64 * blocks - 1 - i] = static_cast<uint8_t>(total * 8 >> (8 * i));
  uint32_t last[8];
  std::copy_n(state, 8, last);
  compress(last, tail, blocks);
  std::array<uint8_t, 32> result;
  for (int i = 0; i < 32; ++i)
    result[i] = static_cast<uint8_t>(last[i / 4] >> (24 - 8 * (i % 4)));
  return result;
}

std::string Sha256::hex() const {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (uint8_t byte : digest()) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::array<Sha256::Digest, Sha256::numLanes>
Sha256::getDigests(const std::array<std::string_view, numLanes> &texts,
                   Engine engine) {
  // Hash the number of blocks that all texts have.
  size_t count = SIZE_MAX;
  for (std::string_view text : texts)
    count = std::min(count, text.size() / 64);
  uint32_t states[numLanes][8];
  const uint8_t *blocks[numLanes];
  for (size_t lane = 0; lane < numLanes; ++lane) {
    std::copy_n(initialState, 8, states[lane]);
    blocks[lane] = reinterpret_cast<const uint8_t *>(texts[lane].data());
  }
  const Sha256 initial(engine);
  initial.compressLanes(states, blocks, count);

  // Finish each text separately.
  std::array<Digest, numLanes> digests;
  for (size_t lane = 0; lane < numLanes; ++lane) {
    Sha256 hash = initial;
    std::copy_n(states[lane], 8, hash.state);
    hash.total = 64 * count;
    hash.update(texts[lane].substr(64 * count));
    digests[lane] = hash.digest();
  }
  return digests;
}

std::string Sha256::getHex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

} // namespace transom
