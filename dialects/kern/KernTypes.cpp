// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types in the kern dialect: buffers, weights, caches and ragged, with their
// textual forms, sizes and verifiers. Constraint numbers refer to the type
// descriptions.
#include "dialects/common/SizeParser.h"
#include "dialects/kern/KBlockLimits.h"
#include "dialects/kern/Kern.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "runtime/base/InstructionSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

#include "dialects/kern/KernDialect.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/kern/KernTypes.cpp.inc"

/// This thread's innermost scope; null: default limits.
static thread_local const ScaledKBlocks *scaledKBlocks = nullptr;

ScaledKBlocks::ScaledKBlocks(std::function<int64_t(int64_t)> scale)
    : scale(std::move(scale)), outer(scaledKBlocks) {
  scaledKBlocks = this;
}

ScaledKBlocks::~ScaledKBlocks() { scaledKBlocks = outer; }

int64_t kern::getMaxKBlockOfBits(int64_t bits) {
  const int64_t limit = kMaxKBlock * 32 / bits;
  return scaledKBlocks ? scaledKBlocks->scale(limit) : limit;
}

int64_t kern::getMaxKBlock(WeightType weight) {
  return getMaxKBlockOfBits(
      getStorageBits(weight.getFormat().getStorage().getOperandType()));
}

bool kern::suitsAmx(WeightType weight) {
  const OperandFormat &format = weight.getFormat().getStorage();
  if (weight.getShape().size() != 2)
    return false;
  const int64_t depth = weight.getShape()[1];
  if (format.isGrouped())
    return depth % std::min(format.group, amxInt8Depth) == 0;
  return format == OperandFormat(StorageType::BF16) &&
         depth % amxBf16Depth == 0;
}

bool kern::suitsAmx(BufferType query, int64_t heads, bool hasCache,
                    bool causal) {
  return !hasCache && !causal && query.getElementType().isBF16() &&
         *query.getDims().back().constant() % (heads * amxBf16Depth) == 0;
}

// ===----------------------------------------------------------------------===//
// Polynomial text
// ===----------------------------------------------------------------------===//

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

/// Bytes for all heads' scales.
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

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// The value of a size text if it is constant.
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

  // The splits add up to the first size.
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

  // Panels and padded vectors have fixed ranks.
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

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t heads, int64_t key, int64_t value,
                                int64_t window, int64_t positions,
                                Type element) {
  auto expects = [&](int constraint) {
    return emitError() << "'!kern.cache' (" << constraint << ") expects ";
  };
  bool fits = heads > 0 && key > 0 && value > 0 && key <= INT32_MAX &&
              value <= INT32_MAX && key + value <= INT32_MAX / heads;
  if (!fits)
    return expects(1) << "positive sizes and at most " << INT32_MAX
                      << " numbers a position, got " << heads
                      << " heads with keys of " << key << " and values of "
                      << value;
  if (window < 0)
    return expects(2) << "a window that is not negative, got " << window;
  std::optional<StorageType> storage = findStorageType(element);
  if (!storage || !isCacheStorage(*storage))
    return expects(3) << "elements of "
                      << llvm::join(getCacheStorageNames(), ", ") << ", got "
                      << element;
  if (positions < 0 || positions > INT32_MAX || (positions && window))
    return expects(4) << "positions that are not negative and no window in a "
                         "read-only cache, got "
                      << positions << " and the window " << window;
  return success();
}

//===----------------------------------------------------------------------===//
// Dialect
//===----------------------------------------------------------------------===//

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
