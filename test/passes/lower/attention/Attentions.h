// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attentions as kern modules, with their operands, run on each instruction set
// and compared bit by bit with their definition as plain loops.
#pragma once
#include "test/support/KernelHarness.h"
#include "test/support/Reference.h"
#include <string>
#include <vector>

namespace transom::test {

/// No mask, or a mask that is added, selects, or replaces scores by a finite
/// value.
enum class MaskKind { None, Added, Selected, Finite };

/// One attention in a test module.
struct Attention {
  std::string name;
  int64_t heads = 1, kvHeads = 1, dk = 8, dv = 8;
  bool causal = false;
  int64_t window = 0;
  bool byColumn = false; ///< positions are columns
  int64_t reach = 0;     ///< the relative bias width is 2 * reach + 1
  /// Relative positions with content, 0 for none; from the query, from the key.
  int64_t positions = 0, maxDistance = 0;
  bool toPosition = true, fromPosition = true;
  double softCap = 0;
  MaskKind mask = MaskKind::None;
  std::vector<bool> maskDims = {
      true, true, true, true}; ///< false: broadcast along batch, heads, q or k
  bool cross = false;          ///< keys have another ragged batch
  int64_t stride = 0;          ///< for query, value and output
  std::string schedule = "auto";
  bool splitsKv = false; ///< has partials and counters
  bool bf16 = false;     ///< query, key and value
  bool outBf16 = false;
};

/// An attention with these heads.
Attention head(const std::string &name, int64_t heads, int64_t kvHeads,
               int64_t dk, int64_t dv);
/// A small one with a mask.
Attention masked(const std::string &name, MaskKind kind,
                 std::vector<bool> dims);
/// A mask for a batch with random holes.
std::vector<std::vector<int>> holes(int64_t batch, int64_t columns,
                                    uint64_t seed);

/// A module with several attentions.
class Attentions {
public:
  /// `level` is the harness level.
  explicit Attentions(std::vector<Attention> list, unsigned level = 2);

  /// Runs the one with this name, or all, with these worker counts.
  void check(const std::string &name, const RaggedTable &queries,
             const RaggedTable &keys, const std::vector<int64_t> &numWorkers);
  void check(const RaggedTable &ragged,
             const std::vector<int64_t> &numWorkers) {
    check("", ragged, ragged, numWorkers);
  }

private:
  /// The operands for one call, dense; masks at their full size.
  struct Operands {
    std::vector<float> query, key, value, added, relativeBias;
    std::vector<float> toPosition, fromPosition; ///< [heads * rows, positions]
    std::vector<int8_t> selected;
  };

  void check(const Attention &a, const RaggedTable &q, const RaggedTable &k,
             const std::vector<int64_t> &numWorkers);
  static Operands makeOperands(const Attention &a, const RaggedTable &q,
                               const RaggedTable &k);
  static std::vector<float> reference(const Attention &a, const RaggedTable &q,
                                      const RaggedTable &k, const Operands &o,
                                      bits::Chain chain);
  void run(const std::string &isa, const Attention &a, const RaggedTable &q,
           const RaggedTable &k, const Operands &o, int64_t numWorkers,
           const std::vector<float> &expected, Edge edge);

  std::vector<Attention> list;
  KernelHarness harness;
};

} // namespace transom::test
