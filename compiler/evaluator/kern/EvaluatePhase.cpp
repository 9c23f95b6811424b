// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Binds the values in a phase to machine memory, weights, caches and tables for
// its layer, then runs its operations sequentially.
#include "compiler/evaluator/kern/EvaluatePhase.h"

using namespace mlir;

namespace transom {

using namespace kern;

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::vector<PhaseSite> listPhases(func::FuncOp entry,
                                  const SymbolTable &symbols) {
  std::vector<PhaseSite> sites;
  for (Operation &op : entry.getBody().front()) {
    if (auto phase = dyn_cast<PhaseOp>(op))
      sites.push_back({phase, {}, {}, -1});
    auto layers = dyn_cast<LayersOp>(op);
    if (!layers)
      continue;
    for (auto [index, layer] : llvm::enumerate(layers.getLayerRange()))
      for (auto phase : layers.getBody(layer, symbols).getOps<PhaseOp>())
        sites.push_back({phase, layers, layer, static_cast<int64_t>(index)});
  }
  return sites;
}

std::pair<int64_t, int64_t> PhaseBuffer::getIndex(int64_t element) const {
  if (!type.getKeyPanels())
    return {element / stride, element % stride};
  // [positions / 32][columns / interleave][32][interleave]
  const int64_t interleave = type.getFormat().interleave;
  const int64_t panel = element / (columns * panelWidth);
  const int64_t inside = element % (columns * panelWidth);
  const int64_t group = inside / (panelWidth * interleave);
  const int64_t lane = inside / interleave % panelWidth;
  return {panel * panelWidth + lane, group * interleave + inside % interleave};
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Evaluates one phase.
class PhaseEvaluator::Run {
public:
  Run(PhaseEvaluator &evaluator, const PhaseSite &site, const PhaseState &state)
      : evaluator(evaluator), site(site), state(state),
        e(evaluator.module, evaluator.options) {}

  Result<PhaseResult> run();

private:
  Result<void> bindSymbols();
  Result<void> bind(Value value);
  Result<void> bindBuffer(Value value);
  /// Maps a value in a layer body to the value at the layers call; other values
  /// map to themselves.
  Value getOuter(Value value) const;
  /// The symbol for a weight or cache.
  StringRef getSymbol(Value value) const;
  PhaseResult take();

  PhaseEvaluator &evaluator;
  const PhaseSite &site;
  const PhaseState &state;
  Evaluation e;
  /// Buffer indices by owner value.
  llvm::DenseMap<Value, int32_t> owners;
  std::vector<PhaseBuffer> buffers;
};

Value PhaseEvaluator::Run::getOuter(Value value) const {
  auto argument = dyn_cast<BlockArgument>(value);
  LayersOp layers = site.layers;
  if (!argument || !layers ||
      argument.getOwner()->getParentOp() != site.phase->getParentOp() ||
      argument.getArgNumber() >= layers->getNumOperands())
    return value;
  return layers->getOperand(argument.getArgNumber());
}

StringRef PhaseEvaluator::Run::getSymbol(Value value) const {
  if (auto get = value.getDefiningOp<kern::GetWeightOp>())
    return get.getWeight();
  if (auto get = value.getDefiningOp<kern::GetCacheOp>())
    return get.getCache();
  LayersOp layers = site.layers;
  return layers.getParameter(site.layer, value).getValue();
}

Result<void> PhaseEvaluator::Run::bindSymbols() {
  for (const auto &[name, value] : state.symbols)
    TRANSOM_TRY(e.bind(name, value));
  return {};
}

Result<void> PhaseEvaluator::Run::bindBuffer(Value value) {
  // Views and layers share an owner's memory.
  Value owner = getOuter(value);
  while (auto view = owner.getDefiningOp<ViewOp>())
    owner = getOuter(view.getSource());
  auto [known, isNew] = owners.try_emplace(owner, 0);
  if (isNew) {
    auto type = cast<BufferType>(owner.getType());
    PhaseBuffer buffer;
    buffer.type = type;
    TRANSOM_ASSIGN(int64_t bytes, e.kern->getByteSize(owner, e));
    if (auto alloc = owner.getDefiningOp<AllocOp>()) {
      buffer.slot = static_cast<int64_t>(*alloc.getSlot());
      buffer.offset = state.offsets[buffer.slot];
      if (alloc.isKept())
        buffer.before = {nullptr, bytes}; // in separate memory
      else if (buffer.offset < 0 || buffer.offset + bytes > state.arena.size)
        return rejected("a buffer of " + std::to_string(bytes) + " bytes at " +
                        std::to_string(buffer.offset) + " leaves an arena of " +
                        std::to_string(state.arena.size));
      else
        buffer.before = {state.arena.data + buffer.offset, bytes};
    } else {
      buffer.argument = cast<BlockArgument>(owner).getArgNumber();
      buffer.before = {state.arguments[buffer.argument].data, bytes};
    }
    known->second = e.kern->machine->add(buffer.before, type.getElementBytes());
    buffers.push_back(std::move(buffer));
  }
  TRANSOM_TRY(e.kern->adopt(value, known->second, e));
  return e.kern->adopt(owner, known->second, e);
}

Result<void> PhaseEvaluator::Run::bind(Value value) {
  if (isa<BufferType>(value.getType()))
    return bindBuffer(value);
  if (auto ragged = dyn_cast<RaggedType>(value.getType())) {
    e.set(value, state.ragged[ragged.getIndex()]);
    return {};
  }
  if (isa<CacheType>(value.getType())) {
    e.setCache(value, getSymbol(value));
    return {};
  }
  TRANSOM_ASSIGN(std::shared_ptr<const Tensor> weight,
                 evaluator.getWeight(getSymbol(value), value.getType(), e));
  e.set(value, std::move(weight));
  return {};
}

PhaseResult PhaseEvaluator::Run::take() {
  PhaseResult result;
  for (auto [buffer, found] :
       llvm::zip_equal(buffers, e.kern->machine->buffers()))
    static_cast<MachineBuffer &>(buffer) = std::move(found);
  for (const auto &[owner, number] : owners) {
    buffers[number].columns = e.kern->columns(owner);
    buffers[number].stride = std::max<int64_t>(1, e.kern->stride(owner));
  }
  result.buffers = std::move(buffers);
  result.appended = std::move(e.kern->appended);
  return result;
}

Result<PhaseResult> PhaseEvaluator::Run::run() {
  e.kern = std::make_unique<KernEvaluation>(evaluator.module,
                                            evaluator.options.observe);
  e.kern->machine = std::make_unique<MachineMemory>();
  TRANSOM_TRY(bindSymbols());
  PhaseOp phase = site.phase;
  Block &body = phase.getBody().front();
  for (Operation &op : body)
    for (Value operand : op.getOperands())
      TRANSOM_TRY(bind(operand));

  // Operations run as a whole, not by worker.
  for (auto op : body.getOps<BufferOp>())
    e.kern->forgetSize(op, e);
  for (Operation &op : body) {
    e.kern->turn.op = &op;
    TRANSOM_TRY(e.run(&op));
  }
  TRANSOM_TRY(e.kern->flushSizes(e));
  PhaseResult result = take();
  for (auto op : body.getOps<BufferOp>())
    if (FlatSymbolRefAttr size = op.getWrittenSize()) {
      const std::string name = size.getValue().str();
      TRANSOM_ASSIGN(result.sizes[name], e.size(Polynomial::symbol(name)));
    }
  return Result<PhaseResult>(std::move(result));
}

//===----------------------------------------------------------------------===//
// Evaluator
//===----------------------------------------------------------------------===//

PhaseEvaluator::PhaseEvaluator(ModuleOp module, const TensorSource &source)
    : module(module), symbols(module) {
  options.source = &source;
  attachEvaluators(module.getContext());
}

Result<std::shared_ptr<const Tensor>>
PhaseEvaluator::getWeight(StringRef symbol, Type type, Evaluation &evaluation) {
  std::shared_ptr<const Tensor> &held =
      weights[{symbol.str(), type.getAsOpaquePointer(), Domain::getCurrent()}];
  if (held)
    return held;
  TRANSOM_ASSIGN(std::shared_ptr<const Tensor> raw, evaluation.weight(symbol));
  held = KernEvaluation::weightAs(type, raw);
  numNumbers += held->real.size();
  return held;
}

Result<PhaseResult> PhaseEvaluator::evaluate(const PhaseSite &site,
                                             const PhaseState &state,
                                             Domain *domain) {
  if (numNumbers > maxNumbers) {
    weights.clear();
    numNumbers = 0;
  }
  DomainScope scope(domain);
  options.domain = domain;
  options.caches = state.caches;
  return Run(*this, site, state).run();
}

} // namespace transom
