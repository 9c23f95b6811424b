// State, controls and keys.

const VIEWS = {heads: lines, model: grid, matrix: matrixView, ...(page.alignments ? {words} : {})};
const NAMES = {heads: 'Heads', model: 'Model', matrix: 'Matrix', words: 'Words'};
const state = {view: 'heads', group: 0, layer: 0, head: 0, heads: new Set(), query: null, floor: 40};
const group = () => page.groups[state.group];
/** Names for the rows and columns of the group's matrices. */
const sides = () => group().name === 'cross' ? {query: 'target', key: 'source'} : {query: 'query', key: 'key'};
const getFloor = () => .005 * 200 ** (state.floor / 100);

function button(text, pressed, act, title) {
  const element = make('button', '', text);
  element.setAttribute('aria-pressed', pressed);
  if (title)
    element.title = title;
  element.addEventListener('click', act);
  return element;
}

/** Changes the selection and updates the views. */
function select(change) {
  const before = {...state};
  Object.assign(state, change);
  if (state.group !== before.group) {
    state.layer = Math.min(state.layer, group().layers.length - 1);
    state.head = Math.min(state.head, group().heads.length - 1);
    state.heads = new Set(group().heads.keys());
    state.query = null;
  }
  writeHash();
  controls();
  hideTip();
  if (state.view !== before.view || state.group !== before.group)
    show();
  else
    VIEWS[state.view].refresh();
  inspect(state.query);
}

function show() {
  delete document.documentElement.dataset.ready;
  $('view').scrollTo(0, 0);
  VIEWS[state.view].show($('view')).then(() => { document.documentElement.dataset.ready = state.view; }, fail);
}

function fail(error) {
  $('view').replaceChildren(make('div', 'message', `The page cannot be shown: ${error.message}`));
}

function controls() {
  const {layers, heads} = group(), {view} = state;
  $('views').replaceChildren(...Object.keys(VIEWS).map((name, index) =>
    button(NAMES[name], name === view, () => select({view: name}), `${NAMES[name]} (${index + 1})`)));
  $('groups').replaceChildren(...(page.groups.length < 2 ? [] : page.groups.map((one, index) =>
    button(one.name, index === state.group, () => select({group: index}), 'Attention (a)'))));
  const count = (number, thing) => `${number} ${thing}${number === 1 ? '' : 's'}`;
  $('shape').textContent = `${count(layers.length, 'layer')} × ${count(heads.length, 'head')} × ${
    group().queries.length === group().keys.length ? '' : `${group().queries.length} × `}${count(group().keys.length, 'token')}`;
  $('layers').replaceChildren(...layers.map((layer, index) => button(layer, index === state.layer, () => select({layer: index}))));
  $('heads').replaceChildren(...heads.map((head, index) => headChip(head, index)));
  $('head-tools').replaceChildren(...(view === 'heads' ? [
    button('all', false, () => select({heads: new Set(heads.keys())})), button('one', false, () => select({heads: new Set([state.head])}))] : []));
  $('layer-panel').hidden = $('head-panel').hidden = view === 'model' || view === 'words';
  $('groups').hidden = view === 'words';
  $('floor-panel').hidden = view !== 'heads';
  $('zoom-panel').hidden = view !== 'matrix';
  $('floor').value = state.floor;
  $('floor-value').textContent = getFloor().toPrecision(2);
}

/** A head: a switch in the head view, a choice in the others. */
function headChip(head, index) {
  const many = state.view === 'heads';
  const chip = button(head, many ? state.heads.has(index) : index === state.head, event => {
    const heads = new Set(state.heads);
    if (many && !event.altKey)
      heads.has(index) ? heads.delete(index) : heads.add(index);
    select({head: index, heads: many && event.altKey ? new Set([index]) : heads});
  }, many ? 'Click: show or hide; Alt and click: this one alone' : `Head ${head}`);
  chip.toggleAttribute('data-current', many && index === state.head && state.heads.has(index));
  chip.style.setProperty('--head', headColor(index, group().heads.length));
  chip.style.setProperty('--head-text', isDark() ? '#14101f' : '#ffffff');
  return chip;
}

function weightRow(token, weight, text) {
  const bar = make('div', 'bar');
  bar.style.width = `${100 * Math.min(weight, 1)}%`;
  return make('div', 'row', bar, make('span', '', plain(token)), make('span', 'value', text));
}

/** Lists the largest weights for a query. */
async function inspect(query) {
  const {group: g, layer, head} = state, box = $('inspector');
  const asked = inspect.asked = {};
  if (query === null)
    query = state.query;
  if (state.view === 'model')
    return grid.preview(state.layer, state.head);
  if (state.view === 'words')
    return listPairs();
  if (query === null) {
    box.replaceChildren(make('h2', '', 'Weights'), make('div', 'note', 'Point at a token to see where it attends to. Click to keep it.'));
    return;
  }
  const matrix = await getMatrix(g, layer, head);
  if (inspect.asked !== asked)
    return;
  const {queries, keys, layers, heads} = page.groups[g];
  const rows = matrix.top(query).map(key => {
    const row = weightRow(keys[key], matrix.value(query, key), formatWeight(matrix, query, key));
    row.title = `${sides().key} ${key}`;
    row.dataset.key = key;
    return row;
  });
  box.style.setProperty('--head', headColor(head, heads.length));
  box.replaceChildren(make('h2', '', 'Largest weights'), make('div', 'title', plain(queries[query])),
    make('div', 'from', `${sides().query} ${query} · layer ${layers[layer]} · head ${heads[head]}`), ...rows);
}

