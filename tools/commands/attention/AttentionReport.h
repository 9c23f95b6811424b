// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the page, the picture and the JSON of attention show: tokens, and the
// weights of layers and heads.
#pragma once
#include "runtime/base/Error.h"
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace transom::tools {

/// The weights of one kind of attention: of an encoder, of a decoder, or of a
/// decoder to an encoder.
struct AttentionGroup {
  std::string name;                 ///< `encoder`, `decoder` or `cross`
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

struct AttentionReport {
  std::string model; ///< a name for the title
  std::vector<AttentionGroup> groups;
};

/// Gets the next bytes of an output.
using ByteSink = std::function<Result<void>(std::string_view)>;

/// Returns an error unless each group has tokens, layers and heads, and as many
/// weights as these say, all in [0, 1]. Softmax may exceed 1 by rounding.
Result<void> checkReport(const AttentionReport &report);

/// Writes a page of HTML that needs no other file: see README.md. The report
/// is a checked one.
Result<void> writePage(const AttentionReport &report, const ByteSink &sink);

/// Writes one line of JSON: {"model", "attention": [{"name", "layers", "heads",
/// "queries", "keys", "weights": [layer][head][query][key]}]}. Each weight is
/// the shortest decimal that reads back as the same f32.
Result<void> writeJson(const AttentionReport &report, const ByteSink &sink);

/// Writes a picture (PNG) of one group: a row of matrices for each layer, a
/// column for each head, with their numbers.
Result<void> writePicture(const AttentionGroup &group, const ByteSink &sink);

} // namespace transom::tools
