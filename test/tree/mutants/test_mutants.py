# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# test_mutants.py COMPILER: a small program is rewritten with a mutant at each
# refusal, comparison and + 1, compiled once, and run with each mutant.
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
TOOLS = os.path.join(ROOT, "tools", "dev")
sys.dont_write_bytecode = True
sys.path.insert(0, TOOLS)
import mutants

SOURCE = """#include <cstdio>
#include <optional>
// if (true) return false; and 1 < 2 in a comment
static_assert(1 + 1 == 2, "if (a == b) return false;");
static bool accepts(int width) {
  if (width > 4)
    return false;
  for (int i = 0; i < width; ++i)
    if (int rest = width - 2 * i; rest + 1 == 2) {
      return false;
    }
  if (std::optional<int> none = std::nullopt)
    return false;
  return width * 2 + 1 != 5;
}
int main() {
  for (int width : {0, 2, 3, 4, 6})
    std::printf("%d", accepts(width));
}
"""
ORIGINAL = "10010"


class Mutants(unittest.TestCase):
    def setUp(self):
        self.rewriter = mutants.Rewriter("a.cpp", SOURCE)
        self.mutants = mutants.number([self.rewriter])

    def find(self, change, line):
        found = [m for m in self.mutants if m.change == change and m.line == line]
        self.assertEqual(len(found), 1, f"{change} in line {line}")
        return found[0].number

    def test_places(self):
        places = [(m.line, m.kind, m.change) for m in self.mutants]
        self.assertEqual(places, [
            (6, "refusal", "never"), (6, "comparison", "> to >="), (8, "comparison", "< to <="),
            (9, "refusal", "never"), (9, "one", "+ 1 to + 0"), (9, "comparison", "== to !="),
            (14, "one", "+ 1 to + 0"), (14, "comparison", "!= to =="),
        ])

    def test_keeps_lines(self):
        self.assertEqual(self.rewriter.rewrite(set()).count("\n"), SOURCE.count("\n"))
        everything = {m.number for m in self.mutants}
        self.assertEqual(self.rewriter.rewrite(everything), SOURCE)

    def test_equal_mutants_have_keys_of_their_own(self):
        twice = mutants.number([mutants.Rewriter("a.cpp", "bool f(int a) { return a == 1 && a == 2; }\n")])
        self.assertEqual([m.change for m in twice], ["== to !=", "== to != #2"])

    def test_success_in_place_of_an_unguarded_refusal(self):
        text = "LogicalResult f() {\n  if (a)\n    return fail(1);\n  return fail(2);\n}\n"
        rewriter = mutants.Rewriter("a.cpp", text)
        changes = [(m.line, m.change) for m in mutants.number([rewriter])]
        self.assertEqual(changes, [(2, "never"), (4, "success")])
        self.assertIn("return transomFails(2) ? mlir::success() : fail(2);", rewriter.rewrite(set()))

    def test_one_program_runs_each_mutant(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program, seen = (os.path.join(folder, name) for name in ("a.cpp", "a", "seen"))
            with open(source, "w", encoding="utf-8") as stream:
                stream.write(self.rewriter.rewrite(set()))
            subprocess.run([COMPILER, "-std=c++17", "-w", "-include", os.path.join(TOOLS, "mutants.h"), source, "-o", program],
                           check=True)

            def run(number):
                environment = dict(os.environ, TRANSOM_MUTANT=str(number), TRANSOM_MUTANTS_SEEN=seen)
                return subprocess.run([program], env=environment, capture_output=True, text=True, check=True).stdout
            self.assertEqual(run(0), ORIGINAL)
            with open(seen, encoding="utf-8") as stream:
                self.assertEqual([int(line) for line in stream], [m.number for m in self.mutants])
            for change, line, output in [("never", 6, "10011"), ("> to >=", 6, "10000"), ("never", 9, "10110"),
                                         ("+ 1 to + 0", 9, "10100"), ("== to !=", 9, "10000"),
                                         ("+ 1 to + 0", 14, "11010"), ("!= to ==", 14, "01000")]:
                self.assertEqual(run(self.find(change, line)), output, f"{change} in line {line}")


if __name__ == "__main__":
    COMPILER = sys.argv.pop(1)
    unittest.main()
