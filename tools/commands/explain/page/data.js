// What the page shows: explanations, and the listings of modules, whose lines
// are stored once each.

const data = JSON.parse(document.getElementById('explanation').textContent);
// Remarks, phases and operations get the members of their place in the model.
for (const {remarks, entries} of data.explanations)
  for (const one of [...remarks, ...entries.flatMap(entry => entry.phases.flatMap(phase => [phase, ...phase.operations]))])
    Object.assign(one, one.place);

/** A polynomial such as `2*batch*seq+64` as a function of the symbols' values. */
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

/** The value of a polynomial; NaN where a symbol has no value. */
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

/** The words of one part of a module path: `{0-2,query}` has 0, 1, 2 and query. */
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

const pathParts = new Map();  // path to sets of words, one a part

function splitPath(path) {
  let parts = pathParts.get(path);
  if (!parts) {
    parts = getParts(path).map(part => new Set(getAlternatives(part)));
    pathParts.set(path, parts);
  }
  return parts;
}

/** How near two module paths are: Infinity when they name a common module, the length of the outer one when one is inside the other, else 0. */
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

/** Parts of a path; points in braces do not divide. */
const getParts = path => path.match(/(\{[^}]*\}|[^.{])+/g) || [];

const hasWords = part => /^\{.*\}$/.test(part) && !/^\{[\d,-]+\}$/.test(part);

/** A path whose braces with names are left out: what several modules have in common, else the last of them, which gives the result. */
function shortPath(path) {
  const found = [];
  for (const part of getParts(path)) {
    if (hasWords(part) && found.length)
      break;
    found.push(hasWords(part) ? part.slice(1, -1).split(',').pop() : part);
  }
  return found.join('.');
}

/** What all modules of a path have in common; empty where that is nothing. */
function commonPath(path) {
  const parts = getParts(path), at = parts.findIndex(hasWords);
  return (at < 0 ? parts : parts.slice(0, at)).join('.');
}

/** The name of an operation's place: its module, and the projections that one product computes. */
function getPlaceName({location, joined}) {
  const common = commonPath(location);
  return joined.length ? `${common}${common ? ': ' : ''}${joined.join(', ')} projections` : shortPath(location);
}

/** What an operation computes, such as `product 768 -> 3072, bias`. */
function describeOperation({name, detail}) {
  const plain = /^kern\.(gemm|batch_matmul)$/.test(name) ? 'product' : name.replace(/^kern\./, '');
  return `${plain} ${detail}`.trim();
}

/** A path as what is in a layer, and the part that says which layer; that part is empty outside of layers. */
function splitLayer(path) {
  const parts = getParts(path), at = parts.findIndex(part => /^(\d+|\{[\d,-]+\})$/.test(part));
  return at < 0 ? {rest: path, layers: ''} : {rest: parts.slice(at + 1).join('.'), layers: parts[at].replace(/[{}]/g, '').replaceAll(',', ', ')};
}

/** Operations that are named after a module and compute nothing. */
const MINOR = /(\.get_weight|\.get_cache|\.weight|\.cache|\.alloc|\.constant|\.return|\.yield|\.symbol)$/;

const CLOSED = /^\s*\}/;

/** The lines of a module, cut into statements: the lines of one operation, or a closing bracket. */
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
    const open = [];  // operations whose bracket is not closed yet, with their indentation
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
      // Names of values change from pass to pass without a meaning.
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

  /** Operations of the module of a path; where it has none that computes, those of the nearest module around it or in it. */
  findRelated(path) {
    const found = new Map();  // nearness to operations
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
