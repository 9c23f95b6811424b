// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A code is a packed integer. A group's values are
//   (code - zero point) * scale. If zero points are in the middle, elements are
// code - zero point; otherwise groups have offsets.
#include "compiler/import/huggingface/checkpoints/PackedTensors.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <cstring>

namespace transom {
namespace {

using Layout = QuantizationConfig::Layout;

/// Nibble position for each of eight columns in a word packed by AWQ.
constexpr int awqPlaces[8] = {0, 4, 1, 5, 2, 6, 3, 7};

/// The tensors that form one matrix.
struct Fields {
  Layout layout = Layout::Gptq;
  int64_t bits = 4, rows = 0, depth = 0;
  int64_t group = 0;     ///< elements per scale, at most the depth
  int64_t numGroups = 0; ///< in the file
  bool zeroIsLess = false;
  bool scaleOfAll = false; ///< a single scale
  bool zerosArePacked = false;
  int64_t codeWords = 0, zeroWords = 0;  ///< words per row in the tensors
  std::string_view codes, zeros, scales; ///< zeros may be empty
  DType scaleType = DType::F32;

  int64_t perWord() const { return 32 / bits; }
  int32_t mask() const { return (1 << bits) - 1; }
  /// Returns the value subtracted from codes if groups have offsets: none for
  /// 4-bit codes, which stay non-negative, else the code for a symmetric zero.
  int32_t getBase() const { return isNibbles() ? 0 : middle(); }
  /// Returns true for 4-bit codes, but not for bytes with such values.
  bool isNibbles() const { return bits == 4 && layout != Layout::Plain; }
  int32_t middle() const {
    return layout == Layout::Plain ? 0 : 1 << (bits - 1);
  }

  static uint32_t word(std::string_view bytes, int64_t index) {
    uint32_t word;
    std::memcpy(&word, bytes.data() + index * 4, 4);
    return word;
  }
  int32_t field(uint32_t word, int64_t place) const {
    return static_cast<int32_t>(word >> (place * bits)) & mask();
  }

  template <Layout kLayout> int32_t code(int64_t n, int64_t k) const {
    if constexpr (kLayout == Layout::Gptq)
      return field(word(codes, k / perWord() * codeWords + n), k % perWord());
    if constexpr (kLayout == Layout::Awq)
      return field(word(codes, k * codeWords + n / 8), awqPlaces[n % 8]);
    if constexpr (kLayout == Layout::Packed)
      return field(word(codes, n * codeWords + k / perWord()), k % perWord());
    return static_cast<int8_t>(codes[static_cast<size_t>(n * depth + k)]);
  }

  /// Returns the zero point for a group in the file.
  int32_t zero(int64_t n, int64_t g) const {
    if (zeros.empty())
      return middle();
    switch (layout) {
    case Layout::Gptq:
      return (field(word(zeros, g * zeroWords + n / perWord()), n % perWord()) +
              zeroIsLess) &
             mask();
    case Layout::Awq:
      return field(word(zeros, g * zeroWords + n / 8), awqPlaces[n % 8]);
    case Layout::Packed:
      if (zerosArePacked)
        return field(word(zeros, n / perWord() * numGroups + g), n % perWord());
      break;
    case Layout::Plain:
      break;
    }
    const size_t at = static_cast<size_t>(scaleOfAll ? 0 : n * numGroups + g);
    return static_cast<int8_t>(zeros[at]) + middle();
  }

  float scale(int64_t n, int64_t g) const {
    const int64_t at = scaleOfAll ? 0
                       : layout == Layout::Gptq || layout == Layout::Awq
                           ? g * rows + n
                           : n * numGroups + g;
    float value;
    convertToF32(scaleType,
                 scales.data() + at * int64_t(dtypeBits(scaleType) / 8), 1,
                 &value);
    return value;
  }
};

/// Returns the group size for GEMMs: the largest size supported by a format
/// that divides the file's groups.
int64_t getSeenGroup(const Fields &fields) {
  if (fields.numGroups == 1)
    return 128; // the last one may be short
  for (int64_t size : {128, 64, 32})
    if (fields.group % size == 0)
      return size;
  return fields.group;
}

class PackedReader final : public StoredTensor {
public:
  PackedReader(const Fields &fields, const StoredGroups &groups)
      : StoredTensor(groups), fields(fields) {}

