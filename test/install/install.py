#!/usr/bin/env python3
# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds examples/embed-c and a C++ program in an empty folder, with the shared and the static library.

Usage: install.py cmake | pkg-config | subdirectory | tools | compiler-dev | compiler-headers. The first two install the
component 'runtime' from the build in TRANSOM_BINARY_DIR into an empty folder and use its CMake package or its transom.pc; the
third adds the source folder, with each of GCC and clang, and treats warnings as errors. 'tools' installs the component with the
command line and compiles a model. The others install the component 'compiler-dev'; one builds examples/pass-plugin, a pass that
transom-opt loads, one compiles all headers.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ["TRANSOM_SOURCE_DIR"]
BINARY = os.environ["TRANSOM_BINARY_DIR"]
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(SOURCE, "test", "hardening"))
from elf_files import find_bad_runpaths
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(application C CXX)
{find}
foreach(kind transom static)
  add_executable(embed-${{kind}} embed.c)
  target_link_libraries(embed-${{kind}} transom::${{kind}} m)
  add_executable(version-${{kind}} Version.cpp)
  target_link_libraries(version-${{kind}} transom::${{kind}})
endforeach()
"""


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def check(folder, kind, environment=None):
    """Both programs run: one prints the version, the other reports the error in its arguments."""
    env = dict(os.environ, **(environment or {}))
    if run(os.path.join(folder, f"version-{kind}"), env=env) != "0.1.0\n":
        sys.exit(f"version-{kind} prints something else")
    missing = subprocess.run([os.path.join(folder, f"embed-{kind}"), "/no/such/model.so", "a", "b"], capture_output=True, env=env)
    if missing.returncode != 6:
        sys.exit(f"embed-{kind}: exit {missing.returncode}")


def install(folder, component):
    run("cmake", "--install", BINARY, "--component", component, "--prefix", folder)
    return folder


def build_with_cmake(folder, find, *flags):
    with open(os.path.join(folder, "CMakeLists.txt"), "w") as file:
        file.write(PROJECT.format(find=find))
    build = os.path.join(folder, "build")
    run("cmake", "-S", folder, "-B", build, "-G", "Ninja", *flags)
    output = run("cmake", "--build", build, "--target", "embed-transom", "embed-static", "version-transom", "version-static")
    # clang 19 warns about std::stable_sort in headers of libstdc++ 12.
    if any("warning:" in line and not line.startswith("/usr/") for line in output.splitlines()):
        sys.exit(f"the build has warnings:\n{output}")
    for kind in ("transom", "static"):
        check(build if os.path.exists(os.path.join(build, "version-transom")) else os.path.join(build, "bin"), kind)


def build_with_pkg_config(folder, prefix):
    if not shutil.which("pkg-config"):
        print("skipped: pkg-config is not installed")
        sys.exit(77)
    libraries = next(root for root, _, files in os.walk(prefix) if "libtransom.a" in files)
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(libraries, "pkgconfig"))

    def flags(*what):
        return run("pkg-config", *what, "transom", env=env).split()

    static = [flag for flag in flags("--cflags", "--libs", "--static") if flag != "-ltransom"]
    for kind, options in (("transom", flags("--cflags", "--libs")), ("static", ["-l:libtransom.a", *static])):
        for name, compiler, source in (("embed", "cc", "embed.c"), ("version", "c++", "Version.cpp")):
            run(compiler, os.path.join(folder, source), "-o", os.path.join(folder, f"{name}-{kind}"), *options,
                *(["-l:libtransom.a", *static] if kind == "static" else []), "-lm")
        check(folder, kind, {"LD_LIBRARY_PATH": libraries})


def check_tools(prefix):
    """The installed command line finds its library and compiles, and the component has schemas, documents and the licence."""
    tool = os.path.join(prefix, "bin", "transom")
    artifact = os.path.join(prefix, "tiny.so")
    run(tool, "compile", os.path.join(SOURCE, "examples", "tiny-bert"), "-o", artifact, "-O0", "--target", "native", cwd=prefix)
    run(tool, "embed", artifact, "--text", "a", cwd=prefix)
    with open(os.path.join(prefix, "share", "transom", "graph.schema.json"), encoding="utf-8") as file:
        json.load(file)
    for name in ("LICENSE", "README.md", os.path.join("docs", "tasks.md")):
        if not os.path.exists(os.path.join(prefix, "share", "doc", "transom", name)):
            sys.exit(f"share/doc/transom/{name} is not installed")


def check_headers(folder, prefix):
    """The installed headers compile without the build's precompiled header."""
    includes = os.path.join(prefix, "include", "transom-compiler")
    with open(os.path.join(folder, "AllHeaders.cpp"), "w", encoding="utf-8") as file:
        for root, _, files in os.walk(includes):
            for name in sorted(files):
                if name.endswith(".h"):
                    file.write(f'#include "{os.path.relpath(os.path.join(root, name), includes)}"\n')
    with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
        file.write("cmake_minimum_required(VERSION 3.22)\nproject(headers CXX)\n"
                   "find_package(transom REQUIRED COMPONENTS compiler-dev)\n"
                   "add_library(headers OBJECT AllHeaders.cpp)\ntarget_link_libraries(headers PRIVATE transom::compiler)\n")
    build_project(folder, prefix)


