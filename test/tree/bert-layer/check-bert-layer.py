# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check-bert-layer.py SOURCE TRANSOM PAGE [--fix]: compares each block in the page under a mark <!-- excerpt NAME: COMMAND -->
# with the command's current output, shortened by the function NAME; --fix rewrites the page.
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap

MARK = re.compile(r"(<!-- excerpt ([\w-]+): transom ([^>]*?) -->\n```\w+\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
WIDTH = 100


def join_statements(text):
    """Splits MLIR into statements, each with its continuation lines, by the first line's indentation."""
    statements = []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if statements and indent > 4:
            statements[-1] += "\n" + line
        else:
            statements.append(line)
    return statements


def cut_attention(text):
    """Returns layer 0 from its queries to the norm after attention, without the lines that fetch weights."""
    kept, inside = [], False
    for statement in join_statements(text):
        inside = inside or statement.lstrip().startswith("%query = ")
        if inside and "attn.get_weight" not in statement:
            kept.append(statement)
        if inside and "attn.layer_norm" in statement:
            return textwrap.dedent("\n".join(kept))
    sys.exit("no attention in layer 0")


def cut_layer(text):
    """Returns a layer's function."""
    match = re.search(r"^  func\.func private @layer\(.*?^  }$", text, re.MULTILINE | re.DOTALL)
    return textwrap.dedent(match.group(0))


def cut_remarks(text):
    """Returns the pass remarks on the first layer, or on the shared layer body."""
    lines = []
    for remark in json.loads(text)["remarks"]:
        place = remark["place"]["location"]
        if remark["kind"] == "passed" and ("layer.0" in place or "{0-1}" in place or place == "encode"):
            line = f"{remark['category']}: {remark['message']}"
            lines += textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines)


def count(value):
    return f"{value:,}".replace(",", " ")


def cut_phases(text):
    """Returns the layer's phases: their computations, and their operations in the example call."""
    (entry,) = json.loads(text)["entries"]
    total = entry["flops"]["value"]
    lines = [f"call: {entry['example']['length']} tokens, {count(total)} operations, {entry['barriers']} barriers"]
    for phase in entry["phases"]:
        if phase["name"].startswith("layer."):
            what = "; ".join(filter(None, (f"{op['name']} {op['detail']}".strip() for op in phase["operations"] if op["detail"])))
            share = 100 * phase["runs"] * phase["flops"]["value"] / total
            lines.append(f"{phase['name']:18} {phase['runs']} runs {share:5.1f} %  {what}")
    lines.append(f"arena: {count(entry['arena_bytes']['value'])} bytes, at least "
                 f"{count(entry['arena_lower_bound']['value'])} for any plan")
    return "\n".join(lines)


def cut_kernels(text):
    """Returns the micro-kernels for the layer's GEMMs."""
    lines = ["instruction set  rows x columns  phases"]
    tiles = {}
    for kernel in json.loads(text)["kernels"]:
        phases = [phase for phase in kernel["phases"] if phase.startswith("layer.") and phase.endswith(".gemm")]
        tiles.setdefault((kernel["isa"], kernel["rows"], kernel["columns"]), set()).update(phases)
    for (isa, rows, columns), phases in sorted(tiles.items()):
        if phases:
            lines.append(f"{isa:16} {rows:4} x {columns:<8} {', '.join(sorted(phases))}")
    return "\n".join(lines)


def find_kernel(text, begin, end):
    """Returns the largest micro-kernel for the MLP's second GEMM: 64 -> 32."""
    bodies = re.findall(begin + r"transom\.k\.\w+\.f32\.(\d+)x\d+\.k64\.[\w.]*bias_residual[\w.]*(.*?)" + end, text, re.MULTILINE | re.DOTALL)
    return max(bodies, key=lambda body: int(body[0]))[1]


def cut_llvm(text):
    """The block with the multiplications: up to the second row, and its end."""
    body = find_kernel(text, r"^define internal void @", r"^}$")
    for block in re.split(r"\n\n", body):
        if "llvm.fma" in block:
            break
    lines = [line.strip() for line in block.splitlines()]
    fmas = [i for i, line in enumerate(lines) if "llvm.fma" in line]
    rest = len(fmas) - 2
    return "\n".join([*lines[:fmas[1] + 1], f"; ... {rest} rows more", *lines[fmas[-1] + 1:]])


def cut_assembly(text):
    """Returns the loop over K, without comments and with a plain label."""
    body = find_kernel(text, r"^", r"^\.Lfunc_end")
    lines = [re.sub(r"\s*#.*", "", line).rstrip() for line in body.splitlines()]
    lines = [line for line in lines if line]
    first = next(i for i, line in enumerate(lines) if "vfmadd" in line)
    label = max(i for i in range(first) if lines[i].endswith(":") and lines[i].startswith(".LBB"))
    name = lines[label][:-1]
    last = next(i for i in range(label, len(lines)) if lines[i].split()[:1] and lines[i].startswith("\tj") and lines[i].endswith(name))
    loop = lines[label:last + 1]
    registers = set(re.findall(r"%([yz]mm\d+)", "\n".join(loop)))
    kind = "zmm" if any(name.startswith("z") for name in registers) else "ymm"
    shown = [line.replace(name, ".loop").replace("\t", " " * 4, 1).replace("\t", " ") for line in loop]
    products = [i for i, line in enumerate(shown) if "vbroadcast" in line]
    if len(products) > 8:
        begin, end = products[3], products[-1]
        shown[begin:end] = [f"    # ... {len(products) - 4} rows more"]
    fmas = sum("vfmadd" in line for line in loop)
    return "\n".join([*shown, f"# {fmas} multiply-adds of {16 if kind == 'zmm' else 8} numbers, {len(registers)} of "
                              f"{32 if kind == 'zmm' else 16} vector registers"])


CUTS = {"attention": cut_attention, "layer": cut_layer, "remarks": cut_remarks, "phases": cut_phases, "kernels": cut_kernels,
        "llvm": cut_llvm, "assembly": cut_assembly}


def main():
    source, transom, page = sys.argv[1:4]
    path = os.path.join(source, page)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TRANSOM_")}
    with open(path, encoding="utf-8") as stream:
        text = stream.read()
    outputs, wrong = {}, []

    def check(match):
        begin, name, command, shown, end = match.groups()
        if command not in outputs:
            run = subprocess.run([transom, *shlex.split(command)], capture_output=True, text=True, cwd=source, env=environment)
            if run.returncode:
                sys.exit(f"transom {command}: exit {run.returncode}\n{run.stderr}")
            outputs[command] = run.stdout
        now = f"$ transom {command}\n{CUTS[name](outputs[command])}\n"
        if now != shown:
            wrong.append(name)
            print(f"{page}: {name}: the page has\n{shown}and the command gives\n{now}")
        return begin + now + end

    fixed, number = MARK.subn(check, text)
    if "--fix" in sys.argv:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(fixed)
        wrong = []
    if number != text.count("<!-- excerpt ") or {match[1] for match in MARK.findall(text)} != set(CUTS):
        sys.exit(f"{page}: {number} of {text.count('<!-- excerpt ')} excerpts are read, or one of {', '.join(CUTS)} is missing")
    if wrong:
        sys.exit(f"{page}: run test/tree/bert-layer/check-bert-layer.py SOURCE TRANSOM {page} --fix")


main()
