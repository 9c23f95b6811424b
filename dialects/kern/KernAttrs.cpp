// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the kern dialect: the epilogue of a product, its text form and
// its verifier.
#include "dialects/kern/Kern.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <charconv>

using namespace mlir;
using namespace transom;
using namespace transom::kern;

#define GET_ATTRDEF_CLASSES
#include "dialects/kern/KernAttrs.cpp.inc"

void KernDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/kern/KernAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// EpilogueAttr
//===----------------------------------------------------------------------===//

EpilogueAttr EpilogueAttr::addNorm(EpilogueAttr epilogue, NormKind norm,
                                   FloatAttr eps) {
  return get(eps.getContext(),
             epilogue ? epilogue.getActivation() : ActivationAttr(),
             epilogue && epilogue.getGlu(), norm, eps);
}

LogicalResult EpilogueAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   ActivationAttr activation, bool glu,
                                   NormKind norm, FloatAttr eps) {
  if (!activation && (glu || norm == NormKind::None)) // (1)
    return emitError() << "expects an activation or a norm as epilogue";
  if ((norm == NormKind::None) != !eps ||
      (eps && (!eps.getType().isF64() || eps.getValue().isNegative() ||
               !eps.getValue().isFinite()))) // (2)
    return emitError() << "expects a norm with an epsilon that is not negative";
  return success();
}

/// Shortest text that reads back as the same number, with a point.
static std::string getShortText(double value) {
  char text[32];
  char *end =
      std::to_chars(text, std::end(text), value, std::chars_format::scientific)
          .ptr;
  std::string result(text, end);
  if (result.find('.') == std::string::npos)
    result.insert(result.find('e'), ".0");
  return result;
}

Attribute EpilogueAttr::parse(AsmParser &parser, Type) {
  ActivationAttr activation;
  NormKind norm = NormKind::None;
  FloatAttr eps;
  bool glu = false;
  auto parseActivationAttr = [&]() -> ParseResult {
    FailureOr<Activation> kind = parseActivation(parser);
    if (failed(kind))
      return failure();
    activation = ActivationAttr::get(parser.getContext(), *kind);
    return success();
  };
  auto parseElement = [&]() -> ParseResult {
    if (succeeded(parser.parseOptionalKeyword("glu"))) {
      glu = true;
      return parseActivationAttr();
    }
    if (succeeded(parser.parseOptionalKeyword("layer_norm")))
      norm = NormKind::LayerNorm;
    else if (succeeded(parser.parseOptionalKeyword("rms_norm")))
      norm = NormKind::RmsNorm;
    else
      return parseActivationAttr();
    double value = 0;
    if (parser.parseFloat(value))
      return failure();
    eps = parser.getBuilder().getF64FloatAttr(value);
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseElement))
    return {};
  return parser.getChecked<EpilogueAttr>(parser.getContext(), activation, glu,
                                         norm, eps);
}

void EpilogueAttr::print(AsmPrinter &printer) const {
  printer << "<";
  if (getActivation())
    printer << (getGlu() ? "glu " : "")
            << StringRef(getActivationName(getActivation().getValue()));
  if (getNorm() != NormKind::None)
    printer << (getActivation() ? ", " : "")
            << (getNorm() == NormKind::RmsNorm ? "rms_norm " : "layer_norm ")
            << getShortText(getEps().getValueAsDouble());
  printer << ">";
}
