// Page data: explanations, and module listings, in which equal lines are stored
// once.

const data = JSON.parse(document.getElementById('explanation').textContent);
// Remarks, phases and operations get the members of their model location.
for (const {remarks, entries} of data.explanations)
  for (const one of [...remarks, ...entries.flatMap(entry => entry.phases.flatMap(phase => [phase, ...phase.operations]))])
    Object.assign(one, one.place);

/** Parses a polynomial such as `2*batch*seq+64` to a function on symbol values. */
function parsePolynomial(text) {
  const terms = String(text).split('+').flatMap(term => term.split(/(?=-)/)).filter(Boolean).map(term => {
    let factor = 1;
    const symbols = [];
    for (const part of term.split('*'))
      if (/^-?\d+$/.test(part))
        factor *= Number(part);
      else if (part.startsWith('-'))
        factor = -factor, symbols.push(part.slice(1));
      else
        symbols.push(part);
    return {factor, symbols};
  });
  return {terms, symbols: [...new Set(terms.flatMap(term => term.symbols))]};
}

const polynomials = new Map();  // text to parsed

/** Evaluates a polynomial; NaN if a symbol has no value. */
function evaluate(text, sizes) {
  if (typeof text === 'number')
    return text;
  if (text === undefined || text === null)
    return NaN;
  let polynomial = polynomials.get(text);
  if (!polynomial)
    polynomials.set(text, polynomial = parsePolynomial(text));
  return polynomial.terms.reduce((sum, {factor, symbols}) => sum + symbols.reduce((product, symbol) => product * sizes[symbol], factor), 0);
}

/** Returns the words in one part of a module path: 0, 1, 2 and query for `{0-2,query}`. */
function getAlternatives(part) {
  if (!part.startsWith('{') || !part.endsWith('}'))
    return [part];
  return part.slice(1, -1).split(',').flatMap(word => {
    const range = /^(\d+)-(\d+)$/.exec(word);
    if (!range || range[2] - range[1] > 8192)
      return [word];
    return Array.from({length: range[2] - range[1] + 1}, (_, i) => String(Number(range[1]) + i));
  });
}

const pathParts = new Map();  // path to word sets, one per part

function splitPath(path) {
  let parts = pathParts.get(path);
  if (!parts) {
    parts = getParts(path).map(part => new Set(getAlternatives(part)));
    pathParts.set(path, parts);
  }
  return parts;
}

/** Returns how close two module paths are: Infinity if they name a common module, the outer path's length if one is inside the other, otherwise 0. */
function relatePaths(a, b) {
  if (a === b)
    return a ? Infinity : 0;
  const [left, right] = [splitPath(a), splitPath(b)];
  const length = Math.min(left.length, right.length);
  for (let i = 0; i < length; ++i) {
    const [few, many] = left[i].size < right[i].size ? [left[i], right[i]] : [right[i], left[i]];
    if (![...few].some(word => many.has(word)))
      return 0;
  }
  return left.length === right.length ? length && Infinity : length;
}

/** Splits a path into parts; dots in braces do not split. */
const getParts = path => path.match(/(\{[^}]*\}|[^.{])+/g) || [];

const hasWords = part => /^\{.*\}$/.test(part) && !/^\{[\d,-]+\}$/.test(part);

/** Returns a path without names in braces: the common module, otherwise the last one, which produces the result. */
function shortPath(path) {
  const found = [];
  for (const part of getParts(path)) {
    if (hasWords(part) && found.length)
      break;
    found.push(hasWords(part) ? part.slice(1, -1).split(',').pop() : part);
  }
  return found.join('.');
}

/** Returns the part that all modules in a path share; may be empty. */
function commonPath(path) {
  const parts = getParts(path), at = parts.findIndex(hasWords);
  return (at < 0 ? parts : parts.slice(0, at)).join('.');
}

/** Returns an operation's location name: its module, and the projections that one GEMM computes. */
function getPlaceName({location, joined}) {
  const common = commonPath(location);
  return joined.length ? `${common}${common ? ': ' : ''}${joined.join(', ')} projections` : shortPath(location);
}

/** Describes an operation, such as `product 768 -> 3072, bias`. */
function describeOperation({name, detail}) {
  const plain = /^kern\.(gemm|batch_matmul)$/.test(name) ? 'product' : name.replace(/^kern\./, '');
  return `${plain} ${detail}`.trim();
}

