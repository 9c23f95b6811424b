// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bounded sizes are module symbols; types refer to them in polynomials.
#include "dialects/kern/SizeBounds.h"
#include <set>

using namespace mlir;
using namespace transom;
using namespace transom::kern;

SizeBounds::SizeBounds(ModuleOp module) {
  for (auto size : module.getOps<BoundedSizeOp>())
    bounds[size.getSymName().str()] = size.getParsedBound();
}

Polynomial SizeBounds::getBound(const Polynomial &size) const {
  if (bounds.empty())
    return size;
  return size.substitute(
      [&](const std::string &name) -> std::optional<Polynomial> {
        auto found = bounds.find(name);
        if (found == bounds.end())
          return std::nullopt;
        return found->second;
      });
}

std::vector<std::string> SizeBounds::getUsed(BufferType type) const {
  std::set<std::string> used;
  if (!bounds.empty())
    for (const Polynomial &dim : type.getDims())
      for (const std::string &name : dim.symbols())
        if (bounds.count(name))
          used.insert(name);
  return {used.begin(), used.end()};
}

std::vector<std::string> SizeBounds::getUsed(BufferOp op) const {
  std::set<std::string> used;
  if (!bounds.empty())
    for (Type type : op->getOperandTypes())
      if (auto buffer = llvm::dyn_cast<BufferType>(type))
        for (const std::string &name : getUsed(buffer))
          used.insert(name);
  if (FlatSymbolRefAttr written = op.getWrittenSize())
    used.erase(written.getValue().str());
  return {used.begin(), used.end()};
}
