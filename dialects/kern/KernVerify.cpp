// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that many operations share, and the verifiers of types, storage and
// control; numbers are those of the rules in the descriptions. They hold after
// every pass.
#include "dialects/kern/KernVerify.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/weights/WeightExpr.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Shared rules
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

LogicalResult rules::verifySameSizes(Operation *op, const char *names, Value a,
                                     Value b) {
  if (getSizes(a) == getSizes(b))
    return success();
  return op->emitOpError("expects ")
         << names << " of equal sizes, got " << text(getSizes(a)) << " and "
         << text(getSizes(b));
}

LogicalResult rules::verifySameElements(Operation *op, const char *names,
                                        Value a, Value b) {
  Type x = getBufferType(a).getElementType(),
       y = getBufferType(b).getElementType();
  if (x == y)
    return success();
  return op->emitOpError("expects ")
         << names << " of one element type, got " << x << " and " << y;
}

LogicalResult rules::verifyRowsOfF32(Operation *op, const char *name,
                                     Value buffer) {
  if (!isF32(buffer))
    return op->emitOpError("expects f32 as ")
           << name << ", got " << getBufferType(buffer).getElementType();
  if (getBufferType(buffer).getKeyPanels())
    return op->emitOpError("expects rows as ") << name << ", got key panels";
  return success();
}

LogicalResult rules::verifyRowsOfFloat(Operation *op, const char *name,
                                       Value buffer) {
  if (!isBf16(buffer))
    return verifyRowsOfF32(op, name, buffer);
  if (getBufferType(buffer).getKeyPanels())
    return op->emitOpError("expects rows as ") << name << ", got key panels";
  return success();
}

LogicalResult rules::verifyLayout(Operation *op, const char *name, Value weight,
                                  WeightLayout layout) {
  WeightLayout own = llvm::cast<WeightType>(weight.getType()).getLayout();
  if (own == layout || own == WeightLayout::Unset)
    return success();
  return op->emitOpError("expects ") << name << " in '" << layoutName(layout)
                                     << "', got '" << layoutName(own) << "'";
}

LogicalResult rules::verifyVector(Operation *op, const char *name, Value weight,
                                  int64_t size, WeightLayout layout) {
  Sizes sizes = getSizes(weight);
  if (llvm::cast<WeightType>(weight.getType()).isBf16())
    return op->emitOpError("expects ") << name << " of f32, got bf16";
  if (sizes.size() != 1 || sizes[0] != Polynomial(size))
    return op->emitOpError("expects ")
           << name << " of size [" << size << "], got " << text(sizes);
  return verifyLayout(op, name, weight, layout);
}

LogicalResult rules::verifySize(Operation *op, const char *name,
                                StringRef size) {
  if (Polynomial::parse(std::string_view(size.data(), size.size())))
    return success();
  return op->emitOpError("expects a size as '")
         << name << "', got '" << size << "'";
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

LogicalResult BufferType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<StringAttr> dims, Type element,
                                 int64_t stride, bool keyPanels) {
  unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
  if (bits == 0 || (bits != 1 && bits % 8)) // (1)
    return emitError() << "buffer of " << element
                       << "; supported: i1, integers and floats of whole bytes";
  if (stride) { // (2)
    Result<Polynomial> last =
        dims.empty() ? Polynomial()
                     : Polynomial::parse(dims.back().getValue().str());
    std::optional<int64_t> size = last ? last->constant() : std::nullopt;
    if (dims.empty() || !size || stride < *size)
      return emitError() << "stride " << stride
                         << " of a buffer whose last size is '"
                         << (dims.empty() ? StringRef()
                                          : dims.back().getValue())
                         << "'";
  }
  if (keyPanels && (dims.size() != 2 || stride ||
                    !(element.isF32() || element.isBF16()))) // (3)
    return emitError()
           << "key panels must be f32 or bf16 of rank 2 without stride";
  if (keyPanels && element.isBF16()) { // (4)
    Result<Polynomial> columns =
        Polynomial::parse(dims.back().getValue().str());
    std::optional<int64_t> size = columns ? columns->constant() : std::nullopt;
    if (!size || *size % 2)
      return emitError() << "key panels of bf16 with an odd or unknown number "
                            "of columns '"
                         << dims.back().getValue() << "'";
  }
  return success();
}

LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape,
                                 OperandFormatAttr format, WeightLayout layout,
                                 ArrayRef<int64_t> splits) {
  Type element = format.getElementType();
  const bool isPanel =
      layout == WeightLayout::Panels32 || layout == WeightLayout::Unset;
  if (!isPanel && !element.isF32() && !element.isBF16()) // (1)
    return emitError() << "layout '" << layoutName(layout)
                       << "' of a weight of " << element
                       << "; supported: f32, bf16";
  int64_t sum = 0;
  for (int64_t size : shape)
    if (size < 0)
      return emitError() << "weight with the size " << size;
  for (int64_t split : splits) { // (2)
    if (split <= 0)
      return emitError() << "weight with a split of " << split;
    sum += split;
  }
  if (!splits.empty() && (shape.empty() || sum != shape[0]))
    return emitError() << "splits add up to " << sum << ", the first size is "
                       << (shape.empty() ? 0 : shape[0]);
  size_t rank = layout == WeightLayout::Panels32   ? 2
                : layout == WeightLayout::Padded32 ? 1
                                                   : shape.size(); // (3)
  if (shape.size() != rank)
    return emitError() << "layout '" << layoutName(layout)
                       << "' of a weight of rank " << shape.size();
  if (layout == WeightLayout::Padded32 && !element.isF32())
    return emitError() << "layout 'padded32' of a weight of " << element;
  return success();
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

LogicalResult WeightOp::verify() {
  if (!llvm::isa<WeightType>(getType()))
    return emitOpError("expects a weight type, got ") << getType();
  if (!WeightExpr::parse(
          std::string_view(getExpr().data(), getExpr().size()))) // (1)
    return emitOpError("expects a weight expression, got '")
           << getExpr() << "'";
  if (std::optional<uint64_t> offset = getOffset();
      offset && (int64_t(*offset) < 0 || *offset % 4)) // (2)
    return emitOpError("expects an offset that is a multiple of 4, got ")
           << int64_t(*offset);
  return success();
}

LogicalResult GetWeightOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto weight =
      symbols.lookupNearestSymbolFrom<WeightOp>(*this, getWeightAttr());
  if (!weight) // (1)
    return emitOpError("expects a weight, got '") << getWeight() << "'";
  if (weight.getType() != getType()) // (2)
    return emitOpError("expects the weight's type ")
           << weight.getType() << ", got " << getType();
  return success();
}

LogicalResult AllocOp::verify() {
  if (std::optional<uint64_t> slot = getSlot();
      slot && int64_t(*slot) < 0) // (1)
    return emitOpError("expects a slot that is not negative, got ")
           << int64_t(*slot);
  return success();
}

LogicalResult ViewOp::verify() {
  if (failed(verifySameElements(*this, "source and result", getSource(),
                                getResult()))) // (1)
    return failure();
  Sizes from = getSizes(getSource()), to = getSizes(getResult());
  if (product(from) != product(to)) // (2)
    return emitOpError("expects equally many elements, got ")
           << text(from) << " and " << text(to);
  if (!isDense(getSource()) || !isDense(getResult())) // (3)
    return emitOpError("expects dense buffers");
  return success();
}

LogicalResult RaggedBatchOp::verify() {
  if (!getMask()) { // (1)
    if (failed(verifySize(*this, "batch", getBatch())) ||
        failed(verifySize(*this, "columns", getColumns())))
      return failure();
    if (getKeepFirst()) // (2)
      return emitOpError("expects a mask beside 'keep_first'");
  } else { // (3)
    Type element = getBufferType(getMask()).getElementType();
    if (getBufferType(getMask()).getRank() != 2 ||
        !(element.isInteger(64) || element.isInteger(1)))
      return emitOpError("expects a mask [batch, columns] of i64 or i1, got ")
             << getMask().getType();
  }
  if (getRows().empty() || getKeys().empty()) // (4)
    return emitOpError("expects names for 'rows' and 'keys'");
  return success();
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// The body of a row, with arguments that fit.
static LogicalResult verifyRow(LayersOp op, Attribute attribute,
                               SymbolTableCollection &symbols) {
  auto row = llvm::dyn_cast<ArrayAttr>(attribute);
  if (!row || row.empty() || !llvm::all_of(row, [](Attribute a) {
        return llvm::isa<FlatSymbolRefAttr>(a);
      })) // (1)
    return op.emitOpError("expects rows that are lists of symbols, got ")
           << attribute;
  auto name = llvm::cast<FlatSymbolRefAttr>(row[0]);
  auto body = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(op, name);
  if (!body || body.getNumResults())
    return op.emitOpError("expects a function without results as body, got '")
           << name.getValue() << "'";
  SmallVector<Type> types(op->getOperandTypes());
  for (Attribute weight : row.getValue().drop_front()) { // (3)
    auto reference = llvm::cast<FlatSymbolRefAttr>(weight);
    Operation *definition = symbols.lookupNearestSymbolFrom(op, reference);
    if (auto weight = llvm::dyn_cast_or_null<WeightOp>(definition))
      types.push_back(weight.getType());
    else if (auto cache = llvm::dyn_cast_or_null<CacheOp>(definition))
      types.push_back(cache.getType());
    else
      return op.emitOpError("expects a weight or cache, got '")
             << reference.getValue() << "'";
  }
  if (TypeRange(body.getArgumentTypes()) != TypeRange(types)) // (2)
    return op.emitOpError("expects a body that takes the state, the invariants "
                          "and the row's weights and caches; '")
           << name.getValue() << "' does not";
  return success();
}

LogicalResult LayersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (Attribute row : getRows())
    if (failed(verifyRow(*this, row, symbols)))
      return failure();
  return success();
}

/// (4): a size that an operation of the phase writes has its value after the
/// phase.
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
              return user.emitOpError("uses the size '")
                     << size.getValue() << "', which its phase writes";
    }
  }
  return success();
}

LogicalResult PhaseOp::verify() {
  if (getName().empty()) // (1)
    return emitOpError("expects a name");
  for (Operation &op : getBody().front())
    if (!llvm::isa<BufferOp>(op)) // (2)
      return op.emitOpError(
          "is no operation on buffers and cannot be in a phase");
  for (auto call : getBody().front().getOps<OneDnnOp>())
    if (!getCall()) // (3)
      return call.emitOpError("expects a phase of its own");
  return verifyWrittenSizes(getBody().front());
}
