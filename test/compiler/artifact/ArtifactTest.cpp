// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Artifacts of hand-written code: they load, run, hold the weights where the
// code looks for them, survive strip, and never appear half-written.
#include "compiler/artifact/Link.h"
#include "compiler/artifact/Tables.h"
#include "runtime/abi/Abi.h"
#include "runtime/artifact/Digest.h"
#include "runtime/base/File.h"
#include "runtime/base/Sha256.h"
#include "test/compiler/codegen/CodegenTestBase.h"
#include "test/support/TimeLimit.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace transom;
using namespace transom::test;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test.
class Artifact : public ::testing::Test {
protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "transom-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override {
    for (void *library : libraries)
      dlclose(library);
    fs::remove_all(folder);
  }

  /// Two phases, one entry, a weight in each layout.
  static ArtifactPlan smallPlan() {
    ArtifactPlan plan;
    plan.phases = {"double", "mark"};
    plan.entries = {{"run", {{0, 0}, {1, -1}, {0, 1}}}};
    plan.rows = {0, 128};
    plan.weights = {{"a", "file(\"32\")", WeightLayout::Rows, 0, 128, {32}, {}},
                    {"b",
                     "file(\"40x3\")",
                     WeightLayout::Panels32,
                     128,
                     3 * 32 * 3 * 4,
                     {40, 3},
                     {5, 35}},
                    {"c",
                     "file(\"40\")",
                     WeightLayout::Padded32,
                     2048,
                     96 * 4,
                     {40},
                     {5, 35}}};
    plan.weightBytes = 4096;
    plan.manifest.name = "small";
    plan.manifest.compiler = "test";
    return plan;
  }

  static std::vector<IsaObject> smallObjects() {
    std::vector<IsaObject> objects;
    Result<std::vector<const InstructionSet *>> isas = selectTargets({});
    for (const InstructionSet *isa : *isas) {
      Result<std::string> object =
          compileObject(phasesFor(isa->name), isa->name);
      EXPECT_TRUE(object) << object.error().message;
      if (object)
        objects.push_back({isa->name, *object});
    }
    return objects;
  }

  Result<ArtifactReport> write(const ArtifactPlan &plan,
                               const std::string &name = "model.so") {
    return writeArtifact(plan, smallObjects(), IndexSource(), nullptr,
                         folder / name, nullptr);
  }

  const transom_artifact_code *load(const fs::path &path) {
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    if (!library)
      return nullptr;
    libraries.push_back(library);
    return static_cast<const transom_artifact_code *>(
        dlsym(library, artifactSymbol));
  }

  /// The names in the folder.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry &entry : fs::directory_iterator(folder))
      names.push_back(entry.path().filename());
    return names;
  }

  fs::path folder;
  std::vector<void *> libraries;
};

} // namespace

/// Runs step `index` of the first entry in one part; arena[0] afterwards.
static float runStep(const transom_artifact_code *code, int64_t index,
                     int64_t part) {
  float arena[64] = {};
  int64_t counters[1] = {0};
  transom_frame frame = {};
  frame.arena = reinterpret_cast<char *>(arena);
  frame.weights = code->weights;
  frame.counters = counters;
  const transom_dispatch &step = code->entries[0].dispatches[index];
  code->isas[0].phases[step.phase](
      &frame, step.layer < 0 ? nullptr : code->layers + step.layer, part, 3);
  return step.phase == 1 ? static_cast<float>(counters[0]) : arena[part];
}

TEST_F(Artifact, LoadsAndRuns) {
  ASSERT_TRUE(write(smallPlan()));
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->abi, static_cast<uint32_t>(TRANSOM_ABI_VERSION));
  ASSERT_EQ(code->num_isas, 2u);
  EXPECT_STREQ(code->isas[0].name, "avx2");
  EXPECT_STREQ(code->isas[1].name, "avx512");
  ASSERT_EQ(code->num_entries, 1u);
  EXPECT_STREQ(code->entries[0].name, "run");
  ASSERT_EQ(code->entries[0].num_dispatches, 3);
  EXPECT_EQ(runStep(code, 0, 5), 10.0f); // row 0: weight a
  EXPECT_EQ(runStep(code, 1, 0), 3.0f);
  EXPECT_EQ(runStep(code, 2, 1), 2000.0f); // row 1: weight b, column 1
}

