// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The class names of a graph.json, with which texts can be classified.
#ifndef TRANSOM_COMPILER_IMPORT_GRAPHJSON_GRAPHLABELS_H
#define TRANSOM_COMPILER_IMPORT_GRAPHJSON_GRAPHLABELS_H
#include "compiler/import/Emitter.h"
#include "compiler/import/graphjson/GraphFile.h"
#include <vector>

namespace transom {

/// Returns the head's name in the manifest for a graph with `labels`:
/// "sequence_classification" for an output `logits` [batch, labels],
/// "token_classification" for [batch, seq, labels]. Any other graph is an error
/// of `emit` (`Rejected`), and the result is null.
const char *getClassifier(const GraphFile &file,
                          const std::vector<EntryOutput> &outputs,
                          Emitter &emit);

} // namespace transom
#endif
