# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The comparisons that compare-builds makes: models with variants, models made
# on the fly, and random models. builds_commands.py has the commands.
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

from builds_commands import COMMANDS, FIXTURES, SENTENCE, get_text_commands
from builds_program import ROOT, digest_model

GOLDENS = "test/goldens"
QUICK_FLAGS = ["-O0", "--target", "x86-64-v3"]
# Compile flags for each variant; the most different variants are first.
VARIANTS = {
    "f32": [],
    "int8": ["--quantize", "int8", "--group-size", "32"],
    "int4": ["--quantize", "int4"],
    "bf16": ["--dtype", "bf16"],
    "int8-cache": ["--kv-dtype", "int8"],
    "bf16-cache": ["--kv-dtype", "bf16"],
    "int8-bf16": ["--quantize", "int8", "--dtype", "bf16"],
    "int4-bf16": ["--quantize", "int4", "--dtype", "bf16"],
    "int8-f32": ["--quantize", "int8", "--activations", "f32"],
    "int4-f32": ["--quantize", "int4", "--activations", "f32"],
    "attention": ["--attention"],
    "layers": ["--layers", "0,-1"],
    "onednn": ["--backend", "onednn"],
}
CACHES = ("int8-cache", "bf16-cache")
COMMON_VARIANTS = ("f32", "int8", "int4", "bf16", "int8-cache")
# Folders in which every variant is compared; in other folders COMMON_VARIANTS, and in CHECKPOINTS only f32.
WIDE = ("examples/decoder", "examples/transformer", "bert", "modernbert", "deberta-v2", "llama-gqa", "gemma3", "mistral-window",
        "falcon-alibi", "encoder-decoders/bart", "encoder-decoders/t5", "encoder-decoders/marian")
CHECKPOINTS = ("heads/", "lora/", "packed/", "gguf/")
QUICK = (("bert", "f32"), ("bert", "int8"), ("llama-gqa", "f32"), ("llama-gqa", "int4-bf16"), ("examples/decoder", "int8-cache"),
         ("encoder-decoders/marian", "f32"))
# Models whose assembly and IR are compared symbol by symbol, at the usual optimization level.
ASSEMBLY = (("bert", "f32"), ("llama-gqa", "int8"), ("llama-gqa", "int4-bf16"), ("encoder-decoders/bart", "f32"),
            ("examples/decoder", "int8-cache"), ("deberta-v2", "bf16"))
TARGETS = {"x86-64": [], "aarch64": ["--target", "aarch64"]}
# Models that are also read from a GGUF file, which is made from their folder.
GGUF = ("gguf/gemma2", "gguf/gemma3", "gpt2", "llama-gqa", "qwen3", "bert")
BEAM_RUNS = 2