TEST_F(Artifact, PacksEachLayout) {
  Result<ArtifactReport> report = write(smallPlan());
  ASSERT_TRUE(report);
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  auto *weights = reinterpret_cast<const float *>(code->weights);
  EXPECT_EQ(weights[31], 31.0f);
  const float *b = weights + 32; // [3 panels][3][32]
  EXPECT_EQ(b[0 * 32 + 4], 4000.0f);
  EXPECT_EQ(b[2 * 32 + 4], 4002.0f);
  EXPECT_EQ(b[0 * 32 + 5], 0.0f); // after the first split
  EXPECT_EQ(b[96 + 1 * 32 + 0], 5001.0f);
  EXPECT_EQ(b[2 * 96 + 2 * 32 + 2], 39002.0f);
  EXPECT_EQ(b[2 * 96 + 2 * 32 + 3], 0.0f);
  const float *c = weights + 512;
  EXPECT_EQ(c[4], 4.0f);
  EXPECT_EQ(c[5], 0.0f);
  EXPECT_EQ(c[32], 5.0f);
  EXPECT_EQ(c[32 + 34], 39.0f);
  EXPECT_EQ(report->weightsSha256, Sha256::getHex({code->weights, 4096}));
}

TEST_F(Artifact, PacksTensorsOfManyBlocks) {
  ArtifactPlan plan = smallPlan();
  const uint64_t bytes = uint64_t(3001) * 999 * 4;
  plan.weights = {{"rows",
                   "file(\"3001x999\")",
                   WeightLayout::Rows,
                   0,
                   bytes,
                   {3001, 999},
                   {}},
                  {"wide",
                   "file(\"2x1500000\")",
                   WeightLayout::Rows,
                   12000000,
                   12000000,
                   {2, 1500000},
                   {}},
                  {"panels",
                   "file(\"2000x999\")",
                   WeightLayout::Panels32,
                   24000000,
                   2016 * 999 * 4,
                   {2000, 999},
                   {}}};
  plan.weightBytes = 24000000 + 2016 * 999 * 4;
  Result<ArtifactReport> report = write(plan);
  ASSERT_TRUE(report) << report.error().message;
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  auto *weights = reinterpret_cast<const float *>(code->weights);
  EXPECT_EQ(weights[3000 * 999 + 998], 3000998.0f);
  EXPECT_EQ(weights[3000000 + 1500000 + 77], 1077.0f);
  EXPECT_EQ(weights[3000000 + 1499999], 1499999.0f);
  for (int64_t n : {0, 31, 32, 1055, 1056, 1999})
    for (int64_t k : {0, 15, 16, 998})
      EXPECT_EQ(weights[6000000 + (n / 32 * 999 + k) * 32 + n % 32],
                static_cast<float>(n * 1000 + k));
  EXPECT_EQ(report->weightsSha256,
            Sha256::getHex({code->weights, plan.weightBytes}));
}

/// Numbers that bf16 cannot hold, ties and NaNs among them.
class AwkwardSource : public IndexSource {
public:
  static float at(int64_t i, int64_t j) {
    const uint32_t bits[] = {0x3F808000, 0x3F818000, 0x3F808001, 0x7F800001,
                             0xFF7FFFFF, 0x00000001, 0x7F810000, 0xBF80FFFF};
    float value;
    memcpy(&value, &bits[(i * 5 + j) % 8], 4);
    return value;
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        *out++ = at(offsets[0] + i, offsets[1] + j);
    return {};
  }
  /// What `at` rounds to, written down.
  static uint16_t rounded(int64_t i, int64_t j) {
    const uint16_t bits[] = {0x3F80, 0x3F82, 0x3F81, 0x7FC0,
                             0xFF80, 0x0000, 0x7F81, 0xBF81};
    return bits[(i * 5 + j) % 8];
  }
};

