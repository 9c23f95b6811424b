// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short names of kern's types in printed modules: `!rows_768` for a buffer of
// f32, `!w_64x32` for a weight. Off unless asked for, so that the text of one
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
  /// `rows_768`, `keys_768_bf16`; sizes that are sums have no short name.
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
    os << name;
    if (!type.isF32())
      os << "_" << type.getElementType();
    if (type.getKeyPanels())
      os << "_panels";
    return AliasResult::OverridableAlias;
  }

  /// `w_96x32`, `w_96x32_bf16`.
  static AliasResult printWeight(WeightType type, raw_ostream &os) {
    os << "w_";
    llvm::interleave(type.getShape(), os, "x");
    if (!type.getElementType().isF32())
      os << "_" << type.getElementType();
    return AliasResult::OverridableAlias;
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
