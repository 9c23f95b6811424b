// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Class names in a graph.json, for text classification.
#ifndef TRANSOM_COMPILER_IMPORT_GRAPHJSON_GRAPHLABELS_H
#define TRANSOM_COMPILER_IMPORT_GRAPHJSON_GRAPHLABELS_H
#include "compiler/import/Emitter.h"
#include "compiler/import/graphjson/GraphFile.h"
#include <vector>

namespace transom {

/// Returns the manifest's head name for a graph with `labels`:
/// "sequence_classification" for an output `logits` [batch, labels],
/// "token_classification" for [batch, seq, labels]. Any other graph records an
/// error in `emit` (`Rejected`), and the result is null.
const char *getClassifier(const GraphFile &file,
                          const std::vector<EntryOutput> &outputs,
                          Emitter &emit);

} // namespace transom
#endif
