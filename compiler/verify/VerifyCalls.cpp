// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates inputs by role: ids below their bounds, masks that hide padding and
// holes, and floats that represent arbitrary numbers.
#include "compiler/verify/VerifyCalls.h"
#include "dialects/attn/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <random>

using namespace mlir;

namespace transom {

std::string VerifyCall::str() const {
  std::string text = entry + ":";
  const char *separator = " ";
  for (const NamedTensor &input : inputs) {
    text += separator + input.name + " [";
    for (auto [i, size] : llvm::enumerate(input.tensor.sizes))
      text += (i ? ", " : "") + std::to_string(size);
    text += "]";
    separator = ", ";
  }
  for (const SequenceRows &rows : sequences)
    text += std::string(separator) + "sequence " +
            std::to_string(rows.sequence) + ": " + std::to_string(rows.past) +
            " + " + std::to_string(rows.rows);
  return text;
}

namespace {

/// Creates the calls for one module.
class CallMaker {
public:
  CallMaker(ModuleOp module, CallLengths lengths)
      : module(module), lengths(lengths) {}

  Result<std::vector<VerifyCase>> run();

private:
  using Symbols = std::map<std::string, int64_t>;

  int64_t getMost(StringRef symbol) const;
  Symbols getSymbols(func::FuncOp entry) const;
  Result<VerifyCall> makeCall(func::FuncOp entry);
  Result<VerifyCall> makeStep(func::FuncOp entry,
                              std::vector<SequenceRows> sequences);
  Result<Tensor> makeInput(func::FuncOp entry, unsigned index,
                           const Symbols &symbols);
  Result<void> addSteps(func::FuncOp entry, VerifyCase &test);

  ModuleOp module;
  CallLengths lengths;
  std::mt19937 random{1};
};

} // namespace

/// The largest value for a symbol.
int64_t CallMaker::getMost(StringRef symbol) const {
  constexpr int64_t unlimited = INT64_MAX;
  auto symbols = module->getAttrOfType<DictionaryAttr>("attn.symbols");
  auto limits = symbols ? symbols.getAs<DictionaryAttr>(symbol) : nullptr;
  auto most = limits ? limits.getAs<IntegerAttr>("max") : nullptr;
  return most && most.getInt() > 0 ? most.getInt() : unlimited;
}

/// Symbol values in an entry's argument types. Symbols other than the batch get
/// different lengths.
CallMaker::Symbols CallMaker::getSymbols(func::FuncOp entry) const {
  Symbols values;
  int64_t length = lengths == CallLengths::Short ? 5 : 33;
  for (Type type : entry.getArgumentTypes())
    for (const Polynomial &dim : attn::getSymbolicShape(type))
      for (const std::string &symbol : dim.symbols()) {
        if (values.count(symbol))
          continue;
        int64_t value = symbol != "batch"               ? length++
                        : lengths == CallLengths::Short ? 3
                                                        : 1;
        values[symbol] = std::min(value, getMost(symbol));
      }
  return values;
}

/// A padding mask: the first sequence is complete except for a hole, later ones
/// are shorter.
static Tensor makeMask(ArrayRef<int64_t> sizes) {
  Tensor mask = Tensor::integers(sizes);
  const int64_t width = sizes.empty() ? 1 : sizes.back();
  for (int64_t i = 0; i < mask.count(); ++i) {
    const int64_t row = i / width, column = i % width;
    mask.whole[i] = row == 0 ? column != 1 || width < 3
                             : column < std::max<int64_t>(width - 2 * row, 1);
  }
  return mask;
}

Result<Tensor> CallMaker::makeInput(func::FuncOp entry, unsigned index,
                                    const Symbols &symbols) {
  auto type = cast<RankedTensorType>(entry.getArgument(index).getType());
  // The shape under the symbol values.
  Sizes sizes;
  for (const Polynomial &dim : attn::getSymbolicShape(type)) {
    TRANSOM_ASSIGN(
        int64_t size,
        dim.evaluate([&](const std::string &symbol) -> std::optional<int64_t> {
          auto found = symbols.find(symbol);
          return found == symbols.end() ? std::nullopt
                                        : std::optional(found->second);
        }));
    sizes.push_back(size);
  }
  // Float inputs have arbitrary elements.
  if (isa<FloatType>(type.getElementType())) {
    constexpr double anyNumber = 0.5;
    Tensor tensor = Tensor::floats(sizes);
    std::fill(tensor.real.begin(), tensor.real.end(), Number(anyNumber));
    return tensor;
  }
  // Ids are random below their bound; all other inputs are masks.
  auto role = entry.getArgAttrOfType<StringAttr>(index, "attn.role");
  if (!role || role.getValue() != "ids")
    return makeMask(sizes);
  auto bound = entry.getArgAttrOfType<IntegerAttr>(index, "attn.bound");
  const uint64_t numIds = bound && bound.getInt() > 0 ? bound.getInt() : 2;
  Tensor tensor = Tensor::integers(sizes);
  for (int64_t &id : tensor.whole)
    id = static_cast<int64_t>(random() % numIds);
  return tensor;
}

static std::string getName(func::FuncOp entry, unsigned index) {
  auto name = entry.getArgAttrOfType<StringAttr>(index, "attn.name");
  return name ? name.str() : std::to_string(index);
}

Result<VerifyCall> CallMaker::makeCall(func::FuncOp entry) {
  VerifyCall call;
  call.entry = entry.getSymName();
  const Symbols symbols = getSymbols(entry);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    TRANSOM_ASSIGN(Tensor tensor, makeInput(entry, i, symbols));
    call.inputs.push_back({getName(entry, i), std::move(tensor)});
  }
  return Result<VerifyCall>(std::move(call));
}

