// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Jinja lexer: tokens in tags, and the strings between tags.
#pragma once
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom::jinja {

/// A string between tags, or a tag's contents.
struct TemplatePart {
  char kind; ///< ' ' string, '{' output, '%' statement
  std::string text;
  size_t line;
};

/// A token in a tag.
struct TemplateWord {
  enum class Kind { Name, Text, Integer, Sign, End };
  Kind kind = Kind::End;
  std::string text;
};

/// Splits a template into strings and tags, removing comments and the white
/// space that tags strip (`trim_blocks` and `lstrip_blocks` are on).
Result<std::vector<TemplatePart>> splitTemplate(const std::string &text);

/// Returns a tag's tokens, followed by an `End`.
Result<std::vector<TemplateWord>> splitWords(const TemplatePart &part);

/// Returns an error at a template line.
Error inTemplate(Status status, size_t line, const std::string &message);

} // namespace transom::jinja
