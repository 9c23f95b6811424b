// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Constraints that many operations share, and the verifiers of types, storage
// and control. Numbers in messages are those of the constraints in the
// descriptions. They hold after every pass.
#include "dialects/kern/KernVerify.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Shared constraints
//===----------------------------------------------------------------------===//

BufferType rules::getBufferType(Value buffer) {
  return llvm::cast<BufferType>(buffer.getType());
}

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

LogicalResult rules::verifySize(Constraint constraint, const char *name,
                                StringRef size) {
  if (Polynomial::parse(std::string_view(size.data(), size.size())))
    return success();
  return constraint.expects()
         << "a size as '" << name << "', got '" << size << "'";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// The size that a text is, if it is a constant.
static std::optional<int64_t> getConstant(StringRef size) {
  Result<Polynomial> polynomial = Polynomial::parse(size.str());
  return polynomial ? polynomial->constant() : std::nullopt;
}

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> dims, Type element,
                                 int64_t stride, bool keyPanels) {
  auto expects = [&](int constraint) {
    return emitError() << "'!kern.buffer' (" << constraint << ") expects ";
  };
  StringRef last = dims.empty() ? StringRef() : dims.back().getValue();
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (bits == 0 || (bits != 1 && bits % 8))
    return expects(1) << "elements of i1, or integers or floats of whole bytes,"
                      << " got " << element;
  std::optional<int64_t> size = getConstant(last);
  if (stride && (!size || stride < *size))
    return expects(2) << "a stride of at least the last size, got " << stride
                      << " and '" << last << "'";
  if (keyPanels &&
      (dims.size() != 2 || stride || !(element.isF32() || element.isBF16())))
    return expects(3) << "key panels of f32 or bf16, of rank 2 and without a "
                         "stride";
  if (keyPanels && element.isBF16() && (!size || *size % 2))
    return expects(4) << "an even, constant number of columns in key panels of "
                         "bf16, got '"
                      << last << "'";
  return success();
}

LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape,
                                 OperandFormatAttr format, WeightLayout layout,
                                 ArrayRef<int64_t> splits) {
  auto expects = [&](int constraint) {
    return emitError() << "'!kern.weight' (" << constraint << ") expects ";
  };
  Type element = format.getElementType();
  const bool isPanel =
      layout == WeightLayout::Panels32 || layout == WeightLayout::Unset;
  if (!isPanel && !element.isF32() && !element.isBF16())
    return expects(1) << "f32 or bf16 in layout '" << getLayoutName(layout)
                      << "', got " << element;
  for (int64_t size : shape)
    if (size < 0)
      return expects(2) << "sizes that are not negative, got " << size;

  // Splits divide the first size.
  int64_t sum = 0;
  for (int64_t split : splits) {
    if (split <= 0)
      return expects(3) << "positive splits, got " << split;
    sum += split;
  }
  const int64_t first = shape.empty() ? 0 : shape[0];
  if (!splits.empty() && sum != first)
    return expects(4) << "splits that add up to the first size, got " << sum
                      << " and " << first;

  // Panels and padded vectors have one rank.
  size_t rank = layout == WeightLayout::Panels32   ? 2
                : layout == WeightLayout::Padded32 ? 1
                                                   : shape.size();
  if (shape.size() != rank)
    return expects(5) << "rank " << rank << " in layout '"
                      << getLayoutName(layout) << "', got " << shape.size();
  if (layout == WeightLayout::Padded32 && !element.isF32())
    return expects(6) << "f32 in layout 'padded32', got " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  if (std::optional<uint64_t> offset = getOffset();
      offset && (int64_t(*offset) < 0 || *offset % 4))
    return Constraint{*this, 1}.expects()
           << "an offset that is a multiple of 4, got " << int64_t(*offset);
  return success();
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight)
    return Constraint{*this, 1}.expects()
           << "'" << getWeight() << "' to be a 'kern.weight'";
  if (weight.getType() != getType())
    return Constraint{*this, 2}.expects()
           << "the weight's type " << weight.getType() << ", got " << getType();
  return success();
}

LogicalResult AllocOp::verify() {
  if (std::optional<uint64_t> slot = getSlot(); slot && int64_t(*slot) < 0)
    return Constraint{*this, 1}.expects()
           << "a slot that is not negative, got " << int64_t(*slot);
  return success();
}

LogicalResult ViewOp::verify() {
  if (failed(verifySameElements({*this, 1}, "source and result", getSource(),
                                getResult())))
    return failure();
  Sizes from = getSizes(getSource()), to = getSizes(getResult());
  if (product(from) != product(to))
    return Constraint{*this, 2}.expects() << "equally many elements, got "
                                          << text(from) << " and " << text(to);
  if (!isDense(getSource()) || !isDense(getResult()))
    return Constraint{*this, 3}.expects() << "dense buffers";
  return success();
}

LogicalResult RaggedBatchOp::verify() {
  if (!getMask()) {
    if (failed(verifySize({*this, 1}, "batch", getBatch())) ||
        failed(verifySize({*this, 1}, "columns", getColumns())))
      return failure();
    if (getKeepFirst())
      return Constraint{*this, 2}.expects() << "a mask beside 'keep_first'";
  } else {
    Type element = getBufferType(getMask()).getElementType();
    if (getBufferType(getMask()).getRank() != 2 ||
        !(element.isInteger(64) || element.isInteger(1)))
      return Constraint{*this, 3}.expects()
             << "a mask [batch, columns] of i64 or i1, got "
             << getMask().getType();
  }
  if (getRows().empty() || getKeys().empty())
    return Constraint{*this, 4}.expects() << "names for 'rows' and 'keys'";
  return success();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// Constraint 4: a size that an operation of the phase writes has its value
/// after the phase.
static LogicalResult verifyWrittenSizes(Block &body) {
  for (auto writer : body.getOps<BufferOp>()) {
    FlatSymbolRefAttr size = writer.getWrittenSize();
    if (!size)
      continue;
    for (auto user : body.getOps<BufferOp>()) {
      if (user == writer)
        continue;
      for (Type type : user->getOperandTypes())
        if (auto buffer = llvm::dyn_cast<BufferType>(type))
          for (const Polynomial &dim : buffer.getDims())
            if (llvm::is_contained(dim.symbols(), size.getValue()))
              return mlir::emitError(user.getLoc())
                     << "'kern.phase' op (4) expects no use of the size '"
                     << size.getValue() << "', which the phase writes";
    }
  }
  return success();
}

LogicalResult PhaseOp::verify() {
  if (getName().empty())
    return Constraint{*this, 1}.expects() << "a name";
  for (Operation &op : getBody().front())
    if (!llvm::isa<BufferOp>(op))
      return mlir::emitError(op.getLoc())
             << "'kern.phase' op (2) expects operations on buffers, got '"
             << op.getName() << "'";
  for (auto call : getBody().front().getOps<OneDnnOp>())
    if (!getCall())
      return mlir::emitError(call.getLoc())
             << "'kern.phase' op (3) expects nothing beside 'kern.onednn'";
  return verifyWrittenSizes(getBody().front());
}
