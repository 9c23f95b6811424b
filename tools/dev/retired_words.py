# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Words that docs/glossary.md retires: (word, regular expression, term to use), for identifiers in code and for prose.
# The first column is an example that the expression matches; `check-prose --glossary` prints it for the glossary.

CODE = [
    ("segments", r"\b[sS]egments\b|\w[a-z](?<!Operand)Segments?\b|\bSegment\w*\b", "ragged batch, `cu_seqlens`"),
    ("wanted", r"\bwanted\b|\bwanted[A-Z]\w*|\b\w+Wanted\b", "`num_logits`, logits"),
    ("part, parts", r"(?<!\[)\bparts\b|\bnumParts\b|\bpart\b(?=[,;)\]])", "worker, `num_workers`; of a weight: split"),
    ("pieces", r"\bpieces?\b|\b[a-z]+Pieces?\b|\bPieces?[A-Z]\w*", "KV block; streaming; chunk"),
    ("walk", r"(?<![>.:])\bwalk(s|ed|ing)?\b(?!\()|\bWalk(?!Result|Order|Stage|Continu)[A-Z]?\w*", "executor run, dispatch; traversal"),
    ("kLongestChain", r"\bk?[lL]ongestChain\b", "K block, `kMaxKBlock`"),
    ("placeOf", r"\b\w*[pP]lacesOf\b|\b\w*[pP]laceOf\b|\bfusePlaces\b|\bPlace(s|Attr)?\b", "location; offset; placement of a norm"),
    ("Decisions", r"\bDecisions?\b", "remarks: passed, missed"),
    ("twin", r"\b[tT]wins?\b|\b\w+Twins?\b", "lowered value; bf16 copy; counterpart"),
    ("gates", r"\b[fF]use-?[gG]ates\b|\bgates\b", "GLU, `fuse-glu`"),
    ("rotation, rotary", r"\b[rR]otation\b|\b\w+Rotation\b|\bRotation\w+|\b[rR]otary\b(?!_| position emb)|\b\w+Rotary\b|\bRotary[A-Z]\w*", "`rope_table`, `rope`, `applyRope`; the operations `rotation` and `rotary` of graph.json keep their names"),
    ("loop_over", r"\bloop_?[oO]ver\b", "derived entry"),
    ("carry-norms", r"\bcarry-norms\b|\bCarryNorms\w*", "cross-layer norm fusion"),
    ("takeTriangles", r"\btakeTriangles\b", "`matchCausalMask`"),
    ("attentionOut", r"\battentionOut\b", "output projection"),
    ("ladder", r"\b[lL]adders?\b", "kernels by MR"),
    ("Quotients", r"\bQuotients?\b", "Normalize"),
    ("settle", r"\bsettle[sd]?\b|\bsettle[A-Z]\w*", "resolve"),
    ("hostile", r"\b[hH]ostile\w*", "malformed"),
    ("spelt", r"\bspelt\b", "decomposed; written"),
    ("xOf()", r"\b(?!(?:is|has|get|index|find|out)[A-Z_])[a-z]\w*Of\(", "`getX()`"),
]

PROSE = [
    ("behind", r"(?<!look-)\bbehind\b", "after"),
    ("stands", r"\bstands?\b(?! for| in for|alone|-alone)|\bstood\b", "is; is in"),
    ("is no, is none", r"\b(is|are) (?-i:none)\b|\bthat is no \w+", "is not a"),
    ("is not built", r"\bis not built\b|; built:", "is not supported; supported:"),
    ("the way of the data", r"\bthe way of the\b", "data flow"),
    ("what a call came to", r"\bwhat an? \w+ came to\b", "status"),
    ("for a try", r"\bfor a try\b", "to try something out"),
    ("word table", r"\bword table\b", "token embedding"),
    ("bears", r"\b(bears?|bore)\b", "accepts, allows"),
    ("hope", r"\bhope\b", "(say what is assumed)"),
]

FILES = {
    "Code.cpp": "a name that says what is in it",
    "Stages.cpp": "a name that says what is in it",
    "Library.cpp": "a name that says what is in it",
    "Shared.cpp": "a name that says what is in it",
    "Functions.cpp": "a name that says what is in it",
}

# Words that are usual in prose: retired as identifiers only, outside of comments and strings.
IDENTIFIERS = {"segments", "wanted", "part, parts", "pieces", "walk"}

# Where a word means what it means elsewhere: segments of an ELF file, parts that graph.json splits into, ...
ALLOWED = {
    "rotation, rotary": ("docs/graph.md", "compiler/import/graphjson/", "test/compiler/import/graphjson/",
                         # a value of config.json
                         "compiler/import/huggingface/README.md", "compiler/import/huggingface/families/RobertaFamilies.cpp",
                         "compiler/import/huggingface/families/RopeEncoderFamilies.cpp",
                         "test/compiler/import/huggingface/families/RopeEncoderFamiliesTest.cpp"),
    "segments": ("runtime/artifact/", "compiler/artifact/Link", "test/bench/digest-times/", "test/runtime/artifact/", "test/compiler/artifact/"),
    "part, parts": ("compiler/import/", "test/compiler/", "runtime/tokenizer/"),
    "pieces": ("compiler/import/gguf/", "test/compiler/import/gguf/", "compiler/import/tokenizer/", "runtime/tokenizer/", "test/runtime/tokenizer/", "test/compiler/import/tokenizer/"),
}

# Letters, lower case, that each match contains, where the first column is not contained in all of them.
HINTS = {
    "segments": "segment",
    "part, parts": "part",
    "pieces": "piece",
    "kLongestChain": "longestchain",
    "placeOf": "place",
    "Decisions": "decision",
    "gates": "gates",
    "rotation, rotary": "rota",
    "loop_over": "loop",
    "carry-norms": "carry",
    "Quotients": "quotient",
    "xOf()": "of(",
    "stands": "st",
    "is no, is none": " no",
    "is not built": "built",
    "the way of the data": "the way of",
    "what a call came to": " came to",
    "bears": "b",
}
