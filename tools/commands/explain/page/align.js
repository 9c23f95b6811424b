// Aligns two statement lists. First aligns the longest common run of statements
// that occur once on both sides; between these, statements with the same module
// and operation, then with the same module.

const MOST_PAIRS = 250000;  // in a table for the exact alignment

/** Returns the indices of a longest ascending subsequence. */
function longestAscending(values) {
  const tails = [], before = new Int32Array(values.length);
  for (let i = 0; i < values.length; ++i) {
    let low = 0, high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[tails[middle]] < values[i])
        low = middle + 1;
      else
        high = middle;
    }
    before[i] = low ? tails[low - 1] : -1;
    tails[low] = i;
  }
  const found = [];
  for (let i = tails.length ? tails[tails.length - 1] : -1; i >= 0; i = before[i])
    found.push(i);
  return found.reverse();
}

/** Returns index pairs with equal keys in ascending order, between two ranges. */
function alignRange(left, right, [l0, l1, r0, r1], getKey) {
  const pairs = [], tail = [];
  while (l0 < l1 && r0 < r1 && getKey(left[l0]) === getKey(right[r0]))
    pairs.push([l0++, r0++]);
  while (l0 < l1 && r0 < r1 && getKey(left[l1 - 1]) === getKey(right[r1 - 1]))
    tail.push([--l1, --r1]);
  if (l0 < l1 && r0 < r1)
    pairs.push(...alignUnique(left, right, [l0, l1, r0, r1], getKey));
  return pairs.concat(tail.reverse());
}

function alignUnique(left, right, [l0, l1, r0, r1], getKey) {
  const seen = new Map();
  const count = (list, begin, end, side) => {
    for (let i = begin; i < end; ++i) {
      const key = getKey(list[i]);
      const entry = seen.get(key) || [0, 0, -1, -1];
      ++entry[side];
      entry[side + 2] = i;
      seen.set(key, entry);
    }
  };
  count(left, l0, l1, 0);
  count(right, r0, r1, 1);
  const anchors = [...seen.entries()].filter(([key, [a, b]]) => key && a === 1 && b === 1).map(([, [, , i, j]]) => [i, j]).sort((a, b) => a[0] - b[0]);
  if (!anchors.length)
    return (l1 - l0) * (r1 - r0) <= MOST_PAIRS ? alignExactly(left, right, [l0, l1, r0, r1], getKey) : [];
  const pairs = [];
  let [l, r] = [l0, r0];
  for (const index of longestAscending(anchors.map(anchor => anchor[1]))) {
    const [i, j] = anchors[index];
    pairs.push(...alignRange(left, right, [l, i, r, j], getKey), [i, j]);
    [l, r] = [i + 1, j + 1];
  }
  return pairs.concat(alignRange(left, right, [l, l1, r, r1], getKey));
}

/** Returns the longest common subsequence, computed by a table. */
function alignExactly(left, right, [l0, l1, r0, r1], getKey) {
  const rows = l1 - l0, columns = r1 - r0;
  const rightKeys = right.slice(r0, r1).map(getKey);
  const table = Array.from({length: rows + 1}, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; --i) {
    const key = getKey(left[l0 + i]);
    for (let j = columns - 1; j >= 0; --j)
      table[i][j] = key && key === rightKeys[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  }
  const pairs = [];
  for (let i = 0, j = 0; i < rows && j < columns;) {
    const key = getKey(left[l0 + i]);
    if (key && key === rightKeys[j])
      pairs.push([l0 + i++, r0 + j++]);
    else if (table[i + 1][j] >= table[i][j + 1])
      ++i;
    else
      ++j;
  }
  return pairs;
}

const LEVELS = [statement => statement.key, statement => statement.place && statement.name ? `${statement.name} ${statement.place}` : '',
  statement => statement.op >= 0 ? statement.place : '', statement => statement.op >= 0 ? statement.name : ''];

/**
 * Rows of a comparison: `{left, right, kind}` with indices of statements, -1
 * for none. Kinds are same, renamed, changed, removed and added.
 */
function alignStatements(left, right) {
  let pairs = [];
  for (const getKey of LEVELS) {
    const next = [];
    let [l, r] = [0, 0];
    for (const [i, j] of [...pairs, [left.length, right.length]]) {
      if (i > l && j > r)
        next.push(...alignRange(left, right, [l, i, r, j], getKey).filter(([a, b]) => getKey(left[a]) && getKey(left[a]) === getKey(right[b])));
      if (i < left.length || j < right.length)
        next.push([i, j]);
      [l, r] = [i + 1, j + 1];
    }
    pairs = next;
  }
  const rows = [];
  let [l, r] = [0, 0];
  for (const [i, j] of [...pairs, [left.length, right.length]]) {
    for (; l < i; ++l)
      rows.push({left: l, right: -1, kind: 'removed'});
    for (; r < j; ++r)
      rows.push({left: -1, right: r, kind: 'added'});
    if (i < left.length)
      rows.push({left: i, right: j, kind: left[i].text === right[j].text ? 'same' : left[i].key === right[j].key ? 'renamed' : 'changed'});
    [l, r] = [i + 1, j + 1];
  }
  return rows;
}
