// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Verifiers of storage, products, attention and control; numbers are those of
// the rules in the operations' descriptions. They hold after every pass.
#include "dialects/kern/KernVerify.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "runtime/support/WeightExpr.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;
using namespace transom::kern::rules;

//===----------------------------------------------------------------------===//
// Shared rules
//===----------------------------------------------------------------------===//

BufferType rules::typeOf(Value buffer) {
  return llvm::cast<BufferType>(buffer.getType());
}

Sizes rules::sizesOf(Value value) {
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
  return typeOf(buffer).getElementType().isF32();
}
bool rules::isDense(Value buffer) {
  return !typeOf(buffer).getStride() && !typeOf(buffer).getKeyPanels();
}

LogicalResult rules::verifySameSizes(Operation *op, const char *names, Value a,
                                     Value b) {
  if (sizesOf(a) == sizesOf(b))
    return success();
  return op->emitOpError("expects ")
         << names << " of equal sizes, got " << text(sizesOf(a)) << " and "
         << text(sizesOf(b));
}

LogicalResult rules::verifySameElements(Operation *op, const char *names,
                                        Value a, Value b) {
  Type x = typeOf(a).getElementType(), y = typeOf(b).getElementType();
  if (x == y)
    return success();
  return op->emitOpError("expects ")
         << names << " of one element type, got " << x << " and " << y;
}

LogicalResult rules::verifyRowsOfF32(Operation *op, const char *name,
                                     Value buffer) {
  if (!isF32(buffer))
    return op->emitOpError("expects f32 as ")
           << name << ", got " << typeOf(buffer).getElementType();
  if (typeOf(buffer).getKeyPanels())
    return op->emitOpError("expects rows as ") << name << ", got key panels";
  return success();
}

/// Fails unless a weight lies in this layout or in none yet.
static LogicalResult verifyLayout(Operation *op, const char *name, Value weight,
                                  WeightLayout layout) {
  WeightLayout own = llvm::cast<WeightType>(weight.getType()).getLayout();
  if (own == layout || own == WeightLayout::Unset)
    return success();
  return op->emitOpError("expects ") << name << " in '" << layoutName(layout)
                                     << "', got '" << layoutName(own) << "'";
}

LogicalResult rules::verifyVector(Operation *op, const char *name, Value weight,
                                  int64_t size, WeightLayout layout) {
  Sizes sizes = sizesOf(weight);
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
    return emitError()
           << "buffer of " << element
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
  if (keyPanels && (dims.size() != 2 || stride || !element.isF32())) // (3)
    return emitError() << "key panels must be f32 of rank 2 without stride";
  return success();
}

LogicalResult WeightType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, Type element,
                                 WeightLayout layout, ArrayRef<int64_t> parts) {
  if (!element.isF32()) // (1)
    return emitError() << "weight of " << element << "; supported: f32";
  int64_t sum = 0;
  for (int64_t size : shape)
    if (size < 0)
      return emitError() << "weight with the size " << size;
  for (int64_t part : parts) { // (2)
    if (part <= 0)
      return emitError() << "weight with a part of " << part;
    sum += part;
  }
  if (!parts.empty() && (shape.empty() || sum != shape[0]))
    return emitError() << "parts add up to " << sum << ", the first size is "
                       << (shape.empty() ? 0 : shape[0]);
  size_t rank = layout == WeightLayout::Panels32   ? 2
                : layout == WeightLayout::Padded32 ? 1
                                                   : shape.size(); // (3)
  if (shape.size() != rank)
    return emitError() << "layout '" << layoutName(layout)
                       << "' of a weight of rank " << shape.size();
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
  Sizes from = sizesOf(getSource()), to = sizesOf(getResult());
  if (product(from) != product(to)) // (2)
    return emitOpError("expects equally many elements, got ")
           << text(from) << " and " << text(to);
  if (!isDense(getSource()) || !isDense(getResult())) // (3)
    return emitOpError("expects dense buffers");
  return success();
}

