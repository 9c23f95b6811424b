// Elements and numbers. Strings from models are inserted only as text nodes and
// canvas text.

const $ = id => document.getElementById(id);

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className)
    element.className = className;
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function button(text, act, {pressed, title, className} = {}) {
  const element = make('button', className || '', text);
  if (pressed !== undefined)
    element.setAttribute('aria-pressed', pressed);
  if (title)
    element.title = title;
  element.addEventListener('click', act);
  return element;
}

function svg(tag, attributes, ...children) {
  const element = document.createElementNS($('drawing').namespaceURI, tag);
  for (const [name, value] of Object.entries(attributes))
    element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const isDark = () => document.documentElement.dataset.theme === 'dark';
const getColor = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const isNumber = value => typeof value === 'number' && Number.isFinite(value);
const plural = (count, thing) => `${formatExact(count)} ${thing}${count === 1 ? '' : 's'}`;

/** Formats an integer with a thin space between thousands. */
function formatExact(value) {
  return isNumber(value) ? String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, '\u202f') : '–';
}

function scaled(value, base, units) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < units.length) {
    value /= base;
    ++unit;
  }
  const digits = unit === 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;
  return `${value.toFixed(digits)}\u202f${units[unit]}`.trim();
}

const formatBytes = value => isNumber(value) ? scaled(value, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']) : '–';
const formatCount = value => isNumber(value) ? scaled(value, 1000, ['', 'k', 'M', 'G', 'T', 'P']) : '–';
const formatFlops = value => isNumber(value) ? `${formatCount(value)}${/\d$/.test(formatCount(value)) ? '\u202f' : ''}FLOP` : '–';
const formatSeconds = value => !isNumber(value) ? '–' : value >= 1 ? `${value.toFixed(2)}\u202fs` : value >= 1e-3 ? `${(value * 1e3).toFixed(2)}\u202fms` : `${(value * 1e6).toFixed(1)}\u202fµs`;
const formatRatio = value => !isNumber(value) ? '–' : value >= 100 ? value.toFixed(0) : value.toPrecision(3);
const signed = value => value > 0 ? `+${formatExact(value)}` : value < 0 ? `\u2212${formatExact(-value)}` : '0';

/** Formats a readable number, with the exact one as its tooltip. */
function numberNode(value, format, unit = '') {
  const node = make('span', 'number', format(value));
  if (isNumber(value)) {
    node.dataset.value = value;
    node.title = `${value}${unit}`;
  }
  return node;
}

function showTip(event, ...children) {
  const tip = $('tip');
  tip.replaceChildren(...children);
  tip.hidden = false;
  const {width, height} = tip.getBoundingClientRect();
  const left = event.clientX + 14 + width > innerWidth ? event.clientX - 14 - width : event.clientX + 14;
  const top = event.clientY + 14 + height > innerHeight ? event.clientY - 14 - height : event.clientY + 14;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

function hideTip() {
  $('tip').hidden = true;
}

/** Splits a module path, file or pointer so that it can wrap between its words. */
const pathNodes = path => path.split(/(?<=[.,:/_])/).flatMap((word, index) => index ? [make('wbr'), word] : [word]);

/** Splits a formula so that it can wrap after its operators. */
const formulaNodes = formula => formula.split(/(?<=[*+])/).flatMap((term, index) => index ? [make('wbr'), term] : [term]);

function heading(text, ...more) {
  return make('h2', '', make('span', '', text), ...more);
}

/** Fits a canvas to its element's size, in device pixels. */
function fitCanvas(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

/** Copies text; selects it if the page has no permission. */
async function copyText(text, from, told) {
  try {
    await navigator.clipboard.writeText(text);
    told.textContent = 'copied';
  } catch {
    const range = document.createRange();
    range.selectNodeContents(from);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    told.textContent = document.execCommand('copy') ? 'copied' : 'selected';
  }
  setTimeout(() => { told.textContent = 'copy'; }, 1500);
}
