// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inserted by mutants.py into copies of sources. Each location computes the
// original and the mutant, records whether they differ, and uses the mutant if
// the environment variable TRANSOM_MUTANT selects it. At exit the indices of
// differing mutants are written to TRANSOM_MUTANTS_SEEN. Only builds by
// tools/dev/mutate-passes include this.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace transom_mutants {

/// The selected mutant, and the mutants that differed from the original.
class Mutants {
public:
  static Mutants &get() {
    static Mutants mutants;
    return mutants;
  }
  bool isChosen(int number) { return number == chosen; }
  void note(int number) {
    if (seen.size() <= static_cast<size_t>(number))
      seen.resize(number + 1);
    seen[number] = true;
  }
  ~Mutants() {
    const char *path = std::getenv("TRANSOM_MUTANTS_SEEN");
    std::FILE *file = path ? std::fopen(path, "a") : nullptr;
    for (size_t i = 0; file && i < seen.size(); ++i)
      if (seen[i])
        std::fprintf(file, "%zu\n", i);
    if (file)
      std::fclose(file);
  }

private:
  Mutants() {
    if (const char *number = std::getenv("TRANSOM_MUTANT"))
      chosen = std::atoi(number);
  }
  int chosen = 0;
  std::vector<bool> seen;
};

inline bool choose(int number, bool original, bool mutant) {
  if (original != mutant)
    Mutants::get().note(number);
  return Mutants::get().isChosen(number) ? mutant : original;
}

/// A comparison `a op b` is written `a op mutant op b`, which has the same
/// precedence.
#define TRANSOM_MUTATE(NAME, OP, OTHER)                                        \
  struct NAME {                                                                \
    explicit NAME(int number) : number(number) {}                              \
    int number;                                                                \
  };                                                                           \
  template <typename T> struct NAME##Left {                                    \
    T &&left;                                                                  \
    int number;                                                                \
  };                                                                           \
  template <typename T> NAME##Left<T> operator OP(T && left, NAME mutant) {    \
    return {std::forward<T>(left), mutant.number};                             \
  }                                                                            \
  template <typename T, typename U>                                            \
  bool operator OP(NAME##Left<T> pair, U &&right) {                            \
    return choose(pair.number, static_cast<bool>(pair.left OP right),          \
                  static_cast<bool>(pair.left OTHER right));                   \
  }
TRANSOM_MUTATE(transomMutantLt, <, <=)
TRANSOM_MUTATE(transomMutantLe, <=, <)
TRANSOM_MUTATE(transomMutantGt, >, >=)
TRANSOM_MUTATE(transomMutantGe, >=, >)
TRANSOM_MUTATE(transomMutantEq, ==, !=)
TRANSOM_MUTATE(transomMutantNe, !=, ==)
#undef TRANSOM_MUTATE

} // namespace transom_mutants

using namespace transom_mutants;

/// The condition of a refusal, which the mutant never takes.
inline bool transomRefuses(int number, bool condition) {
  return choose(number, condition, false);
}

/// A refusal without a condition, in place of which the mutant succeeds.
inline bool transomFails(int number) { return choose(number, false, true); }

/// A number that the mutant replaces by 0.
inline int transomOne(int number, int one) {
  return choose(number, true, false) ? one : 0;
}
