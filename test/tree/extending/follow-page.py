# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# follow-page.py SOURCE BUILD NINJA [SECTION]: follows docs/extending.md. Each file in its tables contains the given strings;
# each patch applies, and the changed sources compile. The patches in 'An attn op' and 'A kern op' are linked and compute the
# right results. SECTION restricts this to the patches in one section.
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import clamp
import reverse

ROW = re.compile(r"^\| \[[^]]+\]\(\.\./([^)]+)\) \| `([^`]+)` \|", re.MULTILINE)
PATCH = re.compile(r"^```diff\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)
PRODUCT = ("compiler/", "dialects/", "passes/", "runtime/", "tools/")

# Max files that a change may touch, by section: the promised costs. Files come from the section's table, or its patches.
MAX_FILES = {"An instruction set": 3, "A storage format": 3}
MAX_PATCHED = {"A model family": 1, "An activation": 2, "An attn op": 5, "A kern op": 5, "A type of caches": 2}

# Sections whose patches have a separate test.
SEPARATE = ("A kern op",)


def get_sections(page):
    """Returns each section's text by its title."""
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))


def check_costs(page):
    """Sections that name more files than promised."""
    sections = get_sections(page)
    for section, most in MAX_FILES.items():
        count = len(ROW.findall(sections.get(section, "")))
        if not 1 <= count <= most:
            yield f"'{section}' lists {count} files, expected 1 to {most}"
    for section, most in MAX_PATCHED.items():
        patches = PATCH.findall(sections.get(section, ""))
        count = len({name for patch in patches for name in TARGET.findall(patch) if name.startswith(PRODUCT)})
        if not 1 <= count <= most:
            yield f"the patches of '{section}' change {count} sources, expected 1 to {most}"


def check_tables(source, page):
    """Returns the strings from the tables that are missing in their files."""
    rows = ROW.findall(page)
    if len(rows) < 10:
        yield f"only {len(rows)} rows of tables are found"
    for name, text in rows:
        path = os.path.join(source, name)
        if not os.path.isfile(path):
            yield f"'{name}' does not exist"
        elif text not in open(path, encoding="utf-8").read():
            yield f"'{name}' does not contain '{text}'"


class Build:
    """The build folder: how it compiles, generates and links."""

    def __init__(self, source, build, ninja):
        self.source, self.build, self.ninja = source, build, ninja
        subprocess.run([sys.executable, os.path.join(source, "tools", "dev", "source-commands.py"), build], check=True)
        with open(os.path.join(build, "sources", "compile_commands.json"), encoding="utf-8") as file:
            self.compiles = {entry["file"]: entry["command"] for entry in json.load(file)}

    def get_commands(self, *targets):
        """Returns the commands that build files in the build folder and their dependencies, as argument lists."""
        listed = subprocess.run([self.ninja, "-t", "commands", *targets], cwd=self.build, capture_output=True, text=True, check=True)
        return [shlex.split(part) for line in listed.stdout.splitlines() for part in line.split(" && ")]

    def compile(self, name, folder):
        """Compiles a source, preferably the folder's copy; the folder's headers take precedence. Returns the object and the
        errors."""
        patched = os.path.join(folder, name)
        path = os.path.join(self.source, name)
        words = shlex.split(self.compiles[path])
        start = next(i for i, word in enumerate(words) if "clang" in word)
        words = [word for word in words[start:] if not word.startswith("-O")]
        for flag in ("-c", "-o"):
            at = words.index(flag)
            del words[at:at + 2]
        made = os.path.join(folder, name + ".o")
        os.makedirs(os.path.dirname(made), exist_ok=True)
        # The precompiled header may be an optimized one.
        command = [words[0], "-I", folder, *words[1:], "-O0", "-Xclang", "-fno-validate-pch",
                   "-Werror=switch", "-o", made, "-c", patched if os.path.exists(patched) else path]
        return made, subprocess.run(command, cwd=self.build, capture_output=True, text=True)

    def generate(self, name, folder):
        """Runs the build's generators for a .td in the folder, and returns the sources that are compiled from the results."""
        place = os.path.dirname(name)
        targets = [f"{place}/{file}" for file in sorted(os.listdir(os.path.join(self.build, place))) if file.endswith(".inc")]
        for words in self.get_commands(*targets):
            if "-o" not in words or words[words.index("-o") + 1] not in targets:
                continue
            at = words.index("-o")
            made = words[at + 1]
            os.makedirs(os.path.join(folder, place), exist_ok=True)
            yield from report(subprocess.run(
                [words[0], "-I", folder, *words[1:at], "-o", os.path.join(folder, made)], cwd=self.build,
                capture_output=True, text=True), f"'{made}' of the patch is not generated")

    def link(self, target, objects, made):
        """Links a file in the build folder with other objects, which precede the objects that they replace."""
        words = next(words for words in reversed(self.get_commands(target)) if "-o" in words and target in words)
        words[words.index("-o") + 1] = made
        return subprocess.run([words[0], *objects, "-Wl,--allow-multiple-definition", *words[1:]], cwd=self.build,
                              capture_output=True, text=True)


