# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Compiles and links mutated copies of sources with the commands of a project build: objects that include one of the sources are recompiled,
# the archives that contain them are rebuilt, and programs are linked with these. The sources are compiled with assertions, as in the preset
# dev, so that a mutant that reads an empty optional or past an end fails immediately.
import concurrent.futures
import os
import re
import shlex
import subprocess
import sys

INCLUDE = re.compile(r'^#include "(.*)"$', re.MULTILINE)
LIT_SITE = """# Made by mutate-passes: lit tests with the mutated tools.
config.transom_source = {root!r}
config.transom_binary = {out!r}
config.llvm_tools = "/usr/lib/llvm-19/bin"
config.memory_mb = "4096"
config.sanitize = ""
lit_config.load_config(config, {root!r} + "/test/lit.cfg.py")
import os
for name in ("TRANSOM_MUTANT", "TRANSOM_MUTANTS_SEEN"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
"""


class MutantBuild:
    """The mutated build: programs from `build`, rebuilt below `out`."""

    def __init__(self, root, build, out, jobs):
        self.root, self.build, self.out, self.jobs = root, build, out, jobs

    def make(self, rewriters, programs, tools):
        """Builds the programs; returns the numbers of mutants that do not compile."""
        targets = programs + tools
        subprocess.run(["ninja", "-C", self.build, *targets], check=True, stdout=subprocess.DEVNULL)
        output = subprocess.run(["ninja", "-C", self.build, "-t", "commands", *targets], check=True, capture_output=True, text=True)
        commands = output.stdout.splitlines()
        objects = self.find_objects(commands, {os.path.join(self.root, r.path) for r in rewriters})
        dropped = self.compile(rewriters, objects)
        archives = self.archive(commands, {name: target for name, (_, target) in objects.items()})
        self.link_shared(commands, archives)
        for target in targets:
            self.link(commands, target, archives)
        self.write_lit_site()
        return dropped

    def copy_path(self, source):
        return os.path.join(self.out, os.path.relpath(source, self.root))

    def find_objects(self, commands, sources):
        """Returns the command and the mutated object for each object that includes one of the sources."""
        objects = {}
        for command in commands:
            words = shlex.split(command) if " -c " in command else []
            if "-c" not in words or "-o" not in words:
                continue
            source, name = words[words.index("-c") + 1], words[words.index("-o") + 1]
            included = [source]
            if f"{os.sep}Unity{os.sep}" in source:
                with open(source, encoding="utf-8") as stream:
                    included = INCLUDE.findall(stream.read())
            if not sources.intersection(included):
                continue
            target = os.path.join(self.out, name)
            copy = self.copy_path(source)
            if source not in sources:
                copy = target + ".cpp"
                self.copy_unity(source, copy, sources)
            words[words.index("-o") + 1] = target
            words[words.index("-MF") + 1] = target + ".d"
            words[words.index("-c"):words.index("-c") + 2] = [
                "-w", "-ferror-limit=0", "-include", os.path.join(self.root, "tools", "dev", "mutants.h"), "-c", copy]
            os.makedirs(os.path.dirname(target), exist_ok=True)
            objects[name] = (self.add_assertions(words), target)
        return objects

    @staticmethod
    def add_assertions(words):
        """Makes a compilation faster and enables assertions; the precompiled headers are dropped, since they lack assertions."""
        if "-include-pch" in words:
            at = words.index("-include-pch")
            del words[at - 1:at + 3]  # -Xclang -include-pch -Xclang FILE
        words[words.index("-c"):words.index("-c")] = ["-UNDEBUG", "-D_GLIBCXX_ASSERTIONS"]
        return ["-O1" if word == "-O3" else word for word in words]

    def copy_unity(self, source, copy, sources):
        with open(source, encoding="utf-8") as stream:
            text = stream.read()
        for path in INCLUDE.findall(text):
            if path in sources:
                text = text.replace(f'"{path}"', f'"{self.copy_path(path)}"')
        self.write(copy, text)

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                if stream.read() == text:
                    return
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)

    def compile(self, rewriters, objects):
        """Compiles, and drops the mutants in lines with errors until there are no errors."""
        dropped, waiting = set(), dict(objects)
        for _ in range(8):
            for rewriter in rewriters:
                self.write(self.copy_path(os.path.join(self.root, rewriter.path)), rewriter.rewrite(dropped))
            with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
                results = list(pool.map(lambda entry: subprocess.run(entry[0], cwd=self.build, capture_output=True, text=True),
                                        waiting.values()))
            waiting = {name: entry for (name, entry), result in zip(waiting.items(), results) if result.returncode != 0}
            if not waiting:
                return dropped
            errors = "\n".join(result.stderr for result in results if result.returncode != 0)
            wrong = self.find_wrong(rewriters, errors) - dropped
            if not wrong:
                break
            dropped |= wrong
        sys.exit("mutate-passes: the mutated sources do not compile:\n" + errors[:4000])

    def find_wrong(self, rewriters, errors):
        """Returns the mutants in the lines that errors, or the notes after them, name first."""
        lines = {self.copy_path(os.path.join(self.root, rewriter.path)): rewriter for rewriter in rewriters}
        wrong = set()
        for block in re.split(r"(?m)^(?=\S+:\d+:\d+: (?:fatal )?error: )", errors):
            for path, line in re.findall(r"(?m)^(\S+?):(\d+):\d+: ", block):
                numbers = {m.number for m, _ in lines[path].mutants if m.line == int(line)} if path in lines else set()
                if numbers:
                    wrong |= numbers
                    break
        return wrong

    def archive(self, commands, objects):
        """Builds archives with mutated objects; returns them by original name."""
        archives = {}
        for command in commands:
            match = re.search(r"llvm-ar\S* qc (\S+)\s+(.*?) && ", command)
            names = match.group(2).split() if match else []
            if not any(name in objects for name in names):
                continue
            target = os.path.join(self.out, match.group(1))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            if os.path.exists(target):
                os.remove(target)
            subprocess.run(["llvm-ar-19", "qcs", target, *(objects.get(name, name) for name in names)], cwd=self.build, check=True)
            archives[match.group(1)] = target
        return archives

    def link_shared(self, commands, archives):
        """Links the shared libraries that contain mutated archives; programs find them by LD_LIBRARY_PATH."""
        for command in commands:
            words = command.split()
            if "-shared" not in words or not any(word in archives for word in words):
                continue
            name = words[words.index("-o") + 1]
            words = [archives.get(word, word) for word in words]
            words[words.index("-o") + 1] = archives[name] = os.path.join(self.out, name)
            subprocess.run(" ".join(words), cwd=self.build, shell=True, check=True)

    def link(self, commands, program, archives):
        for command in commands:
            if not re.search(rf" -o \S*bin/{re.escape(program)} ", command):
                continue
            words = [archives.get(word, word) for word in command.split()]
            target = os.path.join(self.out, "bin", program)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            words[words.index("-o") + 1] = target
            subprocess.run(" ".join(words), cwd=self.build, shell=True, check=True)
            return
        sys.exit(f"mutate-passes: no command links '{program}'")

    def write_lit_site(self):
        path = os.path.join(self.out, "test", "lit.site.cfg.py")
        self.write(path, LIT_SITE.format(root=self.root, out=self.out))
