// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Symbol values in example calls. A ragged batch with a known mask has rows for
// tokens only; everything else has padded batch sizes.
#include "compiler/explain/ExampleCalls.h"
#include "runtime/abi/Layout.h"
#include <algorithm>
#include <numeric>

using namespace transom;

ExampleCalls::ExampleCalls(const Manifest &manifest, const ManifestEntry &entry)
    : entry(entry) {
  // Choose the longest example with one sequence of up to 128 tokens and no
  // past.
  constexpr int64_t length = 128;
  for (const ExampleSizes &candidate : getExamples(manifest, entry))
    if (sizes.length == 0 ||
        (candidate.batch == 1 && candidate.past == 0 &&
         candidate.length <= length && candidate.length > sizes.length))
      sizes = candidate;
}

void ExampleCalls::set(Amount &amount) const {
  if (Result<Polynomial> formula = Polynomial::parse(amount.formula))
    amount.value = evaluateExample(*formula, entry, sizes);
}

void ExampleCalls::set(EntryCost &cost) const {
  set(cost.flops);
  set(cost.bufferBytes);
}

void ExampleCalls::set(ExplainedEntry &explained) const {
  explained.example = {sizes.batch, sizes.length, sizes.past, exampleWorkers};
  for (Amount *amount :
       {&explained.flops, &explained.bf16Flops, &explained.int8Flops,
        &explained.arenaBytes, &explained.arenaLowerBound})
    set(*amount);
  for (ExplainedPhase &phase : explained.phases) {
    for (Amount *amount :
         {&phase.flops, &phase.bf16Flops, &phase.int8Flops, &phase.bytes})
      set(*amount);
    for (PhaseOperation &operation : phase.operations) {
      set(operation.flops);
      set(operation.bytes);
    }
  }
  for (ExplainedBuffer &buffer : explained.buffers) {
    set(buffer.offset);
    set(buffer.bytes);
  }
  explained.padded = getPaddedCall(explained);
}

std::vector<int64_t> ExampleCalls::getPaddedLengths() const {
  constexpr int64_t times = 4;
  if (entry.kind == EntryKind::Step || sizes.length < times)
    return {};
  // The first size in a sequence input is the batch size, and the second is not
  // constant.
  for (const ManifestTensor &input : entry.inputs)
    if (input.shape.size() > 1 && input.shape[0].str() == "batch" &&
        !input.shape[1].constant())
      return {sizes.length, sizes.length / times};
  return {};
}

std::optional<int64_t>
ExampleCalls::evaluate(const Polynomial &formula,
                       const std::vector<int64_t> &lengths) const {
  const auto count = static_cast<int64_t>(lengths.size());
  auto getValue = [&](const std::string &name) -> std::optional<int64_t> {
    if (name == "parts")
      return exampleWorkers;
    if (name == "batch")
      return count;
    for (const ManifestRaggedBatch &ragged : entry.ragged) {
      // Without a mask each sequence has as many rows as the longest one.
      std::vector<int64_t> rows = lengths;
      if (ragged.mask.empty())
        std::fill(rows.begin(), rows.end(), lengths.front());
      auto sum = [&](auto get) {
        return std::accumulate(
            rows.begin(), rows.end(), int64_t(0),
            [&](int64_t all, int64_t length) { return all + get(length); });
      };
      if (name == ragged.rows)
        return sum([](int64_t length) { return length; });
      if (name == ragged.pairs)
        return sum([](int64_t length) { return length * length; });
      if (name == ragged.keys)
        return sum([](int64_t length) { return alignToPanel(length); });
    }
    return lengths.front();
  };
  Result<int64_t> value = formula.evaluate(getValue);
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

std::optional<PaddedCall>
ExampleCalls::getPaddedCall(const ExplainedEntry &explained) const {
  const std::vector<int64_t> lengths = getPaddedLengths();
  if (lengths.empty())
    return std::nullopt;
  auto get = [&](const Amount &amount,
                 const std::vector<int64_t> &of) -> std::optional<int64_t> {
    Result<Polynomial> formula = Polynomial::parse(amount.formula);
    return formula ? evaluate(*formula, of) : std::nullopt;
  };
  // Adds a value; the sum is unknown if any value is.
  auto add = [](std::optional<int64_t> &sum, std::optional<int64_t> number) {
    sum = sum && number ? std::optional(*sum + *number) : std::nullopt;
  };
  PaddedCall call;
  call.lengths = lengths;
  call.flops = get(explained.flops, lengths);
  call.arenaBytes = get(explained.arenaBytes, lengths);
  call.flopsAlone = call.bytes = 0;
  for (int64_t length : lengths)
    add(call.flopsAlone, get(explained.flops, {length}));
  for (const ExplainedPhase &phase : explained.phases) {
    std::optional<int64_t> bytes = get(phase.bytes, lengths);
    if (bytes)
      bytes = (*bytes + phase.weightBytes) * phase.runs;
    add(call.bytes, bytes);
  }
  return call;
}
