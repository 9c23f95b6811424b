// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// lld as a library. It reads memory files and writes to a pipe by their
// /proc/self/fd names, so nothing is left on disk however the process ends.
// Without a thread that reads the pipe the output is a file in a temporary
// folder. It links with a weights section of one page; widening the last
// segment afterwards moves no address, costs nothing for gigabytes and needs no
// large buffer.
#include "compiler/artifact/Link.h"
#include "compiler/artifact/Tables.h"
#include "compiler/codegen/FatalErrors.h"
#include "lld/Common/Driver.h"
#include "runtime/base/File.h"
#include "runtime/base/Threads.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>

LLD_HAS_DRIVER(elf)

using namespace transom;
using llvm::ELF::Elf64_Ehdr;
using llvm::ELF::Elf64_Phdr;
using llvm::ELF::Elf64_Shdr;

/// Sections: read-only data with unwind tables, code, constants with
/// relocations, weights. The weights are last, so their size does not move
/// other sections. Symbols and line tables are not loaded.
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

/// Returns a path for an open descriptor.
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
      if (count < 0 && errno == EINTR)
        continue;
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

/// Receives lld's output: a pipe, since lld replaces regular files by renaming
/// a temporary file and writes directly to others. Without a reader thread it
/// is a file in a temporary folder.
class LinkerOutput {
public:
  static Result<std::unique_ptr<LinkerOutput>> create();
  ~LinkerOutput();

  std::string path() const {
    return reader ? getPath(ends[1]) : joinPath(folder, "image");
  }
  /// Returns all output, after lld has returned.
  Result<std::string> finish();

private:
  /// Reads the pipe until it is closed.
  void read();

  int ends[2] = {-1, -1};
  std::string bytes;
  int failure = 0; ///< the reader's errno
  std::optional<std::thread> reader;
  std::string folder; ///< empty with a pipe
};

/// During its lifetime, writing to a closed pipe is an error instead of a
/// signal.
class IgnoreBrokenPipes {
public:
  IgnoreBrokenPipes() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
  }
  ~IgnoreBrokenPipes() { sigaction(SIGPIPE, &before, nullptr); }
  IgnoreBrokenPipes(const IgnoreBrokenPipes &) = delete;
  IgnoreBrokenPipes &operator=(const IgnoreBrokenPipes &) = delete;

private:
  struct sigaction before;
};

} // namespace

static void closeIfOpen(int &fd) {
  if (fd >= 0)
    close(std::exchange(fd, -1));
}

Result<std::unique_ptr<LinkerOutput>> LinkerOutput::create() {
  auto output = std::make_unique<LinkerOutput>();
  if (pipe2(output->ends, O_CLOEXEC) != 0)
    return unavailable("cannot open a pipe: " + std::string(strerror(errno)));
  output->reader = startThread([raw = output.get()] { raw->read(); });
  if (output->reader)
    return output;
  llvm::SmallString<128> folder;
  if (std::error_code error =
          llvm::sys::fs::createUniqueDirectory("transom-link", folder))
    return unavailable("cannot create a temporary folder: " + error.message());
  output->folder = folder.str();
  return output;
}