/** Splits a path into the part inside a layer and the part that names the layer, which is empty outside of layers. */
function splitLayer(path) {
  const parts = getParts(path), at = parts.findIndex(part => /^(\d+|\{[\d,-]+\})$/.test(part));
  return at < 0 ? {rest: path, layers: ''} : {rest: parts.slice(at + 1).join('.'), layers: parts[at].replace(/[{}]/g, '').replaceAll(',', ', ')};
}

/** Operations that are named after a module and compute nothing. */
const MINOR = /(\.get_weight|\.get_cache|\.weight|\.cache|\.alloc|\.constant|\.return|\.yield|\.symbol)$/;

const CLOSED = /^\s*\}/;

/** The lines in a module, split into statements: the lines of one operation, or a closing bracket. */
class Listing {
  constructor(stored) {
    this.lines = [];
    for (let i = 0; i < stored.lines.length; i += 2)
      for (let j = 0; j < stored.lines[i + 1]; ++j)
        this.lines.push(data.lines[stored.lines[i] + j]);
    this.ops = stored.operations.map(([line, name, location, origins, parent, operands], index) => ({
      index, line, name: stored.names[name], location: stored.locations[location],
      origins: origins.map(origin => stored.origins[origin]), parent, operands, children: [], users: []}));
    for (const op of this.ops) {
      if (op.parent >= 0)
        this.ops[op.parent].children.push(op.index);
      for (const operand of op.operands)
        this.ops[operand].users.push(op.index);
    }
    this.makeStatements();
  }

  makeStatements() {
    const indent = line => line.length - line.trimStart().length;
    this.statements = [];
    const open = [];  // operations with unclosed brackets, with their indentation
    const owner = new Map(this.ops.map(op => [op.line, op.index]));
    for (let line = 0, last = null; line < this.lines.length; ++line) {
      const text = this.lines[line];
      if (!text && line === this.lines.length - 1)
        break;
      const op = owner.get(line);
      if (op !== undefined) {
        this.statements.push(last = {line, count: 1, op, closes: -1});
        open.push([op, indent(text)]);
      } else if (CLOSED.test(text)) {
        while (open.length > 1 && open[open.length - 1][1] > indent(text))
          open.pop();
        const closes = open.length && open[open.length - 1][1] === indent(text) ? open[open.length - 1][0] : -1;
        this.statements.push(last = {line, count: 1, op: -1, closes});
      } else if (last && (last.op >= 0 || last.closes >= 0)) {
        ++last.count;
      } else {
        this.statements.push(last = {line, count: 1, op: -1, closes: -1});
      }
    }
    for (const [index, statement] of this.statements.entries()) {
      statement.index = index;
      const text = this.lines.slice(statement.line, statement.line + statement.count).map(line => line.trim()).join(' ');
      statement.text = text;
      // Value names change between passes without meaning.
      statement.key = text.replace(/%[\w$.-]+(#\d+)?/g, '%');
      const op = this.ops[statement.op >= 0 ? statement.op : statement.closes];
      statement.place = op ? op.location : '';
      statement.name = statement.op >= 0 ? op.name : statement.closes >= 0 ? `}${op.name}` : '';
      if (statement.op >= 0)
        op.statement = index;
      else if (statement.closes >= 0)
        op.end = index;
    }
  }

  /** Returns the operations in a path's module; if none compute, the operations in the closest module around or inside it. */
  findRelated(path) {
    const found = new Map();  // closeness to operations
    const cache = new Map(), minor = [];
    for (const op of this.ops) {
      if (!cache.has(op.location))
        cache.set(op.location, relatePaths(op.location, path));
      const nearness = cache.get(op.location);
      if (!nearness || /^(builtin\.module|func\.)/.test(op.name))
        continue;
      if (MINOR.test(op.name)) {
        if (nearness === Infinity)
          minor.push(op.index);
        continue;
      }
      if (!found.has(nearness))
        found.set(nearness, []);
      found.get(nearness).push(op.index);
    }
    const nearest = Math.max(0, ...found.keys());
    return nearest === Infinity || !minor.length && nearest ? found.get(nearest) : nearest > 2 ? found.get(nearest) : minor;
  }
}

const listings = new Map();  // index to listing

function getListing(index) {
  if (!listings.has(index))
    listings.set(index, new Listing(data.listings[index]));
  return listings.get(index);
}
