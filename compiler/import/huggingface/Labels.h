// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The class labels of a config.json.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include <string>
#include <vector>

namespace transom {

/// The labels that `id2label` gives, in order, or LABEL_0 ... of `num_labels`
/// (`absent` when it is absent), which wins where the numbers differ, as in
/// transformers. A label is written as Python's str() writes it, and as LABEL_i
/// where no key is i; notes tell of both. `Rejected` for keys that are not
/// integers, and for values that are lists or objects.
Result<std::vector<std::string>> readLabels(Config &config, int64_t absent,
                                            std::vector<std::string> &notes);

} // namespace transom
