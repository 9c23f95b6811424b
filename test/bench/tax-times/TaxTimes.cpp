// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times one GEMM with a weight in panels on one thread, in the fixed summation
// order and in others: register tiles and loops are as in passes/lower, `sets`
// accumulators for each output take every sets-th k. One set has the fixed
// order. All variants alternate, and each is checked against a GEMM in double.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace {

constexpr int64_t lanes = 16, panel = 32;
using Vector = float __attribute__((vector_size(lanes * sizeof(float)),
                                    aligned(alignof(float))));

/// Accumulator registers, each a part of a vector.
#if defined(__AVX512F__)
constexpr int accumulators = 28;
#else
constexpr int accumulators = 6; // two registers each
#endif

/// A GEMM [rows, k] x [k, n] and its memory.
struct Product {
  int64_t rows, k, n;
  std::vector<float> lhs, bias, out;
  std::vector<std::vector<float>> weights; ///< copies, read in turn
};

Vector load(const float *from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// One register tile: MR rows, NV column vectors.
template <int MR, int NV, int Sets>
void computeTile(const Product &p, const float *lhs, const float *rhs,
                 const float *bias, float *out) {
  Vector sums[Sets][MR][NV];
  for (int row = 0; row < MR; ++row)
    for (int v = 0; v < NV; ++v) {
      sums[0][row][v] = load(bias + v * lanes);
      for (int set = 1; set < Sets; ++set)
        sums[set][row][v] = Vector{};
    }
  int64_t k = 0;
#pragma clang loop unroll(disable)
  for (; k + Sets <= p.k; k += Sets)
#pragma clang loop unroll(full)
    for (int set = 0; set < Sets; ++set) {
      Vector right[NV];
      for (int v = 0; v < NV; ++v)
        right[v] = load(rhs + (k + set) * panel + v * lanes);
      for (int row = 0; row < MR; ++row)
        for (int v = 0; v < NV; ++v) {
          const Vector left =
              lhs[row * p.k + k + set] - Vector{}; // in all lanes
          sums[set][row][v] =
              __builtin_elementwise_fma(left, right[v], sums[set][row][v]);
        }
    }
  for (; k < p.k; ++k)
    for (int row = 0; row < MR; ++row)
      for (int v = 0; v < NV; ++v)
        sums[0][row][v] = __builtin_elementwise_fma(
            lhs[row * p.k + k] - Vector{}, load(rhs + k * panel + v * lanes),
            sums[0][row][v]);
  for (int row = 0; row < MR; ++row)
    for (int v = 0; v < NV; ++v) {
      Vector sum = sums[0][row][v];
      for (int set = 1; set < Sets; ++set)
        sum += sums[set][row][v];
      std::memcpy(out + row * p.n + v * lanes, &sum, sizeof sum);
    }
}

using Tile = void (*)(const Product &, const float *, const float *,
                      const float *, float *);

/// Tiles with 1 to MR rows, by row count minus one.
template <int MR, int NV, int Sets> void addTiles(std::vector<Tile> &tiles) {
  if constexpr (MR > 1)
    addTiles<MR - 1, NV, Sets>(tiles);
  tiles.push_back(computeTile<MR, NV, Sets>);
}

struct Variant {
  int vectors, sets;
  std::vector<Tile> tiles;
};

template <int NV, int Sets> void addVariant(std::vector<Variant> &variants) {
  constexpr int rows = accumulators / (NV * Sets);
  if constexpr (rows > 0) {
    variants.push_back({NV, Sets, {}});
    addTiles<rows, NV, Sets>(variants.back().tiles);
  }
}

/// Row chunks up to 1 MiB, panels, row blocks with nearly equal sizes.
void multiply(Product &p, const Variant &variant, size_t copy) {
  const auto largest = static_cast<int64_t>(variant.tiles.size());
  const int64_t chunk =
      std::max<int64_t>(largest, (int64_t(1) << 20) / (p.k * 4));
  const float *weight = p.weights[copy % p.weights.size()].data();
  for (int64_t begin = 0; begin < p.rows; begin += chunk) {
    const int64_t rows = std::min(chunk, p.rows - begin);
    const int64_t blocks = (rows + largest - 1) / largest;
    for (int64_t column = 0; column < p.n; column += variant.vectors * lanes)
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t first = begin + rows * block / blocks;
        const int64_t count = begin + rows * (block + 1) / blocks - first;
        variant.tiles[size_t(count - 1)](
            p, p.lhs.data() + first * p.k,
            weight + column / panel * panel * p.k + column % panel,
            p.bias.data() + column, p.out.data() + first * p.n + column);
      }
  }
}

