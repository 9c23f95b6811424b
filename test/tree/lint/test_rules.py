# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Each lint rule, shown on a small tree that keeps all rules and then on the
# same tree with one rule broken.
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CHECKS = os.path.join(ROOT, "tools", "dev")
sys.dont_write_bytecode = True
sys.path.insert(0, CHECKS)
import retired_words

BANNER = (
    "// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.\n"
    "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception\n"
    "//\n"
    "// The idea of the file.\n"
)

PASSES = BANNER + """
include "mlir/Pass/PassBase.td"
def FuseThingPass : Pass<"attn-fuse-thing"> {
  let summary = "fuse a thing";
  let description = [{ Fuses.
```mlir
example
``` }];
  let statistics = [Statistic<"numFused", "num-fused", "things fused">];
}
"""

OPS = BANNER + """
include "mlir/IR/OpBase.td"
def My_Dialect : Dialect { let name = "my"; }
def My_AddOp : Op<My_Dialect, "add"> {
  let summary = "adds";
  let description = [{ Adds.
```mlir
%0 = my.add
``` }];
}
"""

CLEAN = {
    "README.md": "# A tree\n",
    "runtime/README.md": "# Runtime\n",
    "runtime/Load.cpp": BANNER + '#include "runtime/abi/Abi.h"\n#include <string>\n',
    "runtime/abi/README.md": "# ABI\n",
    "runtime/abi/Abi.h": BANNER + "#include <stdint.h>\n",
    "dialects/my/MyOps.td": OPS,
    "passes/graph/README.md": "# Passes\n",
    "passes/graph/Passes.td": PASSES,
    "passes/graph/FuseThing.cpp": BANNER + '#include "mlir/IR/Builders.h"\n#define DEBUG_TYPE "attn-fuse-thing"\n',
    "test/passes/graph/fuse-thing.mlir": "// RUN: true\n",
    "test/runtime/LoadTest.cpp": BANNER,
}


