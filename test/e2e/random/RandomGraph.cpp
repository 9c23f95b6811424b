// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights, inputs and the module frame for random models.
#include "test/e2e/random/RandomGraph.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/e2e/random/GraphBuilder.h"
#include <algorithm>
#include <cassert>

using namespace mlir;

namespace transom::testing {

/// The splitmix64 generator (Steele, Lea, Flood 2014).
uint64_t Random::next() {
  state += 0x9e3779b97f4a7c15ull;
  uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

void RandomWeights::add(const std::string &name, std::vector<int64_t> shape,
                        double range) {
  uint64_t seed = 1469598103934665603ull;
  for (char c : name)
    seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  Random random(seed);
  Entry &entry = tensors[name];
  entry.shape = shape;
  entry.values.resize(static_cast<size_t>(getNumElements(shape)));
  for (float &value : entry.values)
    value = static_cast<float>(random.unit() * range);
}

Result<std::vector<int64_t>>
RandomWeights::shape(const std::string &name) const {
  auto found = tensors.find(name);
  if (found == tensors.end())
    return rejected("no tensor '" + name + "'");
  return found->second.shape;
}

Result<void> RandomWeights::read(const std::string &name,
                                 const std::vector<int64_t> &offsets,
                                 const std::vector<int64_t> &sizes,
                                 float *out) const {
  auto found = tensors.find(name);
  if (found == tensors.end())
    return rejected("no tensor '" + name + "'");
  const Entry &entry = found->second;
  forEachIndex(sizes, [&](ArrayRef<int64_t> index) {
    Sizes at(index);
    for (size_t d = 0; d < at.size(); ++d)
      at[d] += offsets[d];
    *out++ = entry.values[flatten(entry.shape, at)];
  });
  return {};
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// A mask row: a prefix, a suffix, holes, or all; never empty.
static void fillMaskRow(Random &random, int64_t *row, int64_t length) {
  int64_t kind = random.below(4), border = random.between(1, length);
  for (int64_t i = 0; i < length; ++i)
    row[i] = kind == 0   ? i < border
             : kind == 1 ? i >= length - border
             : kind == 2 ? random.chance(60)
                         : 1;
  if (std::count(row, row + length, 1) == 0)
    row[random.below(length)] = 1;
}

static Tensor inputFor(func::FuncOp function, unsigned index,
                       ArrayRef<int64_t> sizes, Random &random) {
  StringRef role =
      function.getArgAttrOfType<StringAttr>(index, "attn.role").getValue();
  if (role == "data") {
    Tensor tensor = Tensor::floats(sizes);
    for (Number &x : tensor.real)
      x = 2 * random.unit();
    return tensor;
  }
  Tensor tensor = Tensor::integers(sizes);
  if (role == "ids") {
    auto bound = function.getArgAttrOfType<IntegerAttr>(index, "attn.bound");
    for (int64_t &id : tensor.whole)
      id = random.below(bound.getInt());
    return tensor;
  }
  for (int64_t start = 0; start < tensor.count(); start += sizes.back())
    fillMaskRow(random, &tensor.whole[start], sizes.back());
  return tensor;
}

/// Mostly short; sometimes more than a key panel, rarely more than a piece.
static int64_t randomLength(Random &random, Lengths lengths) {
  if (lengths == Lengths::Longest)
    return random.between(257, 600);
  int64_t kind = random.below(100);
  if (kind < 85)
    return random.between(1, 9);
  return kind < 97 || lengths == Lengths::Short ? random.between(30, 40)
                                                : random.between(257, 300);
}

std::vector<NamedTensor> randomInputs(ModuleOp module, StringRef entry,
                                      uint64_t seed, Lengths lengths) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  assert(function && "the entry exists");
  Random random(seed);
  std::map<std::string, int64_t> symbols;
  symbols["batch"] = random.between(1, 3);
  symbols["seq"] = randomLength(random, lengths);
  symbols["memory"] = random.between(1, 7);
  std::vector<NamedTensor> inputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Sizes sizes;
    for (const Polynomial &dim :
         attn::getSymbolicShape(function.getArgument(i).getType()))
      sizes.push_back(*dim.evaluate(
          [&](const std::string &symbol) -> std::optional<int64_t> {
            return symbols.at(symbol);
          }));
    Tensor tensor = inputFor(function, i, sizes, random);
    bool optional = static_cast<bool>(function.getArgAttr(i, "attn.default"));
    if (!optional || random.chance(80))
      inputs.push_back(
          {function.getArgAttrOfType<StringAttr>(i, "attn.name").str(),
           std::move(tensor)});
  }
  return inputs;
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> makeRandomModule(MLIRContext *context) {
  context->loadDialect<attn::AttnDialect, func::FuncDialect>();
  Builder builder(context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(
      makeLocation(context, "random", "random.json", ""), "random");
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  Attribute unbounded = builder.getDictionaryAttr(
      builder.getNamedAttr("max", builder.getI64IntegerAttr(-1)));
  std::vector<NamedAttribute> symbols;
  for (StringRef symbol : {"batch", "memory", "seq"})
    symbols.push_back(builder.getNamedAttr(symbol, unbounded));
  (*module)->setAttr("attn.name", builder.getStringAttr("random"));
  (*module)->setAttr("attn.symbols", builder.getDictionaryAttr(symbols));
  (*module)->setAttr("attn.info",
                     builder.getDictionaryAttr({text("family", "graph"),
                                                text("architecture", "random"),
                                                text("head", "none")}));
  return module;
}

void addRandomGraph(ModuleOp module, uint64_t seed, RandomWeights &weights,
                    GraphKind kind) {
  GraphBuilder(module, seed, weights, kind).build();
}

} // namespace transom::testing
