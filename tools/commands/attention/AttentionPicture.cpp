// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the picture: a labeled matrix grid, as PNG.
#include "tools/commands/attention/AttentionReport.h"
#include "tools/commands/attention/Deflate.h"
#include <algorithm>
#include <array>
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {

using Color = std::array<uint8_t, 3>;

/// Pixels are color indices: weights first, then these.
constexpr uint8_t kBackground = 254, kLabel = 255, kBrightest = 253;
constexpr Color kBackgroundColor{13, 15, 23}, kLabelColor{139, 145, 173};
constexpr size_t kGap = 8, kMargin = 40, kLabelScale = 2;
/// Matrix side lengths in pixels: small matrices are enlarged, large ones
/// reduced.
constexpr size_t kSmallest = 96, kLargest = 256;

/// Pixels, row by row.
class Image {
public:
  Image(size_t width, size_t height)
      : width(width), height(height), pixels(width * height, kBackground) {}
  void set(size_t x, size_t y, uint8_t color) { pixels[y * width + x] = color; }
  /// Draws a decimal number around the point (x, y).
  void drawNumber(size_t x, size_t y, uint32_t number);
  std::string encode() const;

  const size_t width, height;

private:
  std::vector<uint8_t> pixels;
};

/// The area that a matrix covers.
struct Rectangle {
  size_t x, y, width, height;
};

} // namespace

void Image::drawNumber(size_t x, size_t y, uint32_t number) {
  // Digits with 3 by 5 dots: three bits per row, the first row lowest.
  static constexpr std::array<uint16_t, 10> digits = {
      075557, 072232, 071747, 074747, 044755,
      074717, 075717, 044447, 075757, 074757};
  const std::string text = std::to_string(number);
  const size_t left = x - text.size() * 4 * kLabelScale / 2;
  const size_t top = y - 5 * kLabelScale / 2;
  for (size_t i = 0; i < text.size(); ++i)
    for (size_t dot = 0; dot < 15; ++dot) {
      if (!(digits[size_t(text[i] - '0')] >> dot & 1))
        continue;
      for (size_t dy = 0; dy < kLabelScale; ++dy)
        for (size_t dx = 0; dx < kLabelScale; ++dx)
          set(left + (i * 4 + dot % 3) * kLabelScale + dx,
              top + dot / 3 * kLabelScale + dy, kLabel);
    }
}

/// Returns the color for t in [0, 1]; the page uses the same ramp.
static Color getHeat(float t) {
  static constexpr std::array<Color, 7> ramp = {{{20, 23, 36},
                                                 {44, 33, 92},
                                                 {96, 43, 146},
                                                 {171, 54, 143},
                                                 {232, 93, 107},
                                                 {251, 160, 92},
                                                 {253, 236, 176}}};
  const float x = std::clamp(t, 0.0f, 1.0f) * float(ramp.size() - 1);
  const size_t i = std::min(size_t(x), ramp.size() - 2);
  Color color{};
  for (size_t channel = 0; channel < color.size(); ++channel) {
    const float low = ramp[i][channel], high = ramp[i + 1][channel];
    color[channel] =
        static_cast<uint8_t>(std::lround(low + (high - low) * (x - float(i))));
  }
  return color;
}

static Color getColor(uint8_t index) {
  if (index == kBackground)
    return kBackgroundColor;
  return index == kLabel ? kLabelColor
                         : getHeat(float(index) / float(kBrightest));
}

static void appendBigEndian(std::string &out, size_t value) {
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift & 0xff);
}

static void appendChunk(std::string &out, const std::string &content) {
  appendBigEndian(out, content.size() - 4); // without the chunk name
  out += content;
  appendBigEndian(out, getCrc32(content));
}

