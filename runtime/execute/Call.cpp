// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks names first, then types, ranks, sizes, data: the order in which a
// person would look for the mistake.
#include "runtime/execute/Call.h"
#include "runtime/base/Suggest.h"
#include "runtime/execute/Tensor.h"
#include <algorithm>
#include <cinttypes>

using namespace transom;

constexpr int64_t maxDim = (int64_t(1) << 31) - 1;

int64_t Call::getElementCount(const ShapeValue &shape) {
  int64_t count = 1;
  for (int64_t i = 0; i != shape.rank; ++i)
    count *= shape.dims[i];
  return count;
}

Error Call::missing(const char *what, const std::string &name,
                    const std::vector<std::string> &names) const {
  return rejected("entry '" + entry.manifest->name + "' has no " + what + " '" +
                  name + "'; it has: " + joinNames(names) +
                  suggest(name, names));
}

Result<void> Call::findInputs(const transom_tensor *inputs, size_t count) {
  size_t all = entry.inputs.size();
  std::fill(storage.tensors, storage.tensors + all, nullptr);
  for (size_t i = 0; i != count; ++i) {
    if (!inputs[i].name)
      return usageError("input " + std::to_string(i) + " has no name");
    int index = entry.inputIndex(inputs[i].name);
    if (index < 0)
      return missing("input", inputs[i].name, entry.inputNames());
    if (storage.tensors[index])
      return rejected("input '" + entry.inputs[index].name +
                      "' is given twice");
    storage.tensors[index] = &inputs[i];
  }
  for (size_t i = 0; i != all; ++i)
    if (!storage.tensors[i] && !entry.inputs[i].fallback)
      return rejected("entry '" + entry.manifest->name + "' needs the input '" +
                      entry.inputs[i].name + "', which is missing");
  return {};
}

Result<void> Call::checkInput(const Argument &argument,
                              const transom_tensor &tensor) const {
  bool right = tensor.dtype == argument.dtype ||
               (argument.isInteger() && (tensor.dtype == TRANSOM_DTYPE_I64 ||
                                         tensor.dtype == TRANSOM_DTYPE_I32));
  if (!right)
    return rejected(
        "input '" + argument.name + "' has dtype " + dtypeText(tensor.dtype) +
        ", expected " +
        (argument.isInteger() ? "i64 or i32" : dtypeText(argument.dtype)));
  if (tensor.rank != int64_t(argument.dims.size())) {
    std::string shape;
    for (const std::string &dim : argument.dimTexts)
      shape += (shape.empty() ? "" : ", ") + dim;
    return rejected("input '" + argument.name + "' has rank " +
                    std::to_string(tensor.rank) + ", expected " +
                    std::to_string(argument.dims.size()) + ": [" + shape + "]");
  }
  for (int32_t i = 0; i != tensor.rank; ++i)
    if (tensor.shape[i] < 1 || tensor.shape[i] > maxDim)
      return rejected("input '" + argument.name + "' has the shape " +
                      shapeText(tensor.shape, tensor.rank) +
                      "; sizes are 1 to 2147483647");
  return {};
}

/// Binds the symbols in an input's dimensions that no previous input has bound.
Result<void> Call::bindDims(size_t index) {
  const Argument &argument = entry.inputs[index];
  const transom_tensor *tensor = storage.tensors[index];
  for (size_t i = 0; tensor && i != argument.dims.size(); ++i) {
    int symbol = argument.dims[i].onlySymbol();
    if (symbol < 0)
      continue;
    int64_t &value = storage.symbols[symbol];
    if (value == 0)
      value = tensor->shape[i];
    else if (value != tensor->shape[i])
      return rejected("input '" + argument.name + "' has the shape " +
                      shapeText(tensor->shape, tensor->rank) + ", but '" +
                      entry.symbols[symbol] + "' is " + std::to_string(value) +
                      " in an input before");
  }
  return {};
}

