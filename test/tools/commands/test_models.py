# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loading compiled models: missing files and entries, and files that must not be read or run."""
import os
import subprocess
import unittest

from base import GOLDENS, TOOL, ToolTest


class Models(ToolTest):
    def test_missing_files(self):
        for command in (["inspect"], ["bench"], ["embed", "--text", "a"], ["tokenize", "--text", "a"], ["classify", "--text", "a"]):
            self.fail_with(6, command[0], self.path("none.so"), *command[1:], says="none.so")
        self.fail_with(6, "compile", self.path("none"), "-o", self.path("x.so"), says="none")

    def test_missing_entries(self):
        model = self.compiled("bert")
        source = os.path.join(GOLDENS, "bert", "encode.1.in.safetensors")
        self.fail_with(2, "run", model, "enc", "--in", source, "--out", self.path("o"), says="it has: encode; did you mean 'encode'?")

    @unittest.skipIf(os.geteuid() == 0, "root reads every file")
    def test_files_without_permission(self):
        path = self.path("m.so")
        with open(path, "w"):
            os.chmod(path, 0)
        self.fail_with(6, "inspect", path, says="permission denied")

    def test_file_system_without_execution(self):
        mounted = ["unshare", "--mount", "--map-root-user", "sh", "-c",
                   'mount -t tmpfs -o noexec transom "$1" && shift && exec "$@"', "sh", self.path("")]
        if subprocess.run([*mounted, "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        model, copy = self.compiled("bert"), self.path("noexec.so")
        source = os.path.join(GOLDENS, "bert", "encode.1.in.safetensors")
        script = 'cp "$1" "$2" && exec "$3" run "$2" encode --in "$4" --out /dev/null'
        result = subprocess.run([*mounted, "sh", "-c", script, "sh", model, copy, TOOL, source], capture_output=True, text=True)
        self.assertEqual(result.returncode, 6, result.stderr)
        self.assertIn("noexec", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
