// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Buffers in checked memory: sizes, layouts and row ranges.
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "compiler/evaluator/bits/Bits.h"
#include "dialects/weights/Quantization.h"
#include "runtime/base/DType.h"
#include "runtime/base/FloatMode.h"

using namespace mlir;

namespace transom {

using kern::BufferType;

Result<KernEvaluation::Held> KernEvaluation::describe(Value buffer,
                                                      Evaluation &e) const {
  auto type = cast<BufferType>(buffer.getType());
  Held held;
  TRANSOM_TRY(updateSizes(buffer, held, e));
  TRANSOM_ASSIGN(int64_t bytes, e.size(bounds.getBound(type.getByteSize())));
  held.extent.bytes = bytes;
  held.width = type.getElementBytes();
  held.element = type.getElementType();
  held.keyPanels = type.getKeyPanels();
  if (kern::findStorageType(type.getElementType()))
    held.format = type.getFormat();
  return held;
}

Result<void> KernEvaluation::updateSizes(Value buffer, Held &held,
                                         Evaluation &e) const {
  auto type = cast<BufferType>(buffer.getType());
  held.sizes.clear();
  // An unwritten size counts as its bound; `checkSizes` prevents operations
  // from using it.
  auto getSize = [&](const Polynomial &size) {
    Result<int64_t> value = e.size(size);
    return value ? value : e.size(bounds.getBound(size));
  };
  for (const Polynomial &dim : type.getDims()) {
    TRANSOM_ASSIGN(int64_t size, getSize(dim));
    held.sizes.push_back(size);
  }
  TRANSOM_ASSIGN(int64_t stride, getSize(type.getRowStride()));
  held.stride = stride;
  return {};
}

Result<void> KernEvaluation::allocate(Value buffer, Evaluation &e) {
  TRANSOM_ASSIGN(Held held, describe(buffer, e));
  held.extent.offset = memory.grow(held.extent.bytes);
  held.extent.storage = storages++;
  buffers[buffer] = held;
  return {};
}

Result<void> KernEvaluation::place(Value buffer, const std::string &offset,
                                   Evaluation &e) {
  TRANSOM_ASSIGN(Held held, describe(buffer, e));
  TRANSOM_ASSIGN(Polynomial polynomial, Polynomial::parse(offset));
  TRANSOM_ASSIGN(int64_t at, e.size(polynomial));
  if (at < 0 || at + held.extent.bytes > arenaBytes)
    return rejected("buffer of " + std::to_string(held.extent.bytes) +
                    " bytes at " + std::to_string(at) + " leaves an arena of " +
                    std::to_string(arenaBytes));
  held.extent.offset = arena + at;
  held.extent.storage = storages++;
  buffers[buffer] = held;
  return {};
}

Result<void> KernEvaluation::alias(Value buffer, Value other, Evaluation &e) {
  TRANSOM_ASSIGN(Held held, describe(buffer, e));
  held.extent = buffers.find(other)->second.extent;
  buffers[buffer] = held;
  return {};
}

Result<void> KernEvaluation::adopt(Value buffer, int32_t number,
                                   Evaluation &e) {
  TRANSOM_ASSIGN(Held held, describe(buffer, e));
  held.extent.storage = number;
  buffers[buffer] = held;
  return {};
}

Result<int64_t> KernEvaluation::getByteSize(Value buffer, Evaluation &e) const {
  TRANSOM_ASSIGN(Held held, describe(buffer, e));
  return held.extent.bytes;
}

int64_t KernEvaluation::rows(Value buffer) const {
  ArrayRef<int64_t> all = sizes(buffer);
  return getNumElements(all.drop_back(all.empty() ? 0 : 1));
}

int64_t KernEvaluation::columns(Value buffer) const {
  const Sizes &all = sizes(buffer);
  return all.empty() ? 1 : all.back();
}

/// Packs rows with `depth` elements into a panel and unpacks them.
static void packAndUnpack(const OperandFormat &format,
                          MutableArrayRef<Number> rows, int64_t depth) {
  std::vector<float> in, out(rows.size());
  for (Number x : rows)
    in.push_back(static_cast<float>(x.real()));
  std::vector<char> panel(format.getPanelBytes(depth));
  const PanelCodec *codec = findPanelCodec(format);
  int64_t count = static_cast<int64_t>(rows.size()) / depth;
  codec->pack(in.data(), count, depth, panel.data());
  codec->unpack(panel.data(), count, depth, out.data());
  llvm::copy(out, rows.begin());
}

/// Quantizes a weight in groups, in the bits domain.
static Tensor quantize(const OperandFormat &format, const Tensor &weight) {
  Tensor result = weight;
  const int64_t depth = weight.sizes.back();
  result.quantized.resize(weight.count());
  // Packing keeps denormals.
  FloatMode mode(Denormals::AreKept);
  for (int64_t row = 0; row < weight.count(); row += depth)
    for (int64_t first = 0; first < depth; first += format.group) {
      const int64_t size = std::min(format.group, depth - first);
      MutableArrayRef<Number> group =
          MutableArrayRef(result.real).slice(row + first, size);
      const std::vector<float> numbers = toFloats(group);
      int8_t *whole = &result.quantized[row + first];
      const GroupScale scale =
          quantizeGroup(numbers.data(), size, format, whole);
      for (int64_t i = 0; i < size; ++i)
        group[i] = dequantize(format, whole[i], scale);
      result.scales.push_back(scale.scale);
      if (format.minimums)
        result.minimums.push_back(scale.minimum);
    }
  return result;
}

/// Uses the pre-quantized integers in the weight file.
static Tensor takeGiven(const OperandFormat &format, const Tensor &weight,
                        bool keepScales) {
  Tensor result = weight;
  const StoredRows &rows = weight.given->rows;
  const int64_t depth = weight.sizes.back(),
                groups = format.getNumGroups(depth);
  FloatMode mode(Denormals::AreKept);
  // Scales and offsets as they are packed.
  auto round = [](std::optional<StorageType> type, float number) {
    return type ? static_cast<float>(roundToStorage(*type, number)) : 0;
  };
  std::vector<float> scales, minimums;
  for (float scale : rows.scales)
    scales.push_back(round(format.scales, scale));
  for (float minimum : rows.minimums)
    minimums.push_back(round(format.minimums, minimum));
  for (int64_t i = 0; i < weight.count(); ++i) {
    const int64_t group = i / depth * groups + i % depth / format.group;
    result.real[i] =
        dequantize(format, static_cast<int64_t>(rows.elements[i]),
                   {scales[group], minimums.empty() ? 0 : minimums[group]});
  }
  if (!keepScales)
    return result;
  result.quantized.assign(rows.elements.begin(), rows.elements.end());
  result.scales.assign(scales.begin(), scales.end());
  result.minimums.assign(minimums.begin(), minimums.end());
  return result;
}

std::shared_ptr<const Tensor>
KernEvaluation::weightAs(Type type,
                         const std::shared_ptr<const Tensor> &weight) {
  const OperandFormat &format =
      cast<kern::WeightType>(type).getFormat().getStorage();
  Domain *domain = Domain::getCurrent();
  if (format == OperandFormat() || weight->real.empty() ||
      (domain && !domain->rounds()))
    return weight;
  if (weight->given && weight->given->format == format)
    return std::make_shared<const Tensor>(
        takeGiven(format, *weight, Bits::getCurrent()));
  if (format.isGrouped() && Bits::getCurrent())
    return std::make_shared<const Tensor>(quantize(format, *weight));
  Tensor result = *weight;
  if (domain) {
    for (Number &x : result.real)
      x = roundToStorage(format.element, x);
    return std::make_shared<const Tensor>(std::move(result));
  }
  // One panel with 32 rows at a time.
  int64_t depth = result.sizes.back(), panel = panelWidth * depth;
  MutableArrayRef<Number> rest(result.real);
  for (; !rest.empty(); rest = rest.drop_front(panel)) {
    panel = std::min<int64_t>(panel, rest.size());
    packAndUnpack(format, rest.take_front(panel), depth);
  }
  return std::make_shared<const Tensor>(std::move(result));
}

/// Scales for rows with integers, group by group.
static std::vector<Number> readScales(Value scales, RowRange rows,
                                      Evaluation &e) {
  std::vector<Number> read;
  for (int64_t row = rows.begin; row < rows.end; ++row)
    for (int64_t i = 0; i < e.kern->columns(scales); i += 2)
      read.push_back(e.kern->read(scales, row, i));
  return read;
}

/// Integer GEMM in the bits domain.
static std::vector<Number>
multiplyGroups(const OperandFormat &format, const Tensor &weight,
               RowRange columns, ArrayRef<Number> inits,
               ArrayRef<Number> inputs, ArrayRef<Number> scales) {
  const int64_t k = weight.sizes.back(), numGroups = format.getNumGroups(k);
  const std::vector<Number> whole(weight.quantized.begin() + columns.begin * k,
                                  weight.quantized.begin() + columns.end * k);
  auto getOwn = [&](ArrayRef<Number> all) {
    return all.empty() ? all
                       : all.slice(columns.begin * numGroups,
                                   (columns.end - columns.begin) * numGroups);
  };
  return Bits::multiplyGroups(
      inits, {inputs, scales, {}},
      {whole, getOwn(weight.scales), getOwn(weight.minimums)}, k, format.group);
}

std::vector<Number> multiplyRows(kern::WeightProductOp op, bool mayUseTiles,
                                 RowRange rows, RowRange columns,
                                 ArrayRef<Number> inits, Evaluation &e) {
  const kern::WeightType type = op.getWeightType();
  const OperandFormat &format = type.getFormat().getStorage();
  const Tensor &weight = e.tensor(op.getWeight());
  const int64_t k = weight.sizes.back(), m = rows.end - rows.begin,
                n = columns.end - columns.begin;
  // Quantized inputs are integers with scales: bits multiply them as such,
  // float64 applies the scales.
  std::vector<Number> inputs;
  for (int64_t row = rows.begin; row < rows.end; ++row)
    llvm::append_range(inputs, e.kern->readRow(op.getInputRows(), row));
  if (MutableOperandRange given = op.getInputScalesMutable(); !given.empty()) {
    const std::vector<Number> scales = readScales(given[0].get(), rows, e);
    if (Bits::getCurrent())
      return multiplyGroups(format, weight, columns, inits, inputs, scales);
    if (!Domain::getCurrent()) { // in residues scales are 1
      const int64_t numGroups = format.getNumGroups(k);
      for (int64_t i = 0; i < m * k; ++i)
        inputs[i] *= scales[i / k * numGroups + i % k / format.group];
    }
  }
  // Other GEMMs depend on the operand type only.
  makeExponents(inputs);
  std::vector<Number> products(m * n);
  const Number *own = &weight.real[columns.begin * k];
  if (format.getOperandType() == StorageType::BF16)
    dotRowsBf16(mayUseTiles && kern::suitsAmx(type), inits, inputs, own, m, n,
                products.data());
  else
    dotRows(inits, inputs, own, m, n, products.data());
  return products;
}

/// Key panels are [positions / 32][columns][32], in bf16 [..][columns /
/// 2][32][2].
int64_t KernEvaluation::getByteOffset(const Held &held, int64_t row,
                                      int64_t column) const {
  if (!held.keyPanels)
    return (row * held.stride + column) * held.width;
  int64_t panel = row / panelWidth, lane = row % panelWidth;
  int64_t interleave = held.format->interleave;
  return (panel * held.sizes.back() * panelWidth +
          (column / interleave * panelWidth + lane) * interleave +
          column % interleave) *
         held.width;
}

Number KernEvaluation::read(Value buffer, int64_t row, int64_t column) {
  const Held &held = buffers.find(buffer)->second;
  const int64_t offset = getByteOffset(held, row, column);
  if (machine)
    return machine->read(held.extent.storage, offset, held.element);
  return memory.read(held.extent, offset, held.width, turn);
}

void KernEvaluation::write(Value buffer, int64_t row, int64_t column,
                           Number value) {
  const Held &held = buffers.find(buffer)->second;
  if (held.format)
    value = roundToStorage(held.format->element, value);
  if (observe && turn.op)
    observe(turn.op, value);
  const int64_t offset = getByteOffset(held, row, column);
  if (machine)
    return machine->write(held.extent.storage, offset, value, turn.op);
  memory.write(held.extent, offset, held.width, value, turn);
}

/// The row for an index.
static int64_t getRow(ArrayRef<int64_t> sizes, ArrayRef<int64_t> index) {
  return index.empty() ? 0 : flatten(sizes.drop_back(), index.drop_back());
}

Number KernEvaluation::read(Value buffer, ArrayRef<int64_t> index) {
  return read(buffer, getRow(sizes(buffer), index),
              index.empty() ? 0 : index.back());
}

void KernEvaluation::write(Value buffer, ArrayRef<int64_t> index,
                           Number value) {
  write(buffer, getRow(sizes(buffer), index), index.empty() ? 0 : index.back(),
        value);
}

Number KernEvaluation::readFlat(Value buffer, int64_t number) {
  int64_t width = columns(buffer);
  return read(buffer, number / width, number % width);
}

std::vector<Number> KernEvaluation::readColumns(Value buffer, int64_t row,
                                                int64_t first, int64_t count) {
  std::vector<Number> line(count);
  const Held &held = buffers.find(buffer)->second;
  if (machine && !held.keyPanels) {
    machine->readRow(held.extent.storage, getByteOffset(held, row, first),
                     held.element, line);
    return line;
  }
  for (int64_t i = 0; i < count; ++i)
    line[i] = read(buffer, row, first + i);
  return line;
}

void KernEvaluation::scratch(Value buffer) {
  const Extent &extent = buffers.find(buffer)->second.extent;
  if (machine)
    return machine->scratch(extent.storage, turn.op);
  memory.scratch(extent, turn);
}

void KernEvaluation::fail(const std::string &text) {
  if (machine)
    return machine->fail(text);
  memory.fail(text);
}

void KernEvaluation::checkScratch(Value buffer) {
  // In a machine's memory buffers do not overlap.
  if (!machine && !memory.holds(buffers.find(buffer)->second.extent))
    memory.fail("overwrites memory that it works in");
}

void KernEvaluation::beginCounting(Value counters) {
  const int64_t width = columns(counters), count = rows(counters) * width;
  for (int64_t i = 0; i < count; ++i) {
    Number found = readFlat(counters, i);
    if (found.isReference() || found.real() != 0)
      fail("expects its counters to be zero before");
    write(counters, i / width, i % width, 1.0); // until endCounting()
  }
}

void KernEvaluation::endCounting(Value counters) {
  checkScratch(counters);
  const int64_t width = columns(counters), count = rows(counters) * width;
  for (int64_t i = 0; i < count; ++i)
    write(counters, i / width, i % width, 0.0);
}

RowRange KernEvaluation::share(int64_t count) const {
  if (turn.worker == Toucher::anyWorker)
    return {0, count};
  return {count * turn.worker / numWorkers,
          count * (turn.worker + 1) / numWorkers};
}

std::vector<int64_t> KernEvaluation::keyPositions(const RaggedBatch &ragged) {
  std::vector<int64_t> positions;
  int64_t base = 0, inside = 0, sequence = 0;
  for (const RaggedBatch::Row &row : ragged.rows) {
    if (row.sequence != sequence) {
      base += (inside + panelWidth - 1) / panelWidth * panelWidth;
      inside = 0;
      sequence = row.sequence;
    }
    positions.push_back(base + inside++);
  }
  return positions;
}

} // namespace transom
