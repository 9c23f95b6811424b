// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structures are copied from the bytes, never pointed at, so alignment does not
// matter. A valid file has headers that the dynamic loader can follow; the
// digest proves that its contents are as compiled.
#include "runtime/artifact/Elf.h"
#include "runtime/artifact/Digest.h"
#include "runtime/base/Checked.h"
#include <cstring>
#include <elf.h>
#include <vector>

using namespace transom;

namespace {

constexpr uint64_t maxHeaders = 64;
constexpr uint64_t maxAddress = uint64_t(1) << 46;
constexpr char noteName[] = "transom";
constexpr uint32_t manifestNoteType = 1;

/// Reads one file; each step is a method that returns an error or nothing.
class ElfReader {
public:
  ElfReader(std::string_view bytes, const std::string &name)
      : bytes(bytes), name(name) {}

  Result<ElfImage> read() {
    TRANSOM_TRY(readHeader());
    TRANSOM_TRY(checkSegments());
    for (const Elf64_Phdr &segment : segments) {
      Result<void> done;
      if (segment.p_type == PT_NOTE)
        done = readNotes(segment);
      else if (segment.p_type == PT_DYNAMIC)
        done = checkDynamic(segment);
      if (!done)
        return done.takeError();
    }
    if (!image.manifest.data())
      return error("has no manifest; it was not made by transom");
    return image;
  }

private:
  Error error(const std::string &text) const {
    return rejected(name + ": " + text);
  }
  bool inside(uint64_t offset, uint64_t size) const {
    return offset <= bytes.size() && size <= bytes.size() - offset;
  }
  template <typename T> T at(uint64_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
  Error truncated(const std::string &what, uint64_t end) const {
    return error("truncated: " + what + " ends at byte " + std::to_string(end) +
                 ", the file has " + std::to_string(bytes.size()));
  }

  Result<void> readHeader();
  Result<void> checkSegments();
  Result<void> checkLoad(const Elf64_Phdr &segment);
  Result<void> readNotes(const Elf64_Phdr &segment);
  Result<void> takeNote(uint32_t type, std::string_view descriptor,
                        uint64_t address);
  Result<void> checkDynamic(const Elf64_Phdr &segment);
  bool isMapped(uint64_t address, uint64_t size) const;

  std::string_view bytes;
  const std::string &name;
  std::vector<Elf64_Phdr> segments;
  uint64_t lastAddress = 0;
  ElfImage image;
};

Result<void> ElfReader::readHeader() {
  // Check the magic number.
  if (bytes.size() < sizeof(Elf64_Ehdr) ||
      std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0) {
    if (bytes.size() >= SELFMAG &&
        std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0)
      return truncated("the ELF header", sizeof(Elf64_Ehdr));
    return error("is not a shared object");
  }
  // Check the file type and machine.
  auto header = at<Elf64_Ehdr>(0);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_ident[EI_VERSION] != EV_CURRENT ||
      header.e_version != EV_CURRENT || header.e_type != ET_DYN)
    return error("is not a 64-bit little-endian shared object");
  image.machine = header.e_machine;
  if (image.machine != EM_X86_64 && image.machine != EM_AARCH64)
    return unsupported(name + ": is for " + machineName(image.machine) +
                       "; supported: x86-64, aarch64");
  // Check the program headers and read them.
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > maxHeaders)
    return error("has " + std::to_string(header.e_phnum) +
                 " program headers of " + std::to_string(header.e_phentsize) +
                 " bytes, expected 1 to 64 of 56");
  uint64_t size = uint64_t(header.e_phnum) * sizeof(Elf64_Phdr);
  if (!inside(header.e_phoff, size))
    return truncated("the program header table", header.e_phoff + size);
  for (uint64_t i = 0; i != header.e_phnum; ++i)
    segments.push_back(at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr)));
  return {};
}