std::string Image::encode() const {
  // Each row begins with its filter type, 0.
  std::string rows;
  rows.reserve(height * (width + 1));
  for (size_t y = 0; y < height; ++y) {
    rows += '\0';
    rows.append(pixels.begin() + ptrdiff_t(y * width),
                pixels.begin() + ptrdiff_t((y + 1) * width));
  }
  std::string palette = "PLTE";
  for (size_t color = 0; color < 256; ++color)
    for (uint8_t channel : getColor(static_cast<uint8_t>(color)))
      palette += static_cast<char>(channel);
  std::string header = "IHDR";
  appendBigEndian(header, width);
  appendBigEndian(header, height);
  header += std::string("\x08\x03\x00\x00\x00", 5); // 8 bits, indices
  std::string out = "\x89PNG\r\n\x1a\n";
  appendChunk(out, header);
  appendChunk(out, palette);
  appendChunk(out, "IDAT" + deflateZlib(rows));
  appendChunk(out, "IEND");
  return out;
}

/// Draws a matrix; a pixel that covers several weights shows the largest.
static void drawMatrix(Image &image, const Rectangle &area,
                       const AttentionGroup &group, const float *weights) {
  const size_t queries = group.queries.size(), keys = group.keys.size();
  const float exponent =
      std::min(0.6f, std::log(5.0f) / std::log(std::max(2.0f, float(keys))));
  for (size_t y = 0; y < area.height; ++y)
    for (size_t x = 0; x < area.width; ++x) {
      const size_t firstQuery = y * queries / area.height,
                   firstKey = x * keys / area.width;
      const size_t endQuery = std::max(firstQuery + 1,
                                       (y + 1) * queries / area.height),
                   endKey = std::max(firstKey + 1, (x + 1) * keys / area.width);
      float largest = 0;
      for (size_t query = firstQuery; query < endQuery; ++query)
        for (size_t key = firstKey; key < endKey; ++key)
          largest = std::max(largest, weights[query * keys + key]);
      image.set(
          area.x + x, area.y + y,
          uint8_t(std::lround(std::min(1.0f, std::pow(largest, exponent)) *
                              float(kBrightest))));
    }
}

/// Returns the side length in pixels: an integer multiple of the token count,
/// or `kLargest` if several tokens share a pixel.
static size_t getSide(size_t tokens) {
  if (tokens >= kLargest)
    return kLargest;
  return tokens * std::max<size_t>(1, kSmallest / tokens);
}

/// Returns the picture size for a group, including labels.
static std::pair<size_t, size_t> getSize(const AttentionGroup &group) {
  return {kMargin + group.heads.size() * (getSide(group.keys.size()) + kGap),
          kMargin +
              group.layers.size() * (getSide(group.queries.size()) + kGap)};
}

/// Draws a group, starting at a pixel row.
static void drawGroup(Image &image, size_t top, const AttentionGroup &group) {
  const size_t width = getSide(group.keys.size()),
               height = getSide(group.queries.size());
  for (size_t head = 0; head < group.heads.size(); ++head)
    image.drawNumber(kMargin + head * (width + kGap) + width / 2,
                     top + kMargin / 2, group.heads[head]);
  for (size_t layer = 0; layer < group.layers.size(); ++layer) {
    const size_t y = top + kMargin + layer * (height + kGap);
    image.drawNumber(kMargin / 2, y + height / 2, group.layers[layer]);
    for (size_t head = 0; head < group.heads.size(); ++head)
      drawMatrix(image, {kMargin + head * (width + kGap), y, width, height},
                 group, group.getMatrix(layer, head));
  }
}

Result<void> tools::writePicture(const AttentionReport &report,
                                 const ByteSink &sink) {
  size_t width = 0, height = 0;
  for (const AttentionGroup &group : report.groups) {
    width = std::max(width, getSize(group).first);
    height += getSize(group).second;
  }
  Image image(width, height);
  size_t top = 0;
  for (const AttentionGroup &group : report.groups) {
    drawGroup(image, top, group);
    top += getSize(group).second;
  }
  return sink(image.encode());
}