TEST_F(Artifact, RoundsToBf16) {
  ArtifactPlan plan = smallPlan();
  const uint64_t panels = 3 * 64 * 32 * 2; // 5 and 35 columns, k of 37
  plan.weights = {
      {"rows", "file(\"9x3\")", WeightLayout::Rows, 0, 54, {9, 3}, {}},
      {"panels",
       "file(\"40x37\")",
       WeightLayout::Panels32,
       64,
       panels,
       {40, 37},
       {5, 35}}};
  for (ArtifactWeight &weight : plan.weights)
    weight.format = DType::BF16;
  plan.weightBytes = 64 + panels;
  Result<ArtifactReport> report =
      writeArtifact(plan, smallObjects(), AwkwardSource(), nullptr,
                    folder / "model.so", nullptr);
  ASSERT_TRUE(report) << report.error().message;
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  auto *rows = reinterpret_cast<const uint16_t *>(code->weights);
  for (int64_t i = 0; i < 27; ++i)
    EXPECT_EQ(rows[i], AwkwardSource::rounded(i / 3, i % 3)) << i;
  const uint16_t *packed = rows + 32;
  for (int64_t column = 0; column < 96; ++column)
    for (int64_t k = 0; k < 64; ++k) {
      const bool first = column < 32;
      const int64_t n = first ? column : column - 27;
      const bool real = k < 37 && (first ? n < 5 : n < 40);
      EXPECT_EQ(
          packed[((column / 32 * 32 + k / 2) * 32 + column % 32) * 2 + k % 2],
          real ? AwkwardSource::rounded(n, k) : 0)
          << column << " " << k;
    }
}

TEST_F(Artifact, ImportsNothingAndExportsOneSymbol) {
  ASSERT_TRUE(write(smallPlan()));
  auto binary = llvm::object::ObjectFile::createObjectFile(
      (folder / "model.so").string());
  ASSERT_TRUE(bool(binary)) << llvm::toString(binary.takeError());
  auto *elf = llvm::cast<llvm::object::ELF64LEObjectFile>(binary->getBinary());
  std::vector<std::string> names;
  for (llvm::object::SymbolRef symbol : elf->getDynamicSymbolIterators()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    ASSERT_TRUE(bool(name));
    names.push_back(name->str());
  }
  EXPECT_EQ(names, std::vector<std::string>{artifactSymbol});
  for (const auto &entry : *elf->getELFFile().dynamicEntries())
    EXPECT_NE(entry.getTag(), llvm::ELF::DT_NEEDED);
}

TEST_F(Artifact, ManifestStandsInTheNote) {
  ArtifactPlan plan = smallPlan();
  plan.tokenizer = std::string(1000, 't');
  Result<ArtifactReport> report = write(plan);
  ASSERT_TRUE(report);
  Result<MappedFile> file = MappedFile::open(folder / "model.so");
  ASSERT_TRUE(file);
  auto elf = llvm::cantFail(
      llvm::object::ELFFile<llvm::object::ELF64LE>::create(file->bytes()));
  llvm::Error bad = llvm::Error::success();
  std::string text;
  llvm::StringRef digest;
  uint64_t lastEnd = 0;
  for (const auto &segment : *elf.program_headers()) {
    if (segment.p_type == llvm::ELF::PT_LOAD)
      lastEnd = segment.p_offset + segment.p_filesz;
    if (segment.p_type != llvm::ELF::PT_NOTE)
      continue;
    for (const auto &note : elf.notes(segment, bad))
      if (note.getName() == noteName && note.getType() == manifestNote)
        text = llvm::toStringRef(note.getDesc(4)).str();
      else if (note.getName() == noteName)
        digest = llvm::toStringRef(note.getDesc(4));
  }
  ASSERT_FALSE(bad);
  const std::array<uint8_t, 32> expected = computeArtifactDigest(
      file->bytes(), uint64_t(digest.data() - file->bytes().data()));
  EXPECT_EQ(llvm::toHex(digest), llvm::toHex(llvm::ArrayRef(expected)));
  EXPECT_EQ(lastEnd, report->fileBytes);
  Result<Manifest> manifest = Manifest::parse(text);
  ASSERT_TRUE(manifest) << manifest.error().message;
  EXPECT_EQ(manifest->fileBytes, report->fileBytes);
  EXPECT_EQ(manifest->weightsSha256, report->weightsSha256);
  EXPECT_EQ(manifest->isas, (std::vector<std::string>{"avx2", "avx512"}));
  ASSERT_TRUE(manifest->tokenizer);
  EXPECT_EQ(file->bytes().substr(manifest->tokenizer->offset, 1000),
            plan.tokenizer);
}

