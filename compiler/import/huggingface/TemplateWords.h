// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The words of a template of Jinja, and the texts between its tags.
#pragma once
#include "runtime/base/Error.h"
#include <string>
#include <vector>

namespace transom::jinja {

/// A text between tags, or what is inside of a tag.
struct TemplatePart {
  char kind; ///< ' ' of a text, '{' of an output, '%' of a statement
  std::string text;
  size_t line;
};

/// A word of a tag.
struct TemplateWord {
  enum class Kind { Name, Text, Integer, Sign, End };
  Kind kind = Kind::End;
  std::string text;
};

/// Splits a template into texts and tags, without the white space that tags
/// take from texts (`trim_blocks` and `lstrip_blocks` are on) and without
/// comments.
Result<std::vector<TemplatePart>> splitTemplate(const std::string &text);

/// The words of a tag and an `End`.
Result<std::vector<TemplateWord>> splitWords(const TemplatePart &part);

/// An error in a line of the template.
Error inTemplate(Status status, size_t line, const std::string &message);

} // namespace transom::jinja
