// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Creates inputs and batches, and runs calls with tensors next to protected
// pages.
#include "tools/commands/verify/BitsTensors.h"
#include "runtime/base/Threads.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

using namespace transom;
using namespace transom::tools;

//===----------------------------------------------------------------------===//
// Ways
//===----------------------------------------------------------------------===//

static void runBackwards(void *, size_t count, transom_task task, void *arg) {
  while (count--)
    task(arg, count);
}

static void runOnNewThreads(void *, size_t count, transom_task task,
                            void *arg) {
  std::vector<std::thread> threads;
  for (size_t i = 0; i != count; ++i) {
    // A host whose pool is exhausted calls the task itself.
    std::optional<std::thread> thread = startThread([=] { task(arg, i); });
    if (thread)
      threads.push_back(std::move(*thread));
    else
      task(arg, i);
  }
  for (std::thread &thread : threads)
    thread.join();
}

std::string BitsWay::getName() const {
  const std::string number = std::to_string(threads);
  const std::string plural = threads == 1 ? "" : "s";
  std::string name = number + " thread" + plural;
  if (host == BitsHost::Backwards)
    name = number + " worker" + plural + " of a host, the last one first";
  else if (host == BitsHost::Threads)
    name = number + " worker" + plural + " of a host, a thread each";
  return name + (atEnd ? ", memory that ends at a protected page" : "");
}

void BitsWay::apply(SessionConfig &config) const {
  config.threads = threads;
  config.arenaAtEnd = atEnd;
  config.observer = observer;
  config.parallel = host == BitsHost::Backwards ? runBackwards
                    : host == BitsHost::Threads ? runOnNewThreads
                                                : nullptr;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static int64_t countElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// Copies `from` into `to`, starting at index `row` in the first dimension.
static void copyRows(const BitsTensor &from, int64_t row, BitsTensor &to) {
  const size_t rank = from.shape.size();
  const size_t bytes =
      size_t(from.shape[rank - 1]) * transom_dtype_size(from.dtype);
  const int64_t lines = countElements(from.shape) / from.shape[rank - 1];
  for (int64_t line = 0; line != lines; ++line) {
    // Compute the line's index in `from`, then its position in `to`.
    int64_t rest = line, place = 0, stride = 1;
    for (size_t i = rank - 1; i-- > 0;) {
      place += stride * (rest % from.shape[i] + (i == 0 ? row : 0));
      stride *= to.shape[i];
      rest /= from.shape[i];
    }
    std::memcpy(to.bytes.data() + size_t(place * to.shape[rank - 1]) *
                                      transom_dtype_size(from.dtype),
                from.bytes.data() + size_t(line) * bytes, bytes);
  }
}

/// Returns a number in [-1, 1] in the representation of a type.
static uint32_t getFraction(transom_dtype dtype, uint32_t random) {
  const float number = float(int32_t(random % 2001) - 1000) * 1e-3f;
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof bits);
  if (dtype == TRANSOM_DTYPE_BF16)
    return bits >> 16;
  // In half precision: a sign, and a number in [0.5, 1).
  return dtype == TRANSOM_DTYPE_F16 ? (random & 0x83ff) | 0x3800 : bits;
}

BitsInputs::BitsInputs(const Model &model, const Entry &entry,
                       std::mt19937 &random)
    : model(model), entry(entry), random(random) {}

int64_t BitsInputs::getMaximum(size_t symbol) const {
  int64_t most = entry.maxima[symbol].value_or(INT64_MAX);
  if (entry.positionInput >= 0 &&
      entry.inputs[size_t(entry.positionInput)].dims[1].onlySymbol() ==
          int(symbol))
    most = std::min(most, entry.positionLimit);
  // The columns in a decoder's ids are cache positions.
  const auto &decoder = model.manifest().decoder;
  if (entry.isDerived() && decoder && entry.kinds[symbol] == SymbolKind::Length)
    most = std::min(most, decoder->context.value_or(INT64_MAX));
  return most;
}

int64_t BitsInputs::getLongest(int64_t most) const {
  for (size_t i = 0; i != entry.symbols.size(); ++i)
    if (entry.kinds[i] == SymbolKind::Length)
      most = std::min(most, getMaximum(i));
  return most;
}

int64_t BitsInputs::getLargestBatch(int64_t most) const {
  for (size_t i = 0; i != entry.symbols.size(); ++i)
    if (entry.kinds[i] == SymbolKind::Batch)
      most = std::min(most, getMaximum(i));
  return most;
}

bool BitsInputs::hasMask() const {
  return std::any_of(entry.inputs.begin(), entry.inputs.end(),
                     [](const Argument &i) { return i.role == Role::Mask; });
}

