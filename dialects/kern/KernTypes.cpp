// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types of the kern dialect: buffers, weights and ragged, their text forms
// and their sizes.
#include "dialects/common/SizeParser.h"
#include "dialects/kern/Kern.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

#include "dialects/kern/KernDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kern/KernTypes.cpp.inc"

int64_t kern::getMaxKBlock(WeightType weight) {
  int64_t bits =
      getStorageBits(weight.getFormat().getStorage().getOperandType());
  return kMaxKBlock * 32 / bits;
}

//===----------------------------------------------------------------------===//
// Text of polynomials
//===----------------------------------------------------------------------===//

static std::optional<Polynomial> parseSize(StringAttr text) {
  Result<Polynomial> parsed = Polynomial::parse(text.getValue());
  if (!parsed)
    return std::nullopt;
  return *parsed;
}

//===----------------------------------------------------------------------===//
// BufferType
//===----------------------------------------------------------------------===//

BufferType BufferType::get(MLIRContext *context, ArrayRef<Polynomial> dims,
                           Type elementType, int64_t stride, bool keyPanels) {
  SmallVector<StringAttr> texts;
  for (const Polynomial &dim : dims)
    texts.push_back(StringAttr::get(context, dim.str()));
  return Base::get(context, ArrayRef<StringAttr>(texts), elementType, stride,
                   keyPanels);
}

SmallVector<Polynomial> BufferType::getDims() const {
  SmallVector<Polynomial> dims;
  for (StringAttr text : getDimTexts())
    dims.push_back(parseSize(text).value_or(Polynomial()));
  return dims;
}

Polynomial BufferType::getRowStride() const {
  if (getStride())
    return getStride();
  return getRank() ? getDims().back() : Polynomial(1);
}

Polynomial BufferType::getRowCount() const {
  Polynomial count(1);
  SmallVector<Polynomial> dims = getDims();
  for (const Polynomial &dim : llvm::drop_end(dims, dims.empty() ? 0 : 1))
    count = count * dim;
  return count;
}

int64_t BufferType::getElementBytes() const {
  return std::max<int64_t>(1, getElementType().getIntOrFloatBitWidth() / 8);
}

OperandFormat BufferType::getFormat() const {
  StorageType element = *findStorageType(getElementType());
  return getKeyPanels() ? OperandFormat(element)
                        : OperandFormat::getRows(element);
}

Polynomial BufferType::getByteSize() const {
  return getRowCount() * getRowStride() * Polynomial(getElementBytes());
}

Type BufferType::parse(AsmParser &parser) {
  SmallVector<Polynomial> dims;
  Type element;
  int64_t stride = 0;
  bool keyPanels = false;
  auto dim = [&]() -> ParseResult {
    return parsePolynomial(parser, dims.emplace_back());
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, dim) ||
      parser.parseKeyword("x") || parser.parseType(element))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    if (succeeded(parser.parseOptionalKeyword("key_panels")))
      keyPanels = true;
    else if (parser.parseKeyword("stride") || parser.parseInteger(stride))
      return {};
  }
  if (parser.parseGreater())
    return {};
  SmallVector<StringAttr> texts;
  for (const Polynomial &size : dims)
    texts.push_back(StringAttr::get(parser.getContext(), size.str()));
  return parser.getChecked<BufferType>(parser.getContext(), texts, element,
                                       stride, keyPanels);
}

void BufferType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDimTexts(), printer,
                        [&](StringAttr text) { printer << text.getValue(); });
  printer << "] x " << getElementType();
  if (getStride())
    printer << ", stride " << getStride();
  if (getKeyPanels())
    printer << ", key_panels";
  printer << ">";
}

//===----------------------------------------------------------------------===//
// WeightType
//===----------------------------------------------------------------------===//

SmallVector<int64_t> WeightType::getPaddedStarts() const {
  SmallVector<int64_t> splits(getSplits());
  if (splits.empty())
    splits.push_back(getShape().front());
  SmallVector<int64_t> starts{0};
  for (int64_t split : splits)
    starts.push_back(starts.back() + llvm::alignTo(split, panelWidth));
  return starts;
}

WeightType WeightType::get(MLIRContext *context, ArrayRef<int64_t> shape,
                           Type element, WeightLayout layout,
                           ArrayRef<int64_t> splits) {
  return get(context, shape, OperandFormatAttr::get(element), layout, splits);
}

int64_t WeightType::getPaddedDepth() const {
  return getFormat().getStorage().getPaddedDepth(getShape()[1]);
}

int64_t WeightType::getPanelBytes() const {
  return getFormat().getStorage().getPanelBytes(getShape()[1]);
}

int64_t WeightType::getByteSize() const {
  int64_t elements = 1;
  ArrayRef<int64_t> shape = getShape();
  if (getLayout() == WeightLayout::Panels32)
    return getPaddedStarts().back() / panelWidth * getPanelBytes();
  if (getLayout() == WeightLayout::Padded32)
    elements = getPaddedStarts().back();
  else
    for (int64_t size : shape)
      elements *= size;
  return elements * (getElementType().getIntOrFloatBitWidth() / 8);
}

