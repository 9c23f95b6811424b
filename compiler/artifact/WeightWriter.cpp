// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The weight writer. One thread evaluates, rounds and packs blocks while
// another hashes and writes the previous block, in file order.
#include "compiler/artifact/WeightWriter.h"
#include "dialects/weights/StoredGroups.h"
#include "runtime/abi/Layout.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Sha256.h"
#include "runtime/base/Threads.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

using namespace transom;

/// Elements per block, about 4 MiB.
static constexpr int64_t blockElements = 1 << 20;

namespace {

/// The ordered stream of packed bytes: hashes all bytes, writes nonzero blocks.
class PackedStream {
public:
  PackedStream(OutputFile &file, uint64_t base, uint64_t total,
               const WriteProgress &progress)
      : file(file), base(base), total(total), progress(progress) {}

  /// Takes ownership of the buffer; its bytes follow the previous ones.
  template <typename T> Result<void> push(std::vector<T> block) {
    if (Result<void> previous = wait(); !previous)
      return previous;
    if (progress && !progress(accepted, total))
      return unavailable("interrupted");
    accepted += block.size() * sizeof(T);
    pending = startTask([this, block = std::move(block)] {
      return consume({reinterpret_cast<const char *>(block.data()),
                      block.size() * sizeof(T)});
    });
    return {};
  }

  /// Appends zeros up to an offset, without writing them.
  Result<void> skipTo(uint64_t offset) {
    while (accepted < offset) {
      uint64_t bytes =
          std::min<uint64_t>(offset - accepted, blockElements * sizeof(float));
      if (Result<void> previous = wait(); !previous)
        return previous;
      std::string zeros(static_cast<size_t>(bytes), '\0');
      hash.update(zeros);
      accepted += bytes;
      written += bytes;
    }
    return {};
  }

  /// Ends the stream and returns the hash over all bytes.
  Result<std::string> finish() {
    TRANSOM_TRY(wait());
    return hash.hex();
  }

  uint64_t offset() const { return accepted; }

private:
  Result<void> wait() {
    return pending.valid() ? pending.get() : Result<void>();
  }

  Result<void> consume(std::string_view bytes) {
    hash.update(bytes);
    uint64_t at = base + written;
    written += bytes.size();
    bool zero = bytes.empty() ||
                (bytes[0] == 0 &&
                 memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
    return zero ? Result<void>() : file.writeAt(at, bytes);
  }

  OutputFile &file;
  const uint64_t base, total;
  const WriteProgress &progress;
  Sha256 hash;
  std::future<Result<void>> pending; // destroyed first: waits for `consume`
  uint64_t accepted = 0, written = 0;
};

/// One weight with its evaluated form.
struct Packing {
  const ArtifactWeight &weight;
  const WeightExpr &expression;
  const TensorSource &source;
  const Importance &importance;
  PackedStream &stream;
  RoundingErrors &rounding;

  Error atWeight(Error error) const {
    error.message = "weight '" + weight.symbol + "': " + error.message;
    return error;
  }
  Result<void> rows() const {
    std::vector<int64_t> offsets(weight.shape.size(), 0), sizes(weight.shape);
    return rows(0, offsets, sizes);
  }
  Result<void> rows(size_t axis, std::vector<int64_t> &offsets,
                    std::vector<int64_t> &sizes) const;
  Result<void> block(const std::vector<int64_t> &offsets,
                     const std::vector<int64_t> &sizes) const;
  Result<void> panels() const;
  void compare(const PanelCodec &codec, const char *panel, const float *rows,
               int64_t count, RoundingError &error) const;
  Result<StoredRows> getStoredRows(const StoredExpr &stored, int64_t row,
                                   int64_t count, RoundingError &error) const;
  Result<void> padded() const;
};

} // namespace

/// Visits a box in row-major order as blocks that are dense in the tensor: full
/// in all dimensions after `axis`, a single index in dimensions before it.
Result<void> Packing::rows(size_t axis, std::vector<int64_t> &offsets,
                           std::vector<int64_t> &sizes) const {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < sizes.size(); ++i)
    inner *= sizes[i];
  const int64_t extent = axis < sizes.size() ? sizes[axis] : 1;
  const int64_t per = std::max<int64_t>(1, blockElements / inner);
  for (int64_t begin = 0; begin < extent; begin += per) {
    const int64_t count = std::min(per, extent - begin);
    if (axis < sizes.size()) {
      offsets[axis] = begin;
      sizes[axis] = count;
    }
    Result<void> done = inner > blockElements ? rows(axis + 1, offsets, sizes)
                                              : block(offsets, sizes);
    if (!done)
      return done;
  }
  if (axis < sizes.size()) {
    offsets[axis] = 0;
    sizes[axis] = extent;
  }
  return {};
}