/// Exits if some outputs differ from a GEMM in double.
void check(const Product &p) {
  for (int64_t row : {int64_t(0), p.rows / 2, p.rows - 1})
    for (int64_t column : {int64_t(0), p.n / 2 + 5, p.n - 1}) {
      const float *weight =
          p.weights[0].data() + column / panel * panel * p.k + column % panel;
      double sum = double(p.bias[size_t(column)]);
      for (int64_t k = 0; k < p.k; ++k)
        sum += double(p.lhs[size_t(row * p.k + k)]) * double(weight[k * panel]);
      const double found = double(p.out[size_t(row * p.n + column)]);
      if (!(std::abs(found - sum) < 1e-3)) {
        fprintf(stderr, "tax-times: output [%lld, %lld] is %g, expected %g\n",
                static_cast<long long>(row), static_cast<long long>(column),
                found, sum);
        exit(1);
      }
    }
}

std::vector<float> makeNumbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float &number : numbers)
    number = float(random() % 2001) * 1e-3F - 1;
  return numbers;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    fprintf(stderr, "usage: tax-times ROWS K N WEIGHT-BYTES SECONDS\n");
    return 2;
  }
  Product p{atoll(argv[1]), atoll(argv[2]), atoll(argv[3]), {}, {}, {}, {}};
  if (p.rows < 1 || p.k < 1 || p.n < 1 || p.n % panel != 0) {
    fprintf(stderr,
            "tax-times: ROWS and K are at least 1, N is a multiple of "
            "%lld\n",
            static_cast<long long>(panel));
    return 2;
  }
  const double seconds = atof(argv[5]);
  p.lhs = makeNumbers(p.rows * p.k, 1);
  p.bias = makeNumbers(p.n, 2);
  p.out.resize(static_cast<size_t>(p.rows * p.n));
  p.weights.assign(1 + size_t(atoll(argv[4]) / (p.k * p.n * 4)),
                   makeNumbers(p.k * p.n, 3));
  std::vector<Variant> variants;
  addVariant<1, 1>(variants);
  addVariant<2, 1>(variants);
  addVariant<1, 2>(variants);
  addVariant<2, 2>(variants);
  addVariant<1, 4>(variants);
  // In turns, since others may use the core in between.
  using Clock = std::chrono::steady_clock;
  std::vector<double> best(variants.size(), 1e9);
  size_t copy = 0;
  const Clock::time_point start = Clock::now();
  do {
    for (size_t i = 0; i < variants.size(); ++i) {
      const Clock::time_point window = Clock::now();
      double took;
      int64_t calls = 0;
      do {
        multiply(p, variants[i], copy++);
        ++calls;
        took = std::chrono::duration<double>(Clock::now() - window).count();
      } while (took < 50e-6);
      best[i] = std::min(best[i], took / double(calls));
      check(p);
      std::fill(p.out.begin(), p.out.end(), NAN);
    }
  } while (std::chrono::duration<double>(Clock::now() - start).count() <
           seconds * double(variants.size()));
  for (size_t i = 0; i < variants.size(); ++i)
    printf("%d %d %.9g\n", variants[i].vectors, variants[i].sets, best[i]);
  return 0;
}
