# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generated explanations with any size, in the JSON form of `transom explain --json --ir`."""


CODE = """module {
  llvm.func @transom.k.gemm.6(%arg0: i64) {
    %0 = llvm.add %arg0, %arg0 : i64
    %1 = llvm.add %0, %0 : i64
    llvm.br ^bb1(%1, %0 : i64, i64)
  ^bb1(%2: i64, %3: i64):  // 2 preds: ^bb0, ^bb1
    llvm.call @print("%1") (%3, %0) : (i64, i64) -> ()
    llvm.return
  }
  llvm.func @"transom.p.avx2.layer.0.gemm.x"() {
    %0 = llvm.mlir.addressof @transom.k.gemm.6 : !llvm.ptr
    llvm.return
  }
}
"""


def amount(formula, value):
    return {"formula": formula, "value": value}


def place(location, pointer="/hidden_size"):
    return {"location": location, "file": "config.json", "pointer": pointer}


class Listing:
    """A module's lines and its operation table."""

    def __init__(self, entry="encode"):
        self.lines, self.names, self.locations, self.origins, self.operations = [], [], [], [], []
        self.add("module {", "builtin.module", "", [], -1)
        self.function = self.add(f"  func.func @{entry}(%x: tensor<?x8xf32>) {{", "func.func", entry, [], 0)

    @staticmethod
    def index(table, text):
        if text not in table[-64:]:
            table.append(text)
            return len(table) - 1
        return len(table) - 1 - table[::-1].index(text)

    def add(self, line, name, location, operands, parent):
        self.operations.append([len(self.lines), self.index(self.names, name), self.index(self.locations, location),
                                [self.index(self.origins, "config.json: /hidden_size")], parent, operands])
        self.lines += line.split("\n")
        return len(self.operations) - 1

    def op(self, name, location, operands):
        index = len(self.operations)
        values = ", ".join(f"%v{operand}" for operand in operands) or "%x"
        return self.add(f"    %v{index} = {name} {values} : [seq, 8] f32", name, location, operands, self.function)

    def get(self):
        return {"text": "\n".join([*self.lines, "  }", "}", ""]), "names": self.names, "locations": self.locations,
                "origins": self.origins, "operations": self.operations}


def layers(count, is_fused):
    """A layer chain: a norm and a GEMM, an activation and an addition, or one operation for these three."""
    listing = Listing()
    last = listing.op("attn.embedding", "embeddings", [])
    for layer in range(count):
        path = f"encoder.layer.{layer}"
        last = listing.op("attn.norm", f"{path}.norm", [last])
        if is_fused:
            last = listing.op("attn.fused", f"{path}.mlp", [last])
            continue
        product = listing.op("attn.linear", f"{path}.mlp.dense", [last])
        gelu = listing.op("attn.gelu", f"{path}.mlp.act", [product])
        last = listing.op("attn.add", f"{path}.mlp", [gelu, last])
    return listing.get()


def flat(count):
    """One module with many operations, each of which reads the preceding one and sometimes an earlier one."""
    listing = Listing()
    last = listing.op("attn.embedding", "all", [])
    for i in range(count - 1):
        last = listing.op("attn.add", "all", [last, last - 7] if i % 5 == 0 and i > 10 else [last])
    return listing.get()


def summary(ir, phases=0):
    operations = {}
    for operation in ir["operations"]:
        name = ir["names"][operation[1]]
        operations[name] = operations.get(name, 0) + 1
    return {"operations": dict(sorted(operations.items())), "functions": 1, "computing_operations": sum(operations.values()) - 2, "weights": 0, "weight_bytes": 0,
            "entries": [{"entry": "encode", "flops": amount("1024*rows", 131072), "buffers": 0, "buffer_bytes": amount("0", 0),
                         "phases": phases, "barriers": phases}]}


def explained_pass(name, stage, ir, after, remarks=()):
    return {"stage": stage, "pass": name, "name": name, "isa": "", "summary": f"what {name} does", "changed": ir is not None, "verdict": "", "after": after,
            "remarks": list(remarks), "ir": ir}


def remark(kind, category, location, message, help=""):
    return {"kind": kind, "category": category, "name": "a-reason", "function": "encode", "place": place(location), "args": [],
            "message": message, "help": help}


def operation(name, location, flops, weight_bytes):
    return {"name": name, "detail": f"the {name}", "place": place(location), "joined": [], "split": "tiles", "flops": amount(f"{flops}*rows", flops * 128),
            "bytes": amount("64*rows", 8192), "weights": [], "weight_bytes": weight_bytes, "columns": 8, "padded_columns": 32, "widths": [8], "errors": []}