Result<void> ElfReader::checkLoad(const Elf64_Phdr &segment) {
  uint64_t align = segment.p_align;
  if (align < 4096 || (align & (align - 1)) != 0 || align > (1u << 30) ||
      (segment.p_offset ^ segment.p_vaddr) & (align - 1))
    return error("a segment at byte " + std::to_string(segment.p_offset) +
                 " has the alignment " + std::to_string(align));
  if (segment.p_vaddr >= maxAddress || segment.p_memsz >= maxAddress ||
      segment.p_filesz > segment.p_memsz || segment.p_vaddr < lastAddress)
    return error("a segment at address " + std::to_string(segment.p_vaddr) +
                 " overlaps another or is too large");
  lastAddress = segment.p_vaddr + segment.p_memsz;
  image.segments.push_back(
      {segment.p_offset, segment.p_filesz, segment.p_vaddr});
  uint64_t end = segment.p_offset + segment.p_filesz;
  if (end > image.loadEnd)
    image.loadEnd = end;
  return {};
}

Result<void> ElfReader::checkSegments() {
  // Check each segment alone.
  unsigned dynamics = 0, loads = 0;
  for (const Elf64_Phdr &segment : segments) {
    if (segment.p_type == PT_NULL || segment.p_type == PT_GNU_STACK)
      continue;
    if (!inside(segment.p_offset, segment.p_filesz)) {
      CheckedSize end = CheckedSize(segment.p_offset) + segment.p_filesz;
      return truncated("a segment", end.value().value_or(UINT64_MAX));
    }
    if (segment.p_type == PT_INTERP || segment.p_type == PT_TLS)
      return error("has a segment of type " + std::to_string(segment.p_type) +
                   ", which artifacts do not have");
    if (segment.p_type == PT_LOAD) {
      if (Result<void> done = checkLoad(segment); !done)
        return done;
      ++loads;
    }
    dynamics += segment.p_type == PT_DYNAMIC;
  }
  // Check the number of segments, and that other tables are in loaded segments.
  if (loads == 0 || dynamics != 1)
    return error("has " + std::to_string(loads) + " loaded segments and " +
                 std::to_string(dynamics) + " dynamic tables");
  for (const Elf64_Phdr &segment : segments)
    if ((segment.p_type == PT_DYNAMIC || segment.p_type == PT_GNU_RELRO) &&
        !isMapped(segment.p_vaddr, segment.p_filesz))
      return error("a segment at address " + std::to_string(segment.p_vaddr) +
                   " is not inside a loaded one");
  return {};
}

bool ElfReader::isMapped(uint64_t address, uint64_t size) const {
  for (const Elf64_Phdr &segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr <= segment.p_memsz &&
        size <= segment.p_memsz - (address - segment.p_vaddr))
      return true;
  return false;
}

Result<void> ElfReader::readNotes(const Elf64_Phdr &segment) {
  uint64_t align = segment.p_align == 8 ? 8 : 4;
  uint64_t at = segment.p_offset, end = segment.p_offset + segment.p_filesz;
  while (end - at >= sizeof(Elf64_Nhdr)) {
    auto note = this->at<Elf64_Nhdr>(at);
    CheckedSize descriptor =
        (CheckedSize(at + sizeof note) + note.n_namesz).alignUp(align);
    CheckedSize noteEnd = descriptor + note.n_descsz;
    if (!noteEnd.value() || *noteEnd.value() > end)
      return truncated("a note", noteEnd.value().value_or(UINT64_MAX));
    std::string_view owner = bytes.substr(at + sizeof note, note.n_namesz);
    std::string_view data = bytes.substr(*descriptor.value(), note.n_descsz);
    if (owner == std::string_view(noteName, sizeof noteName)) {
      uint64_t address =
          segment.p_vaddr + (*descriptor.value() - segment.p_offset);
      if (Result<void> done = takeNote(note.n_type, data, address); !done)
        return done;
    }
    uint64_t next = *noteEnd.alignUp(align).value();
    if (next >= end)
      break;
    at = next;
  }
  return {};
}

