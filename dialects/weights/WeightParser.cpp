// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses weight expressions; bounded in depth, with columns in errors.
#include "dialects/weights/WeightExpr.h"
#include "dialects/weights/WeightNode.h"
#include "runtime/base/Utf8.h"
#include <charconv>
#include <optional>

namespace transom {
namespace {

using Shape = std::vector<int64_t>;

/// Recursive descent; the first error is recorded and ends parsing.
class ExprParser {
public:
  explicit ExprParser(std::string_view text) : text(text) {}

  Result<WeightExpr> parse() {
    std::optional<WeightExpr> e = expression(0);
    skipSpaces();
    if (e && position != text.size())
      fail("expected the end");
    if (failure)
      return *failure;
    return *e;
  }

private:
  using Expr = std::optional<WeightExpr>;

  void fail(const std::string &what) {
    if (!failure)
      failure = rejected("weight expression: " + what + " at column " +
                         std::to_string(position + 1));
  }

  void skipSpaces() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\n' ||
            text[position] == '\t'))
      ++position;
  }

  bool peek(char c) {
    skipSpaces();
    return position < text.size() && text[position] == c;
  }
  bool expect(char c) {
    if (failure)
      return false;
    if (!peek(c)) {
      fail(std::string("expected '") + c + "'");
      return false;
    }
    ++position;
    return true;
  }

  std::string_view word() {
    skipSpaces();
    size_t begin = position;
    while (position < text.size() &&
           ((text[position] >= 'a' && text[position] <= 'z') ||
            text[position] == '_'))
      ++position;
    return text.substr(begin, position - begin);
  }

  /// A word with digits.
  std::string_view typeName() {
    skipSpaces();
    size_t begin = position;
    while (position < text.size() &&
           ((text[position] >= 'a' && text[position] <= 'z') ||
            (text[position] >= '0' && text[position] <= '9')))
      ++position;
    return text.substr(begin, position - begin);
  }

  template <typename T> T number(const char *what) {
    skipSpaces();
    T value{};
    auto read = std::from_chars(text.data() + position,
                                text.data() + text.size(), value);
    if (read.ec != std::errc()) {
      fail(std::string("expected ") + what);
      return {};
    }
    position = read.ptr - text.data();
    return value;
  }
  int64_t integer() { return number<int64_t>("an integer"); }
  double real() { return number<double>("a number"); }
  int64_t nextInteger() { return expect(',') ? integer() : 0; }

  template <typename T, typename Read> std::vector<T> list(Read read) {
    std::vector<T> items;
    if (!expect('['))
      return items;
    if (!peek(']'))
      do
        items.push_back(read());
      while (!failure && peek(',') && expect(','));
    expect(']');
    return items;
  }
  Shape integers() {
    return list<int64_t>([this] { return integer(); });
  }

  static int hexDigit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  }

  /// A quoted name; other bytes are `\` and two hexadecimal digits.
  std::string name() {
    std::string result;
    if (!expect('"'))
      return result;
    while (position < text.size() && text[position] != '"') {
      if (text[position] != '\\') {
        result += text[position++];
        continue;
      }
      int high = position + 2 < text.size() ? hexDigit(text[position + 1]) : -1;
      int low = high >= 0 ? hexDigit(text[position + 2]) : -1;
      if (low < 0) {
        fail("expected two hexadecimal digits after '\\'");
        return result;
      }
      result += static_cast<char>(high * 16 + low);
      position += 3;
    }
    expect('"');
    return result;
  }

  Expr expression(unsigned depth) {
    if (depth == weightExprMaxDepth) {
      fail("nested deeper than the limit of " +
           std::to_string(weightExprMaxDepth) + " levels");
      return {};
    }
    // Parse the operation name and the parenthesis.
    skipSpaces();
    size_t begin = position;
    std::string_view op = word();
    size_t end = position;
    if (op.empty()) {
      fail("expected an expression");
      return {};
    }
    if (!expect('('))
      return {};
    // Parse its arguments, depending on the operation.
    Expr e = leaf(op);
    if (!e && !failure && (op == "concat" || op == "interleave"))
      e = joined(op, depth);
    if (!e && !failure)
      e = composite(op, depth);
    if (!e && !failure) {
      position = begin;
      fail("unknown operation '" +
           utf8::printable(text.substr(begin, end - begin), 40) +
           "'; supported: file, transpose, slice, concat, scale, add, pad, "
           "reshape, fill, sinusoid, values, triangle, angles, gather, "
           "interleave, matmul, layer_norm, with_norms");
    }
    if (!e || !expect(')'))
      return {};
    return e;
  }

  /// Operations without an operand.
  Expr leaf(std::string_view op) {
    // Each operation has its own arguments.
    Expr e;
    if (op == "file") {
      e = file();
    } else if (op == "fill") {
      Shape shape = integers();
      double value = expect(',') ? real() : 0;
      e = WeightExpr::fill(std::move(shape), value);
    } else if (op == "values") {
      Shape shape = integers();
      std::vector<double> data;
      if (expect(','))
        data = list<double>([this] { return real(); });
      e = WeightExpr::values(std::move(shape), std::move(data));
    } else if (op == "triangle") {
      Shape shape = integers();
      int64_t diagonal = nextInteger();
      double upTo = expect(',') ? real() : 0, after = expect(',') ? real() : 0;
      e = WeightExpr::triangle(std::move(shape), diagonal, upTo, after);
    } else if (op == "angles") {
      int64_t limit = integer();
      double factor = expect(',') ? real() : 0;
      std::vector<double> frequencies;
      if (expect(','))
        frequencies = list<double>([this] { return real(); });
      e = WeightExpr::angles(limit, factor, std::move(frequencies));
    } else if (op == "sinusoid") {
      int64_t positions = integer(), width = nextInteger(),
              order = nextInteger();
      if (order < 0 || order > 2)
        fail("expected 0, 1 or 2");
      e = WeightExpr::sinusoid(positions, width,
                               static_cast<SinusoidOrder>(order));
    }
    return failure ? std::nullopt : e;
  }

  /// A tensor, optionally with its quantization.
  Expr file() {
    std::string tensor = name();
    if (failure || !peek(','))
      return WeightExpr::file(std::move(tensor));
    expect(',');
    StoredGroups stored;
    std::optional<StorageType> element = parseStorageType(typeName());
    if (!element)
      fail("expected a type of whole numbers");
    else
      stored.element = *element;
    stored.group = nextInteger();
    stored.depth = nextInteger();
    if (!failure && peek(',')) {
      expect(',');
      stored.minimums = word() == "minimums";
      if (!stored.minimums)
        fail("expected 'minimums'");
    }
    if (std::optional<std::string> error = stored.findError())
      fail(*error);
    return WeightExpr::file(std::move(tensor), stored);
  }

  /// Operations with an integer and an operand list.
  Expr joined(std::string_view op, unsigned depth) {
    int64_t first = integer();
    std::vector<WeightExpr> operands;
    while (!failure && peek(',') && expect(','))
      if (Expr operand = expression(depth + 1))
        operands.push_back(std::move(*operand));
    if (!failure && operands.empty())
      fail("expected at least one operand");
    if (failure)
      return {};
    return op == "concat" ? WeightExpr::concat(first, std::move(operands))
                          : WeightExpr::interleave(first, std::move(operands));
  }

  /// Operations that begin with an operand.
  Expr composite(std::string_view op, unsigned depth) {
    if (op != "transpose" && op != "slice" && op != "scale" && op != "add" &&
        op != "pad" && op != "reshape" && op != "gather" && op != "matmul" &&
        op != "layer_norm" && op != "with_norms")
      return {};
    Expr inner = expression(depth + 1);
    if (!inner || !expect(','))
      return {};
    Expr e;
    if (op == "transpose") {
      e = WeightExpr::transpose(*inner, integers());
    } else if (op == "reshape") {
      e = WeightExpr::reshape(*inner, integers());
    } else if (op == "gather") {
      e = WeightExpr::gather(*inner, integers());
    } else if (op == "scale") {
      e = WeightExpr::scale(*inner, real());
    } else if (op == "add" || op == "matmul" || op == "with_norms") {
      if (Expr second = expression(depth + 1))
        e = op == "add"      ? WeightExpr::add(*inner, std::move(*second))
            : op == "matmul" ? WeightExpr::matmul(*inner, std::move(*second))
                             : withNorms(*inner, std::move(*second));
    } else if (op == "layer_norm") {
      e = norm(*inner, depth);
    } else {
      int64_t axis = integer(), first = nextInteger();
      e = op == "pad" ? WeightExpr::pad(*inner, axis, first)
                      : WeightExpr::slice(*inner, axis, first, nextInteger());
    }
    return failure ? std::nullopt : e;
  }

  /// The arguments after a norm's first operand.
  Expr norm(const WeightExpr &inner, unsigned depth) {
    Expr gamma = expression(depth + 1);
    if (!gamma || !expect(','))
      return {};
    Expr beta = expression(depth + 1);
    double eps = beta && expect(',') ? real() : 0;
    if (failure)
      return {};
    return WeightExpr::layerNorm(inner, *gamma, *beta, eps);
  }

  std::string_view text;
  size_t position = 0;
  std::optional<Error> failure;
};

} // namespace

Result<WeightExpr> WeightExpr::parse(std::string_view text) {
  return ExprParser(text).parse();
}

} // namespace transom
