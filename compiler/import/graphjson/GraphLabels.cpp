// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the class names with the output that they describe.
#include "compiler/import/graphjson/GraphLabels.h"
#include "dialects/attn/AttnShapeRules.h"

using namespace transom;

const char *transom::getClassifier(const GraphFile &file,
                                   const std::vector<EntryOutput> &outputs,
                                   Emitter &emit) {
  auto logits = llvm::find_if(
      outputs, [](const EntryOutput &each) { return each.name == "logits"; });
  if (logits == outputs.end()) {
    emit.fail(file.labelsAt->error("'labels' names the columns of an output "
                                   "'logits', but the graph has no output of "
                                   "that name"));
    return nullptr;
  }

  // The output's last dimension has one column for each label.
  const Dims shape = emit.getShape(logits->value);
  const int64_t count = int64_t(file.labels.size());
  if ((shape.size() == 2 || shape.size() == 3) && count > 0 &&
      shape.back() == Polynomial(count))
    return shape.size() == 2 ? "sequence_classification"
                             : "token_classification";
  const std::string columns = std::to_string(count);
  emit.fail(file.labelsAt->error(
      "'labels' has " + columns + " names, but the output 'logits' has shape " +
      attn::rules::text(shape) + ", expected [batch, " + columns +
      "] or [batch, seq, " + columns + "]"));
  return nullptr;
}