def entry(count):
    def phase(name, runs, *operations):
        total = sum(one["flops"]["value"] for one in operations) // 128
        return {"name": name, "place": operations[0]["place"], "runs": runs, "flops": amount(f"{total}*rows", total * 128), "bf16_flops": amount("0", 0), "int8_flops": amount("0", 0),
                "bytes": amount("128*rows", 16384), "weight_bytes": 0, "schedule": "", "operations": list(operations)}
    phases = [phase("encode.0.embedding", 1, operation("kern.embedding", "embeddings", 8, 0)),
              phase("layer.0.gemm", count, operation("kern.gemm", f"encoder.layer.{{0-{count - 1}}}.mlp", 1000, 4096), operation("kern.norm", f"encoder.layer.{{0-{count - 1}}}.norm", 16, 0))]
    buffers = [{"location": "embeddings", "offset": amount("0", 0), "bytes": amount("32*rows", 4096), "first": 0, "last": 2},
               {"location": "encoder.layer.{0-1}.mlp", "offset": amount("32*rows", 4096), "bytes": amount("64*rows+64*batch", 8256), "first": 1, "last": 2}]
    return {"name": "encode", "kind": "encode", "example": {"batch": 1, "length": 128, "past": 0, "workers": 2},
            "padded": {"lengths": [128, 32], "flops": 163840, "flops_alone": 163840, "bytes": 20480 * count, "arena_bytes": 15488}, "inputs": [], "outputs": [],
            "flops": amount("1024*rows", 131072), "bf16_flops": amount("0", 0), "int8_flops": amount("0", 0), "layers": count, "streamed_bytes": 4096 * count, "barriers": count + 1, "min_barriers": count + 1, "phases": phases,
            "order": [0] + [1] * count, "arena_bytes": amount("96*rows+64*batch", 12352), "arena_lower_bound": amount("96*rows", 12288), "buffers": buffers,
            "memory_steps": ["encode.0.embedding", "", "layer.0.gemm"]}


def explanation(count=4, name="made-up", nodes=0, options=()):
    """The explanation for a model with `count` layers; with `nodes` its passes have a flat graph with that many operations."""
    before, after = (flat(nodes), flat(nodes - 1)) if nodes else (layers(count, False), layers(count, True))
    imported = summary(before)
    passes = [explained_pass("attn-infer-shapes", "attn-opt", None, imported),
              explained_pass("attn-fuse-all", "attn-opt", after, summary(after), range(count)),
              explained_pass("attn-look", "attn-opt", None, summary(after), [count]),
              explained_pass("convert-attn-to-kern", "kern", before, summary(before, 2))]
    remarks = [remark("passed", "attn-fuse-all", f"encoder.layer.{layer}.mlp", "fused 3 operations") for layer in range(count)]
    remarks.append(remark("missed", "attn-look", "embeddings", "the embedding is not fused: it has 2 users", "Let one operation read it."))
    return {"format": 3,
            "model": {"name": name, "family": "bert", "architecture": "BertModel", "head": "none", "file": "config.json", "parameters": 1000, "has_weights": False},
            "compile": {"transom": "1.0", "dtype": "f32", "kv_dtype": "", "backend": "native", "isas": ["avx2"], "options": [{"key": key, "value": value} for key, value in options], "disabled_passes": []},
            "imported": imported, "imported_ir": before, "passes": passes, "remarks": remarks, "entries": [entry(count)],
            "kernels": [{"isa": "avx2", "symbol": "transom.k.gemm.6", "rows": 6, "columns": 16, "phases": ["layer.0.gemm"]}], "code": [{"isa": "avx2", "text": CODE}], "weights": [], "weight_bytes": 4096 * count, "notes": [],
            "failure": None, "verification": None}


def verify(made, different=None):
    """Adds verdicts to an explanation, one pass's being `different`, and an error to each operation."""
    ended = False
    for one in made["passes"]:
        one["verdict"] = "not run" if ended else "different" if one["pass"] == different else "equal" if one["changed"] else "unchanged"
        ended = ended or one["pass"] == different
    operations = [one for entry in made["entries"] for phase in entry["phases"] for one in phase["operations"]]
    for index, one in enumerate(operations):
        one["errors"] = [{"isa": isa, "absolute": 2.5e-6 * index * scale, "relative": 5e-7 * index * scale, "numbers": 64, "call": f"a call on {isa}"}
                         for isa, scale in (("avx2", 1), ("avx512", 2))]
    difference = {"pass": different, "message": f"after '{different}': a result differs", "location": "encoder.layer.0.mlp", "operation": "attn.fused",
                  "before": ["%1 = attn.gelu %0"], "after": "%1 = attn.fused %0", "replay": "transom-opt --run-reproducer r.mlir"}
    made["verification"] = {"verdict": "different" if different else "equal", "message": "no difference found", "calls": ["encode: ids [3, 5]"], "end_calls": [],
                            "difference": difference if different else None, "code_difference": "", "not_run": ["machine code for neon: this CPU lacks it"],
                            "code": [{"isa": "avx2", "entry": "encode", "calls": 2, "dispatches": 6, "numbers": 640, "differences": 0}]}
    return made


def rename(value, text):
    """An explanation in which each string that a model can choose is `text`."""
    if isinstance(value, dict):
        return {key: text if key in ("name", "location", "message", "help", "summary", "pointer", "detail", "family", "symbol", "stage", "pass", "category") and isinstance(inner, str)
                else rename(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [text + inner if isinstance(inner, str) else rename(inner, text) for inner in value]
    return value
