// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A symbol is bound by an input dimension that is a single symbol, by a ragged
// batch table, or by the worker count. A formula with an unbound symbol is
// refused here, so that calls need no check.
#include "runtime/execute/Entry.h"
#include "runtime/abi/RowSummary.h"
#include <algorithm>
#include <climits>
#include <cstring>

using namespace transom;

transom_dtype transom::toPublic(DType type) {
  switch (type) {
  case DType::F32:
    return TRANSOM_DTYPE_F32;
  case DType::BF16:
    return TRANSOM_DTYPE_BF16;
  case DType::F16:
    return TRANSOM_DTYPE_F16;
  case DType::I64:
    return TRANSOM_DTYPE_I64;
  case DType::I32:
    return TRANSOM_DTYPE_I32;
  case DType::Bool:
    return TRANSOM_DTYPE_BOOL;
  default:
    return TRANSOM_DTYPE_NONE;
  }
}

static int indexByName(const std::vector<Argument> &list, const char *name) {
  for (size_t i = 0; i != list.size(); ++i)
    if (std::strcmp(list[i].name.c_str(), name) == 0)
      return int(i);
  return -1;
}

static std::vector<std::string> getNames(const std::vector<Argument> &list) {
  std::vector<std::string> names;
  for (const Argument &argument : list)
    names.push_back(argument.name);
  return names;
}

int Entry::inputIndex(const char *name) const {
  return indexByName(inputs, name);
}
int Entry::outputIndex(const char *name) const {
  return indexByName(outputs, name);
}
std::vector<std::string> Entry::inputNames() const { return getNames(inputs); }
std::vector<std::string> Entry::outputNames() const {
  return getNames(outputs);
}

int Entry::symbolIndex(const std::string &name) const {
  auto found = std::find(symbols.begin(), symbols.end(), name);
  return found == symbols.end() ? -1 : int(found - symbols.begin());
}

bool Entry::isRagged() const {
  return std::any_of(
      ragged.begin(), ragged.end(),
      [](const RaggedBatchRule &rule) { return rule.mask >= 0; });
}

namespace {

/// Builds one entry; methods run in order and return the first error.
class EntryBuilder {
public:
  EntryBuilder(const Manifest &manifest, const ManifestEntry &source,
               Entry &entry)
      : manifest(manifest), source(source), entry(entry) {}

  Result<void> build() {
    entry.manifest = &source;
    entry.symbols = source.symbolOrder;
    entry.kinds.assign(entry.symbols.size(), SymbolKind::Unbound);
    entry.maxima.resize(entry.symbols.size());
    entry.counters = source.counters;
    for (const ManifestSymbol &symbol : manifest.symbols)
      if (int index = entry.symbolIndex(symbol.name); index >= 0)
        entry.maxima[index] = symbol.max;
    using Step = Result<void> (EntryBuilder::*)();
    for (Step step :
         {&EntryBuilder::addArguments, &EntryBuilder::addRaggedBatches,
          &EntryBuilder::addBoundedSizes, &EntryBuilder::bindSymbols,
          &EntryBuilder::addMemory, &EntryBuilder::addLimits,
          &EntryBuilder::addCalls, &EntryBuilder::addStep,
          &EntryBuilder::addSource, &EntryBuilder::checkUses})
      if (Result<void> done = (this->*step)(); !done)
        return done;
    return {};
  }

private:
  Error error(const std::string &text) const {
    return rejected("entry '" + source.name + "': " + text);
  }
  Result<Argument> argument(const ManifestTensor &tensor, bool isInput);
  Result<void> addArguments();
  Result<void> addRaggedBatches();
  Result<void> addBoundedSizes();
  bool leadsOnly(int symbol) const;
  Result<void> bindSymbols();
  Result<void> addMemory();
  Result<void> addLimits();
  Result<void> addCalls();
  Result<void> addStep();
  Result<void> addListed();
  bool isSummary(const Argument &output) const;
  bool encodesStates() const;
  Result<void> addSource();
  int64_t getWidth(const Formula &width) const;
  Result<void> addCacheBatch(const ManifestRaggedBatch &ragged);
  Result<void> checkUses();
  Result<Formula> compile(const Polynomial &polynomial);
  Result<int> defineSymbol(const char *by, const std::string &name,
                           SymbolKind kind);
  /// True if a formula has a value before the call runs.
  bool bounded(const Formula &formula) const {
    return !formula.uses(SymbolKind::Unbound, entry.kinds) &&
           !formula.uses(SymbolKind::Written, entry.kinds);
  }

