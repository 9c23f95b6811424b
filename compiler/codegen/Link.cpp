// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld as a library. It reads and writes memory files by their /proc/self/fd
// names, so nothing is left on disk however the process ends. It links with a
// weights section of one page; widening the last segment afterwards moves no
// address, costs nothing for gigabytes and needs no large buffer.
#include "compiler/codegen/Link.h"
#include "compiler/codegen/Tables.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace transom;
using llvm::ELF::Elf64_Ehdr;
using llvm::ELF::Elf64_Phdr;
using llvm::ELF::Elf64_Shdr;

/// Bytes of the weights section while lld runs.
static constexpr uint64_t stubBytes = 4096;

/// Read-only data, code, constants with relocations, weights: the weights come
/// last, so that their size moves nothing.
static const char *const linkerScript = R"(SECTIONS {
  . = SIZEOF_HEADERS;
  .note.transom : { *(.note.transom) }
  .dynsym : { *(.dynsym) }
  .gnu.version : { *(.gnu.version) }
  .gnu.version_d : { *(.gnu.version_d) }
  .gnu.hash : { *(.gnu.hash) }
  .dynstr : { *(.dynstr) }
  .rela.dyn : { *(.rela.dyn) }
  .transom.tokenizer : { *(.transom.tokenizer) }
  .rodata : { *(.rodata .rodata.*) }
  . = ALIGN(CONSTANT(MAXPAGESIZE));
  .text : { *(.text .text.*) }
  . = ALIGN(CONSTANT(MAXPAGESIZE));
  .data.rel.ro : { *(.data.rel.ro .data.rel.ro.*) }
  .dynamic : { *(.dynamic) }
  . = ALIGN(CONSTANT(MAXPAGESIZE));
  .transom.weights (TYPE=SHT_PROGBITS) : {
    transom_weights = .;
    . += 4096;
  }
  /DISCARD/ : { *(.comment) *(.note.GNU-stack) *(.eh_frame) }
}
)";

static const char *const versionScript =
    "{ global: transom_artifact; local: *; };\n";

namespace {

/// An anonymous file that has a path.
class MemoryFile {
public:
  static Result<MemoryFile> create(llvm::StringRef contents) {
    MemoryFile file;
    file.fd = memfd_create("transom", MFD_CLOEXEC);
    if (file.fd < 0)
      return unavailable("cannot create a memory file: " +
                         std::string(strerror(errno)));
    while (!contents.empty()) {
      ssize_t count = write(file.fd, contents.data(), contents.size());
      if (count <= 0)
        return unavailable("cannot write a memory file: " +
                           std::string(strerror(errno)));
      contents = contents.drop_front(static_cast<size_t>(count));
    }
    return Result<MemoryFile>(std::move(file));
  }
  MemoryFile() = default;
  MemoryFile(MemoryFile &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  MemoryFile &operator=(MemoryFile &&) = delete;
  ~MemoryFile() {
    if (fd >= 0)
      close(fd);
  }

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

  std::string contents() const {
    std::string bytes(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      ssize_t count = pread(fd, &bytes[done], bytes.size() - done,
                            static_cast<off_t>(done));
      if (count <= 0)
        return {};
      done += static_cast<size_t>(count);
    }
    return bytes;
  }

private:
  int fd = -1;
};

} // namespace

/// Runs lld; its first complaint is the error.
static Result<void> runLinker(const std::vector<std::string> &arguments) {
  static std::mutex lock; // lld keeps its state in globals
  static bool usable = true;
  std::lock_guard<std::mutex> guard(lock);
  if (!usable)
    return internalError("the linker crashed before and cannot run again");
  std::vector<const char *> args;
  for (const std::string &argument : arguments)
    args.push_back(argument.c_str());
  std::string words;
  llvm::raw_string_ostream out(words), errors(words);
  lld::Result result =
      lld::lldMain(args, out, errors, {{lld::Gnu, &lld::elf::link}});
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return {};
  errors.flush();
  Error error = internalError("linking failed: " +
                              llvm::StringRef(words).split('\n').first.str());
  error.notes.push_back(words);
  return error;
}

/// The image that lld makes of the objects, weights section one page long.
static Result<std::string> linkStub(const std::vector<std::string> &objects) {
  std::vector<MemoryFile> files;
  std::vector<llvm::StringRef> contents = {"", linkerScript, versionScript};
  contents.insert(contents.end(), objects.begin(), objects.end());
  for (llvm::StringRef bytes : contents) {
    Result<MemoryFile> file = MemoryFile::create(bytes);
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
  }
  std::vector<std::string> arguments = {
      "ld.lld", "-m", "elf_x86_64", "-shared", "--no-undefined",
      "--hash-style=gnu", "--build-id=none", "--color-diagnostics=never",
      // Written through the open file: no thread may unlink it, and there is
      // no folder for a temporary one.
      "--threads=1", "--no-mmap-output-file", "-o", files[0].path(),
      "--script=" + files[1].path(), "--version-script=" + files[2].path()};
  for (size_t i = 3; i < files.size(); ++i)
    arguments.push_back(files[i].path());
  if (Result<void> linked = runLinker(arguments); !linked)
    return linked.takeError();
  return files[0].contents();
}

namespace {

/// The headers of an image that lld has just made.
struct ImageHeaders {
  explicit ImageHeaders(std::string &image)
      : file(reinterpret_cast<Elf64_Ehdr *>(image.data())),
        segments(reinterpret_cast<Elf64_Phdr *>(image.data() + file->e_phoff),
                 file->e_phnum),
        sections(reinterpret_cast<Elf64_Shdr *>(image.data() + file->e_shoff),
                 file->e_shnum),
        names(image.data() + sections[file->e_shstrndx].sh_offset) {}

