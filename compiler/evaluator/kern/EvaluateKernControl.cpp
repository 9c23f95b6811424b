// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries on buffers: arguments, arena, ragged batches, phases and layers.
#include "compiler/evaluator/kern/KernEvaluation.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

static Result<void> evaluateGetWeight(kern::GetWeightOp op, Evaluation &e) {
  TRANSOM_ASSIGN(std::shared_ptr<const Tensor> weight,
                 e.weight(op.getWeight()));
  e.set(op.getResult(), KernEvaluation::weightAs(op.getType(), weight));
  return {};
}

static Result<void> evaluateAlloc(AllocOp op, Evaluation &e) {
  if (!op.getSlot())
    return e.kern->allocate(op.getResult(), e);
  auto slot = cast<DictionaryAttr>(e.kern->slots[*op.getSlot()]);
  return e.kern->place(op.getResult(), slot.getAs<StringAttr>("offset").str(),
                       e);
}

static Result<void> evaluateView(ViewOp op, Evaluation &e) {
  return e.kern->alias(op.getResult(), op.getSource(), e);
}

/// Rows for all columns in all sequences.
static Result<RaggedBatch> uniformBatch(kern::RaggedBatchOp op, Evaluation &e) {
  RaggedBatch ragged;
  for (auto [text, target] :
       {std::make_pair(op.getBatch(), &ragged.batch),
        std::make_pair(op.getColumns(), &ragged.columns)}) {
    TRANSOM_ASSIGN(Polynomial polynomial, Polynomial::parse(text.str()));
    TRANSOM_ASSIGN(int64_t size, e.size(polynomial));
    *target = size;
  }
  for (int64_t i = 0; i < ragged.batch * ragged.columns; ++i)
    ragged.rows.push_back({i / ragged.columns, i % ragged.columns, true});
  return ragged;
}

static Result<void> evaluateRaggedBatch(kern::RaggedBatchOp op, Evaluation &e) {
  Result<RaggedBatch> ragged = RaggedBatch();
  if (op.getMask()) {
    Tensor mask = Tensor::integers(e.kern->sizes(op.getMask()));
    for (int64_t i = 0; i < mask.count(); ++i)
      mask.whole[i] = static_cast<int64_t>(e.kern->readFlat(op.getMask(), i));
    ragged = getRaggedBatch(mask, op.getKeepFirst());
  } else {
    ragged = uniformBatch(op, e);
  }
  if (!ragged)
    return ragged.takeError();
  if (auto bound = bindRagged(e, op.getRows(), op.getKeys(), *ragged); !bound)
    return bound;
  e.set(op.getResult(), std::move(*ragged));
  return {};
}

//===----------------------------------------------------------------------===//
// Phases and layers
//===----------------------------------------------------------------------===//

/// Worker order, derived from a seed.
static SmallVector<int> getShuffledWorkers(uint64_t seed) {
  SmallVector<int> order;
  for (int worker = 0; worker < KernEvaluation::numWorkers; ++worker)
    order.insert(order.begin() + seed % (worker + 1), worker);
  return order;
}

/// Runs one operation on one worker.
static Result<void> runWorker(Operation *op, int worker, bool first,
                              Evaluation &e) {
  bool owned = false;
  if (auto buffer = dyn_cast<BufferOp>(op))
    owned = buffer.ownedRows().has_value();
  if (!owned && !first)
    return {};
  e.kern->turn.worker = owned ? worker : Toucher::anyWorker;
  e.kern->turn.op = op;
  return e.run(op);
}

/// Operations that are split by rows run worker by worker; others run as a
/// whole with the first worker.
static Result<void> evaluatePhase(PhaseOp op, Evaluation &e) {
  ++e.kern->turn.phase;
  for (auto inner : op.getBody().getOps<BufferOp>())
    e.kern->forgetSize(inner, e);
  bool first = true;
  for (int worker : getShuffledWorkers(e.kern->seed + e.kern->turn.phase)) {
    for (Operation &inner : op.getBody().front())
      if (auto done = runWorker(&inner, worker, first, e); !done)
        return done;
    first = false;
  }
  TRANSOM_TRY(e.kern->flushSizes(e));
  return KernEvaluation::flushCaches(e);
}

/// Runs the body for one layer with its arguments bound.
static Result<void> runLayer(kern::LayersOp op, kern::LayerAttr layer,
                             Evaluation &e) {
  func::FuncOp body = op.getBody(layer, e.symbolTable());
  if (!body || body.isExternal())
    return rejected("no body '" + layer.getBody().getValue().str() + "'");
  Block &block = body.getBody().front();
  // Operands that all layers share.
  unsigned next = 0;
  for (Value operand : op->getOperands()) {
    Value argument = block.getArgument(next++);
    if (isa<BufferType>(operand.getType())) {
      if (auto aliased = e.kern->alias(argument, operand, e); !aliased)
        return aliased;
    } else {
      e.alias(argument, operand);
    }
  }
  // Weights and caches for this layer.
  for (FlatSymbolRefAttr parameter : layer.getParameters()) {
    StringRef symbol = parameter.getValue();
    Value argument = block.getArgument(next++);
    if (isa<CacheType>(argument.getType())) {
      e.setCache(argument, symbol);
      continue;
    }
    TRANSOM_ASSIGN(auto weight, e.weight(symbol));
    e.set(argument, KernEvaluation::weightAs(argument.getType(), weight));
  }
  return e.run(block);
}