def load(path, name):
    """Loads a module from the tests."""
    spec = importlib.util.spec_from_file_location(name, os.path.join(ROOT, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


goldens = load("test/e2e/check-goldens.py", "goldens")


@dataclass
class Job:
    """One comparison: `run` maps a build to a digest dictionary; `group` is a word for --only."""
    name: str
    group: str
    run: object
    quick: bool = False
    kind: str = field(default="")


def get_path(name):
    return name if name.startswith("examples/") or os.path.isabs(name) else f"{GOLDENS}/{name}"


def read_json(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return json.load(file)


def read_cases(model):
    """All cases in a model folder as (name, entry, input file, flags)."""
    if not os.path.isfile(os.path.join(ROOT, model, "cases.json")):
        return []
    listed = read_json(model, "cases.json")
    if isinstance(listed, list):
        return []  # random-beams, see list_beam_jobs
    if "base" in listed:  # an adapter
        base = f"{GOLDENS}/{listed['base']}"
        return [(case, listed["entry"], f"{base}/{case}", []) for case in listed["cases"]]
    return [(case["input"], goldens.get_entry(case), os.path.join(model, case["input"]), goldens.generation_flags(case))
            for case in listed["cases"] if "entry" in case and "input" in case]


def list_models():
    """Short names for all model folders in examples and goldens with cases for `run`."""
    found = []
    for top in ("examples", GOLDENS, *(f"{GOLDENS}/{name}" for name in ("encoder-decoders", "packed", "gguf", "lora", "heads"))):
        for name in sorted(os.listdir(os.path.join(ROOT, top))):
            model = f"{top}/{name}"
            files = ("config.json", "graph.json", "model.gguf", "adapter_config.json")
            if any(os.path.isfile(os.path.join(ROOT, model, file)) for file in files) and read_cases(model):
                found.append(model.removeprefix(GOLDENS + "/"))
    return found


def get_variants(name, cases):
    """Variants for a model; cache types only apply to models that generate."""
    if name.startswith(CHECKPOINTS):
        return ["f32"]
    generates = any(entry in ("generate", "logits") for _, entry, _, _ in cases)
    listed = VARIANTS if name in WIDE else COMMON_VARIANTS
    return [variant for variant in listed if generates or variant not in CACHES]


def locate(name):
    """Returns (path to compile, flags) for a model. An adapter is merged into its base model."""
    model = get_path(name)
    if os.path.isfile(os.path.join(ROOT, model, "adapter_config.json")):
        return f"{GOLDENS}/{read_json(model, 'cases.json')['base']}", ["--lora", model]
    stored = os.path.join(model, "model.gguf")
    return (stored if os.path.isfile(os.path.join(ROOT, stored)) else model), []


def make_results_job(name, variant, level, group="models", cases=None, model=None, flags=(), full=True):
    """Compares artifact, manifest and output tensors for a model in one variant."""
    path, more = (model, []) if model else locate(name)
    cases = read_cases(get_path(name)) if cases is None else cases

    def run(build):
        made = build.get_results(path, [*more, *flags, *VARIANTS[variant], *level], cases, full)
        return {"model": digest_model(os.path.join(ROOT, path)), **made}
    return Job(f"{name} {variant}", group, run)


def list_golden_jobs(models, level, variants):
    """All models variant by variant, so that a record that ends early has the first variants for all models."""
    jobs = []
    for variant in VARIANTS:
        for name in models:
            if variant in (variants or get_variants(name, read_cases(get_path(name)))):
                jobs.append(make_results_job(name, variant, level))
    return jobs


def list_quick_jobs():
    """A few models for AVX2 at -O0."""
    jobs = [make_results_job(name, variant, QUICK_FLAGS, group="quick") for name, variant in QUICK]
    for job in jobs:
        job.name, job.quick = "quick " + job.name, True
    return jobs


def list_code_jobs(pairs):
    """Assembly for each target, and the text for each IR stage."""
    jobs = []
    for name, variant in pairs:
        path, more = locate(name)
        for target, flags in TARGETS.items():
            arguments = [*more, *VARIANTS[variant], *flags]
            jobs.append(Job(f"{name} {variant} asm {target}", "code", lambda build, p=path, a=arguments: build.get_code(p, a)))
        arguments = [*more, *VARIANTS[variant], *QUICK_FLAGS]
        jobs.append(Job(f"{name} {variant} ir", "ir", lambda build, p=path, a=arguments: build.get_ir(p, a)))
    return jobs


def list_made_jobs(scratch, level):
    """Models that are made here: converted GGUF files, translators with a shortlist, random beam search settings."""
    sys.path.insert(0, os.path.join(ROOT, "test", "e2e"))
    import gguf_files
    jobs = []
    for name in GGUF:
        path = os.path.join(scratch, f"{name.replace('/', '-')}.gguf")
        gguf_files.convert(os.path.join(ROOT, get_path(name)), path)
        jobs.append(make_results_job(f"gguf of {name}", "f32", level, "made", read_cases(get_path(name)), path))
    jobs += list_shortlist_jobs(scratch, level)
    for family in sorted(os.listdir(os.path.join(ROOT, GOLDENS, "random-beams"))):
        if os.path.isfile(os.path.join(ROOT, GOLDENS, "random-beams", family, "cases.json")):
            jobs += list_beam_jobs(scratch, family, level)
    return jobs


def copy_model(name, folder, **files):
    """Copies a golden model and replaces or adds JSON files."""
    shutil.copytree(os.path.join(ROOT, GOLDENS, name), folder)
    for file, content in files.items():
        with open(os.path.join(folder, file + ".json"), "w", encoding="utf-8") as stream:
            json.dump(content, stream)
    return folder


def write_source(path, ids, mask=None):
    shape = [len(ids), len(ids[0])]
    tensors = {"input_ids": (shape, sum(ids, []))}
    if mask:
        tensors["attention_mask"] = (shape, sum(mask, []))
    goldens.write_tensors(path, tensors)


def list_shortlist_jobs(scratch, level):
    """A translator with words as tokens and a lexicon with four targets for each word, in each head format."""
    sys.path.insert(0, os.path.join(ROOT, "test", "tools", "commands"))
    os.environ.setdefault("TRANSOM_SOURCE_DIR", ROOT)
    os.environ.setdefault("TRANSOM_BINARY_DIR", os.path.join(ROOT, "build", "release"))
    from translations import WORDS, word_tokenizer
    folder = copy_model("random-beams/marian", os.path.join(scratch, "shortlist"), tokenizer=word_tokenizer(),
                        generation_config={"max_length": 14, "forced_eos_token_id": None})
    lexicon, given = (os.path.join(scratch, name) for name in ("lex.s2t", "words.safetensors"))
    with open(lexicon, "w", encoding="utf-8") as file:
        file.writelines(f"w{(7 * i + 5 * k) % 36} w{i} {0.4 / (k + 1)}\n" for i in range(36) for k in range(4))
    write_source(given, [[WORDS.index(word) for word in "w30 w4 w4 w17 w8".split()] + [2]])
    cases = [(flags or "greedy", "generate", given, flags.split()) for flags in ("", "--num-beams 3 --num-return-sequences 3")]
    flags = ["--shortlist", lexicon, "--shortlist-first", "5", "--shortlist-best", "3"]
    jobs = [make_results_job("shortlist", variant, level, "made", cases, folder, flags)
            for variant in ("f32", "bf16", "int8", "int4", "int8-f32", "int4-bf16", "attention", "onednn")]
    for job in jobs:
        job.run = hide_scratch(job.run, scratch)
    return jobs


def hide_scratch(run, scratch):
    """Returns `run` with results that do not depend on the scratch folder."""
    return lambda build: json.loads(json.dumps(run(build)).replace(scratch, "(scratch)"))


def list_beam_jobs(scratch, family, level):
    """The first settings for a family in random-beams, with all their runs."""
    jobs = []
    for number, case in enumerate(read_json(GOLDENS, "random-beams", family, "cases.json")[:BEAM_RUNS]):
        folder = copy_model(f"random-beams/{family}", os.path.join(scratch, f"{family}-{number}"), generation_config=case["generation_config"])
        cases = []
        for which, run in enumerate(case["runs"]):
            given = os.path.join(scratch, f"{family}-{number}-{which}.safetensors")
            write_source(given, run["input_ids"], run["attention_mask"])
            flags = [f"--{key.replace('_', '-')}={str(value).lower()}" for key, value in run["flags"].items()]
            cases.append((str(which), "generate", given, flags))
        jobs.append(make_results_job(f"random-beams/{family} {number}", "f32", level, "made", cases, folder))
    return jobs


def list_command_jobs():
    """Commands on compiled examples, and text commands on each folder with a tokenizer."""
    jobs = [Job(line, "commands", lambda build, line=line: run_command(build, line), kind=line.split()[0]) for line in COMMANDS]
    for name in list_text_models():
        jobs.append(Job(f"{name} texts", "texts", lambda build, name=name: run_text_commands(build, name)))
    return jobs


def run_command(build, line):
    """Runs one line from COMMANDS in its own folder."""
    command, _, stdin = line.partition(" <<< ")
    used = {name: build.get_artifact(name, model, [*QUICK_FLAGS, *flags])
            for name, (model, flags) in FIXTURES.items() if "{" + name + "}" in command}
    with tempfile.TemporaryDirectory() as scratch:
        paths = {"scratch": scratch, "none": f"{scratch}/none", "lines": f"{scratch}/lines", **used}
        with open(paths["lines"], "w", encoding="utf-8") as file:
            file.writelines(SENTENCE + "\n" for _ in range(2))
        words = [word.format(**paths) for word in command.split()]
        return build.get_output(words, stdin.replace("\\n", "\n"), command.startswith("bench"), scratch)


def list_text_models():
    """Folders with a tokenizer."""
    found = []
    for top in ("examples", *(f"{GOLDENS}/{name}" for name in ("tasks", "pipelines", "gliner"))):
        for name in sorted(os.listdir(os.path.join(ROOT, top))):
            if any(os.path.isfile(os.path.join(ROOT, top, name, file)) for file in ("tokenizer.json", "modules.json")):
                found.append(f"{top}/{name}".removeprefix(GOLDENS + "/"))
    return found


def run_text_commands(build, name):
    """Runs each text command on a model, also unsupported ones."""
    path = os.path.join(build.folder.name, name.replace("/", "-") + ".so")
    failure = build.compile(get_path(name), QUICK_FLAGS, path)
    if failure:
        return failure
    tokenizer = os.path.join(ROOT, get_path(name), "tokenizer.json")
    mask = "[MASK]"
    if os.path.isfile(tokenizer):
        with open(tokenizer, encoding="utf-8") as file:
            mask = "<mask>" if '"<mask>"' in file.read() else mask
    commands = {" ".join(command): build.get_output([command[0], path, *command[1:]]) for command in get_text_commands(name, mask)}
    os.remove(path)
    return {"exit": 0, "commands": commands}


def write_random_models(folder, exporter, count):
    """Returns `count` folders with random models. Writes them if the folder has fewer."""
    def listed():
        return sorted((n for n in os.listdir(folder) if n.isdigit()), key=int) if os.path.isdir(folder) else []
    if len(listed()) < count:
        if not os.path.isfile(exporter):
            raise ValueError(f"no program '{exporter}'; build the target 'export-random-models', or pass --random 0")
        os.makedirs(folder, exist_ok=True)
        subprocess.run([exporter, folder, str(count)], check=True, stdout=subprocess.DEVNULL)
    return [os.path.join(folder, name) for name in listed()[:count]]


def list_random_jobs(folders, level):
    """Random graphs: artifact and output tensors, without the manifest."""
    return [make_results_job(f"random {os.path.basename(folder)}", "f32", level, "random", read_cases(folder), folder, full=False)
            for folder in folders]
