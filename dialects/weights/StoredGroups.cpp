// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Splits expressions over pre-quantized tensors into expressions over their
// fields. The splitter follows the k axis from the root to the tensors: no
// operation on this path may divide, join or mix elements along it.
#include "dialects/weights/StoredGroups.h"
#include "dialects/weights/WeightNode.h"
#include <algorithm>
#include <cmath>

namespace transom {

using Kind = WeightExpr::Kind;

bool StoredGroups::operator==(const StoredGroups &other) const {
  return element == other.element && group == other.group &&
         depth == other.depth && minimums == other.minimums;
}

std::optional<OperandFormat> StoredGroups::getFormat() const {
  auto find = [&](StorageType type) -> std::optional<OperandFormat> {
    OperandFormat format = OperandFormat::getQuantized(type, group);
    // In f32, zero points times f16 scales are exact. Small groups would take
    // more than 5 bits per element.
    if (minimums && group >= 64)
      format = format.withScales(StorageType::F32);
    return depth % format.interleave == 0 && findPanelCodec(format)
               ? std::optional(format)
               : std::nullopt;
  };
  if (minimums)
    return element == StorageType::U4 ? find(element) : std::nullopt;
  if (element == StorageType::I4)
    if (std::optional<OperandFormat> format = find(element))
      return format;
  return find(StorageType::I8);
}

std::string StoredGroups::str() const {
  return std::string(getStorageName(element)) + ", " + std::to_string(group) +
         ", " + std::to_string(depth) + (minimums ? ", minimums" : "");
}

std::optional<std::string> StoredGroups::findError() const {
  if (!isIntegerStorage(element))
    return "expected whole numbers";
  if (group < 1 || depth < 1)
    return "expected positive sizes";
  return std::nullopt;
}

void scaleElements(const StoredGroups &groups, int64_t first, int64_t count,
                   const std::vector<float> &scales,
                   const std::vector<float> &minimums, float *elements) {
  const int64_t end = first + count;
  size_t group = 0;
  while (group < scales.size())
    for (int64_t k = first; k < end; ++group) {
      const float scale = scales[group],
                  minimum = minimums.empty() ? 0 : minimums[group];
      // The multiplication is exact, so the sum may be fused.
      for (const int64_t next =
               std::min(end, (k / groups.group + 1) * groups.group);
           k < next; ++k, ++elements)
        *elements = *elements * scale + minimum;
    }
}

bool StoredTensor::readNumbers(int64_t row, int64_t rows, int64_t first,
                               int64_t count, float *out) const {
  read(StoredField::Elements, row, rows, first, count, out);
  const int64_t firstGroup = first / groups.group;
  const int64_t numGroups =
      count == 0 ? 0 : (first + count - 1) / groups.group - firstGroup + 1;
  std::vector<float> scales(static_cast<size_t>(rows * numGroups)), minimums;
  read(StoredField::Scales, row, rows, firstGroup, numGroups, scales.data());
  if (groups.minimums) {
    minimums.resize(scales.size());
    read(StoredField::Minimums, row, rows, firstGroup, numGroups,
         minimums.data());
  }
  scaleElements(groups, first, count, scales, minimums, out);
  return std::all_of(scales.begin(), scales.end(),
                     [](float x) { return std::isfinite(x); }) &&
         std::all_of(minimums.begin(), minimums.end(),
                     [](float x) { return std::isfinite(x); });
}

//===----------------------------------------------------------------------===//
// Splitting
//===----------------------------------------------------------------------===//

namespace {

/// The rank of an expression over a pre-quantized tensor.
std::optional<size_t> getRank(const WeightExpr &e) {
  const WeightExpr::Node &node = *e;
  switch (e.kind()) {
  case Kind::File:
    return node.stored ? std::optional<size_t>(2) : std::nullopt;
  case Kind::Reshape:
  case Kind::Fill:
    return node.dims.size();
  case Kind::Transpose:
  case Kind::Slice:
  case Kind::Concat:
  case Kind::Scale:
  case Kind::Pad:
  case Kind::Gather:
  case Kind::Interleave:
    return getRank(node.operand());
  default:
    return std::nullopt;
  }
}

/// Calls `visit` for the pre-quantized tensors.
template <typename Visit>
void forEachStored(const WeightExpr &e, const Visit &visit) {
  if ((*e).stored)
    visit(*(*e).stored);
  for (const WeightExpr &operand : (*e).operands)
    forEachStored(operand, visit);
}

/// Builds the expression for one field.
class FieldMaker {
public:
  FieldMaker(StoredField field, const StoredGroups &groups)
      : field(field), groups(groups) {}

