// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld as a library. It reads memory files and writes to a pipe by their
// /proc/self/fd names, so nothing is left on disk however the process ends. It
// links with a weights section of one page; widening the last segment
// afterwards moves no address, costs nothing for gigabytes and needs no large
// buffer.
#include "compiler/artifact/Link.h"
#include "compiler/artifact/Tables.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace transom;
using llvm::ELF::Elf64_Ehdr;
using llvm::ELF::Elf64_Phdr;
using llvm::ELF::Elf64_Shdr;

/// Read-only data with the tables of unwinders, code, constants with
/// relocations, weights: the weights come last, so that their size moves
/// nothing. Symbols and line tables are sections that are not loaded.
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
  .eh_frame_hdr : { *(.eh_frame_hdr) }
  .eh_frame : { KEEP(*(.eh_frame)) }
  . = ALIGN(CONSTANT(MAXPAGESIZE));
  .text : { *(.text .text.*) }
  . = ALIGN(CONSTANT(MAXPAGESIZE));
  .data.rel.ro : { *(.data.rel.ro .data.rel.ro.*) }
  .dynamic : { *(.dynamic) }
  . = ALIGN(CONSTANT(MAXPAGESIZE));
  .transom.weights : { *(.transom.weights) }
  /DISCARD/ : { *(.comment) *(.note.GNU-stack) }
}
)";

static const char *const versionScript =
    "{ global: transom_artifact; local: *; };\n";

/// The path of an open descriptor.
static std::string getPath(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

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

  std::string path() const { return getPath(fd); }

private:
  int fd = -1;
};

/// Takes what lld writes: a pipe, since lld renames a temporary file over
/// outputs that are regular files and just writes to others.
class OutputPipe {
public:
  OutputPipe() {
    if (pipe2(ends, O_CLOEXEC) == 0)
      reader = std::thread([this] { read(); });
  }
  ~OutputPipe() { finish(); }
  OutputPipe(const OutputPipe &) = delete;
  OutputPipe &operator=(const OutputPipe &) = delete;

  bool isOpen() const { return ends[1] >= 0; }
  std::string path() const { return getPath(ends[1]); }

  /// All that was written, once lld has returned.
  std::string finish() {
    if (reader.joinable()) {
      close(ends[1]);
      reader.join();
      close(ends[0]);
    }
    return std::move(bytes);
  }

private:
  void read() {
    char block[65536];
    ssize_t count;
    while ((count = ::read(ends[0], block, sizeof block)) != 0)
      if (count > 0)
        bytes.append(block, static_cast<size_t>(count));
      else if (errno != EINTR)
        return;
  }

  int ends[2] = {-1, -1};
  std::string bytes;
  std::thread reader;
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

/// lld's flags for the machine of an object file. A kernel for aarch64 may have
/// pages of 64 KiB.
static std::vector<std::string> machineFlags(const std::string &object) {
  Elf64_Ehdr header{};
  std::memcpy(&header, object.data(), std::min(object.size(), sizeof header));
  if (header.e_machine == llvm::ELF::EM_AARCH64)
    return {"-m", "aarch64elf", "-z", "max-page-size=65536"};
  return {"-m", "elf_x86_64"};
}

/// The image that lld makes of the objects, weights section one page long.
static Result<std::string> linkStub(const std::vector<std::string> &objects) {
  std::vector<MemoryFile> files;
  std::vector<llvm::StringRef> contents = {linkerScript, versionScript};
  contents.insert(contents.end(), objects.begin(), objects.end());
  for (llvm::StringRef bytes : contents) {
    TRANSOM_ASSIGN(MemoryFile file, MemoryFile::create(bytes));
    files.push_back(std::move(file));
  }
  OutputPipe output;
  if (!output.isOpen())
    return unavailable("cannot open a pipe: " + std::string(strerror(errno)));
  std::vector<std::string> arguments = {
      "ld.lld", "-shared", "--no-undefined", "--hash-style=gnu",
      "--eh-frame-hdr", "--build-id=none", "--color-diagnostics=never",
      // More threads would unlink the output before it is written.
      "--threads=1", "-o", output.path(), "--script=" + files[0].path(),
      "--version-script=" + files[1].path()};
  for (const std::string &flag : machineFlags(objects.front()))
    arguments.push_back(flag);
  for (size_t i = 2; i < files.size(); ++i)
    arguments.push_back(files[i].path());
  TRANSOM_TRY(runLinker(arguments));
  return output.finish();
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
  if (!weights || !note || !segment || weights->sh_size != weightsStubBytes ||
      weights->sh_type != llvm::ELF::SHT_PROGBITS ||
      segment->p_offset != weights->sh_offset ||
      segment->p_filesz != weightsStubBytes ||
      segment->p_flags != llvm::ELF::PF_R)
    return internalError("the linker did not lay the weights out as the last "
                         "read-only segment");

  LinkedImage result;
  result.weightsOffset = weights->sh_offset;
  result.weightsBytes = std::max<uint64_t>(weightBytes, 64);
  result.manifestOffset = note->sh_offset + noteHeaderBytes;
  if (Elf64_Shdr *tokenizer = headers.section(tokenizerSection))
    result.tokenizerOffset = tokenizer->sh_offset;
  const uint64_t stubEnd = weights->sh_offset + weightsStubBytes;
  result.tailOffset = llvm::alignTo(result.weightsOffset + result.weightsBytes,
                                    weightsStubBytes);
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
  TRANSOM_ASSIGN(std::string image, linkStub(objects));
  return widen(std::move(image), weightBytes);
}
