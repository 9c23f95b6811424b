// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Custom directives in the assembly formats, and result names.
#include "dialects/attn/AttnAssembly.h"
#include "dialects/common/LayerList.h"
#include "dialects/common/Location.h"
#include "dialects/common/SizeParser.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace transom::attn {

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// `rows, keys>`, after the angle bracket.
static ParseResult parseRaggedBody(AsmParser &parser, Type &type) {
  StringRef rows, keys;
  if (parser.parseKeyword(&rows) || parser.parseComma() ||
      parser.parseKeyword(&keys) || parser.parseGreater())
    return failure();
  Builder &builder = parser.getBuilder();
  type = RaggedType::get(parser.getContext(), builder.getStringAttr(rows),
                         builder.getStringAttr(keys));
  return success();
}

ParseResult parseShortType(AsmParser &parser, Type &type) {
  // A ragged batch has only parameters.
  if (succeeded(parser.parseOptionalLess()))
    return parseRaggedBody(parser, type);
  if (failed(parser.parseOptionalLSquare()))
    return parser.parseType(type);

  // Read the sizes between the brackets, then the element type.
  SmallVector<Polynomial> dims;
  auto parseDim = [&] { return parsePolynomial(parser, dims.emplace_back()); };
  if (failed(parser.parseOptionalRSquare()) &&
      (parser.parseCommaSeparatedList(parseDim) || parser.parseRSquare()))
    return failure();
  const SMLoc location = parser.getCurrentLocation();
  Type element;
  if (parser.parseType(element))
    return failure();
  if (!TensorType::isValidElementType(element))
    return parser.emitError(location, "expects a type of tensor elements");
  for (const Polynomial &dim : dims)
    if (std::optional<int64_t> constant = dim.constant();
        constant && *constant < 0)
      return parser.emitError(location, "size ") << *constant << " is negative";
  type = getTensorType(dims, element);
  return success();
}

void printShortType(AsmPrinter &printer, Type type) {
  if (auto ragged = dyn_cast<RaggedType>(type)) {
    ragged.print(printer);
    return;
  }

  // The short form represents only types that `getTensorType` creates.
  auto tensor = dyn_cast<RankedTensorType>(type);
  bool isNamed =
      tensor && (tensor.getEncoding() ? isa<ShapeAttr>(tensor.getEncoding())
                                      : tensor.hasStaticShape());
  if (!isNamed || getTensorType(getSymbolicShape(tensor),
                                tensor.getElementType()) != type) {
    printer << type;
    return;
  }
  printer << "[";
  llvm::interleaveComma(
      getSymbolicShape(tensor), printer,
      [&](const Polynomial &dim) { printPolynomial(printer, dim.str()); });
  printer << "] " << tensor.getElementType();
}

ParseResult parseTypeList(AsmParser &parser, ArrayRef<Type *> types,
                          bool lastIsOptional) {
  SmallVector<Type> parsed;
  SMLoc location = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(
          [&] { return parseShortType(parser, parsed.emplace_back()); }))
    return failure();
  size_t fewest = types.size() - (lastIsOptional ? 1 : 0);

  // One type represents all required operands.
  if (parsed.size() == 1)
    parsed.resize(fewest, parsed.front());
  if (parsed.size() < fewest || parsed.size() > types.size())
    return parser.emitError(location)
           << "expects " << types.size() << " types, got " << parsed.size();
  for (auto [type, target] : llvm::zip(parsed, types))
    *target = type;
  return success();
}

void printTypeList(AsmPrinter &printer, ArrayRef<Type> types,
                   bool lastIsOptional) {
  // The parser expects one type for all operands except for the optional one.
  bool lastIsAbsent = lastIsOptional && !types.back();
  if (lastIsAbsent)
    types = types.drop_back();
  if (lastIsAbsent == lastIsOptional && llvm::all_equal(types))
    types = types.take_front();
  llvm::interleaveComma(types, printer,
                        [&](Type type) { printShortType(printer, type); });
}

ParseResult parseVariadicTypes(OpAsmParser &parser,
                               SmallVectorImpl<Type> &types) {
  return parser.parseCommaSeparatedList(
      [&] { return parseShortType(parser, types.emplace_back()); });
}

void printVariadicTypes(OpAsmPrinter &printer, Operation *, TypeRange types) {
  llvm::interleaveComma(types, printer,
                        [&](Type type) { printShortType(printer, type); });
}

ParseResult parseSymbolType(OpAsmParser &parser, TypeAttr &type) {
  Type parsed;
  if (parseShortType(parser, parsed))
    return failure();
  type = TypeAttr::get(parsed);
  return success();
}

void printSymbolType(OpAsmPrinter &printer, Operation *, TypeAttr type) {
  printShortType(printer, type.getValue());
}

//===----------------------------------------------------------------------===//
// Sizes and layers
//===----------------------------------------------------------------------===//

ParseResult parseSize(OpAsmParser &parser, SizeAttr &size) {
  Polynomial polynomial;
  if (parsePolynomial(parser, polynomial))
    return failure();
  size = SizeAttr::get(parser.getContext(), polynomial);
  return success();
}

void printSize(OpAsmPrinter &printer, Operation *, SizeAttr size) {
  printPolynomial(printer, size.str());
}

ParseResult parseLayers(OpAsmParser &parser, ArrayAttr &layers) {
  return parseLayerList<LayerAttr>(parser, layers);
}

void printLayers(OpAsmPrinter &printer, Operation *, ArrayAttr layers) {
  printLayerList<LayerAttr>(printer, layers);
}

// ===----------------------------------------------------------------------===//
// Result names
// ===----------------------------------------------------------------------===//

/// A name made from letters, digits and single underscores; empty if it would
/// not start with a letter.
static std::string makeName(StringRef text) {
  std::string name;
  for (char c : text)
    if (llvm::isAlnum(c))
      name += c;
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return !name.empty() && llvm::isAlpha(name.front()) ? name : std::string();
}

/// The last names in a path: `query_weight` for `a.b.query.weight` and count 2.
static std::string getLastParts(StringRef path, size_t count) {
  SmallVector<StringRef> names;
  path.split(names, '.');
  ArrayRef<StringRef> last = ArrayRef(names).take_back(count);
  return makeName(llvm::join(last, "_"));
}

void detail::nameResultByLocation(Operation *op, OpAsmSetValueNameFn setName) {
  std::string name = getLastParts(getModulePath(op->getLoc()), 1);
  if (!name.empty())
    setName(op->getResult(0), name);
}

void GetWeightOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (std::string name = getLastParts(getWeight(), 2); !name.empty())
    setName(getResult(), name);
}

void GetCacheOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "cache");
}

void RaggedBatchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "ragged");
}

void DecodeBatchOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "ragged");
}

void LayersOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), "state");
}

} // namespace transom::attn