  void read(StoredField field, int64_t row, int64_t rows, int64_t first,
            int64_t count, float *out) const override {
    if (field == StoredField::Elements)
      switch (fields.layout) {
      case Layout::Gptq:
        return readElements<Layout::Gptq>(row, rows, first, count, out);
      case Layout::Awq:
        return readElements<Layout::Awq>(row, rows, first, count, out);
      case Layout::Packed:
        return readElements<Layout::Packed>(row, rows, first, count, out);
      case Layout::Plain:
        return readElements<Layout::Plain>(row, rows, first, count, out);
      }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t i = 0; i < count; ++i) {
        const int64_t n = row + r;
        const int64_t g = (first + i) * getGroups().group / fields.group;
        const float scale = fields.scale(n, g);
        out[r * count + i] =
            field == StoredField::Scales
                ? scale
                : static_cast<float>(fields.getBase() - fields.zero(n, g)) *
                      scale;
      }
  }

private:
  template <Layout kLayout>
  void readElements(int64_t row, int64_t rows, int64_t first, int64_t count,
                    float *out) const {
    // Compute the subtrahend for each group.
    const int64_t firstGroup = first / fields.group;
    const int64_t groups =
        count == 0 ? 0 : (first + count - 1) / fields.group - firstGroup + 1;
    std::vector<int32_t> zeros(static_cast<size_t>(rows * groups),
                               getGroups().minimums ? fields.getBase() : 0);
    if (!getGroups().minimums)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t g = 0; g < groups; ++g)
          zeros[static_cast<size_t>(r * groups + g)] =
              fields.zero(row + r, firstGroup + g);
    auto readOne = [&](int64_t r, int64_t k) {
      const int32_t zero = zeros[static_cast<size_t>(
          r * groups + k / fields.group - firstGroup)];
      out[r * count + k - first] =
          static_cast<float>(fields.template code<kLayout>(row + r, k) - zero);
    };
    // File order.
    if (kLayout == Layout::Gptq || kLayout == Layout::Awq) {
      for (int64_t k = first; k < first + count; ++k)
        for (int64_t r = 0; r < rows; ++r)
          readOne(r, k);
      return;
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t k = first; k < first + count; ++k)
        readOne(r, k);
  }

  const Fields fields;
};

/// A layout's tensor names for a matrix.
struct PartNames {
  const char *codes, *scales, *zeros, *order;
};
PartNames getPartNames(Layout layout) {
  switch (layout) {
  case Layout::Gptq:
  case Layout::Awq:
    return {"qweight", "scales", "qzeros", "g_idx"};
  case Layout::Packed:
    return {"weight_packed", "weight_scale", "weight_zero_point",
            "weight_g_idx"};
  case Layout::Plain:
    return {"weight", "weight_scale", "weight_zero_point", "weight_g_idx"};
  }
  return {};
}

/// Joins the tensors of one matrix.
class Joiner {
public:
  Joiner(ModelFiles &files, const QuantizationConfig &config,
         std::string module)
      : files(files), config(config), names(getPartNames(config.layout)),
        module(std::move(module)) {}

  Result<void> run() {
    fields.layout = config.layout;
    fields.bits = config.bits;
    fields.zeroIsLess = config.zeroIsLess;
    TRANSOM_TRY(readCodes());
    fields.group = config.group ? config.group : fields.depth;
    fields.numGroups = (fields.depth + fields.group - 1) / fields.group;
    TRANSOM_TRY(readScales());
    TRANSOM_TRY(readZeros());
    TRANSOM_TRY(checkOrder());
    return add();
  }

private:
  std::string getName(const char *field) const { return module + "." + field; }
  const SafetensorsTensor *find(const char *field) const {
    return files.find(getName(field));
  }
  Error fail(const char *field, const std::string &text,
             Status status = Status::Rejected) const {
    const std::string name = getName(field);
    return {status,
            files.getFile(name) + ": tensor '" + utf8::printable(name) + "' " +
                text,
            {}};
  }
  Result<const SafetensorsTensor *> get(const char *field) const {
    if (const SafetensorsTensor *tensor = find(field))
      return tensor;
    return fail(names.codes, "has no '" + std::string(field) + "' beside it");
  }
  Error getShapeError(const char *field, const SafetensorsTensor &tensor,
                      const std::vector<int64_t> &expected) const {
    return fail(field, "has shape " + shapeText(tensor.shape) + ", expected " +
                           shapeText(expected) + " for groups of " +
                           std::to_string(fields.group) + " of " +
                           std::to_string(fields.depth));
  }
  Result<void> expectType(const char *field, const SafetensorsTensor &tensor,
                          DType type) const {
    if (tensor.dtype == type)
      return {};
    return fail(field, "has dtype " +
                           std::string(safetensorsName(tensor.dtype)) +
                           "; expected " + std::string(safetensorsName(type)));
  }

