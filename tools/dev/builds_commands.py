# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Commands that compare-builds runs to compare exit codes, JSON and messages.

# Artifacts that commands use, compiled without optimization: the model and more flags.
FIXTURES = {
    "encoder": ("examples/tiny-bert", []),
    "decoder": ("examples/tiny-llama", []),
    "translator": ("examples/tiny-nllb", []),
    "t5": ("examples/tiny-t5", []),
    "states": ("examples/tiny-bert", ["--layers", "0,-1"]),
    "weights": ("examples/tiny-bert", ["--attention"]),
    "int8": ("examples/tiny-llama", ["--quantize", "int8"]),
    "int4": ("examples/tiny-llama", ["--quantize", "int4"]),
}
# {none} is a missing file, {lines} a file with two lines of SENTENCE. The part after '<<<' is standard input, with '\n' between lines. For bench only keys are compared.
COMMANDS = r"""
--version
--help
frobnicate
compile --help
compile {none} -o {scratch}/x.so
compile examples/tiny-bert
compile examples/tiny-bert -o {scratch}/x.so --target pentium
compile examples/tiny-bert -o {scratch}/x.so --dtype f16
compile examples/tiny-bert -o {scratch}/x.so --disable-pass no-such-pass
compile examples/tiny-bert -o {scratch}/x.so --mem-limit x
compile examples/tiny-bert -o {scratch}/x.so --mem-limit 1K
compile examples/tiny-bert -o {scratch}/none/x.so
compile examples/tiny-bert -o {scratch}/x.so --kv-dtype int8
compile examples/tiny-bert -o {scratch}/x.so --group-size 32
compile examples/tiny-bert -o {scratch}/x.so --shortlist {none}
compile examples/tiny-bert -o {scratch}/x.so --lora {none}
compile examples/tiny-bert -o {scratch}/json.so -O0 --target x86-64-v3 --json --time-passes
compile examples/tiny-bert -o {scratch}/certified.so -O0 --target x86-64-v3 --certify
inspect {none}
inspect {encoder}
inspect {decoder}
inspect {encoder} --json
inspect {decoder} --json
inspect {translator} --json
inspect {int8} --json
inspect {int4} --json
inspect {encoder} --verify
inspect {encoder} --diff {weights} --json
inspect examples/tiny-bert --json
inspect examples/tiny-t5/config.json
inspect test/goldens/gguf/q8-0/model.gguf --json
inspect README.md
explain examples/tiny-bert --json
explain examples/decoder --json
explain examples/tiny-t5 --json --quantize int8
explain examples/tiny-llama
explain examples/tiny-llama --other-flags --dtype=bf16 --json
explain {none}
verify examples/tiny-bert --json
verify examples/decoder --json --quantize int8
verify {encoder} --model examples/tiny-bert -s 4 --json
verify {decoder} --model examples/tiny-llama -s 4 --json
verify {int4} --model examples/tiny-llama -s 4
verify {encoder} --model examples/tiny-llama
verify {none}
embed {encoder} --text hello --text bye
embed {encoder} -t 1 - <<< a door\n\nthe transom above the door\n
embed {states} --layers 0,-1 --text hello
embed {encoder} --layers 0 --text hello
embed {decoder} --text hello
embed {encoder}
embed {encoder} --text hello --pooling max
embed {encoder} --text hello --pooling cls --json
similarity {encoder} --text hello --text bye
classify {encoder} --text hello
attention {weights} --text hello --format json -o -
attention {encoder} --text hello --format json -o -
tokenize {encoder} --text hello --pair there
tokenize {decoder} --text hello
tokenize {decoder} --decode --text x
tokenize {translator} --text hello --source-lang none
generate {decoder} -p Once -n 4
generate {decoder} -p Once -n 4 --json --top-logprobs 3
generate {decoder} -p Once -p Twice -n 6 --json --temperature 0.8 --top-k 20 --top-p 0.9 --seed 7 --num-return-sequences 2
generate {decoder} -p Once -n 6 --json --repetition-penalty 1.3 --no-repeat-ngram-size 2
generate {decoder} -p Once -n 6 --json --num-beams 3
generate {decoder} --ids 1,2,3 -n 4 --json
generate {int8} -p Once -n 6 --json --top-logprobs 2
generate {int4} -p Once -n 6 --json --top-logprobs 2
generate {decoder} -p Once -n -1
generate {decoder} -p Once --temperature x
generate {encoder} -p Once
generate {decoder} --ids 99999999
generate {t5} -p Once -n 4 --json
score {decoder} --text Once
score {decoder} --text Once --top-logprobs 2
score {decoder} --perplexity {lines} --window 16
score {int8} --text Once
score {encoder} --text Once
score {translator} --text Once --text Twice --target {lines}
score {translator} --text Once --target {lines}
embed {encoder} --file {lines}
translate {translator} --text Once --json
translate {translator} --text Once --text Twice --json --num-beams 3 --scores
translate {translator} - <<< Once\nTwice upon\n
translate {t5} --text Once --json --num-beams 2 --num-return-sequences 2
translate {decoder} --text Once
summarize {t5} --text Once
run {encoder} nothing --in {none} --out {scratch}/out
run {encoder} encode --in test/goldens/bert/encode.0.in.safetensors --out {scratch}/out
bench {encoder} -b 1 -s 4 -r 1 --json -q
bench {decoder} -p 4 -n 2 -r 1 --json -q
bench {translator} -b 1 -s 4 -n 2 -r 1 --json -q
bench {encoder} -b 0
""".strip().splitlines()
SENTENCE = "A door below a transom is lower than the wall, and light falls through the window above it."
TEXTS = ["--text", "the cat sat on the mat", "--text", "Paris is in France."]


def get_text_commands(name, mask):
    """Text commands, with the mask token, and entity types for GLiNER models."""
    return [
        ["tokenize", *TEXTS],
        ["embed", *TEXTS],
        ["similarity", *TEXTS],
        ["classify", *TEXTS],
        ["tag", *TEXTS, *(["--entity", "person", "--entity", "place", "--threshold", "0.1"] if name.startswith("gliner/") else [])],
        ["answer", "--question", "where is Paris", *TEXTS],
        ["fill-mask", "--text", f"the cat sat on the {mask}"],
        ["rerank", "--query", "where is Paris", *TEXTS],
        ["score", *TEXTS],
        ["generate", "-p", "the cat", "-n", "4", "--json", "--top-logprobs", "2"],
        ["translate", *TEXTS, "--json", "-n", "8"],
    ]
