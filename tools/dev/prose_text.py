# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Extracts prose from files: comments, messages, descriptions and pages, as blocks. A block is a list of (line number, text)
# without code. Identifiers stay in the text; WORD does not match them. A change here may change the hashes in prose-backlog.txt.
import os
import re

# A word, also with hyphens or an apostrophe. Identifiers, paths, flags and calls do not match in part either.
WORD = re.compile(r"(?<![\w$%@#.:<-])[A-Za-z]+(?:['’-][A-Za-z]+)*(?!\w|\(\)|\.\w|::|->)")
CAMEL_CASE = re.compile(r"[a-z][A-Z]")

C_FILES = (".h", ".c", ".cpp", ".def", ".js", ".css", ".mlir")
SHELL_FILES = (".sh", ".cmake", ".cmake.in", "CMakeLists.txt")
# Generated pages and tables, expected results, and texts by others.
EXEMPT = re.compile(r"^(docs/reference/|test/goldens/(?!.*README\.md$)|LICENSE$)|/(Unicode|Regex|Compatibility|Grapheme)(Tables|Categories)\.cpp$")

# Comments, raw strings, strings and characters in C-like languages.
C_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)'(?:\\.|[^'\\\n])+'""", re.DOTALL)
TD_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|\[\{.*?\}\]|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)
PYTHON_TOKEN = re.compile(r'''\#[^\n]*|[rbfRBF]*(?:""".*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')''', re.DOTALL)

# Code inside a description.
TD_CONCATENATION = re.compile(r"\}\](?:\s*#\s*(?:\w+|\"[^\"\n]*\"))+\s*#\s*\[\{")
# Comments for tools: licence lines, directives, argument names, closed namespaces.
TOOL_COMMENT = re.compile(r"^(Part of the transom project, under|SPDX-License-Identifier:|NOLINT|clang-format o|!/|-\*-|namespace\b|end (anonymous )?namespace"
                          r"|[A-Z]+[A-Z0-9_-]*:|expected-(error|warning|remark|note)|/?\w+= ?$)")
# String literals that are IR, JSON, regular expressions, code or paths.
DATA = re.compile(r"%\w+ = |\[\{|\}\]|\" ?:|->|::|\(\?|\\[dswb]|[\w)];$|</?\w+[ />]|\$\w|\$\{|={2}|&&|\|\||\w\(%|^\s*[#<{]|\{\"|/\w+/\w+/")
PLACEHOLDER = re.compile(r"%[-+0-9.*]*[hlzj]*[dufsgxc]\b|\{[\w:.]*\}|\\[nt]")
# A value inside a message.
JOINT = re.compile(r"\s*(?:(?:\+|<<)[^;,{}?:\"]{0,80})?(?:\+|<<)\s*")


def get_words(text):
    """Lower-case words, without identifiers."""
    return [word.lower() for word in WORD.findall(text) if not CAMEL_CASE.search(word)]


def erase(pattern, text):
    """Replaces matches by a placeholder that is not a word, and keeps line breaks."""
    return re.sub(pattern, lambda match: "…" + "\n" * match.group().count("\n"), text, flags=re.DOTALL)


def split_blocks(lines):
    """Yields paragraphs, list items and table rows."""
    block = []
    for number, line in lines:
        stripped = line.strip().strip("|").strip()
        if not stripped or re.match(r"[-*#>] |\||\d+\. ", line.strip()):
            yield block
            block = []
        if stripped.strip("… "):
            block.append((number, stripped))
    yield block


def split_prose(text, first_line=1):
    """Yields the blocks in a page, docstring or comment; code, link targets, addresses and HTML comments are removed."""
    for pattern in (r"(?m:^)[ \t]*```.*?(?m:^)[ \t]*```[^\n]*", r"<!--.*?-->", r"(`+)(?!`)[^`]{1,300}?\1", r"(?<=\])\([^)\n]*\)", r"https?://[^\s)>]+", r"</?[a-z]\w*( [^>\n]*)?>"):
        text = erase(pattern, text)
    return split_blocks(list(enumerate(text.split("\n"), first_line)))


def split_comment(text, line):
    """Yields the blocks in a comment without its markers."""
    lines = [re.sub(r"^\s*(?:/\*[*!]?|//[/!]?<?|\*(?!\*)/?|#+)|\*+/\s*$", "", part) for part in text.split("\n")]
    return split_prose("\n".join("" if TOOL_COMMENT.match(part.strip()) else part for part in lines), line)


def is_message(text):
    """Whether a string literal has two words or more and is not data."""
    return " " in text and len(get_words(text)) >= 2 and not DATA.search(text)


def is_alone(text, start):
    """Whether only white space precedes a position in its line."""
    return not text[text.rfind("\n", 0, start) + 1:start].strip()


