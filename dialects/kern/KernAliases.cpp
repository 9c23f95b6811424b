// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short names of kern's types in printed modules: `!rows_768_f` for a buffer of
// f32, `!w_64x32_panels` for a weight. Off unless asked for, so that the text of one
// operation can be read alone.
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
  /// `rows_768_f`, `keys_768_bf_panels`; sizes that are sums have no short name.
  static AliasResult printBuffer(BufferType type, raw_ostream &os) {
    std::string name;
    for (StringAttr dim : type.getDimTexts()) {
      StringRef text = dim.getValue();
      if (!llvm::all_of(text,
                        [](char c) { return llvm::isAlnum(c) || c == '_'; }))
        return AliasResult::NoAlias;
      name += (name.empty() ? "" : "_") + text.str();
    }
    if (name.empty() || llvm::isDigit(name[0]))
      name = "buffer" + (name.empty() ? name : "_" + name);
    os << name << getSuffix(type.getElementType());
    if (type.getKeyPanels())
      os << "_panels";
    return AliasResult::OverridableAlias;
  }

  /// `w_96x32_panels`, `w_96x32_bf_panels`; a digit at the end would get an
  /// underscore.
  static AliasResult printWeight(WeightType type, raw_ostream &os) {
    os << "w_";
    llvm::interleave(type.getShape(), os, "x");
    if (!type.getElementType().isF32())
      os << getSuffix(type.getElementType());
    StringRef layout = layoutName(type.getLayout());
    os << "_" << layout.rtrim("0123456789");
    return AliasResult::OverridableAlias;
  }

  /// Letters for the type of a buffer's elements.
  static StringRef getSuffix(Type element) {
    if (element.isF32())
      return "_f";
    if (element.isBF16())
      return "_bf";
    return element.isInteger(1) ? "_b" : "_i";
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
