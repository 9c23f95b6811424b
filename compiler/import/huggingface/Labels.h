// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Class labels in a config.json.
#pragma once
#include "compiler/import/huggingface/Config.h"
#include <string>
#include <vector>

namespace transom {

/// Returns the `id2label` labels in order, or LABEL_0 ... according to
/// `num_labels` (`absent` if it is absent), which takes precedence if the
/// counts differ, as in transformers. A label is formatted as by Python's
/// str(), and as LABEL_i if i is not a key; notes report both. `Rejected` for
/// keys that are not integers, and for values that are lists or objects.
Result<std::vector<std::string>> readLabels(Config &config, int64_t absent,
                                            std::vector<std::string> &notes);

} // namespace transom
