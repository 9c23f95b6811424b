// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes and types in the attn dialect: symbolic shapes and their textual
// form, ragged batches, and helpers that create and read tensor types.
#include "dialects/attn/Attn.h"
#include "dialects/common/SizeParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace transom::attn {

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

Attribute ShapeAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> texts;
  Builder builder(parser.getContext());
  auto parseDim = [&]() -> ParseResult {
    Polynomial dim;
    if (parsePolynomial(parser, dim))
      return failure();
    texts.push_back(builder.getStringAttr(dim.str()));
    return success();
  };
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<ShapeAttr>(location, parser.getContext(),
                                      ArrayRef<StringAttr>(texts));
}

void ShapeAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getTexts(), printer, [&](StringAttr text) {
    printPolynomial(printer, text.getValue());
  });
  printer << "]>";
}

LogicalResult ShapeAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                ArrayRef<StringAttr> texts) {
  for (StringAttr text : texts) {
    Result<Polynomial> dim =
        Polynomial::parse(std::string_view(text.data(), text.size()));
    if (!dim)
      return emitError() << "size '" << text.getValue()
                         << "' is no polynomial: " << dim.error().message;
    if (dim->str() != text.getValue())
      return emitError() << "size '" << text.getValue()
                         << "' is not in canonical form '" << dim->str() << "'";
    std::optional<int64_t> constant = dim->constant();
    if (constant && *constant < 0)
      return emitError() << "size '" << text.getValue() << "' is negative";
  }
  return success();
}

ShapeAttr ShapeAttr::get(MLIRContext *context, ArrayRef<Polynomial> dims) {
  SmallVector<StringAttr> texts;
  for (const Polynomial &dim : dims)
    texts.push_back(StringAttr::get(context, dim.str()));
  return get(context, ArrayRef<StringAttr>(texts));
}

SmallVector<Polynomial> ShapeAttr::getDims() const {
  SmallVector<Polynomial> dims;
  for (StringAttr text : getTexts())
    dims.push_back(*Polynomial::parse(text.getValue().str()));
  return dims;
}

LogicalResult
ShapeAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                          function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getTexts().size())
    return emitError() << "tensor of rank " << shape.size() << " has "
                       << getTexts().size() << " named sizes";
  SmallVector<Polynomial> dims = getDims();
  for (auto [index, size] : llvm::enumerate(shape)) {
    std::optional<int64_t> constant = dims[index].constant();
    if (ShapedType::isDynamic(size) && constant)
      return emitError() << "dimension " << index
                         << " is '?' but its size is the constant '"
                         << *constant << "'";
    if (!ShapedType::isDynamic(size) && constant != size)
      return emitError() << "dimension " << index << " is " << size
                         << " but its size is '" << dims[index].str() << "'";
  }
  return success();
}

SmallVector<Polynomial> getSymbolicShape(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  if (auto shape = dyn_cast_or_null<ShapeAttr>(tensor.getEncoding()))
    return shape.getDims();
  SmallVector<Polynomial> dims;
  for (int64_t size : tensor.getShape())
    dims.push_back(Polynomial(size));
  return dims;
}

RankedTensorType getTensorType(ArrayRef<Polynomial> dims, Type elementType) {
  SmallVector<int64_t> sizes;
  bool isStatic = true;
  for (const Polynomial &dim : dims) {
    std::optional<int64_t> constant = dim.constant();
    sizes.push_back(constant ? *constant : ShapedType::kDynamic);
    isStatic &= constant.has_value();
  }
  if (isStatic)
    return RankedTensorType::get(sizes, elementType);
  return RankedTensorType::get(sizes, elementType,
                               ShapeAttr::get(elementType.getContext(), dims));
}

