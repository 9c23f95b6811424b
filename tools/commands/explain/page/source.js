// The model's JSON and the operations from each value: links from an operation
// to the JSON that describes it and back.

/** Returns the offsets of values in a JSON text by pointer, as [begin, end]. */
function locateValues(text) {
  const found = new Map();
  let at = 0;
  const skip = () => { while (/\s/.test(text[at] || '')) ++at; };
  const readString = () => {
    const begin = at++;
    while (text[at] !== '"' && at < text.length)
      at += text[at] === '\\' ? 2 : 1;
    return JSON.parse(text.slice(begin, ++at));
  };
  const readMembers = (pointer, end, isObject) => {
    for (let index = 0; ; ++index) {
      skip();
      if (text[at] === end || at >= text.length)
        break;
      const begin = at, name = isObject ? readString() : String(index);
      if (isObject) {
        skip();
        ++at;  // the colon
      }
      readValue(`${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, isObject ? begin : -1);
      skip();
      if (text[at] === ',')
        ++at;
    }
    ++at;
  };
  // A member's key belongs to its value.
  const readValue = (pointer, keyAt) => {
    skip();
    const begin = keyAt >= 0 ? keyAt : at;
    if (text[at] === '{' || text[at] === '[') {
      const isObject = text[at++] === '{';
      readMembers(pointer, isObject ? '}' : ']', isObject);
    } else if (text[at] === '"') {
      readString();
    } else {
      while (at < text.length && !/[\s,\]}]/.test(text[at]))
        ++at;
    }
    found.set(pointer, [begin, at]);
  };
  readValue('', -1);
  return found;
}

/** A model file: its lines, and the lines for each value. */
class Source {
  constructor(text) {
    // A file that is one long line is split.
    if (text.split('\n').some(line => line.length > 400))
      text = JSON.stringify(JSON.parse(text), null, 2);
    this.lines = text.split('\n');
    const starts = [];
    let sum = 0;
    for (const line of this.lines) {
      starts.push(sum);
      sum += line.length + 1;
    }
    const toLine = offset => {
      let low = 0, high = starts.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        starts[middle] <= offset ? low = middle : high = middle - 1;
      }
      return low;
    };
    this.places = new Map([...locateValues(text)].map(([pointer, [begin, end]]) => [pointer, [toLine(begin), toLine(Math.max(begin, end - 1))]]));
  }

  /** Returns the first and last line for a pointer, or for the closest value around it. */
  find(pointer) {
    while (pointer && !this.places.has(pointer))
      pointer = pointer.slice(0, pointer.lastIndexOf('/'));
    return this.places.get(pointer) || [0, 0];
  }

  /** Returns the pointer to the smallest value that begins in a line, or contains it. */
  findPointer(line) {
    let best = '', size = Infinity;
    for (const [pointer, [first, last]] of this.places) {
      const lines = last - first + (first === line ? 0 : .5);
      if (first <= line && line <= last && lines < size)
        [best, size] = [pointer, lines];
    }
    return best;
  }
}

const sources = new Map();  // compilation and name to source

function getSource(name, model = state.model) {
  const text = data.sources[model][name];
  if (text === undefined)
    return null;
  const key = `${model} ${name}`;
  if (!sources.has(key))
    sources.set(key, new Source(text));
  return sources.get(key);
}

/** Splits `config.json: /hidden_size` into file and pointer. */
function splitOrigin(origin) {
  const at = origin.indexOf(': ');
  return at < 0 ? {file: origin, pointer: ''} : {file: origin.slice(0, at), pointer: origin.slice(at + 2)};
}

const MOST_EXCERPT = 9;  // lines per excerpt

/** Shows a model location: a link, and its lines if the page has them. */
function originNodes(origin) {
  const {file, pointer} = splitOrigin(origin);
  const source = getSource(file);
  if (!source)
    return [make('div', 'origin', ...pathNodes(origin))];
  const [first, last] = source.find(pointer);
  const shown = source.lines.slice(first, Math.min(last + 1, first + MOST_EXCERPT));
  const indent = Math.min(...shown.filter(line => line.trim()).map(line => line.length - line.trimStart().length));
  const more = last + 1 - first - shown.length;
  return [button(origin, () => sourceView.open(file, pointer), {className: 'origin link', title: 'Show in the model (m)'}),
    make('pre', 'excerpt', [...shown.map(line => line.slice(indent)), ...(more > 0 ? [`… ${plural(more, 'line')}`] : [])].join('\n'))];
}

const sourceView = {
  show(view) {
    view.className = 'source';
    const names = Object.keys(data.sources[state.model]);
    if (!names.includes(state.file))
      Object.assign(state, {file: names[0], pointer: ''});
    this.source = getSource(state.file);
    if (!this.source) {
      view.replaceChildren(make('div', 'note', 'The page has no file of this model.'));
      return;
    }
    this.marks = this.findMarks();
    const tools = make('div', 'tools', make('b', 'pass-name', state.file), make('span', 'count', 'Choose a line to see what came of it.'));
    if (names.length > 1)
      tools.append(make('div', 'switch', ...names.map(name => button(name, () => { this.open(name, ''); }, {pressed: name === state.file}))));
    this.rows = make('div', 'rows');
    this.spacer = make('div', 'spacer', this.rows);
    this.scroller = make('div', 'scroller', this.spacer);
    this.scroller.addEventListener('scroll', () => this.draw());
    this.rows.addEventListener('click', event => {
      const row = event.target.closest('[data-line]');
      if (row)
        select({pointer: this.source.findPointer(Number(row.dataset.line))});
    });
    this.spacer.style.height = `${this.source.lines.length * ROW + 40}px`;
    view.replaceChildren(tools, this.scroller);
    this.reveal();
    this.draw();
  },

  /** Returns remarks by the first line of their location. */
  findMarks() {
    const marks = new Map();
    for (const remark of getExplanation().remarks) {
      if (remark.file !== state.file)
        continue;
      const [line] = this.source.find(remark.pointer);
      const kinds = marks.get(line) || new Set();
      marks.set(line, kinds.add(remark.kind));
    }
    return marks;
  },

  draw() {
    if (!this.scroller || !this.scroller.isConnected)
      return;
    const {scrollTop, clientHeight} = this.scroller;
    const isAll = isPrinting();
    const first = isAll ? 0 : Math.floor(scrollTop / ROW), last = isAll ? this.source.lines.length : Math.min(this.source.lines.length, first + Math.ceil(clientHeight / ROW) + 1);
    const [from, to] = state.pointer ? this.source.find(state.pointer) : [-1, -1];
    this.rows.style.transform = isAll ? '' : `translateY(${first * ROW}px)`;
    this.rows.replaceChildren(...this.source.lines.slice(first, last).map((text, index) => {
      const line = first + index, kinds = this.marks.get(line);
      const row = make('div', line >= from && line <= to ? 'row selected' : 'row', make('span', 'line', String(line + 1)),
        make('span', 'gutter', kinds ? make('i', kinds.has('missed') || kinds.has('failure') ? 'dot missed' : 'dot') : null), make('span', 'text', ...this.markJson(text)));
      row.dataset.line = line;
      return row;
    }));
  },

  /** Returns nodes for a JSON line: keys, strings, numbers. */
  markJson(text) {
    return [...text.matchAll(/"(?:[^"\\]|\\.)*"(?=\s*:)|"(?:[^"\\]|\\.)*"|[^"]+/g)].map(([word], index, all) =>
      word[0] === '"' ? make('span', index + 1 < all.length && /^\s*:/.test(all[index + 1][0]) ? 'op' : 'symbol', word) : word);
  },

  reveal() {
    if (!state.pointer)
      return;
    const [first] = this.source.find(state.pointer), top = first * ROW, {scrollTop, clientHeight} = this.scroller;
    if (top < scrollTop + ROW || top > scrollTop + clientHeight - 4 * ROW)
      this.scroller.scrollTop = top - clientHeight / 3;
  },

  refresh() {
    if (!this.scroller || !this.scroller.isConnected || this.source !== getSource(state.file))
      return this.show($('view'));
    this.reveal();
    return this.draw();
  },

  /** Shows a model location. */
  open(file, pointer) {
    select({view: 'model', file, pointer, op: -1});
  },

  /** Returns the imported operations that a value in the model describes, or values inside it. */
  findOps(file, pointer) {
    const listing = getListingOf(getMade(-1));
    const isInside = origin => {
      const place = splitOrigin(origin);
      return place.file === file && (place.pointer === pointer || place.pointer.startsWith(`${pointer}/`));
    };
    return listing ? listing.ops.filter(op => op.origins.some(isInside) && !MINOR.test(op.name) && !CONTAINERS.test(op.name)) : [];
  },
};
