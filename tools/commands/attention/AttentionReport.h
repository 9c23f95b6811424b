// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the page, the picture and the JSON of attention show: tokens, and the
// weights of layers and heads.
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

/// The weights of one kind of attention: of an encoder, of a decoder, or of a
/// decoder to an encoder.
struct AttentionGroup {
  /// `self` in a model with one kind; else `encoder`, `decoder` or `cross`.
  std::string name;
  std::vector<uint32_t> layers;     ///< numbers of the layers in the model
  std::vector<uint32_t> heads;      ///< numbers of the heads in their layer
  std::vector<std::string> queries; ///< texts of the tokens that attend
  std::vector<std::string> keys;    ///< texts of the tokens attended to
  /// [layers, heads, queries, keys], each in [0, 1].
  std::vector<float> weights;

  size_t getMatrixSize() const { return queries.size() * keys.size(); }
  /// The weights [queries, keys] of a layer and head, by their indices here.
  const float *getMatrix(size_t layer, size_t head) const {
    return weights.data() + (layer * heads.size() + head) * getMatrixSize();
  }
};

/// The indices of a word of a source and of one of its target.
using WordPair = std::pair<size_t, size_t>;

/// Which words of a source those of its target come from.
struct Alignment {
  std::vector<std::string> source, target; ///< words
  std::vector<WordPair> pairs;
};

struct AttentionReport {
  std::string model; ///< a name for the title
  std::vector<AttentionGroup> groups;
  std::optional<Alignment> alignment; ///< of words, where it is asked for
};

/// Returns an error unless each group has tokens, layers and heads, and as many
/// weights as these say, all in [0, 1]. Softmax may exceed 1 by rounding.
Result<void> checkReport(const AttentionReport &report);

/// Writes a page of HTML that needs no other file: see README.md. The report
/// is a checked one.
Result<void> writePage(const AttentionReport &report, const ByteSink &sink);

/// Writes one line of JSON: {"model", "attention": [{"name", "layers", "heads",
/// "queries", "keys", "weights": [layer][head][query][key]}]}. Each weight is
/// the shortest decimal that reads back as the same f32. With an alignment
/// also "alignments": {"source", "target", "pairs": [[source, target]]}.
Result<void> writeJson(const AttentionReport &report, const ByteSink &sink);

/// Writes {"source", "target", "pairs"} of an alignment.
void writeAlignment(JsonWriter &json, const Alignment &alignment);

/// Writes a picture (PNG) of all groups, one below the other: of each a row of
/// matrices for each layer, a column for each head, with their numbers.
Result<void> writePicture(const AttentionReport &report, const ByteSink &sink);

} // namespace transom::tools
