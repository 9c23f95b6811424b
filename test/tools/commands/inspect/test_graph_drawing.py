# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""inspect --graph: model pictures, as SVG and for Graphviz."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from base import GOLDENS, SOURCE, ToolTest

SVG = "{http://www.w3.org/2000/svg}"
EXAMPLES = os.path.join(SOURCE, "examples")


class GraphDrawing(ToolTest):
    def svg(self, path):
        return xml.fromstring(self.succeed("inspect", path, "--graph", "svg").stdout)

    def texts(self, root, style):
        return [element.text for element in root.iter(SVG + "text") if element.get("class") == style]

    def boxes(self, root):
        """Returns the node rectangles and the group rectangles."""
        nodes, groups = [], []
        for element in root.iter(SVG + "rect"):
            box = [float(element.get(key, 0)) for key in ("x", "y", "width", "height")]
            if element.get("class") == "box":
                groups.append(box)
            elif element.get("class") != "page":
                nodes.append(box)
        return nodes, groups

    def config(self, **changes):
        with open(os.path.join(GOLDENS, "bert", "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        config.update(changes)
        with open(self.path("config.json"), "w", encoding="utf-8") as file:
            json.dump(config, file)
        return self.path("config.json")

    def test_equal_layers_are_drawn_once(self):
        small, large = self.svg(self.config(num_hidden_layers=2)), self.svg(self.config(num_hidden_layers=48))
        self.assertEqual(self.texts(small, "r"), ["\u00d7 2"])
        self.assertEqual(self.texts(large, "r"), ["\u00d7 48"])
        self.assertEqual(self.texts(large, "g")[1], "encoder.layer 0-47")
        self.assertEqual(self.texts(small, "t"), self.texts(large, "t"))
        self.assertEqual(self.texts(small, "t").count("layer_norm"), 3)  # embeddings, attention, output

    def test_layers_that_alternate(self):
        root = self.svg(os.path.join(GOLDENS, "gemma2"))
        with open(os.path.join(GOLDENS, "gemma2", "config.json"), encoding="utf-8") as file:
            layers = json.load(file)["num_hidden_layers"]
        self.assertEqual(self.texts(root, "r"), [f"2 layers \u00d7 {layers // 2}"] if layers > 2 else [])

    def test_nodes_do_not_overlap(self):
        for path in ("tiny-bert", "tiny-llama", "tiny-t5", "decomposed-attention", "transformer", "pre-norm"):
            with self.subTest(path):
                root = self.svg(os.path.join(EXAMPLES, path))
                nodes, groups = self.boxes(root)
                width, height = float(root.get("width")), float(root.get("height"))
                self.assertGreater(len(nodes), 4)
                for boxes in (nodes, groups):
                    for x, y, w, h in boxes:
                        self.assertTrue(0 <= x and x + w <= width and 0 <= y and y + h <= height, (x, y, w, h))
                for i, (x, y, w, h) in enumerate(nodes):
                    for x2, y2, w2, h2 in nodes[:i]:
                        self.assertFalse(x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h, (x, y, x2, y2))
                    # A group holds a node whole or not at all.
                    for gx, gy, gw, gh in groups:
                        inside = gx <= x and x + w <= gx + gw and gy <= y and y + h <= gy + gh
                        apart = x + w <= gx or gx + gw <= x or y + h <= gy or gy + gh <= y
                        self.assertTrue(inside or apart, (x, y, gx, gy))

    def test_entries_of_an_encoder_decoder(self):
        titles = self.texts(self.svg(os.path.join(EXAMPLES, "tiny-t5")), "g")
        for entry in ("entry encode", "entry source", "entry step"):
            self.assertIn(entry, titles)

    def test_shapes_are_on_the_edges(self):
        shapes = self.texts(self.svg(os.path.join(EXAMPLES, "tiny-bert")), "s")
        self.assertIn("[batch, seq, 32]", shapes)
        self.assertIn("[batch, seq, 64]", shapes)

    def test_nothing_is_loaded_and_names_are_escaped(self):
        name = "<script>alert(1)</script>&\"'"
        with open(self.path("graph.json"), "w", encoding="utf-8") as file:
            json.dump({"transom": 1, "name": name, "dims": {"n": {}},
                       "inputs": [{"name": name, "dtype": "f32", "shape": ["n", 4]}],
                       "nodes": [{"name": "y\n\u0001", "op": "relu", "inputs": [name]}], "outputs": ["y\n\u0001"]}, file)
        for form in ("svg", "dot"):
            result = self.tool("inspect", self.path("graph.json"), "--graph", form)
            if result.returncode:
                self.assertEqual(result.returncode, 3, result.stderr)  # the importer refuses such a name
                continue
            self.assertNotIn("<script>", result.stdout.replace(json.dumps(name)[1:-1], "") if form == "dot" else result.stdout)
        text = self.succeed("inspect", os.path.join(EXAMPLES, "tiny-bert"), "--graph", "svg").stdout
        self.assertNotRegex(text, r"<script|href|url\(|@import|<image|<foreignObject")
        self.assertEqual(re.findall(r"https?://[^\"' ]+", text), ["http://www.w3.org/2000/svg"])
        self.assertIn("prefers-color-scheme:dark", text)

    def test_dot(self):
        path = os.path.join(EXAMPLES, "tiny-llama")
        text = self.succeed("inspect", path, "--graph", "dot").stdout
        self.assertEqual(text, self.succeed("inspect", path, "--graph", "dot").stdout)
        nodes = set(re.findall(r"^ +(n\d+) \[label=", text, re.M))
        edges = re.findall(r"^  (n\d+) -> (n\d+) ", text, re.M)
        self.assertGreater(len(edges), 10)
        self.assertLessEqual({node for edge in edges for node in edge}, nodes)
        self.assertIn('label="model.layers 0-1  \u00d7 2"', text)
        self.assertEqual(text.count("{"), text.count("}"))
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True)

    def test_output_file(self):
        self.succeed("inspect", os.path.join(EXAMPLES, "tiny-bert"), "--graph", "svg", "-o", self.path("bert.svg"))
        with open(self.path("bert.svg"), encoding="utf-8") as file:
            self.assertEqual(file.read(), self.succeed("inspect", os.path.join(EXAMPLES, "tiny-bert"), "--graph", "svg").stdout)

    def test_the_picture_of_the_page(self):
        """TRANSOM_UPDATE=1 draws it again."""
        path = os.path.join(SOURCE, "docs", "images", "inspect-graph.svg")
        drawn = self.succeed("inspect", os.path.join(EXAMPLES, "tiny-llama"), "--graph", "svg").stdout
        if os.environ.get("TRANSOM_UPDATE"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(drawn)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), drawn)

    def test_what_has_no_graph(self):
        self.fail_with(2, "inspect", self.compiled("bert"), "--graph", "svg", says="is compiled")
        self.fail_with(2, "inspect", os.path.join(GOLDENS, "bert"), "--graph", "png", says="supported: svg, dot")


if __name__ == "__main__":
    unittest.main()