std::string BitsInputs::whyNotBatched() const {
  if (entry.kind() == EntryKind::Run)
    return "an entry of the kind 'run' is any function of tensors, it may mix "
           "the sequences of a batch";
  if (getLargestBatch(largestBitsBatch) < largestBitsBatch)
    return "the model takes at most " +
           std::to_string(getLargestBatch(largestBitsBatch)) +
           " sequences, batches of up to " + std::to_string(largestBitsBatch) +
           " are compared";
  auto isBatched = [&](const Argument &argument) {
    const int symbol =
        argument.dims.empty() ? -1 : argument.dims[0].onlySymbol();
    return symbol >= 0 && entry.kinds[size_t(symbol)] == SymbolKind::Batch;
  };
  for (const auto *arguments : {&entry.inputs, &entry.outputs})
    for (const Argument &argument : *arguments)
      if (!isBatched(argument))
        return "'" + argument.name + "' has no dimension for the batch";
  for (const Argument &input : entry.inputs)
    if (input.dims.size() < 2)
      return "'" + input.name + "' has no dimension for the tokens";
  return "";
}

BitsTensor BitsInputs::makeTensor(const Argument &argument,
                                  std::vector<int64_t> shape, bool isPadding,
                                  bool holes) {
  BitsTensor tensor{argument.dtype, std::move(shape), {}};
  const int64_t count = countElements(tensor.shape);
  const size_t size = transom_dtype_size(tensor.dtype);
  tensor.bytes.resize(size_t(count) * size);
  for (int64_t i = 0; i != count; ++i) {
    const uint32_t drawn = uint32_t(random());
    int64_t value = int64_t(drawn % uint64_t(argument.bound.value_or(2)));
    if (argument.role == Role::Mask)
      value = isPadding ? 0 : !holes || drawn % 4 != 0;
    else if (!argument.isInteger() && argument.dtype != TRANSOM_DTYPE_BOOL)
      value = getFraction(argument.dtype, drawn);
    // The host is little-endian: the first bytes are the low ones.
    std::memcpy(tensor.bytes.data() + size_t(i) * size, &value, size);
  }
  return tensor;
}

BitsCall BitsInputs::make(int64_t batch, int64_t length, bool holes) {
  std::vector<int64_t> sizes(entry.symbols.size(), 1);
  for (size_t i = 0; i != sizes.size(); ++i)
    sizes[i] = entry.kinds[i] == SymbolKind::Batch
                   ? std::min(batch, getMaximum(i))
                   : std::min(length, getMaximum(i));
  BitsCall call;
  for (const Argument &argument : entry.inputs) {
    std::vector<int64_t> shape;
    for (const Formula &dim : argument.dims) {
      int64_t size = 1;
      (void)dim.evaluate(sizes.data(), size);
      shape.push_back(size);
    }
    call.push_back(makeTensor(argument, std::move(shape), false, holes));
    BitsTensor &made = call.back();
    // A sequence has at least one token.
    if (argument.role == Role::Mask && made.shape.size() == 2)
      for (int64_t row = 0; row != made.shape[0]; ++row)
        made.bytes[size_t(row * made.shape[1]) *
                   transom_dtype_size(made.dtype)] = 1;
  }
  // If a model classifies by an end token, a source needs one.
  const auto setFirst = [&](int64_t id) {
    for (int64_t row = 0; row != batch; ++row)
      std::memcpy(call[0].bytes.data() +
                      size_t(row * call[0].shape[1]) * sizeof id,
                  &id, sizeof id);
  };
  const auto &decoder = model.manifest().decoder;
  if (entry.isDerived() && decoder && decoder->classRow == "last_end") {
    Result<GenerationConfig> settings =
        GenerationConfig::parse(decoder->generation);
    if (decoder->classToken)
      setFirst(*decoder->classToken);
    else if (settings && !settings->endTokens.empty())
      setFirst(settings->endTokens.front());
  }
  return call;
}