  const Manifest &manifest;
  const ManifestEntry &source;
  Entry &entry;
};

Result<Formula> EntryBuilder::compile(const Polynomial &polynomial) {
  Result<Formula> formula = Formula::compile(polynomial, entry.symbols);
  if (!formula)
    return error(formula.error().message);
  return formula;
}

Result<Argument> EntryBuilder::argument(const ManifestTensor &tensor,
                                        bool isInput) {
  Argument result;
  // Check type and rank.
  result.name = tensor.name;
  result.dtype = toPublic(tensor.dtype);
  if (result.dtype == TRANSOM_DTYPE_NONE)
    return error("'" + tensor.name + "' has the dtype '" +
                 std::string(dtypeName(tensor.dtype)) +
                 "'; supported: f32, bf16, f16, i64, i32, bool");
  if (tensor.shape.size() > TRANSOM_MAX_RANK)
    return error("'" + tensor.name + "' has " +
                 std::to_string(tensor.shape.size()) +
                 " dimensions, at most 8 are supported");
  // Take role and limits over.
  result.role = !isInput                ? Role::Data
                : tensor.role == "ids"  ? Role::Ids
                : tensor.role == "mask" ? Role::Mask
                                        : Role::Data;
  result.bound = tensor.bound;
  result.fallback = tensor.fallback;
  // Compile the dimensions and the element count.
  Polynomial elements(1);
  for (const Polynomial &dim : tensor.shape) {
    TRANSOM_ASSIGN(Formula formula, compile(dim));
    result.dims.push_back(std::move(formula));
    result.dimTexts.push_back(dim.str());
    elements = elements * dim;
  }
  TRANSOM_ASSIGN(Formula product, compile(elements));
  result.elements = std::move(product);
  return result;
}

Result<void> EntryBuilder::addArguments() {
  for (bool isInput : {true, false})
    for (const ManifestTensor &tensor :
         isInput ? source.inputs : source.outputs) {
      TRANSOM_ASSIGN(Argument made, argument(tensor, isInput));
      (isInput ? entry.inputs : entry.outputs).push_back(std::move(made));
    }
  return {};
}

Result<int> EntryBuilder::defineSymbol(const char *by, const std::string &name,
                                       SymbolKind kind) {
  int index = entry.symbolIndex(name);
  if (index < 0 || entry.kinds[index] != SymbolKind::Unbound)
    return error(std::string(by) + " defines '" + name +
                 "', which is not a symbol or is defined twice");
  entry.kinds[index] = kind;
  return index;
}

Result<void> EntryBuilder::addRaggedBatches() {
  for (const ManifestRaggedBatch &ragged : source.ragged) {
    if (ragged.cacheGroup) {
      TRANSOM_TRY(addCacheBatch(ragged));
      continue;
    }
    // Define the symbols for rows and keys.
    RaggedBatchRule rule;
    TRANSOM_ASSIGN(int rows, defineSymbol("a ragged batch", ragged.rows,
                                          SymbolKind::Tokens));
    TRANSOM_ASSIGN(int keys, defineSymbol("a ragged batch", ragged.keys,
                                          SymbolKind::Keys));
    rule.tokensSymbol = rows;
    rule.keysSymbol = keys;
    rule.keepFirst = ragged.keepFirst;
    rule.sequences = ragged.sequences;
    // Bind batch and columns to the mask's dimensions, or to the given sizes.
    if (ragged.sequences) {
      entry.ragged.push_back(std::move(rule));
      continue;
    }
    if (!ragged.mask.empty()) {
      rule.mask = entry.inputIndex(ragged.mask.c_str());
      if (rule.mask < 0 || entry.inputs[rule.mask].dims.size() != 2 ||
          entry.inputs[rule.mask].role != Role::Mask ||
          !(entry.inputs[rule.mask].isInteger() ||
            entry.inputs[rule.mask].dtype == TRANSOM_DTYPE_BOOL))
        return error("a ragged batch is made from '" + ragged.mask +
                     "', which is not a mask of two dimensions");
      rule.batch = entry.inputs[rule.mask].dims[0];
      rule.columns = entry.inputs[rule.mask].dims[1];
    } else {
      for (auto [text, formula] : {std::pair(&ragged.batch, &rule.batch),
                                   std::pair(&ragged.columns, &rule.columns)}) {
        TRANSOM_ASSIGN(Polynomial size, Polynomial::parse(*text));
        TRANSOM_ASSIGN(Formula compiled, compile(size));
        *formula = std::move(compiled);
      }
    }
    entry.ragged.push_back(std::move(rule));
  }
  return {};
}

/// Adds a table with a step's keys in a read-only group. The table for the
/// step's tokens comes first.
Result<void> EntryBuilder::addCacheBatch(const ManifestRaggedBatch &ragged) {
  if (entry.ragged.empty() || !entry.ragged[0].sequences ||
      entry.symbols[entry.ragged[0].tokensSymbol] != ragged.rows)
    return error("has keys of a cache group, but no table of the tokens '" +
                 ragged.rows + "' before it");
  RaggedBatchRule rule;
  rule.sequences = true;
  rule.cacheGroup = ragged.cacheGroup;
  rule.tokensSymbol = entry.ragged[0].tokensSymbol;
  TRANSOM_ASSIGN(rule.keysSymbol,
                 defineSymbol("a ragged batch", ragged.keys, SymbolKind::Keys));
  entry.ragged.push_back(std::move(rule));
  return {};
}

Result<void> EntryBuilder::addBoundedSizes() {
  for (const ManifestBoundedSize &size : source.boundedSizes)
    if (Result<int> symbol =
            defineSymbol("a bounded size", size.name, SymbolKind::Written);
        !symbol)
      return symbol.takeError();
  return {};
}

/// True if `symbol` is the first dimension of an input whose second dimension
/// differs, and occurs nowhere else: then it counts sequences.
bool EntryBuilder::leadsOnly(int symbol) const {
  bool leads = false;
  for (const Argument &input : entry.inputs)
    for (size_t i = 0; i != input.dims.size(); ++i) {
      if (input.dims[i].onlySymbol() != symbol)
        continue;
      if (i != 0)
        return false;
      leads = leads || std::any_of(input.dims.begin() + 1, input.dims.end(),
                                   [](const Formula &dim) {
                                     return dim.onlySymbol() >= 0;
                                   });
    }
  return leads;
}

Result<void> EntryBuilder::bindSymbols() {
  entry.workersSymbol = entry.symbolIndex("parts");
  if (entry.workersSymbol >= 0)
    entry.kinds[entry.workersSymbol] = SymbolKind::Workers;
  for (const Argument &input : entry.inputs)
    for (const Formula &dim : input.dims) {
      int symbol = dim.onlySymbol();
      if (symbol < 0 || entry.kinds[symbol] != SymbolKind::Unbound)
        continue;
      bool isBatch = entry.symbols[symbol] == "batch" || leadsOnly(symbol);
      entry.kinds[symbol] = isBatch ? SymbolKind::Batch : SymbolKind::Length;
    }
  return {};
}

Result<void> EntryBuilder::addMemory() {
  for (const ManifestBuffer &buffer : source.buffers) {
    TRANSOM_ASSIGN(Formula offset, compile(buffer.offset));
    entry.offsets.push_back(std::move(offset));
    const std::optional<int64_t> bytes = buffer.bytes.constant();
    if (buffer.kept && (!bytes || *bytes < 0))
      return error("keeps a buffer of '" + buffer.bytes.str() +
                   "' bytes, which is not a number");
    entry.keptBytes.push_back(buffer.kept ? uint64_t(*bytes) : 0);
  }
  TRANSOM_ASSIGN(Formula arena, compile(source.arenaBytes));
  entry.arenaBytes = std::move(arena);
  if (entry.counters < 0 || entry.counters > INT_MAX)
    return error("has " + std::to_string(entry.counters) + " counters");
  return {};
}

Result<void> EntryBuilder::addLimits() {
  if (!source.positionLimit)
    return {};
  const ManifestPositionLimit &limit = *source.positionLimit;
  entry.positionInput = entry.inputIndex(limit.input.c_str());
  entry.positionLimit = limit.max;
  if (entry.positionInput < 0 ||
      entry.inputs[entry.positionInput].dims.size() < 2)
    return error("limits the positions of '" + limit.input +
                 "', which is not an input of two dimensions");
  return {};
}

Result<void> EntryBuilder::addCalls() {
  for (const ManifestCall &call : source.calls) {
    Result<OneDnnCall> made = OneDnnCall::create(call, entry.symbols);
    if (!made)
      return error(made.error().message);
    entry.calls.push_back(std::move(*made));
  }
  return {};
}

/// Whether a step's result is f32 [num_logits, groups in the first result].
bool EntryBuilder::isSummary(const Argument &output) const {
  return output.dtype == TRANSOM_DTYPE_F32 && output.dims.size() == 2 &&
         output.dims[0].onlySymbol() == entry.outputs[0].dims[0].onlySymbol() &&
         getWidth(output.dims[1]) == getNumSummaryGroups(entry.stepWidth);
}

/// Checks an entry over sequences: its inputs are the tokens and the indices of
/// tokens with logits, its result is [num_logits, width], optionally with a
/// summary.
Result<void> EntryBuilder::addStep() {
  // Other entries need no check.
  bool sequences =
      std::any_of(entry.ragged.begin(), entry.ragged.end(),
                  [](const RaggedBatchRule &rule) { return rule.sequences; });
  if (!sequences)
    return {};

  // Check names, types and symbols.
  auto isList = [&](const Argument &argument, const char *name) {
    return argument.name == name && argument.dtype == TRANSOM_DTYPE_I64 &&
           argument.dims.size() == 1 && argument.dims[0].onlySymbol() >= 0;
  };
  auto isOfCaches = [](const RaggedBatchRule &rule) {
    return rule.cacheGroup.has_value();
  };
  const size_t numListed = entry.inputs.size() == 3;
  const size_t numOutputs = entry.outputs.size() - numListed;
  bool right =
      std::all_of(entry.ragged.begin() + 1, entry.ragged.end(), isOfCaches) &&
      (entry.inputs.size() == 2 || entry.inputs.size() == 3) &&
      (numOutputs == 1 || numOutputs == 3) &&
      isList(entry.inputs[0], "tokens") && isList(entry.inputs[1], "wanted") &&
      entry.inputs[0].dims[0].onlySymbol() == entry.ragged[0].tokensSymbol &&
      entry.outputs[0].dtype == TRANSOM_DTYPE_F32 &&
      entry.outputs[0].dims.size() == 2 &&
      entry.outputs[0].dims[0].onlySymbol() ==
          entry.inputs[1].dims[0].onlySymbol();

  entry.stepWidth = right ? getWidth(entry.outputs[0].dims[1]) : 0;
  if (entry.stepWidth == 0 || !manifest.decoder)
    return error("is over sequences, but not a decoder's step: tokens [rows], "
                 "wanted [wanted] to one f32 result [wanted, width]");
  if (numListed)
    TRANSOM_TRY(addListed());
  entry.hasSummary = numOutputs == 3;
  if (entry.hasSummary && !(isSummary(entry.outputs[1 + numListed]) &&
                            isSummary(entry.outputs[2 + numListed])))
    return error("summarizes logits of width " +
                 std::to_string(entry.stepWidth) + " by other results than " +
                 "maxima and sums, f32 [wanted, " +
                 std::to_string(getNumSummaryGroups(entry.stepWidth)) + "]");
  return {};
}

/// Checks selected logits: input `columns` [listed], and one more f32 result
/// [wanted, listed].
Result<void> EntryBuilder::addListed() {
  const Argument &columns = entry.inputs[2], &listed = entry.outputs[1];
  const int symbol =
      columns.dims.size() == 1 ? columns.dims[0].onlySymbol() : -1;
  const int64_t most = symbol >= 0 ? entry.maxima[symbol].value_or(0) : 0;
  const bool right =
      columns.name == "columns" && columns.dtype == TRANSOM_DTYPE_I64 &&
      entry.kinds[symbol < 0 ? 0 : symbol] == SymbolKind::Length &&
      symbol != entry.inputs[1].dims[0].onlySymbol() && most > 0 &&
      most <= entry.stepWidth && listed.dtype == TRANSOM_DTYPE_F32 &&
      listed.dims.size() == 2 && listed.dims[1].onlySymbol() == symbol &&
      listed.dims[0].onlySymbol() == entry.inputs[1].dims[0].onlySymbol();
  if (!right)
    return error("has a third input that does not list logits: columns "
                 "[listed] to a second result, f32 [wanted, listed], with at "
                 "most " +
                 std::to_string(entry.stepWidth) + " columns");
  entry.listedSymbol = symbol;
  return {};
}

/// The value if a width is constant; 0 if it varies or is out of range.
int64_t EntryBuilder::getWidth(const Formula &width) const {
  const std::vector<int64_t> none(entry.symbols.size(), 0);
  int64_t value = 0;
  const bool right = width.evaluate(none.data(), value);
  return right && value > 0 && value <= INT_MAX ? value : 0;
}

/// Whether the decoder's encoder takes ids and a mask and returns states with
/// this entry's width.
bool EntryBuilder::encodesStates() const {
  const ManifestEntry *encoder =
      manifest.decoder ? manifest.findEntry(manifest.decoder->encoder)
                       : nullptr;
  auto hasInput = [&](const char *role) {
    return std::any_of(encoder->inputs.begin(), encoder->inputs.end(),
                       [&](const ManifestTensor &input) {
                         return input.role == role && input.shape.size() == 2;
                       });
  };
  return encoder && encoder->inputs.size() == 2 && hasInput("ids") &&
         hasInput("mask") && encoder->outputs.size() == 1 &&
         encoder->outputs[0].dtype == DType::F32 &&
         encoder->outputs[0].shape.size() == 3 && !source.inputs.empty() &&
         source.inputs[0].shape.size() == 3 &&
         encoder->outputs[0].shape[2] == source.inputs[0].shape[2];
}

/// Checks an entry that fills caches: its inputs are states [batch, columns,
/// width] and the mask for the tables' rows, and it has no results.
Result<void> EntryBuilder::addSource() {
  if (source.kind != EntryKind::Source)
    return {};
  auto isOfMask = [](const RaggedBatchRule &rule) {
    return rule.mask == 1 && !rule.keepFirst;
  };
  const bool right =
      encodesStates() && entry.inputs.size() == 2 && entry.outputs.empty() &&
      entry.inputs[0].dtype == TRANSOM_DTYPE_F32 &&
      entry.inputs[0].dims.size() == 3 && !entry.ragged.empty() &&
      std::all_of(entry.ragged.begin(), entry.ragged.end(), isOfMask);
  entry.sourceWidth = right ? getWidth(entry.inputs[0].dims[2]) : 0;
  if (entry.sourceWidth == 0)
    return error("is a source, but does not take the f32 states [batch, "
                 "columns, width] of an encoder of ids and a mask, and that "
                 "mask, without a result");
  return {};
}

Result<void> EntryBuilder::checkUses() {
  auto known = [&](const Formula &formula) { return bounded(formula); };
  bool right = known(entry.arenaBytes) &&
               std::all_of(entry.offsets.begin(), entry.offsets.end(), known);
  for (const ManifestBoundedSize &size : source.boundedSizes) {
    TRANSOM_ASSIGN(Formula bound, compile(size.bound));
    right = right && known(bound);
  }
  for (const RaggedBatchRule &rule : entry.ragged)
    right = right && known(rule.batch) && known(rule.columns);
  for (const auto *list : {&entry.inputs, &entry.outputs})
    for (const Argument &argument : *list)
      for (const Formula &dim : argument.dims)
        right =
            right && (known(dim) || source.kind == EntryKind::Generate) &&
            (!dim.uses(SymbolKind::Tokens, entry.kinds) || entry.isStep()) &&
            !dim.uses(SymbolKind::Keys, entry.kinds) &&
            !dim.uses(SymbolKind::Workers, entry.kinds);
  if (!right)
    return error("has a size over a symbol that its inputs do not bind");
  return {};
}

} // namespace

Result<Entry> Entry::create(const Manifest &manifest,
                            const ManifestEntry &source,
                            const transom_entry_code *code) {
  Entry entry;
  entry.code = code;
  TRANSOM_TRY(EntryBuilder(manifest, source, entry).build());
  return entry;
}
