// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module result is the result of the last operation whose module path is the
// module's or below it.
#include "compiler/driver/CompileModule.h"
#include "compiler/evaluator/Evaluator.h"
#include "compiler/evaluator/ReadTensors.h"
#include "compiler/import/Import.h"
#include "compiler/verify/LayerErrors.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <deque>
#include <numeric>

using namespace mlir;
using namespace transom;

namespace {

/// The expected and computed result for a module.
struct ExpectedResult {
  std::string name, path; ///< in the file, and in the model
  Tensor expected;
  std::vector<double> computed;
  const Tensor *mask = nullptr; ///< padding mask in the call; null: none
  size_t order = 0;             ///< execution order
};

/// Compares one model with one file.
class LayerComparer {
public:
  LayerComparer(ModuleOp module, const ImportInfo &info,
                const ExpectOptions &options)
      : module(module), options(options) {
    evaluation.source = &info.files;
    evaluation.caches = &caches;
    evaluation.observe = [this](Operation *op, ArrayRef<Number> numbers) {
      observe(op, numbers);
    };
    result.model = info.name;
    result.file = options.file;
    result.tolerance = options.tolerance;
  }

  Result<LayerErrors> run();

private:
  Result<void> readFile();
  void addExpected(NamedTensor tensor);
  void observe(Operation *op, ArrayRef<Number> numbers);
  const Tensor *findInput(StringRef name) const;
  Result<std::vector<NamedTensor>> call(func::FuncOp entry);
  Result<void> callAll();
  Result<void> callStep(func::FuncOp step, const Tensor &ids,
                        const Tensor *mask);
  Result<LayerError> compare(const ExpectedResult &of) const;

  ModuleOp module;
  const ExpectOptions &options;
  EvaluateOptions evaluation;
  CacheStore caches;
  std::deque<NamedTensor> inputs; ///< pointers to elements stay valid
  std::vector<ExpectedResult> results;
  const Tensor *mask = nullptr; ///< in the current call
  size_t executed = 0;          ///< operations so far
  LayerErrors result;
};

} // namespace

static bool isBelow(StringRef path, StringRef module) {
  return path.consume_front(module) && (path.empty() || path[0] == '.');
}

/// A float tensor is a module result if operations have its path, or its path
/// without the leading model name: `bert.encoder.layer.0`.
void LayerComparer::addExpected(NamedTensor tensor) {
  for (StringRef path :
       {StringRef(tensor.name), StringRef(tensor.name).split('.').second}) {
    bool isKnown = false;
    module.walk([&](Operation *op) {
      isKnown = isKnown || (!path.empty() && op->getNumResults() > 0 &&
                            isBelow(getModulePath(op->getLoc()), path));
    });
    if (!isKnown)
      continue;
    ExpectedResult &added = results.emplace_back();
    added.name = tensor.name;
    added.path = path.str();
    added.expected = std::move(tensor.tensor);
    return;
  }
  result.unknown.push_back(tensor.name);
}

Result<void> LayerComparer::readFile() {
  TRANSOM_ASSIGN(std::vector<NamedTensor> tensors, readTensors(options.file));
  for (NamedTensor &named : tensors) {
    if (named.tensor.isFloat)
      addExpected(std::move(named));
    else
      inputs.push_back(std::move(named));
  }
  if (!findInput("input_ids"))
    return rejected(options.file + ": no tensor 'input_ids'; expected the "
                                   "inputs of a call beside the results of "
                                   "modules");
  if (results.empty())
    return rejected(
        options.file +
        ": no tensor is the result of a module of "
        "the model; expected module paths, such as 'encoder.layer.0'");
  return {};
}

const Tensor *LayerComparer::findInput(StringRef name) const {
  auto found = llvm::find_if(
      inputs, [&](const NamedTensor &input) { return input.name == name; });
  return found == inputs.end() ? nullptr : &found->tensor;
}

void LayerComparer::observe(Operation *op, ArrayRef<Number> numbers) {
  ++executed;
  const std::string path = getModulePath(op->getLoc());
  for (ExpectedResult &of : results) {
    if (numbers.empty() || !isBelow(path, of.path))
      continue;
    of.computed.clear();
    for (Number number : numbers)
      of.computed.push_back(number.real());
    of.mask = mask;
    of.order = executed;
  }
}

/// Calls an entry with its inputs.
Result<std::vector<NamedTensor>> LayerComparer::call(func::FuncOp entry) {
  std::vector<NamedTensor> own;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, "attn.name");
    if (const Tensor *tensor = name ? findInput(name.getValue()) : nullptr)
      own.push_back({name.str(), *tensor});
  }
  return evaluate(module, entry.getSymName(), own, evaluation);
}

