// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weight layouts in the artifact.
#pragma once
#include <optional>
#include <string_view>

namespace transom {

/// A weight's layout in the artifact, always little-endian.
enum class WeightLayout {
  Unset,    ///< not chosen yet
  Rows,     ///< row-major, unpadded
  Panels32, ///< [n, k] as [splits][ceil(split / 32)][k][32], zero-padded
            ///< columns; in bf16 [..][k / 2][32][2] with k zero-padded to 32
  Padded32, ///< [n], each split zero-padded to a multiple of 32; f32
};

/// The layout's name in the IR: `unset`, `rows`, `panels32`, `padded32`.
const char *getLayoutName(WeightLayout layout);
/// The layout with that name, or nullopt.
std::optional<WeightLayout> parseWeightLayout(std::string_view name);

} // namespace transom
