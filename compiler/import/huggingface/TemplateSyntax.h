// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of Jinja that chat templates of rerankers are written in, as a tree.
#pragma once
#include "runtime/base/Error.h"
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace transom::jinja {

/// An expression. `name` and `arguments` are those of its kind.
struct Expression {
  enum class Kind {
    Text,      ///< the literal `name`
    Integer,   ///< `number`
    Constant,  ///< `true`, `false` or `none`
    List,      ///< of the arguments
    Variable,  ///< by name
    Attribute, ///< of the first argument, by name
    Item,      ///< of the first argument, by the second
    Slice,     ///< of the first: from the second to the third, either a `none`
    Call,      ///< of the first, with the others and `named`
    Filter,    ///< of the first, with the others and `named`
    Test,      ///< of the first by name, with the others
    Not,       ///< of the first
    Negate,    ///< of the first
    Binary,    ///< of both by the operator `name`
    Choose     ///< the first if the second, else the third
  };
  Kind kind = Kind::Constant;
  std::string name;
  int64_t number = 0;
  std::vector<Expression> arguments;
  std::vector<std::pair<std::string, Expression>> named;
};

/// What a template consists of.
struct Statement {
  enum class Kind {
    Text,   ///< `name` as it is
    Output, ///< of `value`
    If,     ///< `body` if `value`, else `otherwise`
    For,    ///< `body` for each of `value` as `name`; `otherwise` for none
    Set     ///< `name`, or its member `member`, to `value`
  };
  Kind kind = Kind::Text;
  std::string name, member;
  Expression value;
  std::vector<Statement> body, otherwise;
};

/// Parses a template with `trim_blocks` and `lstrip_blocks`, as transformers
/// does. `Unsupported` for other parts of the language, `Rejected` for what is
/// not Jinja; errors name the line.
Result<std::vector<Statement>> parseTemplate(const std::string &text);

} // namespace transom::jinja
