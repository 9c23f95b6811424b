// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tree nodes. A look-ahead at one character has its own kind, since automata
// evaluate it without a pass over the text.
#include "compiler/import/tokenizer/regex/RegexTree.h"
#include "runtime/base/Utf8.h"
#include <optional>

namespace transom::tokenizer {

using Kind = RegexNode::Kind;

RegexTree makeTree(Kind kind) {
  auto node = std::make_unique<RegexNode>();
  node->kind = kind;
  return node;
}

RegexTree makeTree(Kind kind, RegexTree first, RegexTree second) {
  RegexTree node = makeTree(kind);
  node->parts.push_back(std::move(first));
  if (second)
    node->parts.push_back(std::move(second));
  return node;
}

RegexTree setTree(CharSet set) {
  RegexTree node = makeTree(Kind::Set);
  node->set = std::move(set);
  return node;
}

RegexTree lookTree(CharSet set, bool atEnd) {
  RegexTree node = makeTree(Kind::Look);
  node->set = std::move(set);
  node->atEnd = atEnd;
  return node;
}

RegexTree literalTree(std::string_view text) {
  RegexTree node = makeTree(Kind::Sequence);
  for (size_t at = 0; at < text.size();) {
    char32_t code = utf8::decode(text, at);
    node->parts.push_back(setTree(CharSet(code, code + 1)));
  }
  return node;
}

RegexTree repeatTree(RegexTree tree, uint32_t least, uint32_t most) {
  RegexTree node = makeTree(Kind::Repeat, std::move(tree));
  node->least = least;
  node->most = most;
  return node;
}

namespace {
/// A condition on the next character or the end.
struct Condition {
  CharSet set;
  bool atEnd;
};
} // namespace

/// Returns the equivalent condition on the next character if `node` is looked
/// at, or nullopt if it depends on more. A lookbehind never sees the end.
static std::optional<Condition> getCondition(const RegexNode &node,
                                             bool lookbehind) {
  if (node.kind == Kind::Set)
    return Condition{node.set, false};
  if (node.kind == Kind::Look && !lookbehind)
    return Condition{node.set, node.atEnd};
  if (node.kind == Kind::Sequence && node.parts.size() == 1)
    return getCondition(*node.parts[0], lookbehind);
  if (node.kind != Kind::Alternatives)
    return std::nullopt;

  // Combine the alternatives.
  Condition result{CharSet(), false};
  for (const RegexTree &part : node.parts) {
    std::optional<Condition> condition = getCondition(*part, lookbehind);
    if (!condition)
      return std::nullopt;
    result.set.add(condition->set);
    result.atEnd |= condition->atEnd;
  }
  return result;
}

RegexTree aroundTree(RegexTree tree, bool lookbehind, bool negative) {
  std::optional<Condition> condition = getCondition(*tree, lookbehind);
  if (condition && !lookbehind)
    return negative ? lookTree(condition->set.complement(), !condition->atEnd)
                    : lookTree(std::move(condition->set), condition->atEnd);
  if (condition)
    tree = setTree(std::move(condition->set));
  RegexTree node = makeTree(Kind::Around, std::move(tree));
  node->lookbehind = lookbehind;
  node->negative = negative;
  return node;
}

} // namespace transom::tokenizer
