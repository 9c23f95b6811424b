// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints shared by many operations. Constraint numbers refer to the op
// descriptions. They hold after every pass.
#include "dialects/kern/KernVerify.h"
#include "runtime/abi/RowSummary.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

Sizes rules::getSizes(Value value) {
  if (auto buffer = llvm::dyn_cast<BufferType>(value.getType()))
    return buffer.getDims();
  ArrayRef<int64_t> shape = llvm::cast<WeightType>(value.getType()).getShape();
  return Sizes(shape.begin(), shape.end());
}

std::string rules::text(ArrayRef<Polynomial> sizes) {
  std::string list;
  for (const Polynomial &size : sizes)
    list += (list.empty() ? "" : ", ") + size.str();
  return "[" + list + "]";
}

Polynomial rules::product(ArrayRef<Polynomial> sizes) {
  Polynomial count(1);
  for (const Polynomial &size : sizes)
    count = count * size;
  return count;
}

bool rules::isF32(Value buffer) {
  return getBufferType(buffer).getElementType().isF32();
}
bool rules::isBf16(Value buffer) { return getBufferType(buffer).isBf16(); }
bool rules::isRoundedRows(Value buffer) {
  return (isBf16(buffer) || isQuantized(buffer)) &&
         !getBufferType(buffer).getKeyPanels();
}
bool rules::isDense(Value buffer) {
  return !getBufferType(buffer).getStride() &&
         !getBufferType(buffer).getKeyPanels();
}

LogicalResult rules::verifySameSizes(Constraint constraint, const char *names,
                                     Value a, Value b) {
  if (getSizes(a) == getSizes(b))
    return success();
  return constraint.expects()
         << names << " of equal sizes, got " << text(getSizes(a)) << " and "
         << text(getSizes(b));
}

LogicalResult rules::verifySameElements(Constraint constraint,
                                        const char *names, Value a, Value b) {
  Type x = getBufferType(a).getElementType(),
       y = getBufferType(b).getElementType();
  if (x == y)
    return success();
  return constraint.expects()
         << names << " of one element type, got " << x << " and " << y;
}

LogicalResult rules::verifyRowsOfF32(Constraint constraint, const char *name,
                                     Value buffer) {
  if (!isF32(buffer))
    return constraint.expects() << "f32 as " << name << ", got "
                                << getBufferType(buffer).getElementType();
  if (getBufferType(buffer).getKeyPanels())
    return constraint.expects() << "rows as " << name << ", got key panels";
  return success();
}

LogicalResult rules::verifyRowsOfFloat(Constraint constraint, const char *name,
                                       Value buffer) {
  if (!isBf16(buffer))
    return verifyRowsOfF32(constraint, name, buffer);
  if (getBufferType(buffer).getKeyPanels())
    return constraint.expects() << "rows as " << name << ", got key panels";
  return success();
}

LogicalResult rules::verifyLayout(Constraint constraint, const char *name,
                                  Value weight, WeightLayout layout) {
  WeightLayout own = llvm::cast<WeightType>(weight.getType()).getLayout();
  if (own == layout || own == WeightLayout::Unset)
    return success();
  return constraint.expects() << name << " in '" << getLayoutName(layout)
                              << "', got '" << getLayoutName(own) << "'";
}

LogicalResult rules::verifyVector(Constraint constraint, const char *name,
                                  Value weight, int64_t size,
                                  WeightLayout layout) {
  Sizes sizes = getSizes(weight);
  if (llvm::cast<WeightType>(weight.getType()).isBf16())
    return constraint.expects() << name << " of f32, got bf16";
  if (sizes.size() != 1 || sizes[0] != Polynomial(size))
    return constraint.expects()
           << name << " of size [" << size << "], got " << text(sizes);
  return verifyLayout(constraint, name, weight, layout);
}

LogicalResult rules::verifySummary(Constraint constraint, Value input,
                                   ValueRange summary) {
  if (summary.size() != 2)
    return constraint.expects() << "maxima and sums as a summary, got "
                                << summary.size() << " buffers";
  Sizes sizes = getSizes(input), expected = sizes;
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width || *width < 1)
    return constraint.expects()
           << "a constant last size of what is summarized, got " << text(sizes);
  expected.back() = Polynomial(getNumSummaryGroups(*width));
  for (Value buffer : summary)
    if (getSizes(buffer) != expected)
      return constraint.expects() << "a summary " << text(expected) << ", got "
                                  << text(getSizes(buffer));
  return success();
}

LogicalResult rules::verifyScales(Constraint constraint, Value input,
                                  Value scales, int64_t group) {
  if (failed(verifyRowsOfF32(constraint, "'scales'", scales)))
    return failure();
  Sizes sizes = getSizes(input), expected = sizes;
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width)
    return constraint.expects()
           << "a constant last size of an input of i8, got " << text(sizes);
  expected.back() = Polynomial(2 * llvm::divideCeil(*width, group));
  if (getSizes(scales) != expected)
    return constraint.expects() << "'scales' " << text(expected) << ", got "
                                << text(getSizes(scales));
  return success();
}

LogicalResult rules::verifyProductInput(WeightProductOp op, int type,
                                        int scales, int depth) {
  const WeightType weight = op.getWeightType();
  const OperandFormat &format = weight.getFormat().getStorage();
  const Value input = op.getInputRows();
  const Type element = getBufferType(input).getElementType(),
             expected = weight.getFormat().getOperandType();
  if (element != expected && !(format.isGrouped() && isF32(input)))
    return Constraint{op, type}.expects()
           << "input and weight of one type, got " << element << " and "
           << expected;
  if (const int64_t k = weight.getShape()[1];
      format.isGrouped() && k % format.interleave)
    return Constraint{op, depth}.expects()
           << "a k that is a multiple of " << format.interleave << ", got "
           << k;
  const MutableOperandRange given = op.getInputScalesMutable();
  if (given.empty() == element.isInteger(8))
    return Constraint{op, scales}.expects()
           << "'scales' exactly with an input of i8";
  if (given.empty())
    return success();
  return verifyScales({op, scales}, input, given[0].get(), format.group);
}

LogicalResult rules::verifyQuantized(Constraint constraint, Value numbers,
                                     Value scales) {
  if (isQuantized(numbers) != bool(scales))
    return constraint.expects() << "scales exactly beside numbers of i8";
  if (!scales)
    return success();
  if (failed(verifyRowsOfF32(constraint, "scales", scales)))
    return failure();
  Sizes sizes = getSizes(numbers);
  std::optional<int64_t> width =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!width || *width % 4)
    return constraint.expects()
           << "a constant last size of numbers of i8 that is a multiple of 4, "
              "got "
           << text(sizes);
  if (!findQuantizedGroup(numbers, scales))
    return constraint.expects()
           << "scales of groups of " << quantizedGroupNames << " numbers of "
           << text(sizes) << ", got " << text(getSizes(scales));
  return success();
}

LogicalResult rules::verifySize(Constraint constraint, const char *name,
                                StringRef size) {
  if (Polynomial::parse(std::string_view(size.data(), size.size())))
    return success();
  return constraint.expects()
         << "a size as '" << name << "', got '" << size << "'";
}