  Result<void> readCodes() {
    // Check type and rank.
    const SafetensorsTensor &codes = *find(names.codes);
    TRANSOM_TRY(
        expectType(names.codes, codes,
                   fields.layout == Layout::Plain ? DType::I8 : DType::I32));
    if (codes.shape.size() != 2 || codes.shape[0] < 1 || codes.shape[1] < 1 ||
        codes.shape[0] > INT32_MAX || codes.shape[1] > INT32_MAX)
      return fail(names.codes, "has shape " + shapeText(codes.shape) +
                                   ", expected a matrix");
    // Derive rows and depth from the layout.
    const int64_t height = codes.shape[0], width = codes.shape[1];
    fields.codeWords = width;
    fields.codes = files.getData(getName(names.codes));
    switch (fields.layout) {
    case Layout::Gptq:
      fields.rows = width;
      fields.depth = height * fields.perWord();
      break;
    case Layout::Awq:
      fields.rows = width * fields.perWord();
      fields.depth = height;
      break;
    case Layout::Packed:
      fields.rows = height;
      return readShape(width * fields.perWord());
    case Layout::Plain:
      fields.rows = height;
      fields.depth = width;
      break;
    }
    return {};
  }

  /// The last word in a row may have unused bits.
  Result<void> readShape(int64_t room) {
    const char *field = "weight_shape";
    TRANSOM_ASSIGN(const SafetensorsTensor *shape, get(field));
    int64_t sizes[2] = {};
    if (shape->shape != std::vector<int64_t>{2})
      return fail(field,
                  "has shape " + shapeText(shape->shape) + ", expected [2]");
    TRANSOM_TRY(files.readIntegers(getName(field), {0}, {2}, sizes));
    if (sizes[0] != fields.rows || sizes[1] > room ||
        sizes[1] <= room - fields.perWord())
      return fail(field, "is " + shapeText({sizes[0], sizes[1]}) + ", but '" +
                             names.codes + "' holds " +
                             shapeText({fields.rows, room}));
    fields.depth = sizes[1];
    return {};
  }

  Result<void> readScales() {
    TRANSOM_ASSIGN(const SafetensorsTensor *scales, get(names.scales));
    if (!isFloat(scales->dtype))
      return fail(names.scales,
                  "has dtype " + std::string(safetensorsName(scales->dtype)) +
                      "; supported: F32, F16, BF16, F64");
    const bool isColumns =
        fields.layout == Layout::Gptq || fields.layout == Layout::Awq;
    const std::vector<int64_t> expected =
        isColumns ? std::vector<int64_t>{fields.numGroups, fields.rows}
                  : std::vector<int64_t>{fields.rows, fields.numGroups};
    fields.scaleOfAll =
        !isColumns && config.group == 0 &&
        elementCount(scales->shape) == std::optional<int64_t>(1);
    const bool isRow = fields.numGroups == 1 && !isColumns &&
                       scales->shape == std::vector<int64_t>{fields.rows};
    if (scales->shape != expected && !fields.scaleOfAll && !isRow)
      return getShapeError(names.scales, *scales, expected);
    fields.scales = files.getData(getName(names.scales));
    fields.scaleType = scales->dtype;
    return {};
  }