  /// `axis` is the k axis. Nullopt if its elements do not stay together.
  std::optional<WeightExpr> make(const WeightExpr &e, size_t axis) const {
    const WeightExpr::Node &node = *e;
    switch (e.kind()) {
    case Kind::File:
      return makeFile(e, axis);
    case Kind::Fill:
      return makeFill(node, axis);
    case Kind::Transpose:
      if (axis >= node.dims.size() || node.dims[axis] < 0)
        return std::nullopt;
      return makeOperands(e, static_cast<size_t>(node.dims[axis]));
    case Kind::Slice:
    case Kind::Concat:
    case Kind::Pad:
      return node.axis == static_cast<int64_t>(axis) ? std::nullopt
                                                     : makeOperands(e, axis);
    case Kind::Gather:
    case Kind::Interleave:
      return axis == 0 ? std::nullopt : makeOperands(e, axis);
    case Kind::Scale:
      // A factor for all elements goes to their scales.
      return field == StoredField::Elements ? make(node.operand(), axis)
                                            : makeOperands(e, axis);
    case Kind::Reshape:
      return makeReshape(e, axis);
    default:
      return std::nullopt;
    }
  }

private:
  int64_t getDepth() const {
    return field == StoredField::Elements ? groups.depth
                                          : groups.getNumGroups();
  }

  std::optional<WeightExpr> makeFile(const WeightExpr &e, size_t axis) const {
    const std::optional<StoredGroups> &stored = (*e).stored;
    if (!stored || axis != 1 || stored->group != groups.group ||
        stored->depth != groups.depth)
      return std::nullopt;
    return e;
  }

  std::optional<WeightExpr> makeFill(const WeightExpr::Node &node,
                                     size_t axis) const {
    if (node.number != 0 || axis >= node.dims.size() ||
        node.dims[axis] != groups.depth)
      return std::nullopt;
    std::vector<int64_t> dims = node.dims;
    dims[axis] = getDepth();
    return WeightExpr::fill(std::move(dims), 0);
  }

  std::optional<WeightExpr> makeReshape(const WeightExpr &e,
                                        size_t axis) const {
    const WeightExpr::Node &node = *e;
    const std::optional<size_t> rank = getRank(node.operand());
    if (!rank || axis + 1 != node.dims.size() ||
        node.dims[axis] != groups.depth)
      return std::nullopt;
    std::optional<WeightExpr> operand = make(node.operand(), *rank - 1);
    if (!operand)
      return std::nullopt;
    std::vector<int64_t> dims = node.dims;
    dims[axis] = getDepth();
    return WeightExpr::reshape(std::move(*operand), std::move(dims));
  }

  /// Applies the operation to its operands' fields.
  std::optional<WeightExpr> makeOperands(const WeightExpr &e,
                                         size_t axis) const {
    auto copy = std::make_shared<WeightExpr::Node>(*e);
    for (WeightExpr &operand : copy->operands) {
      std::optional<WeightExpr> made = make(operand, axis);
      if (!made)
        return std::nullopt;
      operand = std::move(*made);
    }
    return WeightExpr::ofNode(std::move(copy));
  }

  const StoredField field;
  const StoredGroups &groups;
};

/// Presents one field of pre-quantized tensors as file tensors.
class FieldSource : public TensorSource {
public:
  FieldSource(const TensorSource &source, StoredField field,
              const StoredGroups &groups)
      : source(source), field(field), groups(groups) {}