/// Evaluates an input's dimensions and compares them with the tensor's.
Result<void> Call::checkDims(size_t index) {
  const Argument &argument = entry.inputs[index];
  const transom_tensor *tensor = storage.tensors[index];
  ShapeValue &shape = storage.shapes[index];
  shape.rank = int64_t(argument.dims.size());
  int64_t elements;
  bool small = argument.elements.evaluate(storage.symbols, elements);
  for (int64_t i = 0; i != shape.rank; ++i) {
    int64_t &dim = shape.dims[i];
    if (!argument.dims[i].evaluate(storage.symbols, dim) || dim < 1 || !small)
      return rejected("input '" + argument.name + "': size " +
                      std::to_string(i) + ", " + argument.dimTexts[i] +
                      ", is not bound by the inputs given or out of range");
    if (tensor && tensor->shape[i] != dim)
      return rejected("input '" + argument.name + "' has the shape " +
                      shapeText(tensor->shape, tensor->rank) + ", expected " +
                      std::to_string(dim) + " for size " + std::to_string(i) +
                      ", " + argument.dimTexts[i]);
  }
  return {};
}

Result<void> Call::checkData(size_t index) const {
  const transom_tensor *tensor = storage.tensors[index];
  if (!tensor)
    return {};
  const ShapeValue &shape = storage.shapes[index];
  uint64_t bytes;
  if (!getSpan(*tensor, shape.dims, shape.rank, getElementSize(tensor->dtype),
               bytes))
    return rejected("input '" + entry.inputs[index].name +
                    "' has strides that are negative or too large");
  if (!tensor->data)
    return usageError("input '" + entry.inputs[index].name +
                      "' has no data: it is NULL");
  if (tensor->capacity < bytes)
    return limitError("input '" + entry.inputs[index].name + "' needs " +
                      std::to_string(bytes) + " bytes, got a capacity of " +
                      std::to_string(tensor->capacity));
  return {};
}

Result<void> Call::bindInputs(const transom_tensor *inputs, size_t count,
                              bool needData) {
  std::fill(storage.symbols, storage.symbols + entry.symbols.size(), 0);
  if (Result<void> done = findInputs(inputs, count); !done)
    return done;
  for (size_t i = 0; i != entry.inputs.size(); ++i)
    if (storage.tensors[i])
      if (Result<void> done = checkInput(entry.inputs[i], *storage.tensors[i]);
          !done)
        return done;
  for (size_t i = 0; i != entry.inputs.size(); ++i)
    if (Result<void> done = bindDims(i); !done)
      return done;
  for (size_t i = 0; i != entry.inputs.size(); ++i) {
    if (Result<void> done = checkDims(i); !done)
      return done;
    if (!needData)
      continue;
    if (Result<void> done = checkData(i); !done)
      return done;
  }
  return {};
}

Result<void> Call::checkMaxima() const {
  for (size_t i = 0; i != entry.symbols.size(); ++i)
    if (entry.maxima[i] && storage.symbols[i] > *entry.maxima[i])
      return limitError("'" + entry.symbols[i] + "' is " +
                        std::to_string(storage.symbols[i]) +
                        ", over the model's maximum " +
                        std::to_string(*entry.maxima[i]));
  if (entry.positionInput < 0)
    return {};
  int64_t length = storage.shapes[entry.positionInput].dims[1];
  if (length > entry.positionLimit)
    return limitError("input '" + entry.inputs[entry.positionInput].name +
                      "' has length " + std::to_string(length) +
                      ", over the model's maximum " +
                      std::to_string(entry.positionLimit));
  return {};
}

Result<void> Call::checkCapacity(const ExecutorConfig &config) const {
  bool ragged = entry.isRagged();
  int64_t batch = 1;
  for (size_t i = 0; i != entry.symbols.size(); ++i)
    if (entry.kinds[i] == SymbolKind::Batch) {
      batch = std::max(batch, storage.symbols[i]);
      if (storage.symbols[i] > config.maxBatch)
        return limitError("'" + entry.symbols[i] + "' is " +
                          std::to_string(storage.symbols[i]) +
                          ", over the session's max_batch " +
                          std::to_string(config.maxBatch));
    }
  for (size_t i = 0; i != entry.symbols.size(); ++i) {
    if (entry.kinds[i] != SymbolKind::Length)
      continue;
    int64_t length = storage.symbols[i],
            rows = ragged ? length : batch * length;
    if (rows > config.maxTokens)
      return limitError(
          "'" + entry.symbols[i] + "' is " + std::to_string(length) +
          (ragged ? "" : " for a batch of " + std::to_string(batch)) +
          ", over the session's max_tokens " +
          std::to_string(config.maxTokens));
  }
  return {};
}