LinkerOutput::~LinkerOutput() {
  closeIfOpen(ends[1]);
  if (reader && reader->joinable())
    reader->join();
  closeIfOpen(ends[0]);
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

void LinkerOutput::read() {
  char block[65536];
  ssize_t count;
  while ((count = ::read(ends[0], block, sizeof block)) != 0) {
    if (count > 0) {
      bytes.append(block, static_cast<size_t>(count));
    } else if (errno != EINTR) {
      // lld's next write fails.
      failure = errno;
      closeIfOpen(ends[0]);
      return;
    }
  }
}

Result<std::string> LinkerOutput::finish() {
  if (!reader)
    return readSmallFile(path(), UINT64_MAX);
  closeIfOpen(ends[1]);
  reader->join();
  if (failure != 0)
    return unavailable("cannot read a pipe: " + std::string(strerror(failure)));
  return std::move(bytes);
}

/// Converts lld's messages to an error. Its files exist only in this process,
/// so failing to open or write one is a system error.
static Error describeLinkerError(const std::string &complaints,
                                 const std::string &fatal) {
  if (Error error = describeFatalError(fatal);
      error.status == Status::Unavailable)
    return error;
  const llvm::StringRef text(complaints);
  const std::string first = text.split('\n').first.str();
  const bool isSystem = llvm::any_of(
      llvm::ArrayRef<llvm::StringRef>{"cannot open ", "failed to open ",
                                      "failed to write "},
      [&](llvm::StringRef words) { return text.contains(words); });
  Error error = isSystem ? unavailable("linking failed: " + first)
                         : internalError("linking failed: " + first);
  error.notes.push_back(complaints);
  return error;
}

/// Runs lld; its first message is the error.
static Result<void> runLinker(const std::vector<std::string> &arguments) {
  static std::mutex lock; // lld keeps its state in globals
  static bool usable = true;
  std::lock_guard<std::mutex> guard(lock);
  if (!usable)
    return internalError("the linker crashed before and cannot run again");
  std::vector<const char *> args;
  for (const std::string &argument : arguments)
    args.push_back(argument.c_str());
  std::string words, fatal;
  llvm::raw_string_ostream out(words), errors(words);
  lld::Result result{1, false};
  const IgnoreBrokenPipes ignored;
  // lld leaves the guard after an error that it cannot return.
  runGuarded(
      [&] {
        result = lld::lldMain(args, out, errors, {{lld::Gnu, &lld::elf::link}});
      },
      fatal);
  usable = result.canRunAgain;
  if (result.retCode == 0)
    return {};
  errors.flush();
  return describeLinkerError(words, fatal);
}

/// Returns lld flags for an object file's machine. aarch64 kernels may use 64
/// KiB pages.
static std::vector<std::string> machineFlags(const std::string &object) {
  Elf64_Ehdr header{};
  std::memcpy(&header, object.data(), std::min(object.size(), sizeof header));
  if (header.e_machine == llvm::ELF::EM_AARCH64)
    return {"-m", "aarch64elf", "-z", "max-page-size=65536"};
  return {"-m", "elf_x86_64"};
}

/// Links the objects to an image whose weights section is one page long.
static Result<std::string> linkStub(const std::vector<std::string> &objects) {
  std::vector<MemoryFile> files;
  std::vector<llvm::StringRef> contents = {linkerScript, versionScript};
  contents.insert(contents.end(), objects.begin(), objects.end());
  for (llvm::StringRef bytes : contents) {
    TRANSOM_ASSIGN(MemoryFile file, MemoryFile::create(bytes));
    files.push_back(std::move(file));
  }
  TRANSOM_ASSIGN(std::unique_ptr<LinkerOutput> output, LinkerOutput::create());
  std::vector<std::string> arguments = {
      "ld.lld", "-shared", "--no-undefined", "--hash-style=gnu",
      "--eh-frame-hdr", "--build-id=none", "--color-diagnostics=never",
      // More threads would unlink the output before it is written.
      "--threads=1", "-o", output->path(), "--script=" + files[0].path(),
      "--version-script=" + files[1].path()};
  for (const std::string &flag : machineFlags(objects.front()))
    arguments.push_back(flag);
  for (size_t i = 2; i < files.size(); ++i)
    arguments.push_back(files[i].path());
  TRANSOM_TRY(runLinker(arguments));
  return output->finish();
}

namespace {

/// The headers in an image written by lld.
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

/// Gives the weights section its final size and splits the image around it.
static Result<LinkedImage> widen(std::string image, uint64_t weightBytes) {
  // The weights must be the last read-only segment.
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

  // Compute the final offsets.
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

  // Widen the section and its segment, and move everything after them.
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