static Result<void> evaluateLayers(kern::LayersOp op, Evaluation &e) {
  for (kern::LayerAttr layer : op.getLayerRange())
    if (auto done = runLayer(op, layer, e); !done)
      return done;
  return {};
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

bool isKernEntry(func::FuncOp function) {
  return function->hasAttr("kern.inputs");
}

static std::string getName(func::FuncOp function, unsigned index) {
  auto name = function.getArgAttrOfType<StringAttr>(index, "attn.name");
  return name ? name.str() : std::to_string(index);
}

/// Binds an input's sizes and fills its buffer.
static Result<void> fillInput(BlockArgument argument, const NamedTensor &input,
                              Evaluation &e) {
  SmallVector<Polynomial> dims = cast<BufferType>(argument.getType()).getDims();
  if (auto bound = e.bindShape(dims, input); !bound)
    return bound;
  if (auto allocated = e.kern->allocate(argument, e); !allocated)
    return allocated;
  int64_t columns = e.kern->columns(argument);
  for (int64_t i = 0; i < input.tensor.count(); ++i)
    e.kern->write(argument, i / columns, i % columns, input.tensor.number(i));
  return {};
}

static Result<void> fillInputs(func::FuncOp function, unsigned count,
                               ArrayRef<NamedTensor> inputs, Evaluation &e) {
  SmallVector<unsigned> left;
  for (unsigned i = 0; i < count; ++i) {
    const NamedTensor *given = llvm::find_if(inputs, [&](const NamedTensor &t) {
      return t.name == getName(function, i);
    });
    if (given == inputs.end()) {
      left.push_back(i);
      continue;
    }
    if (auto filled = fillInput(function.getArgument(i), *given, e); !filled)
      return filled;
  }
  for (unsigned i : left) {
    auto value = function.getArgAttrOfType<IntegerAttr>(i, "attn.default");
    if (!value)
      return rejected("input '" + getName(function, i) + "' is missing");
    BlockArgument argument = function.getArgument(i);
    if (auto allocated = e.kern->allocate(argument, e); !allocated)
      return allocated;
    int64_t columns = e.kern->columns(argument);
    for (int64_t n = 0; n < e.kern->rows(argument) * columns; ++n)
      e.kern->write(argument, n / columns, n % columns,
                    static_cast<double>(value.getInt()));
  }
  return {};
}

/// Ragged batches come first, since arena sizes depend on them.
static Result<void> prepareArena(func::FuncOp function, Evaluation &e) {
  e.kern->turn = {1, Toucher::anyWorker, nullptr}; // after the inputs
  for (auto ragged : function.getOps<kern::RaggedBatchOp>())
    if (auto done = e.run(ragged.getOperation()); !done)
      return done;
  for (auto sequences : function.getOps<DecodeBatchOp>())
    if (auto done = e.run(sequences.getOperation()); !done)
      return done;
  for (auto keys : function.getOps<CacheBatchOp>())
    if (auto done = e.run(keys.getOperation()); !done)
      return done;
  auto bytes = function->getAttrOfType<StringAttr>("kern.arena_bytes");
  if (!bytes)
    return {};
  TRANSOM_ASSIGN(Polynomial polynomial, Polynomial::parse(bytes.str()));
  TRANSOM_ASSIGN(int64_t size, e.size(polynomial));
  e.kern->arenaBytes = size;
  e.kern->arena = e.kern->memory.grow(size);
  e.kern->slots = function->getAttrOfType<ArrayAttr>("kern.buffers");
  return {};
}

Result<std::vector<NamedTensor>> evaluateKernEntry(func::FuncOp function,
                                                   ArrayRef<NamedTensor> inputs,
                                                   Evaluation &e) {
  unsigned count = static_cast<unsigned>(
      function->getAttrOfType<IntegerAttr>("kern.inputs").getInt());
  TRANSOM_TRY(e.bind("parts", KernEvaluation::numWorkers));
  TRANSOM_TRY(fillInputs(function, count, inputs, e));
  TRANSOM_TRY(prepareArena(function, e));
  for (unsigned i = count; i < function.getNumArguments(); ++i)
    TRANSOM_TRY(e.kern->allocate(function.getArgument(i), e));
  TRANSOM_TRY(e.run(function.getBody().front()));
  ++e.kern->turn.phase;
  std::vector<NamedTensor> outputs;
  for (unsigned i = count; i < function.getNumArguments(); ++i) {
    Tensor result = Tensor::floats(e.kern->sizes(function.getArgument(i)));
    for (int64_t n = 0; n < result.count(); ++n)
      result.real[n] = e.kern->readFlat(function.getArgument(i), n);
    outputs.push_back({getName(function, i), std::move(result)});
  }
  if (!e.kern->memory.mistake().empty())
    return rejected("the entry's caller " + e.kern->memory.mistake());
  return outputs;
}

void attachKernControl(MLIRContext *context) {
  attachEvaluator<kern::GetWeightOp, evaluateGetWeight>(context);
  attachEvaluator<AllocOp, evaluateAlloc>(context);
  attachEvaluator<ViewOp, evaluateView>(context);
  attachEvaluator<kern::RaggedBatchOp, evaluateRaggedBatch>(context);
  attachEvaluator<PhaseOp, evaluatePhase>(context);
  attachEvaluator<kern::LayersOp, evaluateLayers>(context);
}

} // namespace transom