/// All unmasked tokens, in one step.
Result<void> LayerComparer::callStep(func::FuncOp step, const Tensor &ids,
                                     const Tensor *hidden) {
  if (ids.rank() != 2)
    return rejected(options.file + ": ids have rank " +
                    std::to_string(ids.rank()) + "; expected [batch, seq]");
  std::vector<int64_t> tokens;
  for (int64_t row = 0; row < ids.sizes[0]; ++row) {
    const auto before = static_cast<int64_t>(tokens.size());
    for (int64_t i = 0; i < ids.sizes[1]; ++i)
      if (!hidden || hidden->whole[row * ids.sizes[1] + i])
        tokens.push_back(ids.whole[row * ids.sizes[1] + i]);
    evaluation.sequences.push_back(
        {row, 0, static_cast<int64_t>(tokens.size()) - before});
  }
  const auto count = static_cast<int64_t>(tokens.size());
  std::vector<int64_t> all(tokens.size());
  std::iota(all.begin(), all.end(), 0);
  mask = hidden;
  auto done =
      evaluate(module, step.getSymName(),
               {{"tokens", Tensor::of({count}, std::move(tokens))},
                {getLogitRows(step), Tensor::of({count}, std::move(all))}},
               evaluation);
  return done ? Result<void>() : done.takeError();
}

/// Runs the entries that read ids, then a source with their outputs, and the
/// decode step.
Result<void> LayerComparer::callAll() {
  const Tensor *ids = findInput("input_ids");
  mask = findInput("attention_mask");
  func::FuncOp source, called, step = getStepEntry(module);
  for (auto entry : module.getOps<func::FuncOp>()) {
    if (!entry.isPublic() || entry == step)
      continue;
    auto kind = entry->getAttrOfType<StringAttr>("transom.kind");
    if (kind && kind.getValue() == "source") {
      source = entry;
    } else if (!called && !(kind && (kind.getValue() == "embed" ||
                                     kind.getValue() == "rerank"))) {
      called = entry;
      TRANSOM_ASSIGN(std::vector<NamedTensor> outputs, call(entry));
      for (NamedTensor &output : outputs)
        inputs.push_back(
            {source || step ? "encoder_hidden_states" : output.name,
             std::move(output.tensor)});
    }
  }
  if (source) {
    if (auto filled = call(source); !filled)
      return filled.takeError();
    ids = findInput("decoder_input_ids");
    if (!ids)
      return {};
    return callStep(step, *ids, findInput("decoder_attention_mask"));
  }
  return step ? callStep(step, *ids, mask) : Result<void>();
}

Result<LayerError> LayerComparer::compare(const ExpectedResult &of) const {
  const Tensor &expected = of.expected;
  const int64_t width = expected.sizes.empty() ? 1 : expected.sizes.back();
  const int64_t rows = width ? expected.count() / width : 0;
  // The unmasked expected rows.
  std::vector<int64_t> kept;
  for (int64_t row = 0; row < rows; ++row)
    if (!of.mask || of.mask->count() != rows || of.mask->whole[row])
      kept.push_back(row);
  const bool isDense =
      static_cast<int64_t>(of.computed.size()) == expected.count();
  if (!isDense && of.computed.size() != kept.size() * width)
    return rejected(options.file + ": tensor '" + of.name + "' has " +
                    std::to_string(expected.count()) + " elements; expected " +
                    std::to_string(of.computed.size()) +
                    " of the module's result");
  LayerError error;
  error.path = of.name;
  for (auto [i, row] : llvm::enumerate(kept))
    for (int64_t column = 0; column < width; ++column) {
      const int64_t index = row * width + column;
      const double reference = expected.getReal(index),
                   value = of.computed[isDense ? index : i * width + column],
                   off = std::abs(value - reference);
      error.largest = std::max(error.largest, std::abs(reference));
      if (off <= error.error)
        continue;
      error.error = std::isnan(off) ? INFINITY : off;
      error.index = index;
      error.expected = reference;
      error.computed = value;
    }
  error.differs = !(error.error <= options.tolerance * error.largest);
  return error;
}

Result<LayerErrors> LayerComparer::run() {
  TRANSOM_TRY(readFile());
  TRANSOM_TRY(callAll());
  llvm::stable_sort(
      results, [](const auto &a, const auto &b) { return a.order < b.order; });
  for (const ExpectedResult &of : results) {
    if (of.order == 0) {
      result.unknown.push_back(of.name);
      continue;
    }
    TRANSOM_ASSIGN(LayerError error, compare(of));
    result.layers.push_back(std::move(error));
  }
  return std::move(result);
}

Result<LayerErrors> transom::compareLayers(const ExpectOptions &options) {
  std::optional<LayerErrors> errors;
  CompileOptions compile;
  compile.model = options.model;
  TRANSOM_TRY(withImportedModel(
      compile,
      [&](OwningOpRef<ModuleOp> module, const ImportInfo &info,
          const CompileOptions &) -> Result<void> {
        LayerComparer comparer(*module, info, options);
        TRANSOM_ASSIGN(errors, comparer.run());
        return {};
      }));
  return std::move(*errors);
}