LogicalResult SegmentsOp::verify() {
  if (!getMask()) { // (1)
    if (failed(verifySize(*this, "batch", getBatch())) ||
        failed(verifySize(*this, "columns", getColumns())))
      return failure();
    if (getKeepFirst()) // (2)
      return emitOpError("expects a mask beside 'keep_first'");
  } else { // (3)
    Type element = typeOf(getMask()).getElementType();
    if (typeOf(getMask()).getRank() != 2 ||
        !(element.isInteger(64) || element.isInteger(1)))
      return emitOpError("expects a mask [batch, columns] of i64 or i1, got ")
             << getMask().getType();
  }
  if (getRows().empty() || getKeys().empty()) // (4)
    return emitOpError("expects names for 'rows' and 'keys'");
  return success();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static bool isActivation(StringRef kind) {
  return llvm::is_contained({"relu", "gelu", "gelu_tanh", "silu", "tanh",
                             "sigmoid", "exp", "neg", "sqrt", "rsqrt",
                             "quick_gelu"},
                            kind);
}

/// (1) and (3): the operands that come from the artifact.
static LogicalResult verifyGemmWeights(GemmOp op) {
  WeightType type = op.getWeight().getType();
  Sizes input = sizesOf(op.getInput());
  if (type.getShape().size() != 2 || input.empty() ||
      input.back() != Polynomial(type.getShape()[1]))
    return op.emitOpError("expects a weight [n, k] and an input [.., k], got ")
           << text(sizesOf(op.getWeight())) << " and " << text(input);
  if (failed(verifyLayout(op, "the weight", op.getWeight(),
                          WeightLayout::Panels32)))
    return failure();
  if (!op.getBias())
    return success();
  if (failed(verifyVector(op, "a bias", op.getBias(), type.getShape()[0],
                          WeightLayout::Padded32)))
    return failure();
  if (llvm::cast<WeightType>(op.getBias().getType()).getParts() !=
      type.getParts())
    return op.emitOpError("expects weight and bias with equal parts");
  return success();
}

/// (2) and (4): what the product writes.
static LogicalResult verifyGemmOuts(GemmOp op) {
  WeightType type = op.getWeight().getType();
  SmallVector<int64_t> parts(type.getParts());
  if (parts.empty())
    parts.push_back(type.getShape()[0]);
  if (op.getOuts().size() != parts.size())
    return op.emitOpError("expects an out for each of ")
           << parts.size() << " parts of the weight, got "
           << op.getOuts().size();
  bool keys = false;
  for (auto [out, part] : llvm::zip(op.getOuts(), parts)) {
    Sizes sizes = sizesOf(out);
    if (!isF32(out) || sizes.empty() || sizes.back() != Polynomial(part))
      return op.emitOpError("expects an out of f32 with ")
             << part << " columns, got " << out.getType();
    keys |= typeOf(out).getKeyPanels();
    if (!typeOf(out).getKeyPanels() &&
        typeOf(out).getRowCount() != typeOf(op.getInput()).getRowCount())
      return op.emitOpError("expects outs with the rows of the input, got ")
             << text(sizes) << " and " << text(sizesOf(op.getInput()));
  }
  if (keys != bool(op.getSegments()))
    return op.emitOpError(
        "expects segments exactly where an out is key panels");
  if (keys && (op.getActivation() || op.getResidual() || op.getNormOut()))
    return op.emitOpError(
        "expects no activation, residual or norm beside key panels");
  return success();
}

/// (5) and (6): the norm of the result.
static LogicalResult verifyGemmNorm(GemmOp op) {
  int given = bool(op.getNormGamma()) + bool(op.getNormOut()) +
              bool(op.getNormCounters()) + bool(op.getNormEps());
  if (given == 0)
    return op.getNormBeta() ? op.emitOpError("expects no beta without a norm")
                            : success();
  if (given != 4)
    return op.emitOpError("expects 'norm_gamma', 'norm_out', 'norm_counters' "
                          "and 'norm_eps' together");
  if (op.getOuts().size() != 1)
    return op.emitOpError("expects a single out beside a norm, got ")
           << op.getOuts().size();
  int64_t width = op.getWeight().getType().getShape()[0];
  if (failed(verifyVector(op, "gamma", op.getNormGamma(), width,
                          WeightLayout::Rows)) ||
      (op.getNormBeta() && failed(verifyVector(op, "beta", op.getNormBeta(),
                                               width, WeightLayout::Rows))) ||
      failed(verifyRowsOfF32(op, "'norm_out'", op.getNormOut())) ||
      failed(verifySameSizes(op, "out and 'norm_out'", op.getOuts()[0],
                             op.getNormOut())))
    return failure();
  Value counters = op.getNormCounters();
  if (!typeOf(counters).getElementType().isInteger(64) ||
      product(sizesOf(counters)) != typeOf(op.getOuts()[0]).getRowCount())
    return op.emitOpError("expects an i64 counter for each row, got ")
           << counters.getType();
  return success();
}

LogicalResult GemmOp::verify() {
  if (failed(verifyRowsOfF32(*this, "the input", getInput())) ||
      failed(verifyGemmWeights(*this)) || failed(verifyGemmOuts(*this)) ||
      failed(verifyGemmNorm(*this)))
    return failure();
  if (getResidual()) { // (5)
    if (getOuts().size() != 1)
      return emitOpError("expects a single out beside a residual, got ")
             << getOuts().size();
    if (failed(verifyRowsOfF32(*this, "a residual", getResidual())) ||
        failed(verifySameSizes(*this, "out and residual", getOuts()[0],
                               getResidual())))
      return failure();
  }
  if (getActivation() && !isActivation(*getActivation())) // (7)
    return emitOpError("expects a known activation, got '")
           << *getActivation() << "'";
  for (Value out : getOuts()) { // (8)
    if (storageOf(out) == storageOf(getInput()))
      return emitOpError("expects outs in other memory than the input");
    if (getResidual() && storageOf(out) == storageOf(getResidual()) &&
        (getActivation() ||
         getWeight().getType().getShape()[1] > kLongestChain))
      return emitOpError("expects a residual in other memory than the out with "
                         "an activation or k above ")
             << kLongestChain;
  }
  return success();
}

LogicalResult BatchMatmulOp::verify() {
  for (Value buffer : {getLhs(), getRhs(), getOuts()}) {
    if (failed(verifyRowsOfF32(*this, "each operand", buffer)))
      return failure();
    if (typeOf(buffer).getRank() < 2) // (1)
      return emitOpError("expects operands of rank 2 at least, got ")
             << buffer.getType();
  }
  Sizes lhs = sizesOf(getLhs()), rhs = sizesOf(getRhs()),
        outs = sizesOf(getOuts());
  if (lhs.back() != rhs[rhs.size() - 2]) // (2)
    return emitOpError("expects operands that share k, got ")
           << text(lhs) << " and " << text(rhs);
  if (outs.back() != rhs.back() ||
      outs[outs.size() - 2] != lhs[lhs.size() - 2]) // (3)
    return emitOpError("expects outs [.., m, n] of ")
           << text(lhs) << " and " << text(rhs) << ", got " << text(outs);
  for (const Sizes &own : {lhs, rhs}) { // (4)
    bool fits = own.size() <= outs.size();
    for (size_t i = 3; fits && i <= own.size(); ++i)
      fits = own[own.size() - i] == Polynomial(1) ||
             own[own.size() - i] == outs[outs.size() - i];
    if (!fits)
      return emitOpError("expects leading sizes that broadcast to ")
             << text(outs) << ", got " << text(own);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Fails unless the last size is a constant multiple of `heads`; else gives the
/// size of one head.
static FailureOr<int64_t> headSize(AttentionOp op, const char *name,
                                   Value buffer, int64_t heads) {
  Sizes sizes = sizesOf(buffer);
  std::optional<int64_t> last =
      sizes.empty() ? std::nullopt : sizes.back().constant();
  if (!isF32(buffer) || !last || *last % heads || *last == 0)
    return op.emitOpError("expects ")
           << name << " of f32 whose last size is a multiple of " << heads
           << " heads, got " << buffer.getType();
  return *last / heads;
}

/// (2), (3) and (4).
static LogicalResult verifyHeads(AttentionOp op, int64_t &valueSize) {
  FailureOr<int64_t> dq = headSize(op, "query", op.getQuery(), op.getHeads());
  FailureOr<int64_t> dk =
      failed(dq) ? dq : headSize(op, "key", op.getKey(), op.getKvHeads());
  FailureOr<int64_t> dv =
      failed(dk) ? dk : headSize(op, "value", op.getValue(), op.getKvHeads());
  FailureOr<int64_t> out =
      failed(dv) ? dv : headSize(op, "outs", op.getOuts(), op.getHeads());
  if (failed(out))
    return failure();
  if (*dq != *dk || *dv != *out)
    return op.emitOpError("expects heads of one size in query and key, and in "
                          "value and outs, got ")
           << *dq << " and " << *dk << ", " << *dv << " and " << *out;
  valueSize = *dv;
  if (!typeOf(op.getKey()).getKeyPanels())
    return op.emitOpError("expects the key in key panels");
  for (Value buffer : {op.getQuery(), op.getValue(), op.getOuts()})
    if (typeOf(buffer).getKeyPanels())
      return op.emitOpError("expects only the key in key panels");
  if (typeOf(op.getQuery()).getRowCount() != typeOf(op.getOuts()).getRowCount())
    return op.emitOpError("expects query and outs of equal rows, got ")
           << text(sizesOf(op.getQuery())) << " and "
           << text(sizesOf(op.getOuts()));
  return success();
}

/// (5) and (6).
static LogicalResult verifyScratchAndMask(AttentionOp op, int64_t valueSize) {
  Sizes scratch = sizesOf(op.getScratch());
  std::optional<int64_t> floats =
      scratch.empty() ? std::nullopt : scratch.back().constant();
  if (!isF32(op.getScratch()) || scratch.size() != 2 ||
      scratch[0] != Polynomial::symbol("parts") || !floats ||
      *floats < attentionScratchFloats(valueSize))
    return op.emitOpError("expects a scratch [parts, ")
           << attentionScratchFloats(valueSize) << "] of f32, got "
           << op.getScratch().getType();
  if (!op.getMask())
    return op.getMaskValue()
               ? op.emitOpError("expects a bool mask beside 'mask_value'")
               : success();
  Type element = typeOf(op.getMask()).getElementType();
  if (!(element.isF32() || element.isInteger(1)) ||
      typeOf(op.getMask()).getRank() > 4)
    return op.emitOpError(
               "expects a mask of f32 or bool of rank 4 at most, got ")
           << op.getMask().getType();
  if (op.getMaskValue() && !element.isInteger(1))
    return op.emitOpError("expects a bool mask beside 'mask_value'");
  return success();
}

LogicalResult AttentionOp::verify() {
  int64_t heads = getHeads(), kvHeads = getKvHeads(), valueSize = 0;
  if (heads <= 0 || kvHeads <= 0 || heads % kvHeads) // (1)
    return emitOpError(
               "expects 'heads' that are a multiple of 'kv_heads', got ")
           << heads << " and " << kvHeads;
  if (failed(verifyHeads(*this, valueSize)) ||
      failed(verifyScratchAndMask(*this, valueSize)))
    return failure();
  double cap = getSoftCap().convertToDouble();
  if (int64_t(getWindow()) < 0 || !(cap >= 0)) // (7)
    return emitOpError(
               "expects a window and a soft cap that are not negative, got ")
           << int64_t(getWindow()) << " and " << cap;
  auto segments = getQuerySegments().getDefiningOp<SegmentsOp>();
  if (segments && segments.getKeepFirst() &&
      (getCausal() || getWindow())) // (8)
    return emitOpError(
        "expects segments without 'keep_first' beside 'causal' or 'window'");
  return success();
}

LogicalResult PackKeysOp::verify() {
  if (failed(verifyRowsOfF32(*this, "the input", getInput())))
    return failure();
  if (!typeOf(getOuts()).getKeyPanels()) // (1)
    return emitOpError("expects key panels as outs, got ")
           << getOuts().getType();
  Sizes input = sizesOf(getInput()), outs = sizesOf(getOuts());
  if (input.empty() || input.back() != outs.back()) // (2)
    return emitOpError("expects input and outs of one last size, got ")
           << text(input) << " and " << text(outs);
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
    auto definition = symbols.lookupNearestSymbolFrom<WeightOp>(op, reference);
    if (!definition)
      return op.emitOpError("expects a weight, got '")
             << reference.getValue() << "'";
    types.push_back(definition.getType());
  }
  if (TypeRange(body.getArgumentTypes()) != TypeRange(types)) // (2)
    return op.emitOpError("expects a body that takes the state, the invariants "
                          "and the row's weights; '")
           << name.getValue() << "' does not";
  return success();
}

LogicalResult LayersOp::verifySymbolUses(SymbolTableCollection &symbols) {
  for (Attribute row : getRows())
    if (failed(verifyRow(*this, row, symbols)))
      return failure();
  return success();
}

LogicalResult PhaseOp::verify() {
  if (getName().empty()) // (1)
    return emitOpError("expects a name");
  for (Operation &op : getBody().front())
    if (!llvm::isa<BufferOp>(op)) // (2)
      return op.emitOpError(
          "is no operation on buffers and cannot be in a phase");
  return success();
}