class Collector:
    """Joins adjacent comment lines and split messages. Tokens arrive in file order."""

    def __init__(self, text):
        self.text, self.blocks, self.kind, self.parts = text, [], "", []
        self.position, self.line, self.end = 0, 1, 0

    def locate(self, position):
        """Returns the line number at a position, which must not decrease."""
        self.line += self.text.count("\n", self.position, position)
        self.position = position
        return self.line

    def flush(self):
        if self.parts and self.kind == "comment":
            self.blocks += split_comment("\n".join(part for _, part in self.parts), self.parts[0][0])
        elif self.parts and is_message("".join(part for _, part in self.parts)):
            first = self.parts[0][0]
            by_line = {}
            for line, part in self.parts:
                by_line[line] = by_line.get(line, "") + PLACEHOLDER.sub("…", part)
            self.blocks += split_prose("\n".join(by_line.get(line, "…") for line in range(first, self.line + 1)), first)
        self.parts = []

    def add(self, kind, token, start, joins):
        """Adds a token; `joins` tells whether it continues the previous one."""
        if not joins or kind != self.kind:
            self.flush()
        self.kind = kind
        self.parts.append((self.locate(start), token))
        self.end = start

    def add_comment(self, token, start):
        """A line comment below another one in the same column continues it."""
        column = start - self.text.rfind("\n", 0, start)
        between = self.text[self.end:start]
        joins = token[:2] != "/*" and is_alone(self.text, start) and between.count("\n") == 1 and column == self.column
        self.add("comment", token, start, joins)
        self.column, self.end = column if is_alone(self.text, start) else 0, start + len(token)

    column = 0


def extract_c(text, strings):
    """Comments, and messages if `strings` is set."""
    found = Collector(text)
    for match in C_TOKEN.finditer(text):
        token, start = match.group(), match.start()
        if token.startswith(("//", "/*")):
            found.add_comment(token, start)
        elif strings and token[0] == '"' and "#include" not in text[text.rfind("\n", 0, start) + 1:start]:
            between = text[found.end:start]
            adjacent = not between.strip()
            joined = found.kind == "string" and (adjacent or bool(JOINT.fullmatch(between)))
            found.add("string", ("…" if joined and not adjacent else "") + token[1:-1], start, joined)
            found.end = match.end()
    found.flush()
    return found.blocks


def extract_td(text):
    """Comments, summaries, descriptions, and prose in embedded code."""
    text = TD_CONCATENATION.sub(lambda match: " " * len(match.group()), text)
    found, last, field = Collector(text), 0, ""
    for match in TD_TOKEN.finditer(text):
        token, start = match.group(), match.start()
        gap, last = text[last:start], match.end()
        field = (re.findall(r"(?:let|string) (\w+) =", gap) or [field])[-1]
        if token.startswith(("//", "/*")):
            found.add_comment(token, start)
        elif token[0] == '"' and field != "assemblyFormat" and not gap.endswith("include "):
            found.add("string", token[1:-1], start, False)
            found.end = match.end()
        elif token[0] == "[":
            # Only descriptions, also those by position, are prose; the rest is C++.
            found.flush()
            line, body = found.locate(start), token[2:-2]
            positional = gap.rstrip().endswith("<") and ";" not in body
            is_prose = positional or field in ("description", "summary")
            found.blocks += split_prose(body, line) if is_prose else shift(extract_c(body, True), line - 1)
    found.flush()
    return found.blocks


def shift(blocks, offset):
    return [[(line + offset, text) for line, text in block] for block in blocks]


def extract_python(text):
    """Comments and docstrings."""
    found, last, previous = Collector(text), 0, ":"
    for match in PYTHON_TOKEN.finditer(text):
        token, start = match.group(), match.start()
        code, last = text[last:start].rstrip(), match.end()
        previous = code[-1] if code else previous
        if token[0] == "#":
            found.add_comment(token, start)
            continue

        # A docstring is on a line of its own after a colon, or starts the file.
        if is_alone(text, start) and previous == ":":
            found.flush()
            found.blocks += split_prose(re.sub(r"^\w*(\"\"\"|\'\'\'|\"|\')|(\"\"\"|\'\'\'|\"|\')$", "", token), found.locate(start))
        previous = '"'
    found.flush()
    return found.blocks


def extract_shell(text):
    """Comments that begin a line or follow white space."""
    found = Collector(text)
    for match in re.finditer(r"(?m)(?:^|(?<=[ \t]))#(?=[ \t!#]|$)[^\n]*", text):
        found.add_comment(match.group(), match.start())
    found.flush()
    return found.blocks


def get_language(name, text):
    """Returns c, td, lit, python, shell, markdown, or None for a file without prose to measure."""
    base = os.path.basename(name)
    if EXEMPT.search(name) or re.search(r"\bGenerated by ", text[:200]):
        return None
    for language, endings in (("c", C_FILES), ("td", (".td",)), ("lit", (".test",)), ("python", (".py",)), ("markdown", (".md",)), ("shell", SHELL_FILES)):
        if base.endswith(endings):
            return language
    first = text[:60].split("\n")[0]
    return ("python" if "python" in first else "shell") if first.startswith("#!") else None


def extract(name, text):
    """Returns the nonempty prose blocks in a file; None if its prose is not measured."""
    language = get_language(name, text)
    if language is None:
        return None
    # Test strings are inputs and expected output.
    if language == "c":
        blocks = extract_c(text, not name.startswith("test/") and name.endswith((".h", ".c", ".cpp", ".def")))
    elif language == "markdown":
        blocks = split_prose(text.split("\n## Retired words\n")[0] if name == "docs/glossary.md" else text)
    elif language == "lit":
        blocks = split_comment(re.sub(r"(?m)^\s*[{}\"].*", "", text), 1)
    else:
        blocks = {"td": extract_td, "python": extract_python, "shell": extract_shell}[language](text)
    return [block for block in blocks if block]
