// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On stdout and in pipes, code for several instruction sets is concatenated.
#include "compiler/driver/EmittedFiles.h"
#include "compiler/driver/CodeListing.h"

using namespace transom;

/// Returns `model.avx2.s` for `model.s`.
static std::string getIsaPath(const std::string &path, const std::string &isa) {
  size_t name = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  size_t dot = path.rfind('.');
  if (dot == std::string::npos || dot <= name)
    return path + "." + isa;
  return path.substr(0, dot) + "." + isa + path.substr(dot);
}

Result<void> EmittedFiles::openFile(const std::string &isa,
                                    const std::string &path) {
  OutputOptions access;
  access.randomAccess = options.emit == Stage::So;
  TRANSOM_ASSIGN(files[isa],
                 outputs.create(path, access, OutputSet::Order::Result));
  return {};
}

Result<void>
EmittedFiles::open(const std::vector<const InstructionSet *> &isas) {
  const bool isCode = options.emit > Stage::Kern && options.emit != Stage::So;
  const bool isText = options.emit != Stage::Obj;
  isShared = !isCode || isas.size() == 1 || options.output.empty() ||
             OutputFile::isStream(options.output);
  hasHeadings = isShared && isCode && isText && isas.size() > 1;
  if (options.output.empty())
    return {};
  if (isShared)
    return openFile({}, options.output);
  for (const InstructionSet *isa : isas)
    TRANSOM_TRY(openFile(isa->name, getIsaPath(options.output, isa->name)));
  return {};
}

Result<void> EmittedFiles::write(const std::string &text,
                                 const std::string &isa) {
  std::string heading;
  if (hasHeadings)
    heading = (options.emit == Stage::Asm ? "# " : "; ") +
              std::string("code for ") + isa + "\n";
  if (options.output.empty()) {
    report.text += heading + text;
    return {};
  }
  OutputFile &file = *files.at(isShared ? std::string() : isa);
  if (report.written.empty() || report.written.back() != file.path())
    report.written.push_back(file.path());
  TRANSOM_TRY(file.append(heading));
  return file.append(text);
}

Result<void> EmittedFiles::writeListing(const std::string &text) {
  if (OutputFile::isStream(options.output))
    return {};
  const std::string path = getListingPath(options.output);
  TRANSOM_ASSIGN(OutputFile * file, outputs.create(path));
  report.written.push_back(path);
  return file->append(text);
}