  Result<void> readZeros() {
    const SafetensorsTensor *zeros = find(names.zeros);
    const bool isColumns =
        fields.layout == Layout::Gptq || fields.layout == Layout::Awq;
    if (!zeros)
      return isColumns
                 ? Result<void>(fail(names.codes, "has no '" +
                                                      std::string(names.zeros) +
                                                      "' beside it"))
                 : Result<void>();
    std::vector<int64_t> expected = {fields.rows, fields.numGroups};
    if (isColumns || zeros->dtype == DType::I32) {
      TRANSOM_TRY(expectType(names.zeros, *zeros, DType::I32));
      const int64_t words =
          (fields.rows + fields.perWord() - 1) / fields.perWord();
      expected = isColumns ? std::vector<int64_t>{fields.numGroups, words}
                           : std::vector<int64_t>{words, fields.numGroups};
      fields.zerosArePacked = true;
      fields.zeroWords = words;
    } else {
      TRANSOM_TRY(expectType(names.zeros, *zeros, DType::I8));
    }
    const bool isSame = fields.scaleOfAll ? elementCount(zeros->shape) ==
                                                std::optional<int64_t>(1)
                                          : zeros->shape == expected;
    if (!isSame || (fields.layout == Layout::Plain && fields.zerosArePacked))
      return getShapeError(names.zeros, *zeros, expected);
    fields.zeros = files.getData(getName(names.zeros));
    return {};
  }

  /// Rows whose groups are out of order would require the activation columns in
  /// another order.
  Result<void> checkOrder() {
    const SafetensorsTensor *order = find(names.order);
    if (!order || elementCount(order->shape) == std::optional<int64_t>(0))
      return {};
    TRANSOM_TRY(expectType(names.order, *order, DType::I32));
    if (order->shape != std::vector<int64_t>{fields.depth})
      return getShapeError(names.order, *order, {fields.depth});
    std::vector<int64_t> groups(static_cast<size_t>(fields.depth));
    TRANSOM_TRY(files.readIntegers(getName(names.order), {0}, {fields.depth},
                                   groups.data()));
    for (int64_t k = 0; k < fields.depth; ++k) {
      const int64_t group = groups[static_cast<size_t>(k)];
      if (group < 0 || group >= fields.numGroups)
        return group == -1 && fields.layout == Layout::Packed
                   ? Result<void>() // unused
                   : Result<void>(fail(names.order,
                                       "has the group " +
                                           std::to_string(group) + " of " +
                                           std::to_string(fields.numGroups)));
      if (group != k / fields.group)
        return fail(names.order,
                    "puts number " + std::to_string(k) + " into group " +
                        std::to_string(group) +
                        ": groups by activation ('desc_act') are not "
                        "supported; supported: groups in order",
                    Status::Unsupported);
    }
    return {};
  }

  /// Returns whether all zero points are in the middle.
  bool isSymmetric() const {
    if (fields.zeros.empty())
      return true;
    for (int64_t g = 0; g < fields.numGroups; ++g)
      for (int64_t n = 0; n < fields.rows; ++n)
        if (fields.zero(n, g) != fields.middle())
          return false;
    return true;
  }

  Result<void> add() {
    StoredGroups groups;
    const bool symmetric = isSymmetric();
    groups.element = !fields.isNibbles() ? StorageType::I8
                     : symmetric         ? StorageType::I4
                                         : StorageType::U4;
    groups.minimums = !symmetric;
    groups.group = getSeenGroup(fields);
    groups.depth = fields.depth;
    SafetensorsTensor made;
    made.name = module + ".weight";
    made.shape = {fields.rows, fields.depth};
    made.stored = std::make_shared<PackedReader>(fields, groups);
    made.type = "INT" + std::to_string(fields.bits);
    std::vector<std::string> of;
    for (const char *field :
         {names.codes, names.scales, names.zeros, names.order, "weight_shape"})
      if (find(field))
        of.push_back(getName(field));
    return files.addStored(std::move(made), of);
  }

  ModelFiles &files;
  const QuantizationConfig &config;
  const PartNames names;
  const std::string module;
  Fields fields;
};

} // namespace

Result<void> joinPackedTensors(ModelFiles &files,
                               const QuantizationConfig &config) {
  const PartNames names = getPartNames(config.layout);
  const std::string end = "." + std::string(names.codes);
  for (const std::string &name : files.names()) {
    if (name.size() <= end.size() ||
        name.substr(name.size() - end.size()) != end)
      continue;
    const std::string module = name.substr(0, name.size() - end.size());
    // An int8 weight without scales causes an error if it is used.
    if (config.layout == Layout::Plain &&
        !files.find(module + "." + names.scales))
      continue;
    if (config.layout != Layout::Plain && files.find(module + ".weight"))
      return rejected(files.getFile(name) + ": tensor '" +
                      utf8::printable(name) + "' is beside '" +
                      utf8::printable(module) +
                      ".weight'; expected one of them");
    TRANSOM_TRY(Joiner(files, config, module).run());
  }
  return {};
}

} // namespace transom
