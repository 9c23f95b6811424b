// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Data in the attention page, picture and JSON: tokens, and weights by layer
// and head.
#pragma once
#include "tools/commands/PageTemplate.h"
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace transom {
class JsonWriter;
}

namespace transom::tools {

/// The weights for one attention kind: encoder, decoder or cross-attention.
struct AttentionGroup {
  /// `self` in a model with one kind; otherwise `encoder`, `decoder` or
  /// `cross`.
  std::string name;
  std::vector<uint32_t> layers;     ///< layer numbers in the model
  std::vector<uint32_t> heads;      ///< head numbers in their layer
  std::vector<std::string> queries; ///< labels of attending tokens
  std::vector<std::string> keys;    ///< labels of the tokens attended to
  /// [layers, heads, queries, keys], each in [0, 1].
  std::vector<float> weights;

  size_t getMatrixSize() const { return queries.size() * keys.size(); }
  /// Returns the weights [queries, keys] for a layer and head index.
  const float *getMatrix(size_t layer, size_t head) const {
    return weights.data() + (layer * heads.size() + head) * getMatrixSize();
  }
};

/// Indices of a source word and a target word.
using WordPair = std::pair<size_t, size_t>;

/// Aligned source and target words.
struct Alignment {
  std::vector<std::string> source, target; ///< words
  std::vector<WordPair> pairs;
};

struct AttentionReport {
  std::string model; ///< a name for the title
  std::vector<AttentionGroup> groups;
  std::optional<Alignment> alignment; ///< word alignment, if requested
};

/// Fails unless each group has tokens, layers and heads, and the matching
/// number of weights in [0, 1]. Softmax may exceed 1 by rounding.
Result<void> checkReport(const AttentionReport &report);

/// Writes a self-contained HTML page: see README.md. The report must have
/// passed the check.
Result<void> writePage(const AttentionReport &report, const ByteSink &sink);

/// Writes one JSON line: {"model", "attention": [{"name", "layers", "heads",
/// "queries", "keys", "weights": [layer][head][query][key]}]}. Each weight is
/// the shortest decimal that reads back as the same f32. With an alignment
/// also "alignments": {"source", "target", "pairs": [[source, target]]}.
Result<void> writeJson(const AttentionReport &report, const ByteSink &sink);

/// Writes an alignment as {"source", "target", "pairs"}.
void writeAlignment(JsonWriter &json, const Alignment &alignment);

/// Writes a PNG picture with all groups below each other. Each has a matrix row
/// for each layer and a column for each head, with their numbers.
Result<void> writePicture(const AttentionReport &report, const ByteSink &sink);

} // namespace transom::tools
