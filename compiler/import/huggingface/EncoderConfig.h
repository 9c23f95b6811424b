// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One encoder as its config describes it: sizes read by a family's row and
// checked against each other.
#pragma once
#include "compiler/import/huggingface/Families.h"

namespace transom {

/// The numbers of one model, read from its config and checked.
struct ModelSizes {
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, intermediate = 0;
  int64_t positions = 0; ///< rows of the position table
  int64_t types = 0;     ///< 0 where the family has none
  int64_t pad = 0;
  int64_t maxLength = 0; ///< longest sequence that has positions
  int64_t labels = 0;
  double epsilon = 0;
  std::optional<attn::ActivationKind> activation;
  bool tied = true; ///< the decoder's weight may be the word table
};

/// Reads a config by a family's row, and refuses what its attention does not
/// do; errors are the config's.
ModelSizes readEncoder(Config &config, const Family &family);

} // namespace transom
