// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on size polynomials. Coefficients saturate: INT64_MAX and
// INT64_MIN mean "overflowed" and stay so under every operation, and evaluating
// such a polynomial is an error, so that an overflowed size is never mistaken
// for a valid one.
#include "runtime/base/Polynomial.h"
#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

namespace transom {
namespace {

constexpr size_t maxTextBytes = 1 << 16;
constexpr size_t maxDegree = 32;

bool isSaturated(int64_t v) { return v == INT64_MAX || v == INT64_MIN; }

int64_t addSaturating(int64_t a, int64_t b) {
  if (isSaturated(a))
    return a;
  if (isSaturated(b))
    return b;
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum))
    return a < 0 ? INT64_MIN : INT64_MAX;
  return sum;
}

int64_t multiplySaturating(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  int64_t limit = (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  int64_t product;
  if (isSaturated(a) || isSaturated(b) ||
      __builtin_mul_overflow(a, b, &product))
    return limit;
  return product;
}

/// Falling degree, then alphabetically: for monomials this is descending graded
/// lexicographic order, which division needs.
bool comesFirst(const Polynomial::Monomial &a, const Polynomial::Monomial &b) {
  if (a.size() != b.size())
    return a.size() > b.size();
  return a < b;
}

Polynomial::Monomial product(const Polynomial::Monomial &a,
                             const Polynomial::Monomial &b) {
  Polynomial::Monomial result;
  result.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(),
             std::back_inserter(result));
  return result;
}

bool isNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool isDigit(char c) { return c >= '0' && c <= '9'; }

/// Parses sums whose terms are products of integers and names.
class PolynomialParser {
public:
  explicit PolynomialParser(std::string_view text) : text(text) {}

  /// Returns all coefficients, including zeros.
  Result<std::map<Polynomial::Monomial, int64_t>> parse() {
    if (text.size() > maxTextBytes)
      return rejected("polynomial of " + std::to_string(text.size()) +
                      " bytes is over the limit of " +
                      std::to_string(maxTextBytes));
    std::map<Polynomial::Monomial, int64_t> terms;
    bool negative = takeSign('-');
    while (true) {
      TRANSOM_TRY(term(terms, negative));
      skipSpaces();
      if (position == text.size())
        break;
      if (takeSign('+'))
        negative = false;
      else if (takeSign('-'))
        negative = true;
      else
        return fail("expected '+', '-' or '*'");
    }
    return terms;
  }

private:
  Error fail(const std::string &what) const {
    return rejected("polynomial: " + what + " at column " +
                    std::to_string(position + 1));
  }

  void skipSpaces() {
    while (position < text.size() && text[position] == ' ')
      ++position;
  }

  bool takeSign(char sign) {
    skipSpaces();
    if (position >= text.size() || text[position] != sign)
      return false;
    ++position;
    return true;
  }

  Result<void> term(std::map<Polynomial::Monomial, int64_t> &terms,
                    bool negative) {
    Polynomial::Monomial monomial;
    int64_t coefficient = negative ? -1 : 1;
    do {
      if (Result<void> read = factor(monomial, coefficient); !read)
        return read;
    } while (takeSign('*'));
    std::sort(monomial.begin(), monomial.end());
    int64_t &sum = terms[monomial];
    sum = addSaturating(sum, coefficient);
    if (isSaturated(sum))
      return fail("coefficient does not fit 64 bits");
    return {};
  }

  Result<void> factor(Polynomial::Monomial &monomial, int64_t &coefficient) {
    skipSpaces();
    size_t begin = position;
    if (position < text.size() && isNameStart(text[position])) {
      while (position < text.size() &&
             (isNameStart(text[position]) || isDigit(text[position])))
        ++position;
      monomial.emplace_back(text.substr(begin, position - begin));
      if (monomial.size() > maxDegree)
        return fail("degree is over the limit of " + std::to_string(maxDegree));
      return {};
    }
    if (position >= text.size() || !isDigit(text[position]))
      return fail("expected a number or a symbol");
    int64_t number;
    auto read =
        std::from_chars(text.data() + begin, text.data() + text.size(), number);
    if (read.ec != std::errc())
      return fail("number does not fit 64 bits");
    position = read.ptr - text.data();
    coefficient = multiplySaturating(coefficient, number);
    if (isSaturated(coefficient))
      return fail("coefficient does not fit 64 bits");
    return {};
  }

  std::string_view text;
  size_t position = 0;
};

} // namespace

Polynomial::Polynomial(int64_t constant) {
  if (constant != 0)
    coefficients[{}] = constant;
}

Polynomial Polynomial::symbol(std::string name) {
  Polynomial result;
  result.coefficients[{std::move(name)}] = 1;
  return result;
}

Result<Polynomial> Polynomial::parse(std::string_view text) {
  Polynomial result;
  TRANSOM_ASSIGN(result.coefficients, PolynomialParser(text).parse());
  for (auto term = result.coefficients.begin();
       term != result.coefficients.end();)
    term =
        term->second == 0 ? result.coefficients.erase(term) : std::next(term);
  return result;
}

std::string Polynomial::str() const {
  if (coefficients.empty())
    return "0";
  // Order the terms by falling degree, then alphabetically.
  std::vector<const std::pair<const Monomial, int64_t> *> order;
  for (const auto &term : coefficients)
    order.push_back(&term);
  std::sort(order.begin(), order.end(), [](const auto *a, const auto *b) {
    return comesFirst(a->first, b->first);
  });
  // Print each term's sign, coefficient and symbols.
  std::string text;
  for (const auto *term : order) {
    auto &[monomial, coefficient] = *term;
    if (coefficient < 0)
      text += '-';
    else if (!text.empty())
      text += '+';
    uint64_t magnitude = coefficient < 0
                             ? 0 - static_cast<uint64_t>(coefficient)
                             : static_cast<uint64_t>(coefficient);
    bool showNumber = magnitude != 1 || monomial.empty();
    if (showNumber)
      text += std::to_string(magnitude);
    for (const std::string &name : monomial) {
      if (showNumber || &name != &monomial.front())
        text += '*';
      text += name;
    }
  }
  return text;
}