static std::vector<uint16_t> rounded(const std::vector<float> &values) {
  std::vector<uint16_t> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), floatToBfloat16);
  return result;
}

Result<void> Packing::block(const std::vector<int64_t> &offsets,
                            const std::vector<int64_t> &sizes) const {
  int64_t elements = 1;
  for (int64_t size : sizes)
    elements *= size;
  std::vector<float> values(static_cast<size_t>(elements));
  if (Result<void> done =
          expression.evaluate(source, offsets, sizes, values.data());
      !done)
    return atWeight(done.takeError());
  if (weight.format.element == StorageType::BF16)
    return stream.push(rounded(values));
  if (weight.format.element != StorageType::F32)
    return internalError("weight '" + weight.symbol +
                         "': rows of the format '" + weight.format.str() +
                         "' cannot be written; supported: f32, bf16");
  return stream.push(std::move(values));
}

void RoundingError::add(const float *packed, const float *stored,
                        int64_t count) {
  numbers += count;
  for (int64_t i = 0; i < count; ++i) {
    const double difference = double(packed[i]) - stored[i];
    largest = std::max(largest, std::fabs(difference));
    differences += difference * difference;
    squares += double(stored[i]) * stored[i];
  }
}

void RoundingError::add(const RoundingError &other) {
  weights += other.weights;
  numbers += other.numbers;
  largest = std::max(largest, other.largest);
  differences += other.differences;
  squares += other.squares;
}

std::string RoundingError::str() const {
  char text[200];
  std::snprintf(text, sizeof text,
                "the root mean square error is %.2g, the largest %.2g, of "
                "numbers with a root mean square of %.2g",
                std::sqrt(differences / double(numbers)), largest,
                std::sqrt(squares / double(numbers)));
  return text;
}

std::vector<std::string> RoundingErrors::getNotes() const {
  std::vector<std::string> notes;
  if (numbers.weights > 0)
    notes.push_back(std::to_string(numbers.weights) +
                    " quantized weights are rounded anew: " + numbers.str());
  if (scales.weights > 0)
    notes.push_back(std::to_string(scales.weights) +
                    " quantized weights have scales that are rounded to f16: " +
                    scales.str());
  return notes;
}

/// Returns the dequantized values for complete rows.
static std::vector<float> getNumbers(const StoredRows &rows,
                                     const StoredGroups &groups) {
  std::vector<float> numbers = rows.elements;
  scaleElements(groups, 0, groups.depth, rows.scales, rows.minimums,
                numbers.data());
  return numbers;
}

/// Accumulates the differences that packing caused in these rows.
void Packing::compare(const PanelCodec &codec, const char *panel,
                      const float *rows, int64_t count,
                      RoundingError &error) const {
  const int64_t depth = weight.shape[1];
  std::vector<float> packed(static_cast<size_t>(count * depth));
  codec.unpack(panel, count, depth, packed.data());
  error.add(packed.data(), rows, count * depth);
}

/// Rounds scales or offsets to their type; returns true if any value changed.
static bool roundTo(std::optional<StorageType> type,
                    std::vector<float> &numbers) {
  bool changed = false;
  for (float &number : numbers) {
    const auto rounded = static_cast<float>(roundToStorage(*type, number));
    changed |= rounded != number;
    number = rounded;
  }
  return changed;
}

/// Returns quantized rows, with scales and offsets as they are packed.
Result<StoredRows> Packing::getStoredRows(const StoredExpr &stored, int64_t row,
                                          int64_t count,
                                          RoundingError &error) const {
  Result<StoredRows> given = evaluateStored(stored, source, row, count);
  if (!given)
    return atWeight(given.takeError());
  StoredRows rounded = *given;
  bool changed = roundTo(weight.format.scales, rounded.scales);
  if (stored.minimums)
    changed |= roundTo(weight.format.minimums, rounded.minimums);
  if (!changed)
    return given;
  for (const std::vector<float> &factors : {rounded.scales, rounded.minimums})
    for (float factor : factors)
      if (!std::isfinite(factor))
        return atWeight(unsupported(
            "a scale does not fit f16; supported: '--quantize none', which "
            "makes floats of the weight"));
  const std::vector<float> before = getNumbers(*given, stored.groups),
                           after = getNumbers(rounded, stored.groups);
  error.add(after.data(), before.data(), static_cast<int64_t>(after.size()));
  return Result<StoredRows>(std::move(rounded));
}

