# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measured times in explain: for one compile, and for two compared compiles."""
import json
import unittest

from explains import ExplainTest


class Profile(ExplainTest):
    def write_profile(self, name, told, scale=1.0, batch=1, **row):
        """A profile in which each FLOP in a phase takes a nanosecond times `scale`, and every phase a microsecond."""
        (entry,) = told["entries"]
        lines = [{"location": phase["place"]["location"], "phase": phase["name"], "dispatches": phase["runs"],
                  "ms": (phase["flops"]["value"] * phase["runs"] * scale + 1000) * 1e-6, "share": 0, "gflops": 1, "gbps": 2, "peak_share": 0.25} for phase in entry["phases"]]
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"entry": "encode", "batch": batch, "seq": entry["example"]["length"], "ms_min": sum(line["ms"] for line in lines), "limit_share": 0.5, "profile": lines, **row}], file)
        return path

    def test_times_of_phases(self):
        model = self.example("tiny-bert")
        told = self.explain(model)
        text = self.succeed("explain", model, "--profile", self.write_profile("p.json", told)).stdout
        self.assertRegex(text, r"Measured: 1 x 64 tokens take 3\.19 ms, 50 % of the machine's limit")
        self.assertRegex(text, r"\n +1\.05 ms +25 % +33 % +1\.0 M +64\.0 KiB +0-1  attention 2 heads of 16")

    def test_the_nearer_limit_counts(self):
        model = self.example("tiny-bert")
        path = self.write_profile("p.json", self.explain(model), limit_gbps=4)
        self.assertRegex(self.succeed("explain", model, "--profile", path).stdout, r"\n +1\.05 ms +50 % +33 %")

    def test_two_compiles(self):
        model, flags = self.example("tiny-bert"), ["--other-flags", "--disable-pass kern-fuse-epilogues"]
        told, other = self.explain(model), self.explain(model, "--disable-pass", "kern-fuse-epilogues")
        profiles = ["--profile", self.write_profile("a.json", told), "--other-profile", self.write_profile("b.json", other, 2.0)]
        compared = self.explain(model, *flags, *profiles)
        (total,) = [each for each in compared["numbers"] if each["unit"] == "ns"]
        self.assertEqual(total["name"], "time of 1 x 64")
        # Locations add up to the total time, for any phases in them.
        for side in "ab":
            self.assertAlmostEqual(sum(each[f"ns_{side}"] or 0 for each in compared["phases"]), total[side], delta=50)
        self.assertGreater(total["b"], 1.9 * total["a"])
        by_place = {each["place"]: each for each in compared["phases"]}
        # The activation is a separate phase in one of them, at the same location.
        inner = by_place["intermediate, layers 0-1"]
        self.assertEqual((inner["runs_a"], inner["runs_b"]), (2, 4))
        text = self.succeed("explain", model, *flags, *profiles).stdout
        self.assertIn("Times by place, what changed most first", text)
        self.assertRegex(text, r"time of 1 x 64 +3\.19 ms +\d\.\d+ ms +2\.\d times")

    def test_layer_ranges_that_differ_pair(self):
        model = self.example("tiny-bert")
        a, b = self.explain(model), self.explain(model)
        (entry,) = b["entries"]
        split = [index for index, phase in enumerate(entry["phases"]) if ".{0-1}." in phase["place"]["location"]]
        phases = []
        for index, phase in enumerate(entry["phases"]):
            if index not in split:
                phases.append(phase)
                continue
            for layer in "01":
                one = json.loads(json.dumps(phase).replace(".{0-1}.", f".{layer}."))
                phases.append(one | {"name": f"{phase['name']}.{layer}", "runs": 1})
        entry["phases"] = phases
        paths = []
        for name, told in (("a", a), ("b", b)):
            paths.append(self.path(f"{name}.json"))
            with open(paths[-1], "w", encoding="utf-8") as file:
                json.dump(told, file)
        self.assertEqual(self.explain(*paths)["phases"], [])
        compared = self.explain(*paths, "--profile", self.write_profile("pa.json", a), "--other-profile", self.write_profile("pb.json", b))
        for each in compared["phases"]:
            self.assertEqual(each["flops_a"], each["flops_b"])
            self.assertEqual(each["runs_a"], each["runs_b"])

    def test_profiles_that_do_not_fit(self):
        model = self.example("tiny-bert")
        path = self.write_profile("p.json", self.explain(model))
        for text, says in (("[]", "no row has a profile"), ("{}", "expected an array"), ('[{"entry": "encode", "profile": [{"ms": 1}]}]', "missing key 'phase'")):
            with open(self.path("bad.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.fail_with(3, "explain", model, "--profile", self.path("bad.json"), says=says)
        self.fail_with(2, "explain", model, "--other-profile", path, says="second compile")
        self.fail_with(2, "explain", model, "--json", "--profile", path, says="'--profile'")


if __name__ == "__main__":
    unittest.main()