bool Polynomial::isConstant() const { return constant().has_value(); }

std::optional<int64_t> Polynomial::constant() const {
  if (coefficients.empty())
    return 0;
  if (coefficients.size() == 1 && coefficients.begin()->first.empty())
    return coefficients.begin()->second;
  return std::nullopt;
}

Result<int64_t> Polynomial::evaluate(
    const std::function<std::optional<int64_t>(const std::string &)> &getValue)
    const {
  auto overflow = [this] {
    return limitError("value of '" + str() + "' does not fit 64 bits");
  };
  // Sum the values of all terms; fewer than 2^63 terms cannot overflow.
  __int128 sum = 0; // cannot overflow
  for (const auto &[monomial, coefficient] : coefficients) {
    if (isSaturated(coefficient))
      return overflow();
    int64_t term = coefficient;
    bool zero = false, tooLarge = false;
    for (const std::string &name : monomial) {
      std::optional<int64_t> value = getValue(name);
      if (!value)
        return rejected("unknown symbol '" + name + "' in '" + str() + "'");
      zero |= *value == 0;
      tooLarge |= __builtin_mul_overflow(term, *value, &term);
    }
    if (zero)
      continue;
    if (tooLarge)
      return overflow();
    sum += term;
  }
  if (sum > INT64_MAX || sum < INT64_MIN)
    return overflow();
  return static_cast<int64_t>(sum);
}

Polynomial Polynomial::substitute(
    const std::function<std::optional<Polynomial>(const std::string &)>
        &replacement) const {
  std::map<std::string, Polynomial> values;
  for (const std::string &name : symbols()) {
    std::optional<Polynomial> value = replacement(name);
    values.emplace(name, value ? std::move(*value) : symbol(name));
  }
  Polynomial result;
  for (const auto &[monomial, coefficient] : coefficients) {
    Polynomial term(coefficient);
    for (const std::string &name : monomial)
      term = term * values.at(name);
    result = result + term;
  }
  return result;
}

std::optional<Polynomial>
Polynomial::divideExactly(const Polynomial &divisor) const {
  if (divisor.coefficients.empty())
    return std::nullopt;
  auto leading = [](const Polynomial &p) {
    return std::min_element(p.coefficients.begin(), p.coefficients.end(),
                            [](const auto &a, const auto &b) {
                              return comesFirst(a.first, b.first);
                            });
  };
  // An overflowed coefficient has no known value.
  for (const auto *p : {this, &divisor})
    for (const auto &term : p->coefficients)
      if (isSaturated(term.second))
        return std::nullopt;
  // Divide the leading terms and subtract, until nothing is left.
  auto lead = leading(divisor);
  Polynomial rest = *this, quotient;
  while (!rest.coefficients.empty()) {
    auto top = leading(rest);
    if (!std::includes(top->first.begin(), top->first.end(),
                       lead->first.begin(), lead->first.end()) ||
        top->second % lead->second != 0 || isSaturated(top->second))
      return std::nullopt;
    Polynomial step;
    Monomial monomial;
    std::set_difference(top->first.begin(), top->first.end(),
                        lead->first.begin(), lead->first.end(),
                        std::back_inserter(monomial));
    step.coefficients[std::move(monomial)] = top->second / lead->second;
    quotient = quotient + step;
    rest = rest - step * divisor;
  }
  return quotient;
}

bool Polynomial::coversCoefficients(const Polynomial &other) const {
  auto getCoefficient = [](const Polynomial &p, const Monomial &monomial) {
    auto found = p.coefficients.find(monomial);
    return found == p.coefficients.end() ? 0 : found->second;
  };
  for (const auto &[monomial, coefficient] : coefficients)
    if (coefficient < getCoefficient(other, monomial))
      return false;
  for (const auto &[monomial, coefficient] : other.coefficients)
    if (getCoefficient(*this, monomial) < coefficient)
      return false;
  return true;
}

std::vector<std::string> Polynomial::symbols() const {
  std::set<std::string> names;
  for (const auto &term : coefficients)
    names.insert(term.first.begin(), term.first.end());
  return {names.begin(), names.end()};
}

static void addTerm(std::map<Polynomial::Monomial, int64_t> &terms,
                    const Polynomial::Monomial &monomial, int64_t coefficient) {
  auto [place, isNew] = terms.try_emplace(monomial, 0);
  place->second = addSaturating(place->second, coefficient);
  if (place->second == 0)
    terms.erase(place);
}

Polynomial operator+(const Polynomial &a, const Polynomial &b) {
  Polynomial result = a;
  for (const auto &[monomial, coefficient] : b.coefficients)
    addTerm(result.coefficients, monomial, coefficient);
  return result;
}

Polynomial operator-(const Polynomial &a, const Polynomial &b) {
  return a + Polynomial(-1) * b;
}

Polynomial operator*(const Polynomial &a, const Polynomial &b) {
  Polynomial result;
  for (const auto &[left, x] : a.coefficients)
    for (const auto &[right, y] : b.coefficients)
      addTerm(result.coefficients, product(left, right),
              multiplySaturating(x, y));
  return result;
}

} // namespace transom
