# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generation flags: rejected values, and the help."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from decoders import DecoderTest, tokenizer  # noqa: E402


class GenerationFlags(DecoderTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.variant("gpt2", "text", tokenizer=tokenizer())

    def test_values_that_are_refused(self):
        for flags, says in (
            (["-p", "a", "--top-p", "1.5"], "'--top-p': expected a number in [0, 1], got '1.5'"),
            (["-p", "a", "--temperature", "nan"], "'--temperature': expected a number, 0 or more, got 'nan'"),
            (["-p", "a", "-n", "-1"], "'--max-new-tokens': expected a whole number, 0 or more, got '-1'"),
            (["-p", "a", "-n", "9223372036854775808"], "expected a whole number, 0 to 9223372036854775807, got '9223372036854775808'"),
            (["-p", "a", "--top-k", "1.5"], "expected a whole number, 0 or more, got '1.5'"),
            (["-p", "a", "--seed", "-1"], "expected a whole number, 0 to 18446744073709551615, got '-1'"),
            (["-p", "a", "--seed", "18446744073709551616"], "got '18446744073709551616'"),
            (["-p", "a", "--eos-token-id", "1,b"], "'--eos-token-id': expected a whole number"),
            (["-p", "a", "--num-return-sequences", "70000"], "'num_return_sequences' has to be a number in [1, 65536], got 70000"),
            (["-p", "a", "--top-logprobs", "3"], "'--top-logprobs' needs '--json'"),
            (["-p", "a", "--stop", ""], "a stop string is empty"),
            (["-p", "a", "--logit-bias", "5"], "ID:X"),
            (["-p", "a", "--logit-bias", "5:1e9"], "the logit bias of token 5"),
            (["-p", "a", "--early-stopping", "maybe"], "supported: false, true, never"),
            (["-p", "a", "--temprature", "1"], "did you mean '--temperature'"),
            (["-p", "a", "--truncate-prompt", "--context-shift"], "'--truncate-prompt' and '--context-shift' exclude each other"),
            (["-p", "a", "--repetition-penalty", "0"], "'--repetition-penalty': expected a number in [1e-06, 1e+06], got '0'"),
            (["-p", "a", "--top-k", "-1"], "expected a whole number, 0 or more, got '-1'"),
            (["-p", "a", "--num-beams", "0"], "expected a whole number, 1 or more, got '0'"),
        ):
            self.fail_with(2, "generate", self.text, *flags, says=says)

    def test_help_lists_the_options(self):
        shown = self.succeed("generate", "--help").stdout
        for flag in ("--max-new-tokens", "--temperature", "--top-k", "--top-p", "--min-p", "--repetition-penalty",
                     "--no-repeat-ngram-size", "--logit-bias", "--seed", "--eos-token-id", "--stop", "--context-shift",
                     "--length-penalty", "--early-stopping", "--renormalize-logits", "--encoder-no-repeat-ngram-size",
                     "--forced-bos-token-id", "--use-shortlist"):
            self.assertIn(flag, shown)


if __name__ == "__main__":
    unittest.main()