std::optional<SmallVector<Polynomial>> broadcastShapes(ArrayRef<Polynomial> a,
                                                       ArrayRef<Polynomial> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<Polynomial> result(a.begin(), a.end());
  size_t lead = a.size() - b.size();
  for (auto [index, dim] : llvm::enumerate(b)) {
    Polynomial &target = result[lead + index];
    if (target == dim || dim == Polynomial(1))
      continue;
    if (target != Polynomial(1))
      return std::nullopt;
    target = dim;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

SizeAttr SizeAttr::get(MLIRContext *context, const Polynomial &size) {
  return Base::get(context, StringAttr::get(context, size.str()));
}

Polynomial SizeAttr::getPolynomial() const { return *Polynomial::parse(str()); }

Attribute SizeAttr::parse(AsmParser &parser, Type) {
  Polynomial size;
  if (parser.parseLess() || parsePolynomial(parser, size) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), size);
}

void SizeAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printPolynomial(printer, str());
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Ragged batches
//===----------------------------------------------------------------------===//

Type RaggedType::parse(AsmParser &parser) {
  StringRef rows, keys;
  if (parser.parseLess() || parser.parseKeyword(&rows) || parser.parseComma() ||
      parser.parseKeyword(&keys) || parser.parseGreater())
    return {};
  Builder builder(parser.getContext());
  return get(parser.getContext(), builder.getStringAttr(rows),
             builder.getStringAttr(keys));
}

void RaggedType::print(AsmPrinter &printer) const {
  printer << "<" << getRows().getValue() << ", " << getKeys().getValue() << ">";
}

//===----------------------------------------------------------------------===//
// Caches
//===----------------------------------------------------------------------===//

/// Cache sizes fit in 32 bits.
static constexpr int64_t largestCacheSize = INT32_MAX;

Type CacheType::parse(AsmParser &parser) {
  int64_t heads, key, value, window = 0, positions = 0;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword("heads") ||
      parser.parseInteger(heads) || parser.parseComma() ||
      parser.parseKeyword("key") || parser.parseInteger(key) ||
      parser.parseComma() || parser.parseKeyword("value") ||
      parser.parseInteger(value))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    bool isReadOnly = succeeded(parser.parseOptionalKeyword("read_only"));
    if ((!isReadOnly && parser.parseKeyword("window")) ||
        parser.parseInteger(isReadOnly ? positions : window))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<CacheType>(location, parser.getContext(), heads, key,
                                      value, window, positions);
}

void CacheType::print(AsmPrinter &printer) const {
  printer << "<heads " << getHeads() << ", key " << getKey() << ", value "
          << getValue();
  if (getWindow() > 0)
    printer << ", window " << getWindow();
  if (isReadOnly())
    printer << ", read_only " << getPositions();
  printer << ">";
}

LogicalResult CacheType::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t heads, int64_t key, int64_t value,
                                int64_t window, int64_t positions) {
  for (auto [name, size, least] :
       {std::make_tuple("heads", heads, int64_t(1)),
        std::make_tuple("key", key, int64_t(1)),
        std::make_tuple("value", value, int64_t(1)),
        std::make_tuple("window", window, int64_t(0))})
    if (size < least || size > largestCacheSize)
      return emitError() << "'!attn.cache' (" << (least ? 1 : 3) << ") expects "
                         << name << " between " << least << " and "
                         << largestCacheSize << ", got " << size;
  if (key + value > largestCacheSize / heads)
    return emitError() << "'!attn.cache' (2) expects at most "
                       << largestCacheSize << " numbers a position, got "
                       << heads << " heads of " << key << " and " << value;
  if (positions < 0 || positions > largestCacheSize || (positions && window))
    return emitError() << "'!attn.cache' (4) expects positions between 0 and "
                       << largestCacheSize
                       << " and no window in a read-only cache, got "
                       << positions << " and the window " << window;
  return success();
}

//===----------------------------------------------------------------------===//
// Aliases
//===----------------------------------------------------------------------===//

/// An element type's name in an alias; names must not end in a digit.
static StringRef getElementName(Type element) {
  if (element.isF32())
    return "float";
  if (element.isInteger(1))
    return "bool";
  return element.isInteger(64) ? "long" : "";
}

namespace {

/// Names tensor types with symbolic sizes: `!batch_seq_64_float`.
struct AliasInterface : OpAsmDialectInterface {
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    auto tensor = dyn_cast<RankedTensorType>(type);
    auto shape =
        tensor ? dyn_cast_or_null<ShapeAttr>(tensor.getEncoding()) : nullptr;
    if (!shape)
      return AliasResult::NoAlias;
    for (StringAttr dim : shape.getTexts()) {
      for (char c : dim.getValue())
        os << (llvm::isAlnum(c) ? c : '_');
      os << '_';
    }
    os << getElementName(tensor.getElementType());
    return AliasResult::OverridableAlias;
  }
};

} // namespace
} // namespace transom::attn

#include "dialects/attn/AttnDialect.cpp.inc"
#include "dialects/attn/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/attn/AttnAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/attn/AttnInterfaces.cpp.inc"
#include "dialects/attn/AttnTypes.cpp.inc"

void transom::attn::AttnDialect::initialize() {
  addInterfaces<AliasInterface>();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/attn/AttnAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/attn/AttnTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/attn/AttnOps.cpp.inc"
      >();
}
