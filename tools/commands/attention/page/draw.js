// Elements, tokens and colors. Strings from models and inputs are inserted only
// as text nodes and canvas text.

const $ = id => document.getElementById(id);

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className)
    element.className = className;
  element.append(...children);
  return element;
}

const MARKS = {' ': '·', '\n': '⏎', '\r': '␍', '\t': '⇥', '▁': '·', 'Ġ': '·', 'Ċ': '⏎'};

/** Returns the token with marks for white space. */
function plain(token) {
  return token.replace(/[ \n\r\t▁ĠĊ]/g, mark => MARKS[mark]) || '∅';
}

/** Returns the same as nodes, with muted marks. */
function nodes(token) {
  return plain(token).split(/([·⏎␍⇥∅])/).filter(Boolean)
    .map(part => /^[·⏎␍⇥∅]$/.test(part) ? make('i', '', part) : part);
}

function headColor(head, count) {
  const dark = isDark();
  const hue = (285 + 360 * head / Math.max(count, 1)) % 360;
  return `oklch(${dark ? .74 : .58} ${dark ? .15 : .18} ${hue.toFixed(1)})`;
}

const isDark = () => document.documentElement.dataset.theme !== 'light';
const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const RAMPS = {
  dark: [[20, 23, 36], [44, 33, 92], [96, 43, 146], [171, 54, 143], [232, 93, 107], [251, 160, 92], [253, 236, 176]],
  light: [[250, 249, 252], [226, 217, 246], [188, 165, 236], [146, 109, 219], [106, 62, 188], [70, 30, 138], [38, 12, 80]],
};

/** Returns the color for t in [0, 1] as [red, green, blue]. */
function heat(t) {
  const ramp = RAMPS[isDark() ? 'dark' : 'light'];
  const x = Math.min(Math.max(t, 0), 1) * (ramp.length - 1);
  const i = Math.min(Math.floor(x), ramp.length - 2);
  return ramp[i].map((low, channel) => low + (ramp[i + 1][channel] - low) * (x - i));
}

/** Maps a weight to its brightness, so that each of `columns` equal weights is visible. */
const shade = (weight, columns) => weight ** Math.min(.6, Math.log(5) / Math.log(Math.max(columns, 2)));

/** Returns the colors for all codes below LARGEST as 32-bit pixels. */
function codeColors(columns) {
  const colors = new Uint32Array(256);
  for (let code = 0; code < LARGEST; ++code)
    colors[code] = pixel(heat(shade((code / SCALE) ** 2, columns)));
  return colors;
}
const pixel = ([red, green, blue]) => (255 << 24 | blue << 16 | green << 8 | red) >>> 0;

/** Returns a canvas with one pixel per weight. */
function drawImage(matrix) {
  const canvas = make('canvas');
  canvas.width = matrix.columns;
  canvas.height = matrix.rows;
  const context = canvas.getContext('2d');
  const image = context.createImageData(matrix.columns, matrix.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colors = codeColors(matrix.columns);
  for (let i = 0; i < pixels.length; ++i)
    pixels[i] = colors[matrix.codes[i]];
  for (const [weight, query, key] of matrix.strong())
    pixels[query * matrix.columns + key] = pixel(heat(shade(weight, matrix.columns)));
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Draws the matrix into a small canvas; each pixel shows its largest weight. */
function drawThumbnail(canvas, matrix, size) {
  const width = Math.min(size, matrix.columns), height = Math.min(size, matrix.rows);
  const largest = new Float32Array(width * height);
  const place = new Uint16Array(matrix.columns);
  for (let key = 0; key < matrix.columns; ++key)
    place[key] = Math.floor(key * width / matrix.columns);
  for (let i = 0, query = 0; query < matrix.rows; ++query) {
    const row = Math.floor(query * height / matrix.rows) * width;
    for (let key = 0; key < matrix.columns; ++key, ++i) {
      const code = matrix.codes[i];
      const weight = code < LARGEST ? (code / SCALE) ** 2 : matrix.largest[query * matrix.kept + code - LARGEST];
      if (weight > largest[row + place[key]])
        largest[row + place[key]] = weight;
    }
  }
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < pixels.length; ++i)
    pixels[i] = pixel(heat(shade(largest[i], width)));
  context.putImageData(image, 0, 0);
}

/** Fits a canvas to a size in CSS pixels and returns its context. */
function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  return context;
}

function showTip(event, ...children) {
  const tip = $('tip');
  tip.replaceChildren(...children);
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 16, innerWidth - width - 8)}px`;
  tip.style.top = `${event.clientY + height + 28 > innerHeight ? event.clientY - height - 12 : event.clientY + 18}px`;
}
const hideTip = () => { $('tip').hidden = true; };