def build_project(folder, prefix):
    build = os.path.join(folder, "build")
    run("cmake", "-S", folder, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_FLAGS=-O0")
    run("cmake", "--build", build)
    return build


def check_plugin(folder, prefix):
    """Another project's pass changes the module, in transom-opt and in a compile, and its lit test passes."""
    project = os.path.join(folder, "project")
    shutil.copytree(os.path.join(SOURCE, "examples", "pass-plugin"), project)
    build = build_project(project, prefix)
    if bad := find_bad_runpaths(folder):
        sys.exit(f"the dynamic loader searches relative folders: {bad}")
    run("ctest", "--test-dir", build, "--output-on-failure")
    model = os.path.join(SOURCE, "examples", "tiny-bert")
    plugin = f"--load-pass-plugin={build}/tanh-gelu.so"

    def emit(*flags):
        return run(os.path.join(prefix, "bin", "transom"), "compile", model, "--emit", "attn-opt", *flags)

    for flags, activation in {(): "gelu", (plugin,): "gelu_tanh"}.items():
        if f"attn.activation <{activation}>" not in emit(*flags):
            sys.exit(f"a compile with {flags} has no 'attn.activation <{activation}>'")
    check_verified_plugins(os.path.join(prefix, "bin", "transom"), build, model)
    os.environ["TRANSOM_LOAD_PASS_PLUGIN"] = f"{build}/tanh-gelu.so"
    if "attn.activation <gelu>" not in emit():
        sys.exit("a variable of the environment loads a plug-in")
    check_failing_plugin(project, prefix, model)


def check_verified_plugins(tool, build, model):
    """One plug-in preserves the model's results; the other does not, and the first different operation is named."""
    right = run(tool, "verify", model, f"--load-pass-plugin={build}/scale-query.so", "--json")
    passes = {entry["pass"]: entry["changed"] for entry in json.loads(right)["passes"]}
    if not passes["extension-attn-shaped"]:
        sys.exit("the plug-in 'scale-query' changes nothing")
    wrong = subprocess.run([tool, "verify", model, f"--load-pass-plugin={build}/tanh-gelu.so", "--json"], capture_output=True,
                           text=True)
    difference = json.loads(wrong.stdout)["difference"]
    found = {key: difference[key] for key in ("pass", "operation", "location")}
    if wrong.returncode != 1 or found != {"pass": "extension-attn-shaped", "operation": "attn.activation",
                                          "location": "encoder.layer.0.intermediate.intermediate_act_fn"}:
        sys.exit(f"exit {wrong.returncode}: {found}")
    run(os.path.join(os.path.dirname(tool), "transom-opt"), "--run-reproducer", difference["reproducer"],
        f"--load-pass-plugin={build}/tanh-gelu.so")
    os.remove(difference["reproducer"])


def build_other_plugin(project, prefix, body):
    """Returns the flag for the plug-in 'tanh-gelu' with another pass body."""
    source = os.path.join(SOURCE, "examples", "pass-plugin", "TanhGelu.cpp")
    with open(source, encoding="utf-8") as file:
        text = file.read()
    start = text.index("    RewritePatternSet patterns(")
    end = text.index("      signalPassFailure();\n", start)
    with open(os.path.join(project, "TanhGelu.cpp"), "w", encoding="utf-8") as file:
        file.write(text[:start] + body + text[end + len("      signalPassFailure();\n"):])
    return f"--load-pass-plugin={build_project(project, prefix)}/tanh-gelu.so"


def check_failing_plugin(project, prefix, model):
    """A plug-in pass that fails: exit code 3, and a file that one program runs again and another reduces. A crashing pass is
    named."""
    plugin = build_other_plugin(project, prefix, """
    getOperation().walk([&](attn::ActivationOp op) {
      op.emitOpError("is not what I like");
      signalPassFailure();
    });
""")
    bin = os.path.join(prefix, "bin")

    def fails(code, text, *command):
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode != code or text not in result.stderr:
            sys.exit(f"{' '.join(command)}: exit {result.returncode}\n{result.stderr}")
        return result.stderr

    message = fails(3, "a plug-in's pass at 'extension-attn-shaped' failed: ", os.path.join(bin, "transom"), "compile", model,
                    plugin, "-o", os.path.join(project, "model.so"))
    reproducer = message.rsplit("; reproducer: ", 1)[1].strip()
    smaller = os.path.join(project, "smaller.mlir")
    run(os.path.join(bin, "transom-reduce"), reproducer, plugin, "-o", smaller)
    for path in (reproducer, smaller):
        fails(1, "is not what I like", os.path.join(bin, "transom-opt"), "--run-reproducer", path, plugin)
    with open(smaller, encoding="utf-8") as file:
        if (count := file.read().count(" = attn.")) != 1:
            sys.exit(f"{smaller} has {count} operations, not one")
    os.remove(reproducer)
    plugin = build_other_plugin(project, prefix, "    *static_cast<volatile int *>(nullptr) = 0;\n")
    for command in (("compile", model, "-o", os.path.join(project, "model.so")), ("verify", model)):
        fails(3, "the pass 'tanh-gelu' of a plug-in crashed at 'extension-attn-shaped'", os.path.join(bin, "transom"), *command,
              plugin)


def main():
    way = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        application = os.path.join(folder, "application")
        os.mkdir(application)
        shutil.copy(os.path.join(SOURCE, "examples", "embed-c", "embed.c"), application)
        shutil.copy(os.path.join(HERE, "Version.cpp"), application)
        if way == "subdirectory":
            for c, cxx in (("gcc", "g++"), ("clang-14", "clang++-14"), ("clang-19", "clang++-19")):
                if shutil.which(cxx):
                    build_with_cmake(application, f"add_subdirectory({SOURCE} transom)", f"-DCMAKE_C_COMPILER={c}",
                                     f"-DCMAKE_CXX_COMPILER={cxx}")
                    shutil.rmtree(os.path.join(application, "build"))
            return
        if way == "tools":
            check_tools(install(os.path.join(folder, "prefix"), "tools"))
            return
        if way.startswith("compiler-"):
            check_compiler = check_plugin if way == "compiler-dev" else check_headers
            check_compiler(application, install(os.path.join(folder, "prefix"), "compiler-dev"))
            return
        # The tree works where it is moved to.
        installed = install(os.path.join(folder, "prefix"), "runtime")
        prefix = shutil.move(installed, os.path.join(folder, "elsewhere"))
        if way == "cmake":
            build_with_cmake(application, "find_package(transom 0.1 REQUIRED)", f"-DCMAKE_PREFIX_PATH={prefix}")
        else:
            build_with_pkg_config(application, prefix)


main()