/** Moves within a list by wrapping around. */
const step = (value, by, count) => (value + by + count) % count;

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $('theme').textContent = theme === 'dark' ? '☀' : '☾';
}

function toggleTheme() {
  setTheme(isDark() ? 'light' : 'dark');
  controls();
  show();
  inspect(state.query);
}

const KEYS = [
  [Object.keys(VIEWS).map((_, index) => index + 1).join(' '), `${Object.keys(VIEWS).map(name => NAMES[name].toLowerCase()).join(', ')}`,
    event => select({view: Object.keys(VIEWS)[event.key - 1] || state.view}), /^[1234]$/],
  ['↑ ↓', 'layer before, layer after', event => select({layer: step(state.layer, event.key === 'ArrowUp' ? -1 : 1, group().layers.length)}), /^Arrow(Up|Down)$/],
  ['← →', 'head before, head after', event => moveHead(event.key === 'ArrowLeft' ? -1 : 1), /^Arrow(Left|Right)$/],
  ['j k', 'next token, token before', event => select({query: state.query === null ? 0 : step(state.query, event.key === 'j' ? 1 : -1, group().queries.length)}), /^[jk]$/],
  ['Enter', 'open the selected head', () => state.view === 'model' && select({view: 'matrix'}), /^Enter$/],
  ['a', 'encoder, decoder or cross attention', () => select({group: step(state.group, 1, page.groups.length)}), /^a$/],
  ['h', 'all heads, or one', () => select({heads: new Set(state.heads.size > 1 ? [state.head] : group().heads.keys())}), /^h$/],
  ['+ − 0', 'zoom of the matrix', event => state.view === 'matrix' && matrixView.setZoom(event.key === '0' ? 1 : matrixView.zoom * (event.key === '-' ? 1 / 1.4 : 1.4)), /^[-+=0]$/],
  ['t', 'light or dark', toggleTheme, /^t$/],
  ['Esc', 'no token', () => select({query: null}), /^Escape$/],
  ['?', 'these keys', () => $('keys').showModal(), /^\?$/],
];

function moveHead(by) {
  const head = step(state.head, by, group().heads.length);
  select(state.view === 'heads' && state.heads.size === 1 ? {head, heads: new Set([head])} : {head});
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || $('keys').open || event.target.tagName === 'INPUT')
    return;
  if (event.key === 'Enter' && event.target.tagName === 'BUTTON')
    return;
  const entry = KEYS.find(([, , , pattern]) => pattern.test(event.key));
  if (!entry)
    return;
  event.preventDefault();
  entry[2](event);
}

/** Writes the selection to the address, so that a link shows the same. */
function writeHash() {
  const {view, group: g, layer, head, query} = state;
  const hash = `#${view},${g},${layer},${head}${query === null ? '' : `,${query}`}`;
  try {
    history.replaceState(null, '', hash);
  } catch {
    // In some environments a page has no address.
  }
}

function readHash() {
  const [view, ...rest] = location.hash.slice(1).split(',');
  const [g, layer, head, query] = rest.map(Number);
  const isIndex = (value, list) => Number.isInteger(value) && value >= 0 && value < list.length;
  if (Object.hasOwn(VIEWS, view))
    state.view = view;
  if (isIndex(g, page.groups))
    state.group = g;
  if (isIndex(layer, group().layers))
    state.layer = layer;
  if (isIndex(head, group().heads))
    state.head = head;
  if (isIndex(query, group().queries))
    state.query = query;
}

function start() {
  setTheme(matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark');
  if (!window.DecompressionStream)
    return fail(new Error('this browser lacks DecompressionStream'));
  // For an encoder-decoder, start with attention from target to source.
  state.group = Math.max(0, page.groups.findIndex(one => one.name === 'cross'));
  readHash();
  state.heads = new Set(group().heads.keys());
  state.floor = group().keys.length > 64 ? 66 : 52;
  $('model').textContent = page.model;
  $('keys').append(make('div', '', ...KEYS.flatMap(([keys, text]) => [make('kbd', '', keys), text])));
  $('keys').addEventListener('click', () => $('keys').close());
  $('theme').addEventListener('click', toggleTheme);
  $('help').addEventListener('click', () => $('keys').showModal());
  $('floor').addEventListener('input', event => { state.floor = Number(event.target.value); controls(); lines.schedule(); });
  $('zoom-in').addEventListener('click', () => matrixView.setZoom(matrixView.zoom * 1.4));
  $('zoom-out').addEventListener('click', () => matrixView.setZoom(matrixView.zoom / 1.4));
  $('zoom-fit').addEventListener('click', () => matrixView.setZoom(1));
  $('view').addEventListener('scroll', () => VIEWS[state.view].schedule());
  addEventListener('resize', () => state.view === 'model' ? show() : VIEWS[state.view].schedule());
  addEventListener('keydown', onKey);
  controls();
  show();
  inspect(state.query);
}

window.attention = {page, state, getMatrix, select};
start();
