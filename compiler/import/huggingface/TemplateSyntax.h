// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax tree for the Jinja subset used in reranker chat templates.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transom::jinja {

/// An expression. The kind determines the meaning of `name` and `arguments`.
struct Expression {
  enum class Kind {
    Text,      ///< the literal `name`
    Integer,   ///< `number`
    Constant,  ///< `true`, `false` or `none`
    List,      ///< its arguments
    Variable,  ///< by name
    Attribute, ///< member `name` of argument 0
    Item,      ///< element of argument 0, index argument 1
    Slice,     ///< argument 0, from 1 to 2; either may be `none`
    Call,      ///< calls argument 0 with the others and `named`
    Filter,    ///< filters argument 0 with the others and `named`
    Test,      ///< tests argument 0 by name, with the others
    Not,       ///< argument 0
    Negate,    ///< argument 0
    Binary,    ///< both arguments, by the operator `name`
    Choose     ///< argument 0 if argument 1, else argument 2
  };
  Kind kind = Kind::Constant;
  std::string name;
  int64_t number = 0;
  std::vector<Expression> arguments;
  std::vector<std::pair<std::string, Expression>> named;
};

/// A template statement.
struct Statement {
  enum class Kind {
    Text,   ///< `name` verbatim
    Output, ///< writes `value`
    If,     ///< `body` if `value`, else `otherwise`
    For,    ///< `body` for each `name` in `value`, or `otherwise`
    Set     ///< sets `name`, or its member `member`, to `value`
  };
  Kind kind = Kind::Text;
  std::string name, member;
  Expression value;
  std::vector<Statement> body, otherwise;
};

/// Parses a template with `trim_blocks` and `lstrip_blocks`, as transformers
/// does. `Unsupported` for other language features, `Rejected` for invalid
/// Jinja; errors contain the line.
Result<std::vector<Statement>> parseTemplate(const std::string &text);

} // namespace transom::jinja
