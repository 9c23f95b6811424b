# Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads ELF file headers (64 bits, little-endian), and finds ELF files in a folder. Standard library only."""
import mmap
import os
import struct

ET_EXEC, ET_DYN = 2, 3
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE = 1, 2, 3, 4
PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
PF_X, PF_W = 1, 2
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_TEXTREL, DT_RPATH, DT_RUNPATH = 1, 5, 6, 22, 15, 29
DT_FLAGS, DT_FLAGS_1, DT_GNU_HASH, DT_BIND_NOW = 30, 0x6FFFFFFB, 0x6FFFFEF5, 24
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000
EM_X86_64, EM_AARCH64 = 62, 183
FEATURE_1_AND = {EM_X86_64: 0xC0000002, EM_AARCH64: 0xC0000000}
X86_IBT, X86_SHSTK = 1, 2


class ElfFile:
    """The headers, dynamic table and dynamic symbols in a shared object or program."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.type, self.machine = struct.unpack_from("<HH", self.data, 16)
        offset, size, count = *struct.unpack_from("<Q", self.data, 32), *struct.unpack_from("<HH", self.data, 54)
        # (type, flags, offset, address, size in the file, size in memory)
        self.segments = []
        for i in range(count):
            kind, flags, at, address, _, in_file, in_memory, _ = struct.unpack_from("<IIQQQQQQ", self.data, offset + i * size)
            self.segments.append((kind, flags, at, address, in_file, in_memory))
        self.tags = self._read_tags()
        self.symbols = self._read_symbols()

    def _read_tags(self):
        tags = []
        for kind, _, at, _, size, _ in self.segments:
            for i in range(at, at + size, 16) if kind == PT_DYNAMIC else ():
                tag, value = struct.unpack_from("<qQ", self.data, i)
                if tag == 0:
                    break
                tags.append((tag, value))
        return tags

    def get_offset(self, address):
        """Returns the file offset for a memory address."""
        for kind, _, at, begin, size, _ in self.segments:
            if kind == PT_LOAD and begin <= address < begin + size:
                return at + address - begin
        raise ValueError(f"{self.path}: no segment holds {address:#x}")

    def get_values(self, tag):
        return [value for kind, value in self.tags if kind == tag]

    def get_string(self, at):
        begin = self.get_offset(self.get_values(DT_STRTAB)[0]) + at
        return self.data[begin:self.data.find(b"\0", begin)].decode()

    def _read_symbols(self):
        """The dynamic symbols: {name: address}, 0 for an undefined one. The string table follows the symbols."""
        if not self.get_values(DT_SYMTAB):
            return {}
        begin = self.get_offset(self.get_values(DT_SYMTAB)[0])
        end = begin
        symbols = {}
        # The table has no size; sections name it.
        sections, = struct.unpack_from("<Q", self.data, 40)
        size, count, _ = struct.unpack_from("<HHH", self.data, 58)
        for i in range(count):
            kind, = struct.unpack_from("<I", self.data, sections + i * size + 4)
            if kind == 11:  # SHT_DYNSYM
                begin, length = struct.unpack_from("<QQ", self.data, sections + i * size + 24)
                end = begin + length
        for at in range(begin, end, 24):
            name, _, _, section, address, _ = struct.unpack_from("<IBBHQQ", self.data, at)
            symbols[self.get_string(name)] = address if section else 0
        return symbols

    def get_runpath(self):
        """Returns the folders that the loader searches, from both tags."""
        return [part for tag in (DT_RPATH, DT_RUNPATH) for value in self.get_values(tag) for part in self.get_string(value).split(":")]

    def binds_now(self):
        flags, flags1 = sum(self.get_values(DT_FLAGS)), sum(self.get_values(DT_FLAGS_1))
        return bool(self.get_values(DT_BIND_NOW) or flags & DF_BIND_NOW or flags1 & DF_1_NOW)

    def is_program(self):
        return any(kind == PT_INTERP for kind, *_ in self.segments) and not self.path.endswith(".so")

    def get_features(self):
        """Returns the bits in the property note that specify the protections supported by all code."""
        for kind, _, at, _, size, _ in self.segments:
            while kind == PT_NOTE and size >= 16:
                names, length, note = struct.unpack_from("<III", self.data, at)
                begin = at + 12 + (names + 3) // 4 * 4
                if note == 5 and self.data[at + 12:at + 16] == b"GNU\0":
                    for i in self._get_properties(begin, length):
                        return i
                step = begin + (length + 7) // 8 * 8 - at
                at, size = at + step, size - step
        return 0

    def _get_properties(self, begin, length):
        end = begin + length
        while begin + 8 <= end:
            kind, size = struct.unpack_from("<II", self.data, begin)
            if kind == FEATURE_1_AND.get(self.machine):
                yield struct.unpack_from("<I", self.data, begin + 8)[0]
            begin += 8 + (size + 7) // 8 * 8


def find_elf_files(folder):
    """Returns the programs and shared objects below a folder, without CMake's own files."""
    found = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("CMakeFiles", "Testing")]
        for name in sorted(names):
            path = os.path.join(root, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                head = file.read(18)
            if head[:5] == b"\x7fELF\x02" and struct.unpack_from("<H", head, 16)[0] in (ET_EXEC, ET_DYN):
                found.append(ElfFile(path))
    return found


def find_bad_runpaths(folder):
    """Returns `PATH: PART` for each part that is empty or relative: the dynamic loader would search the current folder."""
    return [f"{elf.path}: '{part}'" for elf in find_elf_files(folder) for part in elf.get_runpath()
            if not part.startswith(("/", "$ORIGIN", "${ORIGIN}"))]
