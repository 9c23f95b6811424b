// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the page stores a matrix of weights.
#pragma once
#include <cstddef>
#include <string>

namespace transom::tools {

/// Weights of a row that are stored in f32.
inline constexpr size_t keptWeights = 8;

/// The bytes of a matrix of weights in [0, 1] whose rows have a sum of at most
/// 1. First one code per weight, row by row:
///
/// - 248 + r: the weight is the r-th largest of its row, r < 8. Of equal
///   weights the first is larger. Zeros have no such code.
/// - c < 248: the weight is (c / 741)^2 up to an error of 1/2222. A weight that
///   is not among the 8 largest of its row is at most 1/9, which is 247.
///
/// Then the min(8, keys) largest weights of each row as f32, zeros where there
/// are fewer: the highest bytes of all of them, then the second highest, ...
std::string encodeWeights(const float *weights, size_t queries, size_t keys);

/// What `encodeWeights` gives as text of a page: in the raw deflate format,
/// then by `encodeText`.
std::string packWeights(const float *weights, size_t queries, size_t keys);

/// Bytes as characters that need no escapes in HTML: from `!` to `~` without
/// `&`, `<` and `>`. Two of these 91 digits are a number below 91^2 of 13 bits,
/// the higher digit first and the lowest bit of the first byte lowest. If at
/// most 6 bits are left over, one digit has them, else two.
std::string encodeText(const std::string &bytes);

/// The standard base64 encoding of bytes, with padding.
std::string encodeBase64(const std::string &bytes);

} // namespace transom::tools