TEST_F(Artifact, SurvivesStrip) {
  ArtifactPlan plan = smallPlan();
  plan.tokenizer = std::string(1000, 't');
  ASSERT_TRUE(write(plan));
  for (const char *tool : {"strip", "llvm-strip-19"}) {
    if (system(("command -v " + std::string(tool) + " >/dev/null").c_str()))
      continue;
    fs::path stripped = folder / tool;
    std::string command = std::string(tool) + " -o " + stripped.string() + " " +
                          (folder / "model.so").string();
    ASSERT_EQ(system(command.c_str()), 0);
    const transom_artifact_code *code = load(stripped);
    ASSERT_NE(code, nullptr) << tool;
    EXPECT_EQ(runStep(code, 2, 1), 2000.0f) << tool;
    // All that is loaded stays where the manifest says it is.
    Result<MappedFile> before = MappedFile::open(folder / "model.so");
    Result<MappedFile> after = MappedFile::open(stripped);
    ASSERT_TRUE(before && after);
    size_t tokenizer = before->bytes().find(plan.tokenizer);
    EXPECT_EQ(after->bytes().find(plan.tokenizer), tokenizer) << tool;
  }
}

TEST_F(Artifact, UndefinedSymbolFailsTheLink) {
  std::vector<IsaObject> objects = smallObjects();
  objects.pop_back();
  ArtifactPlan plan = smallPlan();
  plan.phases.push_back("missing");
  Result<ArtifactReport> report = writeArtifact(
      plan, objects, IndexSource(), nullptr, folder / "model.so", nullptr);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().status, Status::Internal);
  EXPECT_NE(report.error().message.find("transom.p.avx2.missing"),
            std::string::npos)
      << report.error().message;
  EXPECT_TRUE(files().empty());
  EXPECT_TRUE(write(smallPlan())) << "the linker runs again after a failure";
}

TEST_F(Artifact, LinksThreeGigabytes) {
  std::vector<IsaObject> objects = smallObjects();
  ArtifactPlan plan = smallPlan();
  std::vector<std::string> isas, bytes;
  for (IsaObject &object : objects) {
    isas.push_back(object.isa);
    bytes.push_back(object.object);
  }
  bytes.push_back(*makeTables(plan, isas, 64));
  double start = processorSeconds();
  Result<LinkedImage> image = linkArtifact(bytes, uint64_t(3) << 30);
  ASSERT_TRUE(image) << image.error().message;
  expectSeconds(processorSeconds() - start, 1);
  EXPECT_GE(image->tailOffset, uint64_t(3) << 30);
  EXPECT_LT(image->head.size() + image->tail.size(), 100000u);
}

TEST_F(Artifact, ReachesWeightsBeyondTwoGigabytes) {
  ArtifactPlan plan = smallPlan();
  const uint64_t far = (uint64_t(5) << 29) + 64;
  plan.rows = {0, static_cast<int64_t>(far)};
  plan.weights[1] = {"far", "file(\"64\")", WeightLayout::Rows, far, 256, {64},
                     {}};
  plan.weights.pop_back();
  plan.weightBytes = far + 256;
  Result<ArtifactReport> report = write(plan);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(fs::file_size(folder / "model.so"), far);
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(runStep(code, 2, 33), 66.0f);
}

TEST_F(Artifact, FullDiskLeavesNothing) {
  ArtifactPlan plan = smallPlan();
  plan.weights = {{"rows",
                   "file(\"3001x999\")",
                   WeightLayout::Rows,
                   0,
                   uint64_t(3001) * 999 * 4,
                   {3001, 999},
                   {}}};
  plan.weightBytes = plan.weights[0].bytes;
  std::vector<IsaObject> objects = smallObjects();
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{6 << 20, 6 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<ArtifactReport> report = writeArtifact(
        plan, objects, IndexSource(), nullptr, folder / "model.so", nullptr);
    _exit(report ? 0 : static_cast<int>(report.error().status));
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(Status::Unavailable));
  EXPECT_TRUE(files().empty());
}

TEST_F(Artifact, ProgressCanStopTheWriting) {
  uint64_t last = 0;
  Result<ArtifactReport> report =
      writeArtifact(smallPlan(), smallObjects(), IndexSource(), nullptr,
                    folder / "model.so", [&](uint64_t done, uint64_t total) {
                      EXPECT_EQ(total, 4096u);
                      last = done;
                      return done == 0;
                    });
  ASSERT_FALSE(report);
  EXPECT_GT(last, 0u);
  EXPECT_TRUE(files().empty());
}

TEST_F(Artifact, OverlappingWeightsAreABug) {
  ArtifactPlan plan = smallPlan();
  plan.weights[1].offset = 64;
  Result<ArtifactReport> report = write(plan);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().status, Status::Internal);
}

TEST_F(Artifact, WeightOfAnotherShapeIsABug) {
  ArtifactPlan plan = smallPlan();
  plan.weights[0].expression = "file(\"31\")";
  Result<ArtifactReport> report = write(plan);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("'a'"), std::string::npos);
}
