// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates inputs for bench and computes call costs. Costs are formulas in the
// manifest; their symbols get values from the input shapes and masks.
#include "tools/commands/bench/BenchCalls.h"
#include "runtime/abi/Layout.h"
#include "runtime/execute/Cpu.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>
#include <cstring>
#include <limits>

using namespace transom;
using namespace transom::tools;

Result<BenchModel> BenchModel::load(const std::string &path,
                                    const std::string &entry,
                                    unsigned threads) {
  TRANSOM_ASSIGN(ModelPtr model, loadModel(path));
  BenchModel bench;
  bench.model = std::move(model);
  TRANSOM_ASSIGN(Manifest manifest, getManifest(bench.model.get()));
  bench.manifest = std::move(manifest);
  const bool steps = entry.empty() && bench.manifest.decoder;
  const std::string name = steps
                               ? bench.manifest.findEntry(EntryKind::Step)->name
                           : entry.empty() ? entryNames(bench.model.get())[0]
                                           : entry;
  if (!steps)
    TRANSOM_TRY(checkEntry(bench.model.get(), name));
  bench.entry = bench.manifest.findEntry(name);
  TRANSOM_ASSIGN(transom_model_info info, getInfo(bench.model.get()));
  bench.isa = info.isa;
  bench.threads = std::min(threads ? threads : usableCores(), usableCpus());
  return Result<BenchModel>(std::move(bench));
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

char *Workload::take(size_t bytes) {
  memory.push_back(std::make_unique<char[]>(bytes + 1));
  return memory.back().get();
}

void Workload::addFile(InputTensors file) {
  calls.push_back({file.tensors()});
  files.push_back(std::move(file));
}

/// Fills a tensor: masks with ones, ids with values in range, data with small
/// numbers.
static void fill(const ManifestTensor &tensor, void *memory, int64_t elements) {
  uint64_t random = 88172645463325252u;
  auto next = [&] {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return random;
  };
  const auto bound = static_cast<uint64_t>(tensor.bound.value_or(2));
  for (int64_t i = 0; i < elements; ++i) {
    if (tensor.dtype == DType::I64)
      static_cast<int64_t *>(memory)[i] =
          tensor.role == "mask" ? 1 : static_cast<int64_t>(next() % bound);
    else if (tensor.dtype == DType::F32)
      static_cast<float *>(memory)[i] =
          static_cast<float>(next() % 2001) * 1e-3f - 1;
    else if (tensor.dtype == DType::Bool)
      static_cast<char *>(memory)[i] = 1;
  }
}

/// Returns the symbol for the sequence count, which models name differently.
static std::string batchSymbol(const ManifestEntry &entry) {
  for (const ManifestTensor &input : entry.inputs)
    if (!input.shape.empty() && !input.shape[0].symbols().empty())
      return input.shape[0].symbols().front();
  return "batch";
}

Result<Workload> Workload::make(const BenchModel &bench, int64_t batch,
                                int64_t length) {
  Workload work;
  work.name = bench.entry->name;
  const std::string batchName = batchSymbol(*bench.entry);
  BenchCall call;
  for (const ManifestTensor &input : bench.entry->inputs) {
    transom_tensor tensor = {};
    tensor.name = input.name.c_str();
    tensor.dtype = publicType(input.dtype);
    int64_t elements = 1;
    for (const Polynomial &dim : input.shape) {
      Result<int64_t> size = dim.evaluate([&](const std::string &name) {
        return std::optional<int64_t>(name == batchName ? batch : length);
      });
      if (!size)
        return size.takeError();
      tensor.shape[tensor.rank++] = *size;
      if (__builtin_mul_overflow(elements, *size, &elements) ||
          elements > (int64_t(1) << 40))
        return limitError("input '" + input.name + "' is too large");
    }
    tensor.capacity =
        static_cast<size_t>(elements) * transom_dtype_size(tensor.dtype);
    tensor.data = work.take(tensor.capacity);
    fill(input, tensor.data, elements);
    call.inputs.push_back(tensor);
  }
  work.calls.push_back(std::move(call));
  return Result<Workload>(std::move(work));
}

Result<Workload> Workload::read(const BenchModel &bench,
                                const std::vector<std::string> &files) {
  Workload work;
  work.name = bench.entry->name;
  for (const std::string &file : files) {
    TRANSOM_ASSIGN(InputTensors inputs, InputTensors::read(file));
    work.addFile(std::move(inputs));
  }
  return Result<Workload>(std::move(work));
}

/// Tokenizes a string and truncates it to the model's limit.
static Result<std::vector<transom_token>>
getTokens(const BenchModel &bench, const std::string &text, size_t most) {
  const transom_text view = {text.data(), text.size()};
  std::vector<transom_token> tokens(most);
  size_t count = 0;
  TRANSOM_TRY(check(transom_model_tokenize(
      bench.model.get(), &view, nullptr, nullptr, tokens.data(),
      tokens.size() * sizeof(transom_token), &count, nullptr)));
  tokens.resize(count);
  return tokens;
}

Result<Workload> Workload::tokenize(const BenchModel &bench,
                                    const std::string &file) {
  TRANSOM_ASSIGN(transom_model_info info, getInfo(bench.model.get()));
  if (info.vocabulary_size == 0)
    return noTokenizer(bench.model.get(), "the model");
  std::vector<std::vector<transom_token>> texts;
  size_t longest = 1;
  TextInput input;
  input.file = file;
  input.progress = "none";
  Result<void> done = forEachBatch(
      input, CommonFlags(),
      [&](const std::vector<std::string> &lines) -> Result<void> {
        for (const std::string &line : lines) {
          TRANSOM_ASSIGN(auto tokens,
                         getTokens(bench, line, info.max_text_tokens));
          longest = std::max(longest, tokens.size());
          texts.push_back(std::move(tokens));
        }
        return {};
      });
  if (!done)
    return done.takeError();
  if (texts.empty())
    return rejected(file + ": has no line");
  Workload work;
  work.name = bench.entry->name;
  BenchCall call;
  for (const char *name : {"input_ids", "attention_mask", "token_type_ids"}) {
    const auto &inputs = bench.entry->inputs;
    auto known =
        std::find_if(inputs.begin(), inputs.end(),
                     [&](const ManifestTensor &i) { return i.name == name; });
    if (known == inputs.end())
      continue;
    transom_tensor tensor = {};
    tensor.name = known->name.c_str();
    tensor.dtype = TRANSOM_DTYPE_I64;
    tensor.rank = 2;
    tensor.shape[0] = static_cast<int64_t>(texts.size());
    tensor.shape[1] = static_cast<int64_t>(longest);
    tensor.capacity = texts.size() * longest * sizeof(int64_t);
    tensor.data = work.take(tensor.capacity);
    auto *at = static_cast<int64_t *>(tensor.data);
    for (const auto &tokens : texts)
      for (size_t i = 0; i < longest; ++i)
        *at++ = i >= tokens.size() ? 0
                : name[0] == 'i'   ? tokens[i].id
                : name[0] == 'a'   ? 1
                                   : tokens[i].type;
    call.inputs.push_back(tensor);
  }
  work.calls.push_back(std::move(call));
  return Result<Workload>(std::move(work));
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static const transom_tensor *getInput(const BenchCall &call,
                                      const std::string &name) {
  for (const transom_tensor &tensor : call.inputs)
    if (name == tensor.name)
      return &tensor;
  return nullptr;
}

/// Returns true for a nonzero mask element.
static bool isSet(const transom_tensor &mask, int64_t at) {
  if (mask.dtype == TRANSOM_DTYPE_I64)
    return static_cast<const int64_t *>(mask.data)[at] != 0;
  if (mask.dtype == TRANSOM_DTYPE_I32)
    return static_cast<const int32_t *>(mask.data)[at] != 0;
  return static_cast<const char *>(mask.data)[at] != 0;
}

/// Computes the symbols for one ragged batch, as the runtime does from a mask.
static void addRagged(const ManifestRaggedBatch &ragged,
                      const transom_tensor *mask, int64_t batch,
                      int64_t columns, SymbolValues &values) {
  int64_t rows = 0, positions = 0, pairs = 0;
  for (int64_t b = 0; b < batch; ++b) {
    int64_t keys = 0;
    for (int64_t column = 0; column < columns; ++column)
      keys += !mask || isSet(*mask, b * columns + column);
    const bool asksOnly =
        ragged.keepFirst && mask && columns > 0 && !isSet(*mask, b * columns);
    const int64_t own = keys + asksOnly;
    rows += own;
    positions += alignToPanel(own);
    pairs += own * keys;
  }
  values[ragged.rows] = rows;
  values[ragged.keys] = positions;
  values[ragged.pairs] = pairs;
}

SymbolValues tools::getSymbols(const BenchModel &bench,
                               const ManifestEntry &entry,
                               const BenchCall &call) {
  // Symbols that are a dimension in an input shape.
  SymbolValues values;
  values["parts"] = bench.threads;
  for (const ManifestTensor &input : entry.inputs)
    if (const transom_tensor *tensor = getInput(call, input.name))
      for (size_t i = 0; i < input.shape.size(); ++i)
        for (const std::string &name : input.shape[i].symbols())
          if (input.shape[i] == Polynomial::symbol(name))
            values[name] = tensor->shape[i];
  // Symbols for ragged batches, from sizes or from a mask.
  for (const ManifestRaggedBatch &ragged : entry.ragged) {
    if (ragged.mask.empty()) {
      auto of = [&](const std::string &text) {
        Result<Polynomial> formula = Polynomial::parse(text);
        return formula ? static_cast<int64_t>(getValue(*formula, values)) : 0;
      };
      const int64_t batch = of(ragged.batch), columns = of(ragged.columns);
      values[ragged.rows] = batch * columns;
      values[ragged.keys] = batch * alignToPanel(columns);
      continue;
    }
    for (const ManifestTensor &input : entry.inputs)
      if (input.name == ragged.mask)
        addRagged(ragged, getInput(call, ragged.mask),
                  static_cast<int64_t>(getValue(input.shape[0], values)),
                  static_cast<int64_t>(getValue(input.shape[1], values)),
                  values);
  }
  return values;
}

double tools::getValue(const Polynomial &formula, const SymbolValues &symbols) {
  Result<int64_t> value =
      formula.evaluate([&](const std::string &name) -> std::optional<int64_t> {
        auto found = symbols.find(name);
        return found == symbols.end() ? std::nullopt
                                      : std::optional(found->second);
      });
  return value ? static_cast<double>(*value) : 0;
}

double BenchCost::limit(const MachineLimits &limits) const {
  const double products = limits.getSeconds(flops, bf16Flops, int8Flops);
  return limits.bandwidth > 0 ? std::max(products, bytes / limits.bandwidth)
                              : products;
}

BenchCost tools::getCost(const BenchModel &bench, const ManifestEntry &entry,
                         const SymbolValues &symbols) {
  BenchCost cost;
  cost.flops = getValue(entry.flops, symbols);
  cost.bf16Flops = getValue(entry.bf16Flops, symbols);
  cost.int8Flops = getValue(entry.int8Flops, symbols);
  cost.bytes = static_cast<double>(entry.streamedBytes.value_or(
      static_cast<int64_t>(bench.manifest.weightsBytes)));
  return cost;
}

BenchCost tools::getCost(const BenchModel &bench, const BenchCall &call) {
  BenchCost cost =
      getCost(bench, *bench.entry, getSymbols(bench, *bench.entry, call));
  for (const transom_tensor &tensor : call.inputs)
    if (tensor.rank >= 2 && cost.rows == 0) {
      cost.rows = tensor.shape[0];
      cost.columns = tensor.shape[1];
    }
  cost.tokens = cost.rows * cost.columns;
  for (const ManifestTensor &input : bench.entry->inputs) {
    const transom_tensor *mask = getInput(call, input.name);
    if (input.role != "mask" || !mask || mask->rank != 2)
      continue;
    cost.tokens = 0;
    for (int64_t i = 0; i < mask->shape[0] * mask->shape[1]; ++i)
      cost.tokens += isSet(*mask, i);
  }
  return cost;
}

std::vector<BenchRun> Workload::runs(const BenchModel &bench) const {
  std::vector<BenchRun> runs;
  for (const BenchCall &call : calls)
    runs.push_back(
        {getSymbols(bench, *bench.entry, call), getCost(bench, call)});
  return runs;
}

//===----------------------------------------------------------------------===//
// One by one
//===----------------------------------------------------------------------===//

/// Copies the block [from, from + size) from a dense tensor to dense memory.
static void copyBlock(const transom_tensor &tensor, const int64_t *from,
                      const int64_t *size, char *to) {
  const size_t element = transom_dtype_size(tensor.dtype);
  const int last = tensor.rank - 1;
  int64_t at[TRANSOM_MAX_RANK] = {};
  const auto bytes = static_cast<size_t>(size[last]) * element;
  while (true) {
    int64_t offset = 0;
    for (int i = 0; i <= last; ++i)
      offset = offset * tensor.shape[i] + from[i] + at[i];
    memcpy(to, static_cast<const char *>(tensor.data) + offset * element,
           bytes);
    to += bytes;
    int i = last - 1;
    while (i >= 0 && ++at[i] == size[i])
      at[i--] = 0;
    if (i < 0)
      return;
  }
}

/// Returns one more than the last unmasked column in a sequence; all columns if
/// there is no mask.
static int64_t getLength(const BenchModel &bench, const BenchCall &call,
                         int64_t sequence, int64_t columns) {
  for (const ManifestTensor &input : bench.entry->inputs) {
    const transom_tensor *mask = getInput(call, input.name);
    if (input.role != "mask" || !mask || mask->rank != 2)
      continue;
    for (int64_t length = columns; length > 0; --length)
      if (isSet(*mask, sequence * columns + length - 1))
        return length;
  }
  return columns;
}

Result<Workload> Workload::oneByOne(const BenchModel &bench, Workload whole) {
  Workload work;
  work.name = whole.name;
  for (const BenchCall &call : whole.calls) {
    transom_session_options options = transom_session_options_default();
    TRANSOM_TRY(check(transom_session_options_fit(
        bench.model.get(), work.name.c_str(), call.inputs.data(),
        call.inputs.size(), &options)));
    const BenchCost cost = getCost(bench, call);
    for (int64_t sequence = 0; sequence < cost.rows; ++sequence) {
      const int64_t length = getLength(bench, call, sequence, cost.columns);
      BenchCall one;
      for (transom_tensor tensor : call.inputs) {
        if (tensor.rank < 2 || tensor.shape[0] != cost.rows ||
            tensor.shape[1] != cost.columns)
          return unsupported("input '" + std::string(tensor.name) +
                             "' has no batch and columns to be cut by");
        int64_t from[TRANSOM_MAX_RANK] = {sequence};
        int64_t size[TRANSOM_MAX_RANK];
        std::copy_n(tensor.shape, TRANSOM_MAX_RANK, size);
        size[0] = 1;
        size[1] = length;
        size_t bytes = transom_dtype_size(tensor.dtype);
        for (int i = 0; i < tensor.rank; ++i)
          bytes *= static_cast<size_t>(size[i]);
        char *data = work.take(bytes);
        copyBlock(tensor, from, size, data);
        std::copy_n(size, TRANSOM_MAX_RANK, tensor.shape);
        tensor.data = data;
        tensor.capacity = bytes;
        one.inputs.push_back(tensor);
      }
      work.calls.push_back(std::move(one));
    }
  }
  work.files = std::move(whole.files); // they own the tensor names
  return Result<Workload>(std::move(work));
}
