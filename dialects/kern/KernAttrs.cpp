// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes in the kern dialect, their textual forms and verifiers: the GEMM
// epilogue, the operand format and the attention schedule.
#include "dialects/kern/Kern.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include <charconv>

using namespace mlir;
using namespace transom;
using namespace transom::kern;

#include "dialects/kern/KernEnums.cpp.inc"
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
  if (!activation && (glu || norm == NormKind::None))
    return emitError()
           << "'#kern.epilogue' (1) expects an activation or a norm";
  if ((norm == NormKind::None) != !eps ||
      (eps && (!eps.getType().isF64() || eps.getValue().isNegative() ||
               !eps.getValue().isFinite())))
    return emitError() << "'#kern.epilogue' (2) expects a norm with an epsilon "
                          "that is not negative";
  return success();
}

/// Shortest decimal with a point that reads back as the same value.
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
  // An activation is written as its name, with `glu` before it if gated.
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
    // A norm is followed by its epsilon.
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

//===----------------------------------------------------------------------===//
// OperandFormatAttr
//===----------------------------------------------------------------------===//

llvm::hash_code transom::hash_value(const OperandFormat &format) {
  return llvm::hash_combine(format.element, format.group, format.scales,
                            format.minimums, format.block, format.blockScales,
                            format.interleave);
}

Type kern::getType(MLIRContext *context, StorageType type) {
  Builder b(context);
  switch (type) {
  case StorageType::F32:
    return b.getF32Type();
  case StorageType::F16:
    return b.getF16Type();
  case StorageType::BF16:
    return b.getBF16Type();
  case StorageType::I8:
    return b.getI8Type();
  case StorageType::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case StorageType::I4:
    return b.getI4Type();
  case StorageType::U4:
    return b.getIntegerType(4, /*isSigned=*/false);
  }
  llvm_unreachable("all storage types have a type");
}

std::optional<StorageType> kern::findStorageType(Type type) {
  for (StorageType storage :
       {StorageType::F32, StorageType::F16, StorageType::BF16, StorageType::I8,
        StorageType::U8, StorageType::I4, StorageType::U4})
    if (getType(type.getContext(), storage) == type)
      return storage;
  return std::nullopt;
}

OperandFormatAttr OperandFormatAttr::get(Type element) {
  return get(
      element.getContext(),
      OperandFormat(findStorageType(element).value_or(StorageType::F32)));
}

Type OperandFormatAttr::getElementType() const {
  return kern::getType(getContext(), getStorage().element);
}

Type OperandFormatAttr::getOperandType() const {
  return kern::getType(getContext(), getStorage().getOperandType());
}

LogicalResult
OperandFormatAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                          OperandFormat storage) {
  if (std::optional<std::string> error = storage.findError())
    return emitError() << "'#kern.format' " << *error;
  return success();
}

/// Parses `f16`; the error lists the supported types.
static ParseResult parseStorage(AsmParser &parser, StorageType &type) {
  StringRef name;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&name))
    return failure();
  std::optional<StorageType> found = parseStorageType(name);
  if (!found)
    return parser.emitError(at)
           << "unsupported storage type '" << name
           << "'; supported: f32, f16, bf16, i8, ui8, i4, ui4";
  type = *found;
  return success();
}

Attribute OperandFormatAttr::parse(AsmParser &parser, Type) {
  OperandFormat format;
  StorageType type;
  if (parser.parseLess() || parseStorage(parser, format.element))
    return {};
  while (succeeded(parser.parseOptionalComma())) {
    StringRef name;
    llvm::SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return {};
    int64_t *number = name == "group"        ? &format.group
                      : name == "block"      ? &format.block
                      : name == "interleave" ? &format.interleave
                                             : nullptr;
    if (number) {
      if (parser.parseInteger(*number))
        return {};
      continue;
    }
    std::optional<StorageType> *scales = name == "scales"     ? &format.scales
                                         : name == "minimums" ? &format.minimums
                                         : name == "block_scales"
                                             ? &format.blockScales
                                             : nullptr;
    if (!scales) {
      parser.emitError(at) << "unknown field '" << name
                           << "' of a format; supported: group, scales, "
                              "minimums, block, block_scales, interleave";
      return {};
    }
    if (parseStorage(parser, type))
      return {};
    *scales = type;
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<OperandFormatAttr>(parser.getContext(), format);
}

void OperandFormatAttr::print(AsmPrinter &printer) const {
  printer << "<" << getStorage().str() << ">";
}

//===----------------------------------------------------------------------===//
// ScheduleAttr
//===----------------------------------------------------------------------===//

llvm::hash_code kern::hash_value(const AttentionSchedule &schedule) {
  return llvm::hash_combine(schedule.kind, schedule.maxRows);
}

LogicalResult ScheduleAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                   AttentionSchedule value) {
  if (value.maxRows < 0 || value.maxRows > kQueryBlock)
    return emitError() << "'#kern.schedule' (1) expects 1 to " << kQueryBlock
                       << " rows, got " << value.maxRows;
  return success();
}

Attribute ScheduleAttr::parse(AsmParser &parser, Type) {
  StringRef keyword;
  SMLoc at = parser.getCurrentLocation();
  if (parser.parseLess() || parser.parseKeyword(&keyword))
    return {};

  // The keyword is a kind; rows follow a comma.
  std::string name = keyword.str();
  std::replace(name.begin(), name.end(), '_', '-');
  std::optional<AttentionSchedule> schedule = AttentionSchedule::parse(name);
  if (!schedule) {
    parser.emitError(at) << "unsupported schedule '" << keyword
                         << "'; supported: auto, streaming, two_pass, split_kv";
    return {};
  }
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("rows") || parser.parseInteger(schedule->maxRows)))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ScheduleAttr>(parser.getContext(), *schedule);
}

void ScheduleAttr::print(AsmPrinter &printer) const {
  printer << "<" << getValue().getAttrText() << ">";
}
