// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbol names come from a graph's author, so their meaning is derived from
// their position.
#include "compiler/statistics/EntrySizes.h"
#include "dialects/attn/Attn.h"

using namespace mlir;
using namespace transom;

EntrySizes::EntrySizes(func::FuncOp entry) {
  auto setSymbol = [&](const Polynomial &dim, Size size) {
    if (std::vector<std::string> symbols = dim.symbols(); symbols.size() == 1)
      sizes.try_emplace(symbols.front(), size);
  };
  // A step's arguments are its tokens and its result rows.
  if (!entry.getOps<attn::DecodeBatchOp>().empty()) {
    Size size = Size::Tokens;
    for (Type type : entry.getArgumentTypes()) {
      setSymbol(attn::getSymbolicShape(type)[0], size);
      size = Size::Results;
    }
  }
  entry.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (auto ragged = dyn_cast<attn::RaggedType>(result.getType())) {
        sizes.try_emplace(ragged.getRows().str(), Size::Tokens);
        sizes.try_emplace(ragged.getKeys().str(), Size::Tokens);
        if (isa<attn::DecodeBatchOp>(op))
          rows = ragged.getRows().str();
      }
  });
  // In other arguments with several sizes, the first is the batch size.
  for (Type type : entry.getArgumentTypes()) {
    SmallVector<Polynomial> shape = attn::getSymbolicShape(type);
    if (shape.size() > 1 && !shape[0].isConstant() && !shape[1].isConstant())
      setSymbol(shape[0], Size::Batch);
  }
}

/// Returns the sum over all tokens in a sequence of the positions they attend
/// to.
static int64_t getPairs(int64_t length, int64_t window) {
  const int64_t growing = window ? std::min(length, window) : length;
  return growing * (growing + 1) / 2 + (length - growing) * window;
}

std::optional<int64_t> EntrySizes::evaluate(const Polynomial &formula,
                                            int64_t batch, int64_t length,
                                            bool allTokens) const {
  // Pairs are computed from the length; every other symbol has one of four
  // meanings.
  Result<int64_t> value =
      formula.evaluate([&](const std::string &name) -> std::optional<int64_t> {
        StringRef text = name;
        if (!rows.empty() && text.consume_front("pairs_of_" + rows)) {
          if (text == "_source")
            return batch * length * length;
          int64_t window = 0;
          if (text.consume_front("_window_") && text.getAsInteger(10, window))
            return std::nullopt;
          return batch * getPairs(length, window);
        }
        auto known = sizes.find(name);
        switch (known == sizes.end() ? Size::Length : known->second) {
        case Size::Batch:
          return batch;
        case Size::Length:
          return length;
        case Size::Tokens:
          return batch * length;
        case Size::Results:
          return allTokens ? batch * length : batch;
        }
        return std::nullopt;
      });
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

std::optional<int64_t> transom::getMaxLength(ModuleOp module) {
  std::optional<int64_t> most;
  auto limit = [&](int64_t value) {
    if (value > 0)
      most = std::min(value, most.value_or(value));
  };
  if (auto symbols = module->getAttrOfType<DictionaryAttr>("attn.symbols"))
    for (NamedAttribute symbol : symbols)
      if (auto facts = dyn_cast<DictionaryAttr>(symbol.getValue());
          facts && symbol.getName() != "batch")
        if (auto max = facts.getAs<IntegerAttr>("max"))
          limit(max.getInt());
  for (auto function : module.getOps<func::FuncOp>())
    if (auto context = function->getAttrOfType<IntegerAttr>("transom.context"))
      limit(context.getInt());
  return most;
}