BitsCall BitsInputs::join(const std::vector<const BitsCall *> &sequences,
                          int64_t extra) {
  BitsCall call;
  for (size_t i = 0; i != entry.inputs.size(); ++i) {
    const Argument &argument = entry.inputs[i];
    std::vector<int64_t> shape = (*sequences[0])[i].shape;
    shape[0] = int64_t(sequences.size());
    for (size_t d = 1; d != shape.size(); ++d) {
      for (const BitsCall *sequence : sequences)
        shape[d] = std::max(shape[d], (*sequence)[i].shape[d]);
      const int symbol = argument.dims[d].onlySymbol();
      if (symbol >= 0 && entry.kinds[size_t(symbol)] == SymbolKind::Length)
        shape[d] = std::min(shape[d] + extra, getMaximum(size_t(symbol)));
    }
    call.push_back(makeTensor(argument, std::move(shape), true, false));
    for (size_t row = 0; row != sequences.size(); ++row)
      copyRows((*sequences[row])[i], int64_t(row), call.back());
  }
  return call;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {

/// Memory that begins or ends at a protected page, so that reads or writes
/// beyond a tensor stop the program.
class ProtectedMemory {
public:
  static Result<ProtectedMemory> create(size_t bytes, bool atEnd) {
    const auto page = size_t(sysconf(_SC_PAGESIZE));
    const size_t body = (bytes + page - 1) / page * page;
    ProtectedMemory memory;
    memory.total = body + 2 * page;
    void *mapped = mmap(nullptr, memory.total, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
      return unavailable("no memory for a tensor of " + std::to_string(bytes) +
                         " bytes");
    memory.base = static_cast<char *>(mapped);
    if (body && mprotect(memory.base + page, body, PROT_READ | PROT_WRITE))
      return unavailable("no memory for a tensor of " + std::to_string(bytes) +
                         " bytes");
    memory.start = memory.base + page + (atEnd ? body - bytes : 0);
    return Result<ProtectedMemory>(std::move(memory));
  }
  ProtectedMemory(ProtectedMemory &&other) noexcept
      : base(std::exchange(other.base, nullptr)), start(other.start),
        total(other.total) {}
  ~ProtectedMemory() {
    if (base)
      munmap(base, total);
  }
  char *data() const { return start; }

private:
  ProtectedMemory() = default;
  char *base = nullptr, *start = nullptr;
  size_t total = 0;
};

/// Tensors in one call, next to protected pages.
class ProtectedCall {
public:
  explicit ProtectedCall(bool atEnd) : atEnd(atEnd) {}

  Result<void> addInput(const Argument &argument, const BitsTensor &tensor) {
    TRANSOM_ASSIGN(transom_tensor view, add(argument, tensor.bytes.size()));
    std::memcpy(view.data, tensor.bytes.data(), tensor.bytes.size());
    view.dtype = tensor.dtype;
    view.rank = int32_t(tensor.shape.size());
    std::copy(tensor.shape.begin(), tensor.shape.end(), view.shape);
    inputs.push_back(view);
    return {};
  }
  Result<void> addOutput(const Argument &argument, size_t bytes) {
    TRANSOM_ASSIGN(transom_tensor view, add(argument, bytes));
    outputs.push_back(view);
    return {};
  }

  std::vector<transom_tensor> inputs, outputs;

private:
  Result<transom_tensor> add(const Argument &argument, size_t bytes) {
    TRANSOM_ASSIGN(ProtectedMemory made, ProtectedMemory::create(bytes, atEnd));
    transom_tensor view{};
    view.name = argument.name.c_str();
    view.data = made.data();
    view.capacity = bytes;
    memory.push_back(std::move(made));
    return view;
  }
  const bool atEnd;
  std::vector<ProtectedMemory> memory;
};

} // namespace

/// Creates a session that fits the inputs.
static Result<std::unique_ptr<Session>>
createBitsSession(const Model &model, const char *entry,
                  const std::vector<transom_tensor> &inputs,
                  const BitsWay &way) {
  Capacity capacity;
  TRANSOM_TRY(
      fitCapacity(model, entry, inputs.data(), inputs.size(), capacity));
  transom_session_options options = transom_session_options_default();
  options.max_batch = uint32_t(capacity.maxBatch);
  options.max_tokens = uint64_t(capacity.maxTokens);
  options.max_sequences = uint32_t(capacity.maxSequences);
  options.max_kv_tokens = uint64_t(capacity.maxKvTokens);
  options.max_source_tokens = uint64_t(capacity.maxSourceTokens);
  options.hold_results = 0;
  TRANSOM_ASSIGN(SessionConfig config, SessionConfig::from(model, &options));
  way.apply(config);
  return Session::create(model, config);
}

Result<BitsResults> tools::runBits(const Model &model, const Entry &entry,
                                   const BitsCall &call, const BitsWay &way) {
  const char *name = entry.manifest->name.c_str();
  ProtectedCall tensors(way.atEnd);
  for (size_t i = 0; i != call.size(); ++i)
    TRANSOM_TRY(tensors.addInput(entry.inputs[i], call[i]));
  TRANSOM_ASSIGN(auto session,
                 createBitsSession(model, name, tensors.inputs, way));
  for (const Argument &output : entry.outputs) {
    transom_tensor shape{};
    TRANSOM_TRY(session->shape(name, tensors.inputs.data(),
                               tensors.inputs.size(), output.name.c_str(),
                               shape));
    TRANSOM_TRY(tensors.addOutput(output, shape.capacity));
  }
  for (unsigned time = 0; time != way.times; ++time) {
    for (transom_tensor &output : tensors.outputs)
      std::memset(output.data, 0xff, output.capacity);
    TRANSOM_TRY(session->run(name, tensors.inputs.data(), tensors.inputs.size(),
                             tensors.outputs.data(), tensors.outputs.size()));
  }
  BitsResults results;
  for (const transom_tensor &output : tensors.outputs)
    results.push_back(
        {output.dtype,
         {output.shape, output.shape + output.rank},
         std::string(static_cast<char *>(output.data), output.capacity)});
  return Result<BitsResults>(std::move(results));
}