static ParseResult parseIntegers(AsmParser &parser,
                                 SmallVectorImpl<int64_t> &values) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
    return parser.parseInteger(values.emplace_back());
  });
}

/// A plain format is written as its type.
static bool isWrittenAsType(OperandFormatAttr format) {
  Type element = format.getElementType();
  return (element.isF32() || element.isBF16()) &&
         format == OperandFormatAttr::get(element);
}

/// `f32`, `bf16` or `#kern.format<...>`.
static ParseResult parseFormat(AsmParser &parser, OperandFormatAttr &format) {
  Attribute attribute;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseAttribute(attribute))
    return failure();
  format = llvm::dyn_cast<OperandFormatAttr>(attribute);
  auto type = llvm::dyn_cast<TypeAttr>(attribute);
  if (!format && type && (type.getValue().isF32() || type.getValue().isBF16()))
    format = OperandFormatAttr::get(type.getValue());
  if (!format)
    return parser.emitError(at) << "weight of '" << attribute // (1)
                                << "'; supported: f32, bf16, #kern.format";
  return success();
}

Type WeightType::parse(AsmParser &parser) {
  SmallVector<int64_t> shape, splits;
  OperandFormatAttr format;
  StringRef name;
  if (parser.parseLess() || parseIntegers(parser, shape) ||
      parser.parseKeyword("x") || parseFormat(parser, format) ||
      parser.parseComma() || parser.parseKeyword(&name))
    return {};
  std::optional<WeightLayout> layout = parseWeightLayout(name);
  if (!layout) {
    parser.emitError(parser.getNameLoc())
        << "unknown layout '" << name
        << "'; supported: unset, rows, panels32, padded32";
    return {};
  }
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("splits") || parseIntegers(parser, splits)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<WeightType>(parser.getContext(), shape, format,
                                       *layout, splits);
}

void WeightType::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getShape(), printer);
  printer << "] x ";
  if (isWrittenAsType(getFormat()))
    printer << getElementType();
  else
    printer << getFormat();
  printer << ", " << getLayoutName(getLayout());
  if (!getSplits().empty()) {
    printer << ", splits [";
    llvm::interleaveComma(getSplits(), printer);
    printer << "]";
  }
  printer << ">";
}

//===----------------------------------------------------------------------===//
// CacheType
//===----------------------------------------------------------------------===//

OperandFormat CacheType::getFormat() const {
  return OperandFormat::getCache(*findStorageType(getElementType()));
}

int64_t CacheType::getDepth() const {
  return llvm::alignTo(getKey(), getFormat().interleave);
}

Type CacheType::getQueryType() const {
  return kern::getType(getContext(), getFormat().getOperandType());
}

/// Bytes of the scales of all heads.
static int64_t scaleBytes(CacheType type) {
  std::optional<StorageType> scales = type.getFormat().scales;
  return scales ? type.getHeads() * kvBlockSize * getStorageBits(*scales) / 8
                : 0;
}

int64_t CacheType::getKeyBytes() const {
  return getKeyScales() + scaleBytes(*this);
}

int64_t CacheType::getValueBytes() const {
  return getByteSize() - getKeyBytes();
}

int64_t CacheType::getKeyScales() const {
  return getHeads() * kvBlockSize * getDepth() * getElementBytes();
}

int64_t CacheType::getValueScales() const {
  return getKeyBytes() +
         getHeads() * kvBlockSize * getValue() * getElementBytes();
}

int64_t CacheType::getByteSize() const {
  return getValueScales() + scaleBytes(*this);
}

Type CacheType::parse(AsmParser &parser) {
  int64_t heads = 0, key = 0, value = 0, window = 0, positions = 0;
  Type element;
  if (parser.parseLess() || parser.parseKeyword("heads") ||
      parser.parseInteger(heads) || parser.parseComma() ||
      parser.parseKeyword("key") || parser.parseInteger(key) ||
      parser.parseComma() || parser.parseKeyword("value") ||
      parser.parseInteger(value) || parser.parseComma())
    return {};
  if (succeeded(parser.parseOptionalKeyword("window")) &&
      (parser.parseInteger(window) || parser.parseComma()))
    return {};
  if (succeeded(parser.parseOptionalKeyword("read_only")) &&
      (parser.parseInteger(positions) || parser.parseComma()))
    return {};
  if (parser.parseType(element) || parser.parseGreater())
    return {};
  return parser.getChecked<CacheType>(parser.getContext(), heads, key, value,
                                      window, positions, element);
}

void CacheType::print(AsmPrinter &printer) const {
  printer << "<heads " << getHeads() << ", key " << getKey() << ", value "
          << getValue();
  if (getWindow())
    printer << ", window " << getWindow();
  if (getPositions())
    printer << ", read_only " << getPositions();
  printer << ", " << getElementType() << ">";
}

void KernDialect::initialize() {
  registerAttributes();
  registerAliases();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/kern/KernTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/kern/KernOps.cpp.inc"
      >();
}
