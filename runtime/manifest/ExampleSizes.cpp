// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Example calls, and their symbol values.
#include "runtime/manifest/ExampleSizes.h"
#include "runtime/abi/Layout.h"
#include <algorithm>

using namespace transom;

/// Typical sizes for an entry: short and long, with one and several sequences.
static std::vector<ExampleSizes> callExamples(const Manifest &manifest) {
  int64_t longest = 512;
  for (const ManifestSymbol &symbol : manifest.symbols)
    if (symbol.name != "batch" && symbol.max)
      longest = std::min(longest, *symbol.max);
  std::vector<ExampleSizes> examples;
  for (ExampleSizes example :
       {ExampleSizes{1, 16}, ExampleSizes{1, 128}, ExampleSizes{8, 128},
        ExampleSizes{1, longest}, ExampleSizes{8, longest}}) {
    example.length = std::min(example.length, longest);
    if (std::none_of(
            examples.begin(), examples.end(), [&](const ExampleSizes &e) {
              return e.batch == example.batch && e.length == example.length;
            }))
      examples.push_back(example);
  }
  return examples;
}

/// The same for steps: prompts, and tokens after a past.
static std::vector<ExampleSizes> stepExamples(const ManifestDecoder &decoder) {
  const int64_t context = decoder.context.value_or(4096);
  std::vector<ExampleSizes> examples;
  for (int64_t length : {int64_t(128), int64_t(512)})
    if (length <= context)
      examples.push_back({1, length});
  for (int64_t batch : {1, 8})
    examples.push_back({batch, 1, context - 1});
  return examples;
}

std::vector<ExampleSizes> transom::getExamples(const Manifest &manifest,
                                               const ManifestEntry &entry) {
  return entry.kind == EntryKind::Step && manifest.decoder
             ? stepExamples(*manifest.decoder)
             : callExamples(manifest);
}

/// The integer at the end of a name such as `pairs_of_rows_window_128`, else
/// `all`.
static int64_t getWindow(std::string_view name, int64_t all) {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  return digits == name.size() ? all : atoll(name.data() + digits);
}

static bool beginsWith(std::string_view name, const std::string &prefix) {
  return name.substr(0, prefix.size()) == prefix;
}

static bool isOfSource(std::string_view name) {
  const std::string_view end = "_source";
  return name.size() > end.size() &&
         name.substr(name.size() - end.size()) == end;
}

/// A symbol's value in a decoder step. `pairs_of_...` are rows times visible
/// positions, `reads_of_...` positions visible to at least one row. Sources are
/// as long as the sequences.
static int64_t stepValue(std::string_view name,
                         const ManifestRaggedBatch &ragged,
                         const ExampleSizes &example) {
  const int64_t seen = example.past + example.length;
  if (name == ragged.keys)
    return alignToPanel(seen);
  if (beginsWith(name, "reads_of_" + ragged.rows)) {
    const int64_t window = isOfSource(name) ? seen : getWindow(name, seen);
    return example.batch * std::min(seen, window + example.length - 1);
  }
  if (!beginsWith(name, "pairs_of_" + ragged.rows))
    return example.batch * (name == ragged.rows ? example.length : 1);
  if (isOfSource(name))
    return example.batch * example.length * seen;
  const int64_t window = getWindow(name, seen);
  int64_t sum = 0;
  for (int64_t position = example.past; position < seen; ++position)
    sum += std::min(position + 1, window);
  return example.batch * sum;
}

/// True for the symbol that counts the selected columns in a step.
static bool isListed(const ManifestEntry &entry, const std::string &name) {
  return entry.kind == EntryKind::Step && entry.inputs.size() == 3 &&
         entry.inputs[2].shape.size() == 1 &&
         entry.inputs[2].shape[0] == Polynomial::symbol(name);
}

std::optional<int64_t> transom::evaluateExample(const Polynomial &formula,
                                                const ManifestEntry &entry,
                                                const ExampleSizes &example) {
  Result<int64_t> value =
      formula.evaluate([&](const std::string &name) -> std::optional<int64_t> {
        if (name == "parts")
          return exampleWorkers;
        if (name == "batch")
          return example.batch;
        if (isListed(entry, name))
          return 0;
        for (const ManifestRaggedBatch &ragged : entry.ragged) {
          if (ragged.sequences)
            return stepValue(name, ragged, example);
          if (name == ragged.pairs)
            return example.batch * example.length * example.length;
          if (name == ragged.rows)
            return example.batch * example.length;
          if (name == ragged.keys)
            return example.batch * alignToPanel(example.length);
        }
        return example.length;
      });
  return value ? std::optional<int64_t>(*value) : std::nullopt;
}

int64_t transom::getKeptBytes(const ManifestEntry &entry) {
  int64_t bytes = 0;
  for (const ManifestBuffer &buffer : entry.buffers)
    if (const auto own = buffer.bytes.constant(); own && buffer.kept)
      bytes += *own;
  return bytes;
}
