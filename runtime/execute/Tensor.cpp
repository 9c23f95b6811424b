// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An odometer over the outer dimensions with a plain loop over the innermost;
// allocates only for error messages.
#include "runtime/execute/Tensor.h"
#include "runtime/base/DType.h"
#include <algorithm>
#include <cstring>

using namespace transom;

static bool hasStrides(const transom_tensor &tensor, int64_t rank) {
  return std::any_of(tensor.strides, tensor.strides + rank,
                     [](int64_t stride) { return stride != 0; });
}

/// The effective strides: dense ones if all are 0.
struct Strides {
  int64_t of[TRANSOM_MAX_RANK];
  Strides(const transom_tensor &tensor, const int64_t *shape, int64_t rank) {
    bool given = hasStrides(tensor, rank);
    int64_t dense = 1;
    for (int64_t i = rank; i-- > 0; dense *= shape[i])
      of[i] = given ? tensor.strides[i] : dense;
  }
};

bool transom::getSpan(const transom_tensor &tensor, const int64_t *shape,
                      int64_t rank, size_t elementSize, uint64_t &bytes) {
  bool given = hasStrides(tensor, rank);
  int64_t last = 0, dense = 1;
  for (int64_t i = rank; i-- > 0;) {
    int64_t step;
    if (__builtin_mul_overflow(shape[i] - 1, given ? tensor.strides[i] : dense,
                               &step) ||
        tensor.strides[i] < 0 || __builtin_add_overflow(last, step, &last) ||
        __builtin_mul_overflow(dense, shape[i], &dense))
      return false;
  }
  return !__builtin_mul_overflow(uint64_t(last) + 1, elementSize, &bytes);
}

bool transom::isDense(const transom_tensor &tensor, const int64_t *shape,
                      int64_t rank) {
  if (!hasStrides(tensor, rank))
    return true;
  int64_t dense = 1;
  for (int64_t i = rank; i-- > 0; dense *= shape[i])
    if (shape[i] != 1 && tensor.strides[i] != dense)
      return false;
  return true;
}

bool transom::overlapsItself(const transom_tensor &tensor, const int64_t *shape,
                             int64_t rank) {
  if (!hasStrides(tensor, rank))
    return false;
  // Sorted by stride, each dimension must step over all inner ones.
  int64_t order[TRANSOM_MAX_RANK];
  for (int64_t i = 0; i != rank; ++i) {
    int64_t slot = i;
    for (; slot && tensor.strides[order[slot - 1]] > tensor.strides[i]; --slot)
      order[slot] = order[slot - 1];
    order[slot] = i;
  }
  int64_t inner = 0;
  for (int64_t i = 0; i != rank; ++i) {
    int64_t dim = order[i];
    if (shape[dim] == 1)
      continue;
    if (tensor.strides[dim] <= inner)
      return true;
    inner += (shape[dim] - 1) * tensor.strides[dim];
  }
  return false;
}

