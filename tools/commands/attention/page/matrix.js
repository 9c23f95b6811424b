// The matrix view: one head's weights as a picture with token labels, and as
// numbers in large cells. Only visible cells are drawn.

const matrixView = {
  zoom: 1,

  async show(view) {
    this.canvas = make('canvas');
    this.body = make('div', 'matrix', this.canvas);
    view.replaceChildren(this.body);
    this.canvas.addEventListener('pointermove', event => this.hover(event));
    this.canvas.addEventListener('pointerleave', () => { this.at = null; hideTip(); this.schedule(); });
    this.canvas.addEventListener('click', () => {
      if (this.at)
        select({query: state.query === this.at.query ? null : this.at.query});
    });
    this.at = null;
    await this.load();
  },

  async load() {
    const {group: g, layer, head} = state;
    const matrix = await getMatrix(g, layer, head);
    if (state.view !== 'matrix' || g !== state.group || layer !== state.layer || head !== state.head)
      return;
    this.matrix = matrix;
    this.image = drawImage(matrix);
    this.draw();
  },

  refresh() {
    this.load();
  },

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  },

  /** Computes the cell size and the label margins in CSS pixels. */
  measure() {
    const view = $('view'), {queries, keys} = group();
    const context = this.canvas.getContext('2d');
    context.font = this.font(13);
    const widest = tokens => Math.min(150, Math.max(30, ...tokens.map(token => context.measureText(plain(token)).width)) + 18);
    const left = widest(queries), top = widest(keys) * .8 + 10;
    const room = Math.min((view.clientWidth - left - 24) / keys.length, (view.clientHeight - top - 24) / queries.length);
    const cell = Math.min(96, Math.max(2, Math.max(1.5, Math.min(room, 58)) * this.zoom));
    return {cell, left, top, width: left + cell * keys.length + 20, height: top + cell * queries.length + 20};
  },

  font: size => `${size}px Inter, "Segoe UI", system-ui, "DejaVu Sans", sans-serif`,

  draw() {
    if (!this.matrix || state.view !== 'matrix')
      return;
    const view = $('view');
    const size = this.size = this.measure();
    this.body.style.width = `${Math.max(size.width, view.clientWidth)}px`;
    this.body.style.height = `${Math.max(size.height, view.clientHeight)}px`;
    const width = view.clientWidth, height = view.clientHeight;
    const context = this.context = fit(this.canvas, width, height);
    const x0 = this.x0 = size.left + Math.max(0, (width - size.width) / 2) - view.scrollLeft;
    const y0 = this.y0 = size.top - view.scrollTop;
    const clipLeft = Math.max(size.left, x0), clipTop = size.top;
    context.save();
    context.beginPath();
    context.rect(clipLeft, clipTop, width, height);
    context.clip();
    context.imageSmoothingEnabled = false;
    context.drawImage(this.image, x0, y0, size.cell * this.matrix.columns, size.cell * this.matrix.rows);
    this.drawCells(context, width, height);
    this.drawCross(context);
    context.restore();
    this.drawLabels(context, width, height, clipLeft);
  },

  range(start, cell, low, high, count) {
    return [Math.max(0, Math.floor((low - start) / cell)), Math.min(count, Math.ceil((high - start) / cell))];
  },

  /** Draws gaps between cells, and their numbers, if there is room. */
  drawCells(context, width, height) {
    const {cell} = this.size, {matrix, x0, y0} = this;
    if (cell < 9)
      return;
    const [k0, k1] = this.range(x0, cell, 0, width, matrix.columns), [q0, q1] = this.range(y0, cell, 0, height, matrix.rows);
    context.fillStyle = variable('--back');
    const gap = cell > 24 ? 2 : 1;
    for (let key = k0; key <= k1; ++key)
      context.fillRect(x0 + key * cell - gap / 2, y0 + q0 * cell, gap, (q1 - q0) * cell);
    for (let query = q0; query <= q1; ++query)
      context.fillRect(x0 + k0 * cell, y0 + query * cell - gap / 2, (k1 - k0) * cell, gap);
    if (cell < 26)
      return;
    context.font = this.font(Math.min(15, cell * .33));
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const digits = cell < 44 ? 2 : 3;
    for (let query = q0; query < q1; ++query)
      for (let key = k0; key < k1; ++key) {
        const weight = matrix.value(query, key);
        if (weight < .5 * 10 ** -digits)
          continue;
        const light = shade(weight, matrix.columns) > .55;
        context.fillStyle = isDark() === light ? '#17131f' : '#f4f2fb';
        const text = weight.toFixed(digits);
        context.fillText(cell < 44 ? text.replace(/^0/, '') : text, x0 + (key + .5) * cell, y0 + (query + .5) * cell);
      }
  },

  drawCross(context) {
    const {cell} = this.size, {matrix, x0, y0, at} = this;
    const band = (x, y, width, height) => context.strokeRect(x, y, width, height);
    context.strokeStyle = variable('--accent');
    context.lineWidth = 1.5;
    if (state.query !== null)
      band(x0, y0 + state.query * cell, matrix.columns * cell, cell);
    if (!at)
      return;
    context.globalAlpha = .55;
    band(x0, y0 + at.query * cell, matrix.columns * cell, cell);
    band(x0 + at.key * cell, y0, cell, matrix.rows * cell);
    context.globalAlpha = 1;
  },

  /** Draws labels on both axes; small cells share labels. */
  drawLabels(context, width, height, clipLeft) {
    const {cell, left, top} = this.size, {queries, keys} = group(), {x0, y0, at} = this;
    const every = Math.max(1, Math.ceil(13 / cell));
    const size = Math.min(13, Math.max(9, cell * .8 * every));
    const label = (text, place, x, y, angle, strong) => {
      context.save();
      context.translate(x, y);
      context.rotate(angle);
      context.font = (strong ? '600 ' : '') + this.font(size);
      context.fillStyle = variable(strong ? '--text' : '--muted');
      context.fillText(this.shorten(context, plain(text), 140), 0, 0);
      context.restore();
    };
    const shown = (index, focus, pinned) => focus === undefined ? index % every === 0 || index === pinned
      : index === focus || (index % every === 0 && Math.abs(index - focus) * cell > 13);
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const [q0, q1] = this.range(y0, cell, top, height, queries.length);
    for (let query = q0; query < q1; ++query)
      if (shown(query, at?.query, state.query) && y0 + (query + .5) * cell > top)
        label(queries[query], query, clipLeft - 8, y0 + (query + .5) * cell, 0, query === (at?.query ?? state.query));
    context.textAlign = 'left';
    const [k0, k1] = this.range(x0, cell, clipLeft, width, keys.length);
    for (let key = k0; key < k1; ++key)
      if (shown(key, at?.key, -1) && x0 + (key + .5) * cell > clipLeft)
        label(keys[key], key, x0 + (key + .5) * cell, top - 7, -Math.PI / 3.4, key === at?.key);
  },

  shorten(context, text, most) {
    const letters = [...text];
    while (letters.length > 1 && context.measureText(letters.join('') + '…').width > most)
      letters.pop();
    return letters.length < [...text].length ? letters.join('') + '…' : text;
  },

  hover(event) {
    if (!this.matrix || !this.size)
      return;
    const box = this.canvas.getBoundingClientRect(), {cell} = this.size;
    const key = Math.floor((event.clientX - box.left - this.x0) / cell), query = Math.floor((event.clientY - box.top - this.y0) / cell);
    const inside = key >= 0 && query >= 0 && key < this.matrix.columns && query < this.matrix.rows;
    this.at = inside && event.clientX - box.left > this.size.left && event.clientY - box.top > this.size.top ? {query, key} : null;
    this.schedule();
    if (!this.at)
      return hideTip();
    const {queries, keys} = group();
    showTip(event, make('b', '', formatWeight(this.matrix, query, key)),
      make('div', '', `${plain(queries[query])} → ${plain(keys[key])}`), make('div', '', `${sides().query} ${query}, ${sides().key} ${key}`));
    inspect(query);
  },

  setZoom(zoom) {
    const view = $('view');
    const x = (view.scrollLeft + view.clientWidth / 2) / view.scrollWidth, y = (view.scrollTop + view.clientHeight / 2) / view.scrollHeight;
    this.zoom = Math.min(24, Math.max(1, zoom));
    this.draw();
    view.scrollLeft = x * view.scrollWidth - view.clientWidth / 2;
    view.scrollTop = y * view.scrollHeight - view.clientHeight / 2;
    this.schedule();
  },
};
