// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `kern.attention` over ragged batches: each query row attends to the keys in
// its sequence, read from key panels or a cache.
#pragma once
#include "compiler/evaluator/bits/Bits.h"
#include "compiler/evaluator/kern/KernEvaluation.h"

namespace transom {

/// One `kern.attention` with its ragged batches.
class KernAttention {
public:
  KernAttention(kern::AttentionOp op, Evaluation &e);
  void run();

private:
  /// A row in a sequence.
  struct Token {
    int64_t row = 0;   ///< in the buffer
    int64_t place = 0; ///< in its sequence, or the column
  };

  std::vector<std::vector<Token>> getTokens(const RaggedBatch &ragged,
                                            bool keysOnly);
  /// The query position in its sequence.
  int64_t position(int64_t sequence, const Token &query);
  bool inReach(int64_t query, int64_t key);
  /// Slope and relative bias, added to a head's score.
  Number bias(int64_t head, int64_t distance);
  Number relativeBias(int64_t head, int64_t distance);
  /// An element in a row of the GEMM with relative positions.
  Number positionScore(mlir::Value scores, int64_t row, int64_t head,
                       int64_t distance);
  bool isBoolMask();
  Number maskAt(int64_t sequence, int64_t head, const Token &query,
                const Token &key);
  /// The dot product of a query and a key.
  Number multiply(int64_t sequence, int64_t head, llvm::ArrayRef<Number> query,
                  size_t key);
  Number score(int64_t sequence, int64_t head, const Token &query,
               llvm::ArrayRef<Number> numbers, size_t keyIndex);
  std::vector<Number> readQuery(int64_t head, const Token &query);
  void attend(int64_t sequence, int64_t head, const Token &query);
  /// The same in the bits domain, by KV blocks.
  void attendInBits(int64_t sequence, int64_t head, const Token &query,
                    const Bits &bits);
  /// Writes a head's output for a query.
  void writeHead(int64_t head, const Token &query,
                 llvm::MutableArrayRef<Number> numbers);
  bits::AttentionParameters getBitsParameters(const Bits &bits);
  /// Reads the keys and values for a head; false if they are already read. In
  /// checked memory each element is read where it is used.
  bool readHead(int64_t sequence, int64_t keyHead);
  bits::AttentionKey getBitsKey(int64_t sequence, int64_t head,
                                const Token &query, const Token &key);
  /// A key or value element, from the cache or a buffer.
  Number keyAt(int64_t sequence, int64_t head, const Token &key, int64_t i);
  Number valueAt(int64_t sequence, int64_t head, const Token &key, int64_t i);

  kern::AttentionOp op;
  Evaluation &e;
  std::vector<std::vector<Token>> queries, keys;
  std::vector<int64_t> keyPositions;
  /// Cache contents by sequence; empty without a cache.
  std::vector<const CacheStore::Entry *> kept;
  int64_t heads, group, dk, dv;
  std::optional<PositionBuckets> buckets;

  /// Keys [keys][dk] and values [keys][dv] of one sequence and key head.
  struct Head {
    int64_t sequence = -1, keyHead = -1;
    std::vector<Number> keys, values;
  };
  Head lastRead;
  std::vector<float> floatKeys, floatValues; ///< for `lastRead`, in bits
};

} // namespace transom
