// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads safetensors files for the evaluator.
#pragma once
#include "compiler/evaluator/Evaluator.h"

namespace transom {

/// All tensors in a file; elements become float64 or int64.
Result<std::vector<NamedTensor>> readTensors(const std::string &path);

} // namespace transom