Result<void> ElfReader::takeNote(uint32_t type, std::string_view descriptor,
                                 uint64_t address) {
  if (type == manifestNoteType) {
    if (image.manifest.data())
      return error("has two manifests");
    if (!isMapped(address, descriptor.size()))
      return error("its manifest is not inside a loaded segment");
    image.manifest = descriptor;
    image.manifestAddress = address;
  } else if (type == digestNoteType) {
    if (descriptor.size() != 32)
      return error("its digest has " + std::to_string(descriptor.size()) +
                   " bytes, expected 32");
    image.digest = descriptor;
  }
  return {};
}

/// A table that the dynamic loader uses: the tags for its address and size.
struct DynamicTable {
  int64_t address, size;
  const char *what;
};
constexpr DynamicTable dynamicTables[] = {
    {DT_STRTAB, DT_STRSZ, "string table"},
    {DT_RELA, DT_RELASZ, "relocation table"},
    {DT_JMPREL, DT_PLTRELSZ, "relocation table"},
    {36 /* DT_RELR */, 35 /* DT_RELRSZ */, "relocation table"},
    {DT_SYMTAB, 0, "symbol table"},
    {DT_HASH, 0, "hash table"},
    {DT_GNU_HASH, 0, "hash table"},
    {DT_PLTGOT, 0, "offset table"},
};
constexpr int64_t refusedTags[] = {
    DT_NEEDED,        DT_INIT, DT_FINI,      DT_INIT_ARRAY, DT_FINI_ARRAY,
    DT_PREINIT_ARRAY, DT_REL,  DT_AUXILIARY, DT_FILTER};

Result<void> ElfReader::checkDynamic(const Elf64_Phdr &segment) {
  // Collect the tags up to the end of the table.
  std::vector<Elf64_Dyn> tags;
  for (uint64_t i = 0; i + sizeof(Elf64_Dyn) <= segment.p_filesz;
       i += sizeof(Elf64_Dyn)) {
    auto tag = at<Elf64_Dyn>(segment.p_offset + i);
    if (tag.d_tag == DT_NULL)
      break;
    for (int64_t refused : refusedTags)
      if (tag.d_tag == refused)
        return error("has the dynamic tag " + std::to_string(tag.d_tag) +
                     "; artifacts need no library and have no initializers");
    if (tags.size() == 256)
      return error("has more than 256 dynamic tags");
    tags.push_back(tag);
  }
  // Check that all tables are in loaded segments.
  auto getValue = [&](int64_t kind) -> std::optional<uint64_t> {
    for (const Elf64_Dyn &tag : tags)
      if (tag.d_tag == kind)
        return tag.d_un.d_val;
    return std::nullopt;
  };
  if (!getValue(DT_STRTAB) || !getValue(DT_SYMTAB))
    return error("has no table of dynamic symbols");
  for (const DynamicTable &table : dynamicTables)
    if (auto address = getValue(table.address)) {
      uint64_t size = table.size ? getValue(table.size).value_or(0) : 1;
      if (!isMapped(*address, size))
        return error(std::string("its ") + table.what + " at address " +
                     std::to_string(*address) +
                     " is not inside a loaded segment");
    }
  return {};
}

} // namespace

std::optional<uint64_t> ElfImage::getAddress(uint64_t offset,
                                             uint64_t size) const {
  for (const Segment &segment : segments)
    if (offset >= segment.offset && offset - segment.offset <= segment.size &&
        size <= segment.size - (offset - segment.offset))
      return segment.address + (offset - segment.offset);
  return std::nullopt;
}

uint16_t transom::thisMachine() {
#if defined(__aarch64__)
  return EM_AARCH64;
#else
  return EM_X86_64;
#endif
}

std::string transom::machineName(uint16_t machine) {
  if (machine == EM_X86_64)
    return "x86-64";
  if (machine == EM_AARCH64)
    return "aarch64";
  return "machine " + std::to_string(machine);
}

Result<ElfImage> transom::readElf(std::string_view bytes,
                                  const std::string &name) {
  return ElfReader(bytes, name).read();
}
