// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and binds the tensors of one call: matches tensors to arguments,
// computes symbols, and locates each argument's data.
#pragma once
#include "runtime/execute/Entry.h"
#include "runtime/execute/ExecutorLayout.h"

namespace transom {

/// Arrays used by a call; in the session's memory, or in vectors for shape
/// queries.
struct CallStorage {
  int64_t *symbols;               ///< [entry symbols]
  const transom_tensor **tensors; ///< [inputs + outputs], NULL: omitted
  ShapeValue *shapes;             ///< [inputs + outputs]
};

/// A call in preparation. Methods run in order; the first error ends the call.
/// The caller's memory is not written.
class Call {
public:
  Call(const Entry &entry, const CallStorage &storage)
      : entry(entry), storage(storage) {}

  /// Finds the inputs by name, checks dtypes, ranks and sizes, binds symbols.
  /// With `needData`, also checks data and capacity.
  Result<void> bindInputs(const transom_tensor *inputs, size_t count,
                          bool needData);
  /// Compares lengths with the model's maxima (`Limit`).
  Result<void> checkMaxima() const;
  /// Compares the batch and its rows with the session's (`Limit`).
  Result<void> checkCapacity(const ExecutorConfig &config) const;
  /// Raises a batch and a row count to the requirements of this call.
  Result<void> raiseCapacity(int64_t &maxBatch, int64_t &maxTokens) const;
  /// Finds the results by name and computes their shapes. `mayOmit`: results
  /// may be omitted and may have strides.
  Result<void> bindOutputs(const transom_tensor *outputs, size_t count,
                           bool mayOmit);
  /// Computes the shape of result `index`.
  Result<void> shapeOutput(size_t index) const;

  const transom_tensor *input(size_t i) const { return storage.tensors[i]; }
  const transom_tensor *output(size_t i) const {
    return storage.tensors[entry.inputs.size() + i];
  }
  const ShapeValue &inputShape(size_t i) const { return storage.shapes[i]; }
  const ShapeValue &outputShape(size_t i) const {
    return storage.shapes[entry.inputs.size() + i];
  }
  int64_t *symbols() const { return storage.symbols; }
  /// Number of elements in a bound tensor; fits into 63 bits.
  static int64_t getElementCount(const ShapeValue &shape);

private:
  Result<void> findInputs(const transom_tensor *inputs, size_t count);
  Result<void> checkInput(const Argument &argument,
                          const transom_tensor &tensor) const;
  Result<void> bindDims(size_t index);
  Result<void> checkDims(size_t index);
  Result<void> checkData(size_t index) const;
  Result<void> checkOutput(size_t index, bool mayOmit) const;
  Error missing(const char *what, const std::string &name,
                const std::vector<std::string> &names) const;

  const Entry &entry;
  CallStorage storage;
};

} // namespace transom
