# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-fusion.py SOURCE TRANSOM PAGE [--fix]: inserts the nodes in each block in the page under a mark <!-- attention --> into
# examples/decomposed-attention, from the node 'products' to 'mixed', and compares their remarks from 'transom explain' with the
# block that follows. A mark <!-- attention outputs: A B --> changes the graph outputs, too.
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(
    r"(<!-- attention(?: outputs: ([\w ]+))? -->\n```json\n(.*?)^```\n```text\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)


def explain(transom, folder, example, nodes, outputs):
    """Returns the pass remarks for the graph with these nodes, as printed by explain."""
    with open(os.path.join(example, "graph.json"), encoding="utf-8") as stream:
        graph = json.load(stream)
    names = [node["name"] for node in graph["nodes"]]
    graph["nodes"][names.index("products"):names.index("mixed") + 1] = nodes
    graph["outputs"] = outputs or graph["outputs"]
    with open(os.path.join(folder, "graph.json"), "w", encoding="utf-8") as stream:
        json.dump(graph, stream)
    run = subprocess.run([transom, "explain", os.path.join(folder, "graph.json"), "--json", "--target", "x86-64-v3"],
                         capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"explain of {[node['name'] for node in nodes]}: exit {run.returncode}\n{run.stderr}")
    remarks = [remark for remark in json.loads(run.stdout)["remarks"]
               if remark["category"] == "attn-fuse-attention" and remark["kind"] in ("passed", "missed")]
    return "".join(f"{remark['message']}\n" for remark in remarks)


def main():
    source, transom, page = sys.argv[1:4]
    path, example = os.path.join(source, page), os.path.join(source, "examples", "decomposed-attention")
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    wrong, seen = [], []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(example, "model.safetensors"), folder)

        def check(match):
            now = explain(transom, folder, example, json.loads(f"[{match.group(3)}]"), (match.group(2) or "").split())
            seen.append(now)
            if now != match.group(4):
                wrong.append(now)
                print(f"{page}: the page has\n{match.group(4)}and explain says\n{now}")
            return match.group(1) + now + match.group(5)

        fixed = BLOCK.sub(check, text)
    if "--fix" in sys.argv:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(fixed)
        wrong = []
    # The first block is fused; the others are for ten different reasons not.
    if len(set(seen)) != 11 or not seen[0].startswith("fused ") or not all(s.startswith("attention is not fused: ") for s in seen[1:]):
        sys.exit(f"{page}: not one fused attention and ten reasons: {seen}")
    sys.exit(1 if wrong else 0)


main()
