# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensor files: valid and invalid model arguments."""
import unittest

from tensors import RunTest


class Tensors(RunTest):
    def test_masks_and_types_are_optional(self):
        ids = [5, 6, 7, 8]
        short = self.run_on({"input_ids": ("I64", [1, 4], ids)})
        full = self.run_on({"input_ids": ("I64", [1, 4], ids), "attention_mask": ("I64", [1, 4], [1] * 4), "token_type_ids": ("I64", [1, 4], [0] * 4)})
        self.assertEqual(short, full)

    def test_i32_is_as_good_as_i64(self):
        ids = [5, 6, 7, 8]
        self.assertEqual(self.run_on({"input_ids": ("I32", [2, 2], ids)}), self.run_on({"input_ids": ("I64", [2, 2], ids)}))

    def test_inputs_that_do_not_fit(self):
        ids = ("I64", [1, 2], [1, 2])
        self.run_on({"ids": ids}, 3, says="ids")
        self.run_on({}, 3, says="input_ids")
        self.run_on({"input_ids": ids, "extra": ids}, 3, says="extra")
        self.run_on({"input_ids": ("F32", [1, 2], [1, 2])}, 3, says="f32")
        self.run_on({"input_ids": ("I64", [2], [1, 2])}, 3, says="input_ids")
        self.run_on({"input_ids": ("I64", [1, 2, 1], [1, 2])}, 3, says="input_ids")
        self.run_on({"input_ids": ids, "attention_mask": ("I64", [1, 3], [1, 1, 1])}, 3, says="attention_mask")
        self.run_on({"input_ids": ids, "attention_mask": ("I64", [1, 2], [1, 2])}, 3, says="attention_mask")
        self.run_on({"input_ids": ("I64", [0, 2], [])}, 3, says="input_ids")
        self.run_on({"input_ids": ("I64", [1, 0], [])}, 3, says="input_ids")
        self.run_on({"input_ids": ("U8", [1, 2], [1, 2])}, 3, says="U8")

    def test_inputs_that_are_no_safetensors(self):
        with open(self.path("in.safetensors"), "wb") as file:
            file.write(b"\x10\0\0\0\0\0\0\0{}")
        self.fail_with(3, "run", self.compiled("bert"), "encode", "--in", self.path("in.safetensors"), "--out", self.path("o"), says="in.safetensors")


if __name__ == "__main__":
    unittest.main()
