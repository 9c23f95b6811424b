// The code at stage llvm-ir: functions in the LLVM dialect, whose lines are
// decoded when they are shown.

/** Restores absolute value numbers in lines that `PageCode.cpp` wrote. */
function decodeLines(runs) {
  const lines = [];
  let largest = -1;
  for (let i = 0; i < runs.length; i += 2)
    for (let j = 0; j < runs[i + 1]; ++j) {
      const before = largest, line = data.code_lines[runs[i] + j];
      const see = number => { largest = Math.max(largest, number); return `%${number}`; };
      lines.push(line.includes('"') ? line.replace(/%(\d+)/g, (_, number) => see(Number(number)))
        : line.replace(/%([~+])(\d+)/g, (_, sign, by) => see(sign === '+' ? before + Number(by) : before - Number(by))));
    }
  return lines;
}

const getSymbolOf = line => (/@(?:"([^"]*)"|([\w$.-]+))/.exec(line) || []).slice(1).find(Boolean) || line.trim();
/** Returns the first lines of an item: a long line may be broken before its symbol. */
const getFirstLines = runs => [data.code_lines[runs[0]], data.code_lines[runs[1] > 1 ? runs[0] + 1 : runs[2]]].join(' ');
const countLines = runs => runs.reduce((sum, count, index) => sum + (index % 2 ? count : 0), 0);

/** Returns an instruction set's functions, phases first: symbol, line count, and lines. */
function getFunctions(isa, model = state.model) {
  const module = data.code[model].find(one => one.isa === isa);
  if (!module)
    return null;
  if (!module.functions) {
    const isPhase = one => /^transom\.p\./.test(one.symbol);
    module.functions = module.items.map(runs => ({symbol: getSymbolOf(getFirstLines(runs)), count: countLines(runs), getLines: () => decodeLines(runs)}))
      .filter(one => one.count > 1).sort((a, b) => isPhase(b) - isPhase(a));
  }
  return module;
}

/** A collapsible function; its lines are created when it opens. */
function functionNode({symbol, count, getLines}, label = symbol) {
  const box = make('details', 'assembly', make('summary', '', make('span', 'flag', label), make('span', 'note', ` ${plural(count, 'line')}`)));
  box.addEventListener('toggle', () => {
    if (box.open && box.children.length === 1)
      box.append(make('pre', '', getLines().map(line => line.replace(/^ {2}/, '')).join('\n')));
  });
  return box;
}

/** Returns a symbol's code in the LLVM dialect; null if the page lacks it. */
function codeNode(symbol, isa) {
  const module = getFunctions(isa), found = module && module.functions.find(one => one.symbol === symbol);
  return found ? functionNode(found, `LLVM dialect of ${symbol}`) : null;
}

/** Lists all functions for an instruction set, with a search. */
function codeList(isa) {
  const module = getFunctions(isa);
  if (!module)
    return null;
  const search = make('input');
  Object.assign(search, {type: 'search', placeholder: 'Search functions and their code', spellcheck: false});
  search.setAttribute('aria-label', search.placeholder);
  const list = make('div', 'functions'), count = make('small');
  const fill = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = module.functions.filter(one => words.every(word => one.symbol.toLowerCase().includes(word) || word.length > 2 && one.getLines().some(line => line.toLowerCase().includes(word))));
    count.textContent = `${formatExact(shown.length)} functions and tables, ${plural(shown.reduce((sum, one) => sum + one.count, 0), 'line')}`;
    list.replaceChildren(...shown.map(one => functionNode(one)));
  };
  search.addEventListener('change', fill);
  search.addEventListener('input', () => { if (search.value.length !== 1) fill(); });
  fill();
  const out = module.left_out.length;
  return make('div', 'code-list', heading(`LLVM dialect of ${isa} after the last pass`, count), search, list,
    out ? make('div', 'note', `${plural(out, 'function')} left out, since the page would be too long: ${module.left_out.slice(0, 3).map(getSymbolOf).join(', ')}${out > 3 ? ' …' : ''}. The commands above print all.`) : null);
}