/// A step that requests the logits for all tokens.
Result<VerifyCall> CallMaker::makeStep(func::FuncOp entry,
                                       std::vector<SequenceRows> sequences) {
  VerifyCall call;
  call.entry = entry.getSymName();
  int64_t count = 0;
  for (const SequenceRows &rows : sequences)
    count += rows.rows;
  Symbols symbols;
  for (Type type : entry.getArgumentTypes())
    for (const Polynomial &dim : attn::getSymbolicShape(type))
      for (const std::string &symbol : dim.symbols())
        symbols[symbol] = count;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    TRANSOM_ASSIGN(Tensor tensor, makeInput(entry, i, symbols));
    // Integer inputs other than ids select the rows with requested logits.
    auto role = entry.getArgAttrOfType<StringAttr>(i, "attn.role");
    if (!tensor.isFloat && (!role || role.getValue() != "ids"))
      std::iota(tensor.whole.begin(), tensor.whole.end(), 0);
    call.inputs.push_back({getName(entry, i), std::move(tensor)});
  }
  call.sequences = std::move(sequences);
  return Result<VerifyCall>(std::move(call));
}

/// Two sequences in one step, then each with a past, then one rewound.
Result<void> CallMaker::addSteps(func::FuncOp entry, VerifyCase &test) {
  std::vector<std::vector<SequenceRows>> steps = {
      {{0, 0, 5}, {1, 0, 1}}, {{1, 1, 2}, {0, 5, 1}}, {{0, 3, 2}}};
  if (lengths == CallLengths::Panel)
    steps = {{{0, 0, 33}}, {{0, 33, 1}}};
  auto context = entry->getAttrOfType<IntegerAttr>("transom.context");
  const int64_t most = context ? context.getInt() : INT64_MAX;
  for (std::vector<SequenceRows> &step : steps) {
    llvm::erase_if(step, [&](const SequenceRows &rows) {
      return rows.past + rows.rows > most;
    });
    if (step.empty())
      continue;
    TRANSOM_ASSIGN(VerifyCall call, makeStep(entry, std::move(step)));
    test.push_back(std::move(call));
  }
  return {};
}

Result<std::vector<VerifyCase>> CallMaker::run() {
  std::vector<VerifyCase> cases;
  VerifyCase steps;
  func::FuncOp step;
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isPublic() || entry.isExternal())
      continue;
    if (!entry.getOps<attn::DecodeBatchOp>().empty()) {
      step = entry;
      continue;
    }
    TRANSOM_ASSIGN(VerifyCall call, makeCall(entry));
    auto kind = entry->getAttrOfType<StringAttr>("transom.kind");
    if (kind && kind.getValue() == "source")
      steps.push_back(std::move(call));
    else
      cases.push_back({std::move(call)});
  }
  if (step)
    TRANSOM_TRY(addSteps(step, steps));
  if (!steps.empty())
    cases.push_back(std::move(steps));
  return Result<std::vector<VerifyCase>>(std::move(cases));
}

Result<std::vector<VerifyCase>> makeCalls(ModuleOp module,
                                          CallLengths lengths) {
  return CallMaker(module, lengths).run();
}

} // namespace transom
