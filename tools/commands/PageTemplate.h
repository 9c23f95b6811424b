// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that commands write: self-contained HTML with a Content-Security-Policy
// that allows only its own script and style.
#pragma once
#include "runtime/base/Error.h"
#include <functional>
#include <string>
#include <string_view>

namespace transom::tools {

/// Receives the next bytes of an output.
using ByteSink = std::function<Result<void>(std::string_view)>;

/// The files for a page, which embed-page.cmake writes into a source.
struct PageFiles {
  /// HTML with the placeholders `{{style}}`, `{{style-hash}}`, `{{script}}` and
  /// `{{script-hash}}`, and others specific to the page.
  std::string_view html;
  std::string_view style;
  std::string_view script; ///< all scripts, wrapped in a function
};

extern const PageFiles attentionPage;
extern const PageFiles explainPage;

/// Escapes text for the content of an element.
std::string escapeHtml(std::string_view text);

/// Escapes JSON for a script element: `<` and the two line separators that old
/// scripts do not allow in strings.
std::string escapeJson(std::string_view json);

/// Writes the content for a placeholder; `name` is without braces.
using PlaceWriter =
    std::function<Result<void>(std::string_view name, const ByteSink &sink)>;

/// Writes a page; `writePlace` handles its specific placeholders.
Result<void> fillPage(const PageFiles &files, const PlaceWriter &writePlace,
                      const ByteSink &sink);

} // namespace transom::tools
