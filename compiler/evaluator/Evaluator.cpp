// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an entry: matches inputs by name, binds symbols by shape, then evaluates
// each operation in order.
#include "compiler/evaluator/Evaluator.h"
#include "compiler/evaluator/Evaluation.h"
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/base/FloatMode.h"
#include <numeric>

using namespace mlir;

#include "compiler/evaluator/Evaluable.cpp.inc"

namespace transom {

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

Evaluation::Evaluation(ModuleOp module, const EvaluateOptions &options)
    : module(module), options(options) {}

Evaluation::~Evaluation() = default;

void Evaluation::set(Value value, Tensor tensor) {
  set(value, std::make_shared<const Tensor>(std::move(tensor)));
}

void Evaluation::set(Value value, std::shared_ptr<const Tensor> shared) {
  if (options.observe)
    if (Operation *op = value.getDefiningOp())
      options.observe(op, shared->real);
  tensors[value] = std::move(shared);
}

void Evaluation::set(Value value, RaggedBatch ragged) {
  rows[value] = std::make_shared<const RaggedBatch>(std::move(ragged));
}

void Evaluation::alias(Value value, Value other) {
  if (auto tensor = tensors.lookup(other))
    tensors[value] = tensor;
  if (auto ragged = rows.lookup(other))
    rows[value] = ragged;
  if (auto found = caches.find(other); found != caches.end())
    setCache(value, std::string(found->second));
}

Result<void> Evaluation::bind(const std::string &symbol, int64_t value) {
  auto [entry, isNew] = symbols.try_emplace(symbol, value);
  if (!isNew && entry->second != value)
    return rejected("size '" + symbol + "' is both " +
                    std::to_string(entry->second) + " and " +
                    std::to_string(value));
  return {};
}

Result<int64_t> Evaluation::size(const Polynomial &polynomial) const {
  return polynomial.evaluate(
      [&](const std::string &symbol) -> std::optional<int64_t> {
        auto found = symbols.find(symbol);
        if (found == symbols.end())
          return std::nullopt;
        return found->second;
      });
}

Result<Sizes> Evaluation::sizes(Type type) const {
  Sizes result;
  for (const Polynomial &dim : attn::getSymbolicShape(type)) {
    TRANSOM_ASSIGN(int64_t value, size(dim));
    result.push_back(value);
  }
  return result;
}

/// Evaluates a weight expression over the files.
static Result<std::shared_ptr<const Tensor>>
evaluateWeight(StringRef symbol, StringRef text, ArrayRef<int64_t> sizes,
               const TensorSource *source) {
  /// The source for a model without files.
  struct NoFiles : TensorSource {
    Result<std::vector<int64_t>> shape(const std::string &name) const override {
      return rejected("no file holds tensor '" + name + "'");
    }
    Result<void> read(const std::string &name, const std::vector<int64_t> &,
                      const std::vector<int64_t> &, float *) const override {
      return rejected("no file holds tensor '" + name + "'");
    }
  } noFiles;
  const TensorSource &files = source ? *source : noFiles;
  TRANSOM_ASSIGN(WeightExpr expr, WeightExpr::parse(text.str()));
  TRANSOM_ASSIGN(std::vector<int64_t> shape, expr.shape(files));
  if (ArrayRef<int64_t>(shape) != sizes)
    return rejected("weight '" + symbol.str() +
                    "' does not have the shape of its expression");
  if (Domain *domain = Domain::getCurrent())
    return domain->weight(expr, files);
  std::vector<double> values(getNumElements(shape));
  std::vector<int64_t> offsets(shape.size(), 0);
  TRANSOM_TRY(expr.evaluate(files, offsets, shape, values.data()));
  return std::make_shared<const Tensor>(
      Tensor::of(shape, std::vector<Number>(values.begin(), values.end())));
}

/// Adds the pre-quantized integers in the weight file, if present and if the
/// evaluation rounds.
static Result<std::shared_ptr<const Tensor>>
addGiven(std::shared_ptr<const Tensor> weight, StringRef text,
         const TensorSource *source) {
  Domain *domain = Domain::getCurrent();
  if (!source || (domain && !domain->rounds()))
    return weight;
  TRANSOM_ASSIGN(WeightExpr expr, WeightExpr::parse(text.str()));
  // Packing keeps denormals, for example in f16 scales.
  FloatMode mode(Denormals::AreKept);
  std::optional<StoredExpr> stored = splitStored(expr);
  std::optional<OperandFormat> format =
      stored ? stored->groups.getFormat() : std::nullopt;
  if (!format)
    return weight;
  TRANSOM_ASSIGN(StoredRows rows,
                 evaluateStored(*stored, *source, 0, weight->sizes[0]));
  auto copy = std::make_shared<Tensor>(*weight);
  copy->given = std::make_shared<const GivenNumbers>(
      GivenNumbers{*format, std::move(rows)});
  return std::shared_ptr<const Tensor>(std::move(copy));
}

Result<std::shared_ptr<const Tensor>> Evaluation::weight(StringRef symbol) {
  std::shared_ptr<const Tensor> &held = weights[symbol];
  if (held)
    return held;
  Operation *op = table.lookup(symbol);
  Result<std::shared_ptr<const Tensor>> value =
      rejected("no weight '" + symbol.str() + "'");
  if (auto weight = dyn_cast_or_null<attn::WeightOp>(op))
    value = evaluateWeight(symbol, weight.getExpr().getText(),
                           cast<RankedTensorType>(weight.getType()).getShape(),
                           options.source);
  else if (auto weight = dyn_cast_or_null<kern::WeightOp>(op)) {
    StringRef text = weight.getExpr().getText();
    value = evaluateWeight(symbol, text, weight.getType().getShape(),
                           options.source);
    if (value && weight.getType().isGrouped())
      value = addGiven(*value, text, options.source);
  }
  if (!value)
    return value.takeError();
  held = *value;
  return held;
}

Error Evaluation::errorAt(Operation *op, Error error) {
  std::string location = getModulePath(op->getLoc());
  error.message = (location.empty() ? "" : location + ": ") + "'" +
                  op->getName().getStringRef().str() + "': " + error.message;
  return error;
}

Result<void> Evaluation::run(Operation *op) {
  auto evaluable = dyn_cast<Evaluable>(op);
  if (!evaluable)
    return errorAt(op, unsupported("not known to the evaluator"));
  auto buffers = dyn_cast<kern::BufferOp>(op);
  if (buffers)
    if (Result<void> known = kern->checkSizes(buffers, *this); !known)
      return errorAt(op, known.takeError());
  // Outside a phase, each operation on buffers is its own phase.
  const bool isPhase = buffers && !isa<kern::PhaseOp>(op->getParentOp());
  if (isPhase)
    kern->turn = {kern->turn.phase + 1, Toucher::anyWorker, op};
  Result<void> done = evaluable.evaluate(*this);
  if (done && isPhase)
    done = kern->flushSizes(*this);
  // An error inside a phase or layer already names its location.
  if (isa<kern::PhaseOp, kern::LayersOp>(op))
    return done;
  if (done && kern && !kern->mistake().empty())
    done = rejected(kern->mistake());
  return done ? done : errorAt(op, done.takeError());
}

Result<void> Evaluation::run(Block &block) {
  for (Operation &op : block.without_terminator())
    if (Result<void> done = run(&op); !done)
      return done;
  return {};
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// The name of an argument or result; its index if it has none.
static std::string getName(StringAttr name, unsigned index) {
  return name ? name.getValue().str() : std::to_string(index);
}

static std::string argumentName(func::FuncOp function, unsigned index) {
  return getName(function.getArgAttrOfType<StringAttr>(index, "attn.name"),
                 index);
}

Result<void> Evaluation::bindShape(ArrayRef<Polynomial> dims,
                                   const NamedTensor &input) {
  if (static_cast<int64_t>(dims.size()) != input.tensor.rank())
    return rejected("input '" + input.name + "' has rank " +
                    std::to_string(input.tensor.rank()) + ", expected " +
                    std::to_string(dims.size()));
  for (auto [dim, given] : llvm::zip_equal(dims, input.tensor.sizes)) {
    std::vector<std::string> names = dim.symbols();
    if (names.size() == 1 && dim == Polynomial::symbol(names[0]))
      if (Result<void> bound = bind(names[0], given); !bound)
        return bound;
    TRANSOM_ASSIGN(int64_t expected, size(dim));
    if (expected != given)
      return rejected("input '" + input.name + "' has size " +
                      std::to_string(given) + " where '" + dim.str() + "' is " +
                      std::to_string(expected));
  }
  return {};
}

/// Sets arguments from the inputs, and marks them in `given`.
static Result<void> setInputs(Evaluation &evaluation, func::FuncOp function,
                              ArrayRef<NamedTensor> inputs,
                              std::vector<bool> &given) {
  for (const NamedTensor &input : inputs) {
    unsigned index = 0, count = function.getNumArguments();
    while (index < count && argumentName(function, index) != input.name)
      ++index;
    if (index == count)
      return rejected("entry '" + function.getSymName().str() +
                      "' has no input '" + input.name + "'");
    Value argument = function.getArgument(index);
    auto type = cast<RankedTensorType>(argument.getType());
    if (isa<FloatType>(type.getElementType()) != input.tensor.isFloat)
      return rejected("input '" + input.name + "' has the wrong element type");
    if (Result<void> bound =
            evaluation.bindShape(attn::getSymbolicShape(type), input);
        !bound)
      return bound;
    evaluation.set(argument, input.tensor);
    given[index] = true;
  }
  return {};
}

/// Sets omitted inputs to their defaults.
static Result<void> setDefaults(Evaluation &evaluation, func::FuncOp function,
                                const std::vector<bool> &given) {
  for (unsigned index = 0; index < given.size(); ++index) {
    if (given[index])
      continue;
    auto value = function.getArgAttrOfType<IntegerAttr>(index, "attn.default");
    if (!value)
      return rejected("input '" + argumentName(function, index) +
                      "' is missing");
    BlockArgument argument = function.getArgument(index);
    TRANSOM_ASSIGN(Sizes sizes, evaluation.sizes(argument.getType()));
    std::vector<int64_t> values(getNumElements(sizes), value.getInt());
    evaluation.set(argument, Tensor::of(sizes, std::move(values)));
  }
  return {};
}

Result<std::vector<NamedTensor>> evaluate(ModuleOp module, StringRef entry,
                                          ArrayRef<NamedTensor> inputs,
                                          const EvaluateOptions &options) {
  attachEvaluators(module.getContext());
  DomainScope scope(options.domain);
  Evaluation evaluation(module, options);
  auto function = evaluation.symbolTable().lookup<func::FuncOp>(entry);
  if (!function || function.isExternal())
    return usageError("no entry '" + entry.str() + "'");
  if (isKernEntry(function)) {
    evaluation.kern = std::make_unique<KernEvaluation>(module, options.observe);
    return evaluateKernEntry(function, inputs, evaluation);
  }
  std::vector<bool> given(function.getNumArguments());
  TRANSOM_TRY(setInputs(evaluation, function, inputs, given));
  TRANSOM_TRY(setDefaults(evaluation, function, given));
  Block &body = function.getBody().front();
  TRANSOM_TRY(evaluation.run(body));
  std::vector<NamedTensor> outputs;
  for (auto [index, value] :
       llvm::enumerate(body.getTerminator()->getOperands()))
    outputs.push_back(
        {getName(function.getResultAttrOfType<StringAttr>(index, "attn.name"),
                 index),
         evaluation.tensor(value)});
  return outputs;
}

void attachEvaluators(MLIRContext *context) {
  context->getOrLoadDialect<attn::AttnDialect>();
  attachElementwise(context);
  attachShapes(context);
  attachProducts(context);
  attachAttention(context);
  attachRagged(context);
  attachDecoder(context);
  context->getOrLoadDialect<kern::KernDialect>();
  attachKernControl(context);
  attachKernRows(context);
  attachKernElementwise(context);
  attachKernOneDnn(context);
  attachKernAttention(context);
  attachKernMoves(context);
  attachKernGroups(context);
  attachKernCaches(context);
}

} // namespace transom