/// Calls `copy(element offset, dense index, stride, count)` for each innermost
/// run of a tensor.
template <typename Copy>
static void forEachRun(const transom_tensor &tensor, const int64_t *shape,
                       int64_t rank, Copy copy) {
  Strides strides(tensor, shape, rank);
  int64_t count = rank ? shape[rank - 1] : 1;
  int64_t stride = rank ? strides.of[rank - 1] : 1;
  int64_t index[TRANSOM_MAX_RANK] = {};
  int64_t offset = 0;
  for (int64_t dense = 0;; dense += count) {
    copy(offset, dense, stride, count);
    int64_t dim = rank - 2;
    for (; dim >= 0; --dim) {
      offset += strides.of[dim];
      if (++index[dim] != shape[dim])
        break;
      offset -= strides.of[dim] * shape[dim];
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// Copies with a conversion per element; neither side needs alignment.
template <typename From, typename To, typename Convert>
static void gather(const transom_tensor &tensor, const int64_t *shape,
                   int64_t rank, void *out, Convert convert) {
  const char *data = static_cast<const char *>(tensor.data);
  To *to = static_cast<To *>(out);
  forEachRun(tensor, shape, rank,
             [&](int64_t offset, int64_t dense, int64_t stride, int64_t count) {
               const char *from = data + offset * int64_t(sizeof(From));
               for (int64_t i = 0; i != count; ++i) {
                 From element;
                 std::memcpy(&element,
                             from + i * stride * int64_t(sizeof(From)),
                             sizeof element);
                 to[dense + i] = convert(element);
               }
             });
}

void transom::stageInput(const transom_tensor &tensor, const int64_t *shape,
                         int64_t rank, void *out) {
  auto same = [](auto value) { return value; };
  switch (tensor.dtype) {
  case TRANSOM_DTYPE_I64:
    return gather<int64_t, int64_t>(tensor, shape, rank, out, same);
  case TRANSOM_DTYPE_I32:
    return gather<int32_t, int64_t>(tensor, shape, rank, out, same);
  case TRANSOM_DTYPE_BOOL:
    return gather<uint8_t, uint8_t>(tensor, shape, rank, out, same);
  case TRANSOM_DTYPE_BF16:
    return gather<uint16_t, float>(tensor, shape, rank, out, bfloat16ToFloat);
  case TRANSOM_DTYPE_F16:
    return gather<uint16_t, float>(tensor, shape, rank, out, halfToFloat);
  case TRANSOM_DTYPE_F32:
    return gather<float, float>(tensor, shape, rank, out, same);
  case TRANSOM_DTYPE_NONE:
    break;
  }
}

template <typename T>
static void scatter(const void *dense, const transom_tensor &tensor,
                    const int64_t *shape, int64_t rank) {
  const T *from = static_cast<const T *>(dense);
  char *data = static_cast<char *>(tensor.data);
  forEachRun(tensor, shape, rank,
             [&](int64_t offset, int64_t at, int64_t stride, int64_t count) {
               for (int64_t i = 0; i != count; ++i)
                 std::memcpy(data + (offset + i * stride) * int64_t(sizeof(T)),
                             from + at + i, sizeof(T));
             });
}

void transom::unstageResult(const void *dense, const transom_tensor &tensor,
                            const int64_t *shape, int64_t rank,
                            size_t elementSize) {
  if (elementSize == 8)
    scatter<uint64_t>(dense, tensor, shape, rank);
  else if (elementSize == 4)
    scatter<uint32_t>(dense, tensor, shape, rank);
  else if (elementSize == 2)
    scatter<uint16_t>(dense, tensor, shape, rank);
  else
    scatter<uint8_t>(dense, tensor, shape, rank);
}

/// The index of the first element outside [0, end), or `count`.
template <typename T>
static int64_t firstOutside(const T *values, int64_t count, uint64_t end) {
  constexpr int64_t block = 256;
  for (int64_t i = 0; i < count; i += block) {
    int64_t stop = std::min(count, i + block);
    bool wrong = false;
    for (int64_t j = i; j != stop; ++j)
      wrong |= uint64_t(values[j]) >= end;
    if (!wrong)
      continue;
    for (int64_t j = i; j != stop; ++j)
      if (uint64_t(values[j]) >= end)
        return j;
  }
  return count;
}

/// `[1, 5]` for the element with that dense index.
static std::string getLocationText(int64_t index, const int64_t *shape,
                                   int64_t rank) {
  int64_t place[TRANSOM_MAX_RANK];
  for (int64_t i = rank; i-- > 0; index /= shape[i])
    place[i] = index % shape[i];
  return shapeText(place, rank);
}

Result<void> transom::checkValues(const Argument &argument, const void *staged,
                                  const int64_t *shape, int64_t rank) {
  bool isBool = argument.dtype == TRANSOM_DTYPE_BOOL;
  bool isMask = argument.role == Role::Mask || isBool;
  if ((!isBool && !argument.isInteger()) || (!isMask && !argument.bound))
    return {};
  uint64_t end = isMask ? 2 : uint64_t(std::max<int64_t>(0, *argument.bound));
  int64_t count = 1;
  for (int64_t i = 0; i != rank; ++i)
    count *= shape[i];
  auto bytes = static_cast<const uint8_t *>(staged);
  auto words = static_cast<const int64_t *>(staged);
  int64_t wrong = isBool ? firstOutside(bytes, count, end)
                         : firstOutside(words, count, end);
  if (wrong == count)
    return {};
  std::string value = std::to_string(isBool ? bytes[wrong] : words[wrong]);
  std::string where = "input '" + argument.name + "' at " +
                      getLocationText(wrong, shape, rank) + ": ";
  if (isMask)
    return rejected(where + value + " is neither 0 nor 1");
  return rejected(where + "id " + value + " is not in [0, " +
                  std::to_string(end) + ")");
}

size_t transom::getElementSize(transom_dtype dtype) {
  switch (dtype) {
  case TRANSOM_DTYPE_I64:
    return 8;
  case TRANSOM_DTYPE_F32:
  case TRANSOM_DTYPE_I32:
    return 4;
  case TRANSOM_DTYPE_BF16:
  case TRANSOM_DTYPE_F16:
    return 2;
  case TRANSOM_DTYPE_BOOL:
    return 1;
  case TRANSOM_DTYPE_NONE:
    break;
  }
  return 0;
}

const char *transom::dtypeText(transom_dtype dtype) {
  switch (dtype) {
  case TRANSOM_DTYPE_F32:
    return "f32";
  case TRANSOM_DTYPE_BF16:
    return "bf16";
  case TRANSOM_DTYPE_F16:
    return "f16";
  case TRANSOM_DTYPE_I64:
    return "i64";
  case TRANSOM_DTYPE_I32:
    return "i32";
  case TRANSOM_DTYPE_BOOL:
    return "bool";
  case TRANSOM_DTYPE_NONE:
    return "none";
  }
  return "unknown";
}

std::string transom::shapeText(const int64_t *shape, int64_t rank) {
  std::string text = "[";
  for (int64_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}
