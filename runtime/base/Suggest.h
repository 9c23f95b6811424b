// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// "did you mean" for names in errors.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace transom {

/// `; did you mean 'x'?` for the candidate that continues `name`, that ends in
/// it (`fuse-attention` in `attn-fuse-attention`), or that has the smallest
/// edit distance (at most a third of its length); empty without one. Case is
/// ignored.
std::string suggest(std::string_view name,
                    const std::vector<std::string> &candidates);

/// The candidates as `a, b, c`, for `supported: ...`.
std::string joinNames(const std::vector<std::string> &names);

} // namespace transom