def report(done, what):
    """The problem that a command found, if any."""
    if done.returncode:
        yield f"{what}: {done.stderr.strip() or done.stdout.strip()}"


def get_generated_sources(source, name):
    """Returns the sources next to a .td that are compiled from its generated files."""
    place = os.path.dirname(name)
    for file in sorted(os.listdir(os.path.join(source, place))):
        path = os.path.join(source, place, file)
        if file.endswith(".cpp") and '.cpp.inc"' in open(path, encoding="utf-8").read():
            yield f"{place}/{file}"


def check_patch(build, patch):
    """Applies a patch to copies of its files and compiles the changed sources; other headers come from the tree. A patch that
    adds the op for clamp.py or reverse.py is linked and run."""
    with tempfile.TemporaryDirectory() as folder:
        names = TARGET.findall(patch)
        for name in names:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(build.source, name), "rb") as old, open(os.path.join(folder, name), "wb") as new:
                new.write(old.read())
        applied = subprocess.run(["git", "apply", "-C1", "-"], cwd=folder, input=patch, capture_output=True, text=True)
        if applied.returncode:
            yield f"the patch of {', '.join(names)} does not apply: {applied.stderr.strip()}"
            return

        # Compile the patched sources and those that are compiled from the patched definitions.
        sources = [name for name in names if name.endswith(".cpp")]
        for name in names:
            if name.endswith(".td"):
                yield from build.generate(name, folder)
                sources += [other for other in get_generated_sources(build.source, name) if other not in sources]
        objects = {}
        for name in sources:
            objects[name], compiled = build.compile(name, folder)
            yield from report(compiled, f"with the patch '{name}' does not compile")
        if "ClampOp" in patch and all(map(os.path.exists, objects.values())):
            yield from clamp.check(build, objects, folder)
        if "ReverseOp" in patch and all(map(os.path.exists, objects.values())):
            yield from reverse.check(build, objects, folder)


def check_section(build, section, text):
    """Tries the patches in a section; if they add an op, one must add the op that is run."""
    patches = PATCH.findall(text)
    for op in [op for name, op in (("An attn op", "ClampOp"), ("A kern op", "ReverseOp")) if name == section]:
        if not any(op in patch for patch in patches):
            yield f"'{section}' has no patch that adds {op}"
    for patch in patches:
        yield from check_patch(build, patch)


def main():
    source, build, ninja, *only = sys.argv[1:]
    with open(os.path.join(source, "docs", "extending.md"), encoding="utf-8") as file:
        page = file.read()
    build = Build(source, build, ninja)
    sections = {title: text for title, text in get_sections(page).items() if title in (only or set(get_sections(page)) - set(SEPARATE))}
    problems = [f"the page has no section '{title}'" for title in only if title not in sections]
    if not only:
        problems += [*check_tables(source, page), *check_costs(page)]
    for title, text in sections.items():
        problems += check_section(build, title, text)
    for problem in problems:
        print(f"docs/extending.md: {problem}")
    print(f"{sum(len(PATCH.findall(text)) for text in sections.values())} patches, {len(ROW.findall(page))} rows")
    sys.exit(1 if problems else 0)


main()