  Elf64_Shdr *section(llvm::StringRef name) const {
    for (Elf64_Shdr &section : sections)
      if (name == names + section.sh_name)
        return &section;
    return nullptr;
  }
  Elf64_Phdr *lastLoad() const {
    Elf64_Phdr *last = nullptr;
    for (Elf64_Phdr &segment : segments)
      if (segment.p_type == llvm::ELF::PT_LOAD)
        last = &segment;
    return last;
  }

  Elf64_Ehdr *file;
  llvm::MutableArrayRef<Elf64_Phdr> segments;
  llvm::MutableArrayRef<Elf64_Shdr> sections;
  const char *names;
};

} // namespace

/// Gives the weights their true size and cuts the image around them.
static Result<LinkedImage> widen(std::string image, uint64_t weightBytes) {
  if (image.size() < sizeof(Elf64_Ehdr))
    return internalError("the linker wrote no file");
  ImageHeaders headers(image);
  Elf64_Shdr *weights = headers.section(weightsSection);
  Elf64_Shdr *note = headers.section(noteSection);
  Elf64_Phdr *segment = headers.lastLoad();
  if (!weights || !note || !segment || weights->sh_size != stubBytes ||
      weights->sh_type != llvm::ELF::SHT_PROGBITS ||
      segment->p_offset != weights->sh_offset ||
      segment->p_filesz != stubBytes || segment->p_flags != llvm::ELF::PF_R)
    return internalError("the linker did not lay the weights out as the last "
                         "read-only segment");

  LinkedImage result;
  result.weightsOffset = weights->sh_offset;
  result.weightsBytes = std::max<uint64_t>(weightBytes, 64);
  result.manifestOffset = note->sh_offset + noteHeaderBytes;
  if (Elf64_Shdr *tokenizer = headers.section(tokenizerSection))
    result.tokenizerOffset = tokenizer->sh_offset;
  const uint64_t stubEnd = weights->sh_offset + stubBytes;
  result.tailOffset =
      llvm::alignTo(result.weightsOffset + result.weightsBytes, stubBytes);
  const uint64_t shift = result.tailOffset - stubEnd;

  weights->sh_size = result.weightsBytes;
  segment->p_filesz = segment->p_memsz = result.weightsBytes;
  for (Elf64_Shdr &section : headers.sections)
    if (section.sh_offset >= stubEnd)
      section.sh_offset += shift;
  headers.file->e_shoff += shift;
  result.head = image.substr(0, result.weightsOffset);
  result.tail = image.substr(stubEnd);
  return result;
}

Result<LinkedImage>
transom::linkArtifact(const std::vector<std::string> &objects,
                      uint64_t weightBytes) {
  Result<std::string> image = linkStub(objects);
  if (!image)
    return image.takeError();
  return widen(std::move(*image), weightBytes);
}