  Result<std::vector<int64_t>> shape(const std::string &name) const override {
    TRANSOM_ASSIGN(std::vector<int64_t> shape, source.shape(name));
    if (shape.size() != 2 || shape[1] != groups.depth)
      return internalError("tensor '" + name + "' of shape " +
                           shapeText(shape) + " is not stored as '" +
                           groups.str() + "'");
    if (field != StoredField::Elements)
      shape[1] = groups.getNumGroups();
    return Result<std::vector<int64_t>>(std::move(shape));
  }
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    return source.readStored(name, field, offsets, sizes, out);
  }

private:
  const TensorSource &source;
  const StoredField field;
  const StoredGroups &groups;
};

} // namespace

Result<void> TensorSource::readStored(const std::string &name, StoredField,
                                      const std::vector<int64_t> &,
                                      const std::vector<int64_t> &,
                                      float *) const {
  return internalError("tensor '" + name + "' is not stored in groups");
}

WeightExpr WeightExpr::file(std::string name, const StoredGroups &stored) {
  auto node = std::make_shared<Node>();
  node->kind = Kind::File;
  node->name = std::move(name);
  node->stored = stored;
  return WeightExpr(std::move(node));
}

bool readsStored(const WeightExpr &e) {
  bool found = false;
  forEachStored(e, [&](const StoredGroups &) { found = true; });
  return found;
}

std::optional<StoredExpr> splitStored(const WeightExpr &e) {
  // Find the format that all tensors have in common.
  std::optional<StoredGroups> common;
  forEachStored(e, [&](const StoredGroups &groups) {
    if (!common)
      common = groups;
    common->minimums = common->minimums || groups.minimums;
    if (common->element != groups.element)
      common->element = StorageType::I8;
  });
  if (!common)
    return std::nullopt;
  const std::optional<size_t> rank = getRank(e);
  if (!rank || *rank != 2)
    return std::nullopt;
  auto make = [&](StoredField field) {
    return FieldMaker(field, *common).make(e, 1);
  };
  std::optional<WeightExpr> elements = make(StoredField::Elements),
                            scales = make(StoredField::Scales), minimums;
  if (!elements || !scales)
    return std::nullopt;
  if (common->minimums) {
    minimums = make(StoredField::Minimums);
    if (!minimums)
      return std::nullopt;
  }
  return StoredExpr{*common, *elements, *scales, minimums};
}

std::string getStoredFormat(const WeightExpr &e) {
  if (!readsStored(e))
    return "";
  const std::optional<StoredExpr> stored = splitStored(e);
  const std::optional<OperandFormat> format =
      stored ? stored->groups.getFormat() : std::nullopt;
  return format ? format->str() : "rounded";
}

std::optional<StoredExpr> splitStored(const WeightExpr &e,
                                      const OperandFormat &format) {
  if (!format.isGrouped())
    return std::nullopt;
  std::optional<StoredExpr> stored = splitStored(e);
  if (!stored || !(stored->groups.getFormat() == format))
    return std::nullopt;
  return stored;
}

Result<StoredRows> evaluateStored(const StoredExpr &e,
                                  const TensorSource &source, int64_t row,
                                  int64_t rows) {
  StoredRows result;
  auto evaluate = [&](StoredField field, const WeightExpr &expr,
                      int64_t columns, std::vector<float> &out) {
    out.resize(static_cast<size_t>(rows * columns));
    return expr.evaluate(FieldSource(source, field, e.groups), {row, 0},
                         {rows, columns}, out.data());
  };
  TRANSOM_TRY(evaluate(StoredField::Elements, e.elements, e.groups.depth,
                       result.elements));
  TRANSOM_TRY(evaluate(StoredField::Scales, e.scales, e.groups.getNumGroups(),
                       result.scales));
  if (e.minimums)
    TRANSOM_TRY(evaluate(StoredField::Minimums, *e.minimums,
                         e.groups.getNumGroups(), result.minimums));
  return Result<StoredRows>(std::move(result));
}

} // namespace transom
