// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks shared by many shape rules, and the rules' two users: result type
// inference for a new operation, and verification.
#include "dialects/attn/AttnShapeRules.h"

using namespace mlir;

namespace transom::attn {

using namespace rules;

/// An operand that is not a ranked tensor has no sizes, and its element type is
/// 'none', so no rule accepts it.
Shaped::Shaped(Value value) : element(NoneType::get(value.getContext())) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  if (!tensor)
    return;
  dims = getSymbolicShape(tensor);
  element = tensor.getElementType();
}

bool Shaped::isStatic() const {
  return llvm::all_of(dims, [](const Polynomial &d) { return d.isConstant(); });
}

std::string rules::text(ArrayRef<Polynomial> dims) {
  std::string all = "[";
  for (const Polynomial &dim : dims)
    all += (all.size() > 1 ? ", " : "") + dim.str();
  return all + "]";
}

std::string rules::text(const Shaped &shaped) {
  std::string all;
  llvm::raw_string_ostream(all) << shaped.element << " " << text(shaped.dims);
  return all;
}

std::string rules::suggestReshape(ArrayRef<Polynomial> dims,
                                  ArrayRef<Polynomial> target) {
  // Align the last sizes, as in NumPy.
  const Polynomial one(1);
  SmallVector<Polynomial> wide(target.size(), one);
  size_t left = dims.size();
  for (size_t axis = target.size(); axis-- > 0 && left > 0;)
    if (dims[left - 1] == target[axis] || dims[left - 1] == one)
      wide[axis] = dims[--left];
  if (left > 0 || dims.size() >= target.size())
    return "";
  return "; reshape it to " + text(wide);
}

LogicalResult rules::expectFloat(const Shaped &shaped, StringRef name,
                                 int64_t minRank, EmitError emitError,
                                 int constraint) {
  if (shaped.isFloat() && shaped.rank() >= minRank)
    return success();
  return violated(emitError, constraint)
         << "expects a float " << name << " of rank " << minRank
         << " or more, got " << text(shaped);
}

LogicalResult rules::expectI64(const Shaped &shaped, StringRef name,
                               EmitError emitError, int constraint) {
  if (shaped.isI64())
    return success();
  return violated(emitError, constraint)
         << "expects i64 " << name << ", got " << text(shaped);
}

LogicalResult rules::expectOneElement(const Shaped &a, const Shaped &b,
                                      StringRef nameA, StringRef nameB,
                                      EmitError emitError, int constraint) {
  if (a.element == b.element)
    return success();
  return violated(emitError, constraint)
         << "expects " << nameA << " and " << nameB
         << " of one element type, got " << a.element << " and " << b.element;
}

LogicalResult rules::expectVector(const Shaped &shaped, StringRef name,
                                  const Polynomial &size, Type element,
                                  EmitError emitError, int constraint) {
  if (shaped.element == element && shaped.rank() == 1 && shaped.last() == size)
    return success();
  return violated(emitError, constraint)
         << "expects " << name << " of type " << element << " [" << size.str()
         << "], got " << text(shaped);
}

/// For verification: true if all operands are ranked with named sizes, false if
/// one is unranked (nothing to compare), an error for an unnamed `?`.
static FailureOr<bool> operandsAreReady(Operation *op) {
  bool ready = true;
  for (Value operand : op->getOperands()) {
    if (isa<UnrankedTensorType>(operand.getType()))
      ready = false;
    auto ranked = dyn_cast<RankedTensorType>(operand.getType());
    if (ranked && !ranked.hasStaticShape() && !ranked.getEncoding())
      return op->emitOpError()
             << "expects named sizes, got operand of type " << ranked;
  }
  return ready;
}

LogicalResult detail::verifyInferredShapes(Operation *op) {
  FailureOr<bool> ready = operandsAreReady(op);
  if (failed(ready))
    return failure();
  if (!*ready)
    return success();
  Types inferred =
      cast<ShapeInferable>(op).inferShapes([&]() { return op->emitOpError(); });
  if (failed(inferred))
    return failure();
  for (auto [type, result] : llvm::zip_equal(*inferred, op->getResults())) {
    auto ranked = dyn_cast<RankedTensorType>(result.getType());
    auto expected = cast<RankedTensorType>(type);
    if (!ranked ? expected.getElementType() ==
                      cast<TensorType>(result.getType()).getElementType()
                : ranked == expected ||
                      (expected.hasStaticShape() &&
                       ranked.getShape() == expected.getShape() &&
                       ranked.getElementType() == expected.getElementType()))
      continue;
    return op->emitOpError() << "expects a result of type " << type << ", got "
                             << result.getType();
  }
  return success();
}

LogicalResult detail::inferReturnTypes(const UnbuiltOp &unbuilt,
                                       SmallVectorImpl<Type> &types) {
  MLIRContext *context = unbuilt.attributes.getContext();
  Location location = unbuilt.location.value_or(UnknownLoc::get(context));

  // If an operand has an unknown shape, so does the result.
  for (Value operand : unbuilt.operands)
    if (auto type = dyn_cast<UnrankedTensorType>(operand.getType())) {
      types.push_back(type);
      return success();
    }

  // The rule is a method on the operation, so build a temporary one.
  Type open = UnrankedTensorType::get(Float32Type::get(context));
  OperationName name(unbuilt.name, context);
  Operation *op = Operation::create(location, name, open, unbuilt.operands,
                                    unbuilt.attributes, unbuilt.properties,
                                    /*successors=*/{}, /*numRegions=*/0);
  FailureOr<bool> ready = operandsAreReady(op);
  Types inferred = failure();
  if (succeeded(ready))
    inferred = cast<ShapeInferable>(op).inferShapes(
        [&]() { return op->emitOpError(); });
  op->destroy();
  if (succeeded(inferred))
    types.append(*inferred);
  return inferred;
}

} // namespace transom::attn
