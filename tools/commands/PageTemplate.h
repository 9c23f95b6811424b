// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that commands write: one file of HTML that loads nothing, whose
// Content-Security-Policy allows its own script and style alone.
#pragma once
#include "runtime/base/Error.h"
#include <functional>
#include <string>
#include <string_view>

namespace transom::tools {

/// Gets the next bytes of an output.
using ByteSink = std::function<Result<void>(std::string_view)>;

/// The files of a page, which embed-page.cmake writes into a source.
struct PageFiles {
  /// HTML with places `{{style}}`, `{{style-hash}}`, `{{script}}` and
  /// `{{script-hash}}`, and further ones of the page.
  std::string_view html;
  std::string_view style;
  std::string_view script; ///< all scripts, in a function of their own
};

extern const PageFiles attentionPage;
extern const PageFiles explainPage;

/// Text for the content of an element.
std::string escapeHtml(std::string_view text);

/// JSON for a script element: no `<`, and neither of the line separators that
/// old scripts do not have in strings.
std::string escapeJson(std::string_view json);

/// Writes what belongs in a place of a page; the name is without the braces.
using PlaceWriter =
    std::function<Result<void>(std::string_view name, const ByteSink &sink)>;

/// Writes a page: its files, and `writePlace` the places of its own.
Result<void> fillPage(const PageFiles &files, const PlaceWriter &writePlace,
                      const ByteSink &sink);

} // namespace transom::tools
