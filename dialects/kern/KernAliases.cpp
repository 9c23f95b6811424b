// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short names for kern types in printed modules: `!rows768f` for an f32 buffer,
// `!w64x32_pan` for a weight. Off by default, so that a single operation's text
// can be read alone.
#include "dialects/kern/Kern.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace transom;
using namespace transom::kern;

namespace {

class KernAsmInterface : public OpAsmDialectInterface {
public:
  using OpAsmDialectInterface::OpAsmDialectInterface;

  AliasResult getAlias(Type type, raw_ostream &os) const override {
    if (!enabled)
      return AliasResult::NoAlias;
    if (auto buffer = llvm::dyn_cast<BufferType>(type))
      return printBuffer(buffer, os);
    if (auto weight = llvm::dyn_cast<WeightType>(type))
      return printWeight(weight, os);
    if (llvm::isa<RaggedType>(type)) {
      os << "ragged";
      return AliasResult::OverridableAlias;
    }
    if (auto cache = llvm::dyn_cast<CacheType>(type)) {
      os << "cache_" << cache.getHeads() << "x" << cache.getKey();
      return AliasResult::OverridableAlias;
    }
    return AliasResult::NoAlias;
  }

  bool enabled = false;

private:
  /// `rows768f`, `keys768bf_panels`; sizes that are sums have no short
  /// name.
  static AliasResult printBuffer(BufferType type, raw_ostream &os) {
    std::string name;
    for (StringAttr dim : type.getDimTexts()) {
      StringRef text = dim.getValue();
      if (!llvm::all_of(text,
                        [](char c) { return llvm::isAlnum(c) || c == '_'; }))
        return AliasResult::NoAlias;
      // `rows32` and `batch_seq`: an underscore only between words.
      const bool joins = name.empty() || (llvm::isDigit(text.front()) &&
                                          !llvm::isDigit(name.back()));
      name += (joins ? "" : "_") + text.str();
    }
    if (name.empty() || llvm::isDigit(name[0]))
      name = "buffer" + (name.empty() ? name : "_" + name);
    os << name << (llvm::isDigit(name.back()) ? "" : "_")
       << getLetters(type.getElementType());
    if (type.getKeyPanels())
      os << "_panels";
    return AliasResult::OverridableAlias;
  }

  /// `w96x32_pan`, `w96x32bf_pan`: the shape and the layout's first letters.
  static AliasResult printWeight(WeightType type, raw_ostream &os) {
    os << "w";
    llvm::interleave(type.getShape(), os, "x");
    if (!type.getElementType().isF32())
      os << getLetters(type.getElementType());
    os << "_" << StringRef(getLayoutName(type.getLayout())).take_front(3);
    return AliasResult::OverridableAlias;
  }

  /// Letters for an element type; a digit at the end of a name would get an
  /// underscore.
  static StringRef getLetters(Type element) {
    if (element.isF32())
      return "f";
    if (element.isBF16())
      return "bf";
    if (element.isF16())
      return "h";
    return element.isInteger(1) ? "b" : "i";
  }
};

} // namespace

void KernDialect::registerAliases() { addInterfaces<KernAsmInterface>(); }

void KernDialect::useTypeAliases(MLIRContext *context, bool use) {
  if (auto *dialect = context->getLoadedDialect<KernDialect>())
    const_cast<KernAsmInterface *>(
        dialect->getRegisteredInterface<KernAsmInterface>())
        ->enabled = use;
}
