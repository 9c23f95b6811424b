// The model view: a small picture for each layer and head.

const AHEAD = 12;  // matrices that are decoded at a time

const grid = {
  async show(view) {
    const {layers, heads} = group();
    const body = make('div', 'grid');
    const room = (view.clientWidth - 90) / heads.length - 6, tall = (view.clientHeight - 90) / layers.length - 6;
    const size = Math.round(Math.min(132, Math.max(46, Math.min(room, tall))));
    body.style.gridTemplateColumns = `44px repeat(${heads.length}, ${size}px)`;
    body.append(make('div', 'label top', ''));
    heads.forEach(head => body.append(make('div', 'label top', `H${head}`)));
    this.cells = [];
    layers.forEach((layer, l) => {
      body.append(make('div', 'label', `L${layer}`));
      heads.forEach((head, h) => body.append(this.cell(l, h, size)));
    });
    view.replaceChildren(body);
    this.mark();
    await this.fill(size);
  },

  cell(layer, head, size) {
    const canvas = make('canvas');
    const button = make('button', 'cell', canvas);
    button.style.width = button.style.height = `${size}px`;
    const {layers, heads} = group();
    button.setAttribute('aria-label', `Layer ${layers[layer]}, head ${heads[head]}`);
    button.addEventListener('click', () => select({layer, head, view: 'matrix'}));
    button.addEventListener('pointerenter', () => this.preview(layer, head));
    this.cells.push({layer, head, button, canvas});
    return button;
  },

  /** Draws the pictures, visible ones first, without blocking the page. */
  async fill(size) {
    const run = this.run = {};
    const pixels = Math.round(size * Math.min(2, window.devicePixelRatio || 1));
    const bottom = $('view').getBoundingClientRect().bottom;
    const isNear = cell => cell.button.getBoundingClientRect().top < bottom;
    const order = [...this.cells.filter(isNear), ...this.cells.filter(cell => !isNear(cell))];
    const get = cell => getMatrix(state.group, cell.layer, cell.head);
    let last = performance.now();
    for (const [index, {canvas, ...cell}] of order.entries()) {
      // Decode several at a time.
      if (index % AHEAD === 0)
        order.slice(index, index + AHEAD).forEach(get);
      const matrix = await get(cell);
      if (this.run !== run || state.view !== 'model')
        return;
      drawThumbnail(canvas, matrix, pixels);
      canvas.classList.add('ready');
      if (performance.now() - last > 12) {
        await new Promise(requestAnimationFrame);
        last = performance.now();
      }
    }
    document.documentElement.dataset.ready = 'model';
  },

  mark() {
    for (const {layer, head, button} of this.cells)
      button.toggleAttribute('data-current', layer === state.layer && head === state.head);
  },

  /** Shows a head next to the grid, and the keys with the largest weight sums. */
  async preview(layer, head) {
    const asked = inspect.asked = {};
    const matrix = await getMatrix(state.group, layer, head);
    if (inspect.asked !== asked || state.view !== 'model')
      return;
    const {layers, heads, keys} = group();
    const canvas = make('canvas');
    drawThumbnail(canvas, matrix, 512);
    const means = new Float64Array(matrix.columns);
    for (let query = 0; query < matrix.rows; ++query)
      for (let key = 0; key < matrix.columns; ++key)
        means[key] += matrix.value(query, key) / matrix.rows;
    const best = [...means.keys()].sort((a, b) => means[b] - means[a]).slice(0, 6);
    $('inspector').style.setProperty('--head', headColor(head, heads.length));
    $('inspector').replaceChildren(make('h2', '', 'Head'), make('div', 'title', `Layer ${layers[layer]} · Head ${heads[head]}`), canvas,
      make('h2', '', 'Mean weight of keys'), ...best.map(key => weightRow(keys[key], means[key], `≈ ${means[key].toFixed(3)}`)));
  },

  refresh() {
    this.mark();
    this.preview(state.layer, state.head);
    this.cells.find(cell => cell.layer === state.layer && cell.head === state.head)?.button.scrollIntoView({block: 'nearest', inline: 'nearest'});
  },
  schedule() {},
};
