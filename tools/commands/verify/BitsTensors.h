// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of an entry for comparisons of bits: inputs that follow from the
// manifest and a seed, sequences as one batch, and runs in any way that a host
// may choose.
#pragma once
#include "runtime/session/Session.h"
#include <random>
#include <string>
#include <vector>

namespace transom::tools {

/// A dense tensor.
struct BitsTensor {
  transom_dtype dtype = TRANSOM_DTYPE_NONE;
  std::vector<int64_t> shape;
  std::string bytes;
};

/// The inputs of a call, in the order of the entry's.
using BitsCall = std::vector<BitsTensor>;
/// The results of a call, in the order of the entry's.
using BitsResults = std::vector<BitsTensor>;

/// Who runs the workers of a dispatch.
enum class BitsHost {
  None,      ///< threads of the session
  Backwards, ///< a function of the caller: one thread, the last worker first
  Threads,   ///< a function of the caller: a new thread for each worker
};

/// How a call is run.
struct BitsWay {
  unsigned threads = 1; ///< workers of a dispatch
  BitsHost host = BitsHost::None;
  /// The session's memory, the inputs and the results end, not begin, at a
  /// protected page.
  bool atEnd = false;
  /// Number of runs; the results are those of the last one.
  unsigned times = 1;
  /// Sees the dispatches, whose workers then run one after another.
  DispatchObserver *observer = nullptr;

  /// `3 threads`, `3 workers of a host`.
  std::string getName() const;
  /// Sets these of a session; they are not limited by the number of CPUs.
  void apply(SessionConfig &config) const;
};

/// The largest random batch of sequences that are compared.
inline constexpr int64_t largestBitsBatch = 7;

/// Makes calls of one entry.
class BitsInputs {
public:
  /// `random` outlives this.
  BitsInputs(const Model &model, const Entry &entry, std::mt19937 &random);

  /// Columns of the longest sequence of the model, at most `most`.
  int64_t getLongest(int64_t most) const;
  /// Sequences of the largest batch of the model, at most `most`.
  int64_t getLargestBatch(int64_t most) const;
  /// Whether padding can be told from tokens.
  bool hasMask() const;
  /// Why the sequences of a batch are not known to be independent; empty if
  /// they are.
  std::string whyNotBatched() const;

  /// Random inputs. `holes`: the mask hides some columns.
  BitsCall make(int64_t batch, int64_t length, bool holes);
  /// Calls of one sequence each as one call, with `extra` more columns of
  /// padding if the model takes them. Padding has random ids.
  BitsCall join(const std::vector<const BitsCall *> &sequences, int64_t extra);

private:
  BitsTensor makeTensor(const Argument &argument, std::vector<int64_t> shape,
                        bool isPadding, bool holes);
  int64_t getMaximum(size_t symbol) const;

  const Model &model;
  const Entry &entry;
  std::mt19937 &random;
};

/// Runs a call in a new session.
Result<BitsResults> runBits(const Model &model, const Entry &entry,
                            const BitsCall &call, const BitsWay &way);

} // namespace transom::tools
