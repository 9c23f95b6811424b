# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# test_refusals.py SOURCE: check-refusals.py finds silent refusals, and only these.
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.abspath(sys.argv.pop(1))
TABLE = "test/tree/remarks/refusals.txt"
PATH = "passes/graph/Matcher.cpp"


class Refusals(unittest.TestCase):
    def check(self, body, listed="", head="static bool matches(Operation *op)", path=PATH):
        """Returns the check's output for a function, and whether it passes."""
        with tempfile.TemporaryDirectory() as root:
            for folder in ("passes/graph", "passes/kernel", "passes/lower/ops", "tools/dev", os.path.dirname(TABLE)):
                os.makedirs(os.path.join(root, folder))
            shutil.copy(os.path.join(SOURCE, "tools/dev/remark_table.py"), os.path.join(root, "tools/dev"))
            self.write(root, "passes/RemarkTable.def", '#include "passes/graph/Some.def"\n')
            self.write(root, "passes/graph/Some.def", 'REMARK(TooWide, Missed, "some-pass", "too-wide", "too wide", "Help.")\n')
            self.write(root, path, f"{head} {{\n{body}\n}}\n")
            self.write(root, TABLE, f"{path}\n{listed}")
            run = subprocess.run([sys.executable, os.path.join(SOURCE, "test/tree/remarks/check-refusals.py"), root],
                                 capture_output=True, text=True, check=False)
            self.assertEqual(run.stderr, "")
            return run.returncode == 0, run.stdout

    @staticmethod
    def write(root, path, text):
        with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
            stream.write(text)

    def test_silence_fails(self):
        for exit_ in ("return false;", "return nullptr;", "return std::nullopt;", "return failure();", "return {};", "return;",
                      "continue;", "return op ? op : nullptr;"):
            passes, said = self.check(f"  if (isWide(op))\n    {exit_}\n  return true;")
            self.assertFalse(passes, exit_)
            self.assertIn(f"{PATH}:3: 'matches' refuses in silence", said)

    def test_a_remark_an_error_and_a_comment_are_enough(self):
        for body in ("if (isWide(op)) {\n    remarks.report(op, RemarkId::TooWide);\n    return false;\n  }",
                     "if (isWide(op)) {\n    op->emitOpError(\"is too wide\");\n    return false;\n  }",
                     "if (failed(check(op)))\n    return failure();",
                     "if (isWide(op))\n    return false; // not a candidate: no product\n"):
            passes, said = self.check("  " + body)
            self.assertTrue(passes, said)

    def test_a_report_in_another_block_is_not_enough(self):
        passes, said = self.check("  if (isLong(op)) {\n    remarks.report(op, RemarkId::TooWide);\n  }\n  return false;")
        self.assertFalse(passes, said)

    def test_no_reason_is_no_refusal(self):
        passes, said = self.check("  return std::nullopt;", head="static std::optional<RemarkReason> refuse(Operation *op)")
        self.assertTrue(passes, said)

    def test_the_list(self):
        body = "  if (isWide(op))\n    return false;\n  if (isLong(op))\n    return false;\n  return true;"
        self.assertTrue(self.check(body, "  matches 2: TooWide\n")[0])
        self.assertTrue(self.check(body, "  matches 2: - asks for sizes\n")[0])
        self.assertIn("has 2 silent exits (lines 3, 5), not 1", self.check(body, "  matches: TooWide\n")[1])
        self.assertIn("'TooLong' is not in", self.check(body, "  matches 2: TooLong\n")[1])
        self.assertIn("'other' of passes/graph/Matcher.cpp has no silent exit", self.check(
            body, "  matches 2: TooWide\n  other: TooWide\n")[1])

    def test_limits(self):
        body = "  return true;\n}\nstatic constexpr int64_t kMaxRank = 8;\nstatic void f() {"
        self.assertIn("'kMaxRank' refuses in silence", self.check(body)[1])
        self.assertTrue(self.check(body, "  kMaxRank: TooWide\n")[0])

    def test_choices_of_the_lowering(self):
        path = "passes/lower/ops/LowerThing.cpp"
        for body, name in [("  if (e.getIsa().dotBf16)\n    emitPairs();", "matches"), ("  return isa.tileRows * 2;", "matches"),
                           ("  emit();\n}\nstatic constexpr int64_t kOwnRows = 64;\nstatic void f() {", "kOwnRows")]:
            passes, said = self.check(body, path=path)
            self.assertFalse(passes, body)
            self.assertIn(f"'{name}' refuses in silence", said)
            self.assertTrue(self.check(body, f"  {name}: TooWide\n", path=path)[0])
            self.assertTrue(self.check(body)[0], "elsewhere it is no choice")
        # A name is not a choice, and a member function may be const and an override.
        self.assertTrue(self.check('  print(e.getIsa().name);', path=path)[0])
        self.assertIn("'getRows' refuses in silence", self.check("  return isa.bf16Rows;", path=path,
                                                                 head="int64_t getRows(const Isa &isa) const override")[1])


unittest.main()
