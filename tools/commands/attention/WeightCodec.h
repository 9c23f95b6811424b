// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage format for weight matrices in the page.
#pragma once
#include <cstddef>
#include <string>

namespace transom::tools {

/// Weights per row that are stored in f32.
inline constexpr size_t keptWeights = 8;

/// Encodes a matrix of weights in [0, 1] whose rows have a sum of at most 1.
/// First comes one code per weight, row by row:
///
/// - 248 + r: the weight is the r-th largest in its row, r < 8. Ties are ranked
///   by position. Zeros have no such code.
/// - c < 248: the weight is (c / 741)^2 up to an error of 1/2222. A weight that
///   is not among the 8 largest in its row is at most 1/9, which is 247.
///
/// The min(8, keys) largest weights in each row follow as f32, padded with
/// zeros: first the highest bytes of all weights, then the second highest, ...
std::string encodeWeights(const float *weights, size_t queries, size_t keys);

/// Encodes weights for a page: the output of `encodeWeights`, compressed with
/// raw deflate, then with `encodeText`.
std::string packWeights(const float *weights, size_t queries, size_t keys);

/// Encodes bytes as characters that need no escapes in HTML: `!` to `~` without
/// `&`, `<` and `>`. Two of these 91 digits form a number below 91^2 with 13
/// bits, higher digit first; the first byte's lowest bit is the lowest bit. Up
/// to 6 remaining bits take one digit, otherwise two.
std::string encodeText(const std::string &bytes);

/// Returns standard base64 with padding.
std::string encodeBase64(const std::string &bytes);

} // namespace transom::tools
