// The head view: the tokens in two columns, with a line from query to key for
// each large weight in the selected heads.

const MOST_LINES = 9000;
const LEVELS = 14;  // line widths and opacities

const lines = {
  async show(view) {
    const {queries, keys} = group();
    this.row = Math.max(queries.length, keys.length) > 64 ? 20 : 25;
    this.canvas = make('canvas');
    const column = (tokens, side) => {
      const list = make('div', `tokens ${side}`);
      list.style.setProperty('--row', `${this.row}px`);
      tokens.forEach((token, index) => {
        const element = make('div', 'token', ...nodes(token));
        element.dataset.index = index;
        list.append(element);
      });
      list.addEventListener('pointerover', event => this.hover(side, event.target.closest('.token')));
      list.addEventListener('pointerleave', () => this.hover(side, null));
      list.addEventListener('click', event => this.pin(side, event.target.closest('.token')));
      return list;
    };
    this.left = column(queries, 'queries');
    this.right = column(keys, 'keys');
    const body = make('div', 'lines', this.left, this.canvas, this.right);
    view.replaceChildren(body, make('div', 'caption query', sides().query), make('div', 'caption key', sides().key));
    this.focus = null;
    await this.load();
  },

  async load() {
    const {group: g, layer} = state;
    const heads = [...state.heads].sort((a, b) => a - b);
    const matrices = await Promise.all(heads.map(head => getMatrix(g, layer, head)));
    if (state.view !== 'heads' || g !== state.group || layer !== state.layer)
      return;
    this.matrices = heads.map((head, index) => [head, matrices[index]]);
    this.draw();
  },

  hover(side, token) {
    this.focus = token ? {side, index: Number(token.dataset.index)} : null;
    if (side === 'queries' && token)
      inspect(this.focus.index);
    this.schedule();
  },

  pin(side, token) {
    if (!token || side !== 'queries')
      return;
    const index = Number(token.dataset.index);
    select({query: state.query === index ? null : index});
  },

  refresh() {
    this.load();
  },

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  },

  /** Returns the lines to draw: for the hovered or selected token, or the largest weights. */
  visible() {
    const focus = this.focus || (state.query !== null ? {side: 'queries', index: state.query} : null);
    const floor = getFloor();
    const found = [];
    for (const [head, matrix] of this.matrices) {
      if (focus) {
        const isQuery = focus.side === 'queries';
        for (let other = 0; other < (isQuery ? matrix.columns : matrix.rows); ++other) {
          const query = isQuery ? focus.index : other, key = isQuery ? other : focus.index;
          const weight = matrix.value(query, key);
          if (weight >= .004)
            found.push([weight, query, key, head]);
        }
      } else {
        for (const [weight, query, key] of matrix.strong()) {
          if (weight < floor)
            break;
          found.push([weight, query, key, head]);
        }
      }
    }
    if (found.length > MOST_LINES)
      found.sort((a, b) => b[0] - a[0]).length = MOST_LINES;
    return {focus, found};
  },

  draw() {
    if (!this.matrices || state.view !== 'heads')
      return;
    const view = $('view'), padding = 40;
    const width = this.canvas.parentElement.clientWidth - 40 - this.left.offsetWidth - this.right.offsetWidth;
    const height = Math.min(view.clientHeight, padding + this.row * Math.max(this.left.childElementCount, this.right.childElementCount) + 8);
    const context = fit(this.canvas, width, height);
    const top = this.left.getBoundingClientRect().top - this.canvas.getBoundingClientRect().top;
    // For a token in focus, squares show the weights at the other line ends.
    const {focus, found} = this.visible();
    this.square = Math.max(3, Math.min(8, Math.floor(96 / this.matrices.length)));
    const strip = focus ? this.square * this.matrices.length + 6 : 0;
    const left = focus?.side === 'keys' ? strip : 0, right = width - (focus?.side === 'queries' ? strip : 0);
    this.drawCurves(context, found, {left: left + 4, right: right - 4, height, top, strong: Boolean(focus)});
    if (focus)
      this.drawStrips(context, focus, {width, top});
    this.markTokens(focus);
  },

  drawCurves(context, found, {left, right, height, top, strong}) {
    // Collect the curves in one path per head and level, so that each is
    // stroked once.
    const paths = new Map();
    const middle = index => top + (index + .5) * this.row;
    for (const [weight, query, key, head] of found) {
      const y0 = middle(query), y1 = middle(key);
      if ((y0 < -20 && y1 < -20) || (y0 > height + 20 && y1 > height + 20))
        continue;
      const level = Math.min(LEVELS - 1, Math.floor(Math.sqrt(weight) * LEVELS));
      const id = level * 1000 + head;
      if (!paths.has(id))
        paths.set(id, new Path2D());
      const path = paths.get(id);
      path.moveTo(left, y0);
      path.bezierCurveTo(left + (right - left) * .46, y0, left + (right - left) * .54, y1, right, y1);
    }
    context.lineCap = 'round';
    for (const [id, path] of [...paths].sort((a, b) => a[0] - b[0])) {
      const t = (Math.floor(id / 1000) + .5) / LEVELS;
      context.strokeStyle = headColor(id % 1000, group().heads.length);
      context.globalAlpha = Math.min(1, (strong ? .2 : .03) + t * t * (strong ? .95 : .9));
      context.lineWidth = .8 + 3.6 * t * t;
      context.stroke(path);
    }
    context.globalAlpha = 1;
  },

  /** Draws a square for each head next to the tokens at the other end. */
  drawStrips(context, {side, index}, {width, top}) {
    const isQuery = side === 'queries';
    const size = this.square;
    this.matrices.forEach(([head, matrix], place) => {
      context.fillStyle = headColor(head, group().heads.length);
      const x = isQuery ? width - (this.matrices.length - place) * size : place * size;
      for (let other = 0; other < (isQuery ? matrix.columns : matrix.rows); ++other) {
        const weight = isQuery ? matrix.value(index, other) : matrix.value(other, index);
        context.globalAlpha = Math.sqrt(weight);
        context.fillRect(x, top + other * this.row + 2, size - .5, this.row - 4);
      }
    });
    context.globalAlpha = 1;
  },

  markTokens(focus) {
    for (const [side, list] of [['queries', this.left], ['keys', this.right]])
      for (const token of list.children) {
        const index = Number(token.dataset.index);
        token.toggleAttribute('data-pinned', side === 'queries' && index === state.query);
        token.style.opacity = focus && focus.side === side && focus.index !== index ? .35 : 1;
      }
    placeCaptions(this.left, this.right);
  },
};

/** Places the captions above the two columns. */
function placeCaptions(left, right) {
  const place = (caption, list, right) => {
    const box = list.getBoundingClientRect(), view = $('view').getBoundingClientRect();
    caption.style.left = right ? 'auto' : `${box.left - view.left + 9}px`;
    caption.style.right = right ? `${view.right - box.right + 9}px` : 'auto';
  };
  place(document.querySelector('.caption.query'), left, true);
  place(document.querySelector('.caption.key'), right, false);
}