Result<void> Packing::panels() const {
  const PanelCodec *codec = findPanelCodec(weight.format);
  if (!codec)
    return internalError("weight '" + weight.symbol +
                         "': no codec for the format '" + weight.format.str() +
                         "'");
  const int64_t depth = weight.shape[1],
                panelBytes = weight.format.getPanelBytes(depth);
  // Split the rows into blocks with complete panels.
  const int64_t per =
      std::max<int64_t>(1, blockElements /
                               (panelWidth * std::max<int64_t>(1, depth))) *
      panelWidth;
  const std::optional<StoredExpr> stored =
      splitStored(expression, weight.format);
  const bool isRounded =
      !stored && weight.format.isGrouped() && readsStored(expression);
  RoundingError error;
  const float *importances =
      importance.empty() ? nullptr : importance.find(expression.files(), depth);
  std::vector<float> rows;
  StoredRows given;
  int64_t first = 0;
  for (int64_t split : weight.splits) {
    for (int64_t begin = 0; begin < split; begin += per) {
      // Evaluate the rows of the block.
      const int64_t count = std::min(per, split - begin);
      if (!stored)
        rows.resize(static_cast<size_t>(count * depth));
      if (stored) {
        TRANSOM_ASSIGN(given,
                       getStoredRows(*stored, first + begin, count, error));
      } else if (Result<void> done = expression.evaluate(
                     source, {first + begin, 0}, {count, depth}, rows.data());
                 !done) {
        return atWeight(done.takeError());
      }

      // Pack them panel by panel; the rest after the last row stays zero.
      const int64_t panels = (count + panelWidth - 1) / panelWidth;
      std::vector<char> block(static_cast<size_t>(panels * panelBytes));
      for (int64_t p = 0; p < panels; ++p) {
        const int64_t row = p * panelWidth;
        const int64_t size = std::min(panelWidth, count - row);
        char *panel = block.data() + p * panelBytes;
        const int64_t group = stored ? row * stored->groups.getNumGroups() : 0;
        if (!stored)
          codec->pack(rows.data() + row * depth, size, depth, panel,
                      importances);
        else
          codec->packGiven(
              given.elements.data() + row * depth, given.scales.data() + group,
              given.minimums.data() + (stored->minimums ? group : 0), size,
              depth, panel);
        if (isRounded)
          compare(*codec, panel, rows.data() + row * depth, size, error);
      }
      TRANSOM_TRY(stream.push(std::move(block)));
    }
    first += split;
  }
  error.weights = error.largest > 0;
  if (error.weights)
    (stored ? rounding.scales : rounding.numbers).add(error);
  return {};
}

Result<void> Packing::padded() const {
  int64_t first = 0;
  for (int64_t split : weight.splits) {
    std::vector<float> block(static_cast<size_t>(alignToPanel(split)));
    if (Result<void> done =
            expression.evaluate(source, {first}, {split}, block.data());
        !done)
      return atWeight(done.takeError());
    if (Result<void> pushed = stream.push(std::move(block)); !pushed)
      return pushed;
    first += split;
  }
  return {};
}

/// Returns the element count for [n] with each split padded; invalid unless the
/// splits sum up to n.
static CheckedSize paddedColumns(int64_t n,
                                 const std::vector<int64_t> &splits) {
  CheckedSize sum, padded;
  for (int64_t split : splits) {
    sum += CheckedSize::fromSigned(split);
    padded += CheckedSize::fromSigned(split).alignUp(panelWidth);
  }
  return sum.signedValue() == n ? padded : CheckedSize::fromSigned(-1);
}

/// The maximum K for a weight.
static constexpr int64_t maxDepth = int64_t(1) << 40;

