// Storage and decoding of the page's matrices. A matrix is raw deflate in
// digits with 13 bits per pair: a code for each weight, then the f32 planes of
// the largest weights in each row, lowest bytes last.

const KEPT = 8;       // weights per row that are stored in f32
const LARGEST = 248;  // code LARGEST + r: the r-th largest in its row
const SCALE = 741;    // other codes: (code / SCALE) ** 2
const CACHED = 96;    // matrices that stay decoded

class Matrix {
  constructor(bytes, rows, columns) {
    this.rows = rows;
    this.columns = columns;
    this.kept = Math.min(KEPT, columns);
    this.codes = bytes.subarray(0, rows * columns);
    const count = rows * this.kept;
    const planes = bytes.subarray(rows * columns);
    const bits = new Uint32Array(count);
    for (let i = 0; i < count; ++i)
      bits[i] = planes[i] << 24 | planes[count + i] << 16 | planes[2 * count + i] << 8 | planes[3 * count + i];
    this.largest = new Float32Array(bits.buffer);
  }

  /** Returns the weight of a key for a query; exact if `isExact`, otherwise within 1/2222. */
  value(query, key) {
    const code = this.codes[query * this.columns + key];
    if (code >= LARGEST)
      return this.largest[query * this.kept + code - LARGEST];
    return (code / SCALE) ** 2;
  }

  isExact(query, key) {
    // If a row has fewer nonzero weights than f32 values, the others are zeros.
    const code = this.codes[query * this.columns + key];
    return code >= LARGEST || this.columns <= KEPT || this.largest[(query + 1) * this.kept - 1] === 0;
  }

  /** Returns the keys with the largest weights for a query, in descending order. */
  top(query) {
    const found = [];
    for (let key = 0; key < this.columns; ++key) {
      const code = this.codes[query * this.columns + key];
      if (code >= LARGEST)
        found[code - LARGEST] = key;
    }
    return found;
  }

  /** Returns positions and values of all f32 weights, computed once per matrix. */
  strong() {
    if (this.found)
      return this.found;
    const found = [];
    for (let i = 0, query = 0; query < this.rows; ++query)
      for (let key = 0; key < this.columns; ++key, ++i)
        if (this.codes[i] >= LARGEST)
          found.push([this.largest[query * this.kept + this.codes[i] - LARGEST], query, key]);
    return this.found = found.sort((a, b) => b[0] - a[0]);
  }
}

const page = JSON.parse(document.getElementById('attention').textContent);
const decoded = new Map();  // id to promise, oldest first

// Digits that encode bytes as text: from ! to ~ without &, < and >.
const DIGITS = new Uint8Array(128);
for (let code = 33, digit = 0; code < 127; ++code)
  if (!'&<>'.includes(String.fromCharCode(code)))
    DIGITS[code] = digit++;

/** Decodes bytes from text: two digits are 13 bits, a single remaining digit 6 bits; lowest bits first. */
function fromText(text) {
  const even = text.length & ~1;
  const bytes = new Uint8Array((even / 2 * 13 + (text.length - even) * 6) >> 3);
  let bits = 0, count = 0, size = 0;
  const put = (number, width) => {
    bits |= number << count;
    for (count += width; count >= 8; count -= 8, bits >>>= 8)
      bytes[size++] = bits & 255;
  };
  for (let i = 0; i < even; i += 2)
    put(DIGITS[text.charCodeAt(i)] * 91 + DIGITS[text.charCodeAt(i + 1)], 13);
  if (even < text.length)
    put(DIGITS[text.charCodeAt(even)], 6);
  return bytes;
}

async function decode(id, rows, columns) {
  const packed = fromText(document.getElementById(id).textContent);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Matrix(new Uint8Array(await new Response(stream).arrayBuffer()), rows, columns);
}

/** Returns a promise for the matrix with a layer and head index in the group. */
function getMatrix(group, layer, head) {
  const id = `w${group}-${layer}-${head}`;
  let promise = decoded.get(id);
  decoded.delete(id);
  if (!promise) {
    const {queries, keys} = page.groups[group];
    promise = decode(id, queries.length, keys.length);
  }
  decoded.set(id, promise);
  for (const old of decoded.keys()) {
    if (decoded.size <= CACHED)
      break;
    decoded.delete(old);
  }
  return promise;
}

/** Returns the shortest decimal that reads back as the same f32. */
function formatF32(value) {
  for (let digits = 1; digits < 10; ++digits) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value)
      return value >= 1e-5 || value === 0 ? String(Number(text)) : text;
  }
  return String(value);
}

function formatWeight(matrix, query, key) {
  const value = matrix.value(query, key);
  if (matrix.isExact(query, key))
    return formatF32(value);
  return value === 0 ? '< 5e-7' : `≈ ${Number(value.toPrecision(2))}`;
}