class Rules(unittest.TestCase):
    def run_check(self, check, changes):
        """Returns exit code and output for one check on the clean tree with some files replaced (None: removed)."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**CLEAN, **changes}.items():
                if text is None:
                    continue
                path = os.path.join(folder, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as stream:
                    stream.write(text)
            script = os.path.join(CHECKS, "check-prose" if check == "prose" else f"check-{check}.py")
            run = subprocess.run([sys.executable, script, "--root", folder], capture_output=True, text=True)
            self.assertEqual(run.stderr, "")
            return run.returncode, run.stdout

    def expect(self, check, changes, message):
        code, output = self.run_check(check, changes)
        self.assertIn(message, output)
        self.assertEqual(code, 1, output)

    def test_clean_tree_passes(self):
        for check in ("layers", "text", "pages", "td", "prose", "sizes", "tests"):
            self.assertEqual(self.run_check(check, {}), (0, ""), check)

    def test_runtime_may_not_include_mlir(self):
        text = BANNER + '#include "mlir/IR/Builders.h"\n'
        self.expect("layers", {"runtime/Load.cpp": text}, "runtime/Load.cpp:5: 'runtime' may not include 'mlir/IR/Builders.h'")

    def test_graph_may_not_include_lower(self):
        text = BANNER + '#include "passes/lower/Lower.h"\n'
        self.expect("layers", {"passes/graph/A.h": text}, "'passes/graph' may not include 'passes/lower/Lower.h'")

    def test_dialects_may_not_include_passes(self):
        text = BANNER + '#include "passes/Remarks.h"\n'
        self.expect("layers", {"dialects/my/A.h": text}, "'dialects' may not include 'passes/Remarks.h'")

    def test_passes_may_not_include_compiler(self):
        text = BANNER + '#include "compiler/driver/Driver.h"\n'
        self.expect("layers", {"passes/graph/A.h": text}, "may not include 'compiler/driver/Driver.h'")

    def test_planner_knows_no_ir(self):
        text = BANNER + '#include "llvm/ADT/SmallVector.h"\n'
        self.expect("layers", {"passes/kernel/MemoryPlanner.cpp": text}, "may not include 'llvm/ADT/SmallVector.h'")

    def test_abi_includes_c_headers_only(self):
        self.expect("layers", {"runtime/abi/Abi.h": BANNER + "#include <vector>\n"}, "may include C headers only, got 'vector'")

    def test_includes_are_root_relative(self):
        self.expect("layers", {"runtime/Load.cpp": BANNER + '#include "Load.h"\n'}, "'Load.h' is not relative to the root")

    def test_tablegen_includes_are_layered_too(self):
        text = OPS + 'include "passes/graph/Passes.td"\n'
        self.expect("layers", {"dialects/my/MyOps.td": text}, "may not include 'passes/graph/Passes.td'")

    def test_no_header_registers_everything(self):
        text = BANNER + '#include "mlir/InitAllPasses.h"\n'
        self.expect("layers", {"passes/graph/A.cpp": text}, "registers everything")

    def test_executor_may_not_include_decoder(self):
        text = BANNER + '#include "runtime/decode/DecodeEngine.h"\n'
        self.expect("layers", {"runtime/execute/A.h": text}, "'runtime/execute' may not include 'runtime/decode/DecodeEngine.h'")

    def test_unknown_folder_has_no_layer(self):
        self.expect("layers", {"stray/A.cpp": BANNER}, "no layer names this folder")

    def test_layers_have_no_cycles_in_the_compiler(self):
        tree = {"compiler/driver/A.cpp": BANNER + '#include "compiler/stages/B.h"\n', "compiler/stages/B.h": BANNER + '#include "compiler/options/C.h"\n',
                "compiler/options/C.h": BANNER}
        self.assertNotIn("cycle", self.run_check("layers", tree)[1])
        tree["compiler/options/C.h"] += '#include "compiler/driver/D.h"\n'
        self.expect("layers", tree, "which makes a cycle of folders: compiler/driver -> compiler/stages -> compiler/options -> compiler/driver")

    def test_banner_is_missing(self):
        self.expect("text", {"runtime/Load.cpp": "#include <string>\n"}, "does not start with the licence banner")

    def test_banner_without_idea(self):
        text = "\n".join(BANNER.splitlines()[:3]) + "\n\nint x;\n"
        self.expect("text", {"runtime/Load.cpp": text}, "does not tell the idea")

    def test_readme_is_missing(self):
        self.expect("text", {"runtime/README.md": None}, "runtime:1: the folder has no README.md")

    def test_readme_is_too_long(self):
        self.expect("text", {"README.md": "line\n" * 151}, "a README has at most 150 lines, got 151")

    def test_path_of_a_machine(self):
        for folder in ("home", "work", "tmp", "opt"):
            self.expect("text", {"README.md": f"see /{folder}/someone/file\n"}, "names a path of one machine")

    def test_path_out_of_the_tree(self):
        up = ".." + "/"
        self.expect("text", {"README.md": f"see {up}elsewhere\n"}, "outside of the repository")
        self.assertEqual(self.run_check("text", {"runtime/README.md": f"see {up}dialects\n"})[0], 0)

    def test_unknown_host(self):
        self.expect("text", {"README.md": "see http" + "://registry.invalid/simple\n"}, "names the host 'registry.invalid'")

    def test_long_source_is_a_warning(self):
        code, output = self.run_check("text", {"runtime/Load.cpp": BANNER + "\n" * 500})
        self.assertIn("warning: 504 lines", output)
        self.assertEqual(code, 0)

    def test_link_to_nothing(self):
        self.expect("pages", {"README.md": "see [x](runtime/None.h)\n"}, "README.md:1: links to 'runtime/None.h', which does not exist")
        self.assertEqual(self.run_check("pages", {"README.md": "[x](runtime), [y](https://llvm.org/z), [z](#part)\n"})[0], 0)

    def test_path_that_does_not_exist(self):
        self.expect("pages", {"README.md": "see `runtime/Gone.cpp`\n"}, "README.md:1: names 'runtime/Gone.cpp', which does not exist")
        self.assertEqual(self.run_check("pages", {"tools/dev/x.py": "", "README.md": "`runtime/Load.cpp`, `runtime/Load`, `runtime/*.cpp`, `tools/dev`\n"})[0], 0)

    def test_command_that_does_not_exist(self):
        tool = {"tools/commands/Run.cpp": BANNER + 'addCommand(app, commands,\n    "run", "runs");\n'}
        self.expect("pages", {**tool, "README.md": "call `transom explain x`\n"}, "'transom explain' is not a command; commands: run")
        self.assertEqual(self.run_check("pages", {**tool, "README.md": "`transom run x`; `transom` is\ntransom runs\n"})[0], 0)

    def test_shell_block_that_is_not_run(self):
        self.expect("pages", {"README.md": "```sh\nls\n```\n"}, "README.md:1: a block of shell commands without '<!-- test -->'")
        for mark in ("<!-- test -->", "<!-- not run: it takes minutes -->"):
            self.assertEqual(self.run_check("pages", {"README.md": f"{mark}\n```sh\nls\n```\n"}), (0, ""), mark)

    def test_file_that_does_not_exist(self):
        self.expect("pages", {"README.md": "see `Gone.cpp`\n"}, "README.md:1: names 'Gone.cpp', but no file of the tree is called so")
        self.assertEqual(self.run_check("pages", {"README.md": "`Load.cpp`, `L*.cpp`, `x.json`\n"}), (0, ""))

    def test_target_that_does_not_exist(self):
        lists = {"test/CMakeLists.txt": "transom_unit_test(unit-${x} A.cpp)\nadd_executable(tool B.cpp)\n"}
        for code in ("build/release/test/bin/gone", "build/release/bin/gone --flag", "ninja -C build/release tool gone"):
            self.expect("pages", {**lists, "README.md": f"`{code}`\n"}, "names the target 'gone', which no CMakeLists.txt builds")
        self.assertEqual(self.run_check("pages", {**lists, "README.md": "`build/release/test/bin/unit-a`, `ninja tool`\n"}), (0, ""))

    def test_preset_that_does_not_exist(self):
        presets = {"CMakePresets.json": '{"configurePresets": [{"name": "release"}]}'}
        self.expect("pages", {**presets, "README.md": "`cmake --preset debug`\n"}, "'debug' is not a preset; presets: release")

    def test_flag_that_does_not_exist(self):
        tool = {"tools/commands/Run.cpp": BANNER + 'addCommand(app, commands, "run", "runs"); add_option("-i,--in", x);\n',
                "tools/check": "case --all) ;;\n"}
        for code, where in (("transom run --all", "transom"), ("tools/check --in x", "'tools/check'"), ("--gone", "the tree")):
            self.expect("pages", {**tool, "README.md": f"`{code}`\n"}, f", which {where} does not have")
        self.assertEqual(self.run_check("pages", {**tool, "README.md": "`transom run --in x`, `tools/check --all`, `ctest --gone`\n"}), (0, ""))

    def test_op_without_description(self):
        self.expect("td", {"dialects/my/MyOps.td": OPS.replace("Adds.", "").replace("```mlir\n%0 = my.add\n```", "")}, "op 'add' has no description")

    def test_op_without_example(self):
        self.expect("td", {"dialects/my/MyOps.td": OPS.replace("```", "")}, "the description of op 'add' has no example")

    def test_op_without_summary(self):
        self.expect("td", {"dialects/my/MyOps.td": OPS.replace('"adds"', '""')}, "op 'add' has no summary")

    def test_pass_without_statistic(self):
        text = "\n".join(line for line in PASSES.splitlines() if "statistics" not in line)
        self.expect("td", {"passes/graph/Passes.td": text}, "pass 'attn-fuse-thing' has no statistic")

    def test_pass_flag_is_not_its_class(self):
        text = PASSES.replace("FuseThingPass", "FuseOtherPass")
        self.expect("td", {"passes/graph/Passes.td": text}, "pass class 'FuseOther' and flag 'attn-fuse-thing' are not one name")

    def test_pass_without_source(self):
        self.expect("td", {"passes/graph/FuseThing.cpp": None}, "has no source 'passes/graph/FuseThing.cpp'")

    def test_pass_with_other_debug_type(self):
        text = BANNER + '#define DEBUG_TYPE "fuse"\n'
        self.expect("td", {"passes/graph/FuseThing.cpp": text}, "DEBUG_TYPE is not the flag 'attn-fuse-thing'")

    def test_pass_without_test(self):
        self.expect("td", {"test/passes/graph/fuse-thing.mlir": None}, "has no test 'fuse-thing.mlir'")

    def test_broken_tablegen_is_reported(self):
        self.expect("td", {"dialects/my/MyOps.td": BANNER + "def X : Missing;\n"}, "dialects/my/MyOps.td:1: ")

    def test_retired_words(self):
        for word, _, term in retired_words.CODE + retired_words.PROSE:
            with self.subTest(word):
                name, text = ("A.h", f"int {word};\n") if word in retired_words.IDENTIFIERS else ("README.md", f"Of {word}.\n")
                self.expect("prose", {f"fresh/{name}": text}, f"is retired; the glossary's term is: {term}")

    def test_identifiers_are_free_in_prose(self):
        text = "// The parts of a walk, in pieces.\nint x; // wanted\nconst char *y = \"segments\";\n/* a part, and\n * parts, */\n"
        self.assertEqual(self.run_check("prose", {"fresh/A.h": text, "fresh/README.md": "Parts, pieces.\n"}), (0, ""))

    def test_words_of_code_are_for_code(self):
        self.assertEqual(self.run_check("prose", {"fresh/list.txt": "twin\n"})[0], 0)

    def test_retired_file_names(self):
        for name in retired_words.FILES:
            self.expect("prose", {f"fresh/{name}": BANNER}, f"'fresh/{name}' is retired")

    def test_words_within_others_are_fine(self):
        text = "The pass calls op->walk() and WalkResult, in place, with rotary_pct, isOneOf(1), indexOf(2) and a standalone tool.\n"
        self.assertEqual(self.run_check("prose", {"fresh/README.md": text}), (0, ""))

    def test_glossary_lists_the_retired_words(self):
        self.expect("prose", {"docs/glossary.md": "# Glossary\n\n## Retired words\n\n| a | b |\n"}, "differs from 'check-prose --glossary'")

    def test_glossary_links(self):
        self.expect("prose", {"docs/glossary.md": "see [x](../nowhere/x.h)\n"}, "links to '../nowhere/x.h', which does not exist")

    def test_long_file(self):
        self.expect("sizes", {"runtime/Load.cpp": BANNER + "\n" * 500}, "runtime/Load.cpp:504: 504 lines; product code has at most 500 per file")
        self.assertEqual(self.run_check("sizes", {"dialects/my/MyOps.td": OPS + "\n" * 500}), (0, ""))

    def test_long_function(self):
        for head, tail in (("int f(int x) {\n", "}\n"), ("class A {\npublic:\n  int f(int x) {\n", "  }\n};\n")):
            text = BANNER + head + "  x += 1;\n" * 60 + tail
            self.expect("sizes", {"runtime/Load.cpp": text}, "a function of 62 lines")
            self.assertEqual(self.run_check("sizes", {"runtime/Load.cpp": text.replace("  x += 1;\n", "", 2)}), (0, ""))

    def test_include_cycle(self):
        headers = {f"runtime/{a}.h": BANNER + f'#include "runtime/{b}.h"\n' for a, b in (("A", "B"), ("B", "C"), ("C", "A"))}
        self.expect("sizes", headers, "includes itself: runtime/A.h -> runtime/B.h -> runtime/C.h -> runtime/A.h")

    def test_sizes_of_folders(self):
        files = {f"runtime/more/A{i}.{ending}": BANNER for i in range(30) for ending in ("h", "cpp")}
        self.assertEqual(self.run_check("sizes", files), (0, ""))
        self.expect("sizes", {**files, "runtime/more/B.cpp": BANNER}, "31 modules at one level; at most 30")

    def test_source_without_test(self):
        for name in ("fresh/KvFile.cpp", "fresh/Kv.c"):
            self.expect("tests", {"tools/" + name: BANNER, "test/tools/KvFileTest.cpp": BANNER}, f"tools/{name}:1: no test of this name in 'test/tools/fresh'")

    def test_names_of_tests(self):
        for test in ("KvFileTest.cpp", "KvFileReadTest.cpp", "kv-file.mlir", "kv-file-errors.mlir", "kv-file.test", "test_kv_file.py", "test_kv_file_two.py", "FileTest.cpp"):
            self.assertEqual(self.run_check("tests", {"tools/kv/KvFile.cpp": BANNER, f"test/tools/kv/{test}": ""}), (0, ""), test)
        for test in ("KvFilesTest.cpp", "KvFile.cpp", "kv-files.mlir", "kvfile.mlir", "test_kv.py", "KvTest.cpp"):
            self.assertEqual(self.run_check("tests", {"tools/kv/KvFile.cpp": BANNER, f"test/tools/kv/{test}": ""})[0], 1, test)


if __name__ == "__main__":
    unittest.main()
