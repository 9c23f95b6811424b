// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes an artifact: links, writes the code into the output file and the
// weights into their hole, and finally the manifest, which contains all sizes
// and hashes, and the file digest.
#include "compiler/artifact/Artifact.h"
#include "compiler/artifact/Link.h"
#include "compiler/artifact/Tables.h"
#include "compiler/artifact/WeightWriter.h"
#include "runtime/artifact/Digest.h"

using namespace transom;

/// Returns the manifest with placeholder sizes and hashes that have the final
/// length.
static Manifest preliminary(const ArtifactPlan &plan,
                            const std::vector<IsaObject> &objects) {
  Manifest manifest = plan.manifest;
  manifest.isas.clear();
  for (const IsaObject &object : objects)
    manifest.isas.push_back(object.isa);
  manifest.weightsBytes = plan.weightBytes;
  manifest.weightsSha256 = std::string(64, '0');
  manifest.fileBytes = INT64_MAX;
  if (!plan.tokenizer.empty())
    manifest.tokenizer = ManifestTokenizer{INT64_MAX, plan.tokenizer.size()};
  return manifest;
}

/// Links the objects with tables whose note reserves `manifestBytes`.
static Result<LinkedImage> link(const ArtifactPlan &plan,
                                const std::vector<IsaObject> &objects,
                                uint64_t manifestBytes) {
  std::vector<std::string> isas, files;
  for (const IsaObject &object : objects) {
    isas.push_back(object.isa);
    files.push_back(object.object);
  }
  TRANSOM_ASSIGN(std::string tables, makeTables(plan, isas, manifestBytes));
  files.push_back(std::move(tables));
  return linkArtifact(files, plan.weightBytes);
}

/// Writes code and section headers into the file, around the hole for weights.
static Result<void> writeImage(const LinkedImage &image, OutputFile &file) {
  if (Result<void> head = file.writeAt(0, image.head); !head)
    return head;
  return file.writeAt(image.tailOffset, image.tail);
}

/// Writes the manifest into its note, padded with spaces, and the digest over
/// all loaded bytes except weights.
static Result<void> writeManifest(const Manifest &manifest, size_t room,
                                  LinkedImage &image, OutputFile &file) {
  std::string text = manifest.toJson();
  if (text.size() > room)
    return internalError("the manifest outgrew its note");
  text.resize(room, ' ');
  const uint64_t offset = image.manifestOffset;
  const uint64_t digestOffset = offset + room + noteHeaderBytes;
  image.head.replace(offset, room, text);
  const std::array<uint8_t, 32> digest =
      computeArtifactDigest(image.head, digestOffset);
  TRANSOM_TRY(file.writeAt(offset, text));
  return file.writeAt(digestOffset,
                      {reinterpret_cast<const char *>(digest.data()), 32});
}

Result<ArtifactReport>
transom::writeArtifact(const ArtifactPlan &plan,
                       const std::vector<IsaObject> &objects,
                       const TensorSource &source,
                       const std::function<void(const std::string &)> &release,
                       OutputFile &file, const WriteProgress &progress) {
  Manifest manifest = preliminary(plan, objects);
  const size_t room = (manifest.toJson().size() + 3) / 4 * 4;
  TRANSOM_ASSIGN(LinkedImage image, link(plan, objects, room));
  TRANSOM_TRY(writeImage(image, file));
  TRANSOM_ASSIGN(
      PackedWeights packed,
      writeWeights(plan, source, release, file, image.weightsOffset, progress));

  ArtifactReport report{image.weightsOffset + image.weightsBytes, packed.sha256,
                        packed.rounding};
  manifest.fileBytes = report.fileBytes;
  manifest.weightsSha256 = report.weightsSha256;
  if (manifest.tokenizer)
    manifest.tokenizer->offset = image.tokenizerOffset;
  TRANSOM_TRY(writeManifest(manifest, room, image, file));
  return report;
}

Result<ArtifactReport>
transom::writeArtifact(const ArtifactPlan &plan,
                       const std::vector<IsaObject> &objects,
                       const TensorSource &source,
                       const std::function<void(const std::string &)> &release,
                       const std::string &path, const WriteProgress &progress) {
  OutputOptions options;
  options.randomAccess = true;
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path, options));
  TRANSOM_ASSIGN(ArtifactReport report,
                 writeArtifact(plan, objects, source, release, file, progress));
  TRANSOM_TRY(file.commit());
  return report;
}