std::optional<uint64_t> transom::packedBytes(const ArtifactWeight &weight) {
  const auto &[layout, shape, splits, format] =
      std::tie(weight.layout, weight.shape, weight.splits, weight.format);
  const int64_t elementBytes = getStorageBits(format.element) / 8;
  if (layout == WeightLayout::Rows) {
    CheckedSize elements(1);
    for (int64_t size : shape)
      elements *= CheckedSize::fromSigned(size);
    return (elements * CheckedSize(elementBytes)).value();
  }

  // Splits begin at panels; a vector is f32.
  const size_t rank = layout == WeightLayout::Panels32 ? 2 : 1;
  if (shape.size() != rank || (rank == 1 && format.element != StorageType::F32))
    return std::nullopt;
  CheckedSize columns = paddedColumns(
      shape[0], splits.empty() ? std::vector<int64_t>{shape[0]} : splits);
  if (rank == 1)
    return (columns * CheckedSize(elementBytes)).value();
  if (shape[1] < 0 || shape[1] > maxDepth)
    return std::nullopt;
  // Complete panels, so that the column size in bytes is exact.
  const int64_t columnBytes = format.getPanelBytes(shape[1]) / panelWidth;
  return (columns * CheckedSize(columnBytes)).value();
}

/// Sorts the weights by offset; fails if two overlap or one does not fit its
/// layout.
static Result<std::vector<ArtifactWeight>>
orderedWeights(const ArtifactPlan &plan) {
  std::vector<ArtifactWeight> weights = plan.weights;
  std::sort(weights.begin(), weights.end(),
            [](const ArtifactWeight &a, const ArtifactWeight &b) {
              return a.offset < b.offset;
            });
  uint64_t end = 0;
  for (ArtifactWeight &weight : weights) {
    if (weight.splits.empty() && weight.layout != WeightLayout::Rows &&
        !weight.shape.empty())
      weight.splits = {weight.shape[0]};
    if (packedBytes(weight) != weight.bytes)
      return internalError("weight '" + weight.symbol + "' has " +
                           std::to_string(weight.bytes) +
                           " bytes, its layout needs another number");
    if (weight.offset < end || weight.offset > plan.weightBytes ||
        weight.bytes > plan.weightBytes - weight.offset)
      return internalError("weight '" + weight.symbol + "' at offset " +
                           std::to_string(weight.offset) +
                           " overlaps another or the end");
    end = weight.offset + weight.bytes;
  }
  return weights;
}

/// Evaluates and packs one weight into the stream.
static Result<void> packWeight(const ArtifactWeight &weight,
                               const WeightExpr &expression,
                               const TensorSource &source,
                               const Importance &importance,
                               PackedStream &stream, RoundingErrors &rounding) {
  TRANSOM_ASSIGN(std::vector<int64_t> shape, expression.shape(source));
  if (shape != weight.shape)
    return internalError("weight '" + weight.symbol +
                         "' is not of the shape that the code expects");
  if (Result<void> skipped = stream.skipTo(weight.offset); !skipped)
    return skipped;
  Packing packing{weight, expression, source, importance, stream, rounding};
  switch (weight.layout) {
  case WeightLayout::Unset:
    return internalError("weight '" + weight.symbol + "' has no layout");
  case WeightLayout::Rows:
    return weight.bytes == 0 ? Result<void>() : packing.rows();
  case WeightLayout::Panels32:
    return packing.panels();
  case WeightLayout::Padded32:
    return packing.padded();
  }
  return internalError("weight '" + weight.symbol + "' has an unknown layout");
}

Result<PackedWeights>
transom::writeWeights(const ArtifactPlan &plan, const TensorSource &source,
                      const std::function<void(const std::string &)> &release,
                      OutputFile &file, uint64_t fileOffset,
                      const WriteProgress &progress) {
  TRANSOM_ASSIGN(std::vector<ArtifactWeight> weights, orderedWeights(plan));
  PackedStream stream(file, fileOffset, plan.weightBytes, progress);
  PackedWeights packed;
  for (const ArtifactWeight &weight : weights) {
    Result<WeightExpr> expression = WeightExpr::parse(weight.expression);
    if (!expression)
      return internalError("weight '" + weight.symbol +
                           "': " + expression.error().message);
    TRANSOM_TRY(packWeight(weight, *expression, source, plan.importance, stream,
                           packed.rounding));
    if (release)
      for (const std::string &tensor : expression->files())
        release(tensor);
  }
  TRANSOM_TRY(stream.skipTo(plan.weightBytes));
  TRANSOM_ASSIGN(packed.sha256, stream.finish());
  return packed;
}
