// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of the folder `page`, which the build writes into a source.
#pragma once
#include <string_view>

namespace transom::tools {

/// HTML with places `{{style}}`, `{{style-hash}}`, `{{script}}`,
/// `{{script-hash}}`, `{{title}}`, `{{data}}` and `{{matrices}}`.
extern const std::string_view pageTemplate;
extern const std::string_view pageStyle;
/// All scripts, in a function of their own.
extern const std::string_view pageScript;

} // namespace transom::tools