Result<void> Call::raiseCapacity(int64_t &maxBatch, int64_t &maxTokens) const {
  int64_t batch = 1, longest = 1, rows = 1;
  for (size_t i = 0; i != entry.symbols.size(); ++i) {
    int64_t value = storage.symbols[i];
    if (entry.kinds[i] == SymbolKind::Batch)
      batch = std::max(batch, value);
    else if (entry.kinds[i] == SymbolKind::Length)
      longest = std::max(longest, value);
  }
  bool good = !__builtin_mul_overflow(batch, longest, &rows);
  for (const RaggedBatchRule &rule : entry.ragged) {
    int64_t sequences, columns, all;
    good = good && rule.batch.evaluate(storage.symbols, sequences) &&
           rule.columns.evaluate(storage.symbols, columns) &&
           !__builtin_mul_overflow(sequences, columns, &all);
    rows = good ? std::max(rows, all) : rows;
  }
  if (!good || rows > maxDim)
    return limitError("the inputs have more than 2147483647 rows");
  maxBatch = std::max(maxBatch, batch);
  maxTokens = std::max(maxTokens, rows);
  return {};
}

Result<void> Call::shapeOutput(size_t index) const {
  const Argument &argument = entry.outputs[index];
  ShapeValue &shape = storage.shapes[entry.inputs.size() + index];
  shape.rank = int64_t(argument.dims.size());
  int64_t elements;
  bool good = argument.elements.evaluate(storage.symbols, elements) &&
              elements <= INT64_MAX / 8;
  for (int64_t i = 0; good && i != shape.rank; ++i)
    good = argument.dims[i].evaluate(storage.symbols, shape.dims[i]) &&
           shape.dims[i] >= 1;
  if (!good)
    return rejected("the sizes of result '" + argument.name +
                    "' are out of range");
  return {};
}

Result<void> Call::checkOutput(size_t index, bool mayOmit) const {
  const Argument &argument = entry.outputs[index];
  const transom_tensor *tensor = output(index);
  if (!tensor) {
    if (mayOmit)
      return {};
    return rejected("result '" + argument.name +
                    "' is left out, and the session does not hold results");
  }
  if (tensor->dtype != TRANSOM_DTYPE_NONE && tensor->dtype != argument.dtype)
    return rejected("result '" + argument.name + "' has dtype " +
                    dtypeText(tensor->dtype) + ", expected " +
                    dtypeText(argument.dtype));
  const ShapeValue &shape = outputShape(index);
  size_t size = getElementSize(argument.dtype);
  uint64_t bytes;
  if (!getSpan(*tensor, shape.dims, shape.rank, size, bytes) ||
      overlapsItself(*tensor, shape.dims, shape.rank))
    return rejected(
        "result '" + argument.name +
        "' has strides that are negative, overlap or are too large");
  bool direct = isDense(*tensor, shape.dims, shape.rank) &&
                uintptr_t(tensor->data) % size == 0;
  if (!direct && !mayOmit)
    return rejected("result '" + argument.name +
                    "' has strides or is not aligned, and the session does "
                    "not hold results");
  if (!tensor->data)
    return usageError("result '" + argument.name + "' has no data: it is NULL");
  if (tensor->capacity < bytes)
    return limitError(
        "result '" + argument.name + "' needs " + std::to_string(bytes) +
        " bytes for its shape " + shapeText(shape.dims, shape.rank) +
        ", got a capacity of " + std::to_string(tensor->capacity));
  return {};
}

Result<void> Call::bindOutputs(const transom_tensor *outputs, size_t count,
                               bool mayOmit) {
  size_t first = entry.inputs.size();
  std::fill(storage.tensors + first,
            storage.tensors + first + entry.outputs.size(), nullptr);
  for (size_t i = 0; i != count; ++i) {
    if (!outputs[i].name)
      return usageError("result " + std::to_string(i) + " has no name");
    int index = entry.outputIndex(outputs[i].name);
    if (index < 0)
      return missing("result", outputs[i].name, entry.outputNames());
    if (storage.tensors[first + index])
      return rejected("result '" + entry.outputs[index].name +
                      "' is given twice");
    storage.tensors[first + index] = &outputs[i];
  }
  for (size_t i = 0; i != entry.outputs.size(); ++i) {
    if (Result<void> done = shapeOutput(i); !done)
      return done;
    if (Result<void> done = checkOutput(i, mayOmit); !done)
      return done;
  }
  return {};
}
