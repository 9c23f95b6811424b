// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entry calls for bit comparisons: inputs derived from the manifest and a seed,
// sequences joined to a batch, and runs under any conditions that a host may
// choose.
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

/// Inputs for a call, in the entry's order.
using BitsCall = std::vector<BitsTensor>;
/// Results of a call, in the entry's order.
using BitsResults = std::vector<BitsTensor>;

/// The threads that run the workers in a dispatch.
enum class BitsHost {
  None,      ///< session threads
  Backwards, ///< a caller's function: one thread, last worker first
  Threads,   ///< a caller's function: a new thread per worker
};

/// Run conditions for a call.
struct BitsWay {
  unsigned threads = 1; ///< workers per dispatch
  BitsHost host = BitsHost::None;
  /// Whether session memory, inputs and results end at a protected page, rather
  /// than begin there.
  bool atEnd = false;
  /// Number of runs; the last one provides the results.
  unsigned times = 1;
  /// Observes the dispatches, whose workers then run sequentially.
  DispatchObserver *observer = nullptr;

  /// Returns `3 threads`, `3 workers of a host`.
  std::string getName() const;
  /// Applies these conditions to a session; the CPU count does not limit them.
  void apply(SessionConfig &config) const;
};

/// Max random batch size for compared sequences.
inline constexpr int64_t largestBitsBatch = 7;

/// Creates calls for one entry.
class BitsInputs {
public:
  /// `random` must outlive this.
  BitsInputs(const Model &model, const Entry &entry, std::mt19937 &random);

  /// Returns the model's max column count, at most `most`.
  int64_t getLongest(int64_t most) const;
  /// Returns the model's max batch size, at most `most`.
  int64_t getLargestBatch(int64_t most) const;
  /// Returns true if padding is distinguishable from tokens.
  bool hasMask() const;
  /// Returns the reason why sequences in a batch may depend on each other;
  /// empty if they are independent.
  std::string whyNotBatched() const;

  /// Returns random inputs. `holes`: the mask hides some columns.
  BitsCall make(int64_t batch, int64_t length, bool holes);
  /// Joins calls with one sequence each to a batch, with `extra` more padding
  /// columns if the model allows them. Padding has random ids.
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
