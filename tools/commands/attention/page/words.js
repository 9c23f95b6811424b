// The word view: source and target words in two columns, and a line between
// aligned words.

const words = {
  async show(view) {
    const {source, target} = page.alignments;
    this.row = Math.max(source.length, target.length) > 64 ? 20 : 28;
    this.canvas = make('canvas');
    this.focus = null;
    const column = (texts, side) => {
      const list = make('div', `tokens ${side === 0 ? 'queries' : 'keys'}`);
      list.style.setProperty('--row', `${this.row}px`);
      texts.forEach((text, index) => {
        const element = make('div', 'token', plain(text));
        element.dataset.index = index;
        list.append(element);
      });
      const focus = token => {
        this.focus = token ? {side, index: Number(token.dataset.index)} : null;
        this.schedule();
      };
      list.addEventListener('pointerover', event => focus(event.target.closest('.token')));
      list.addEventListener('pointerleave', () => focus(null));
      return list;
    };
    this.columns = [column(source, 0), column(target, 1)];
    this.body = make('div', 'lines words', this.columns[0], this.canvas, this.columns[1]);
    view.replaceChildren(this.body, make('div', 'caption query', 'source'), make('div', 'caption key', 'target'));
    this.draw();
  },

  refresh() {
    this.schedule();
  },

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  },

  isFocused(pair) {
    return !this.focus || pair[this.focus.side] === this.focus.index;
  },

  draw() {
    if (state.view !== 'words')
      return;
    const {pairs, source} = page.alignments;
    const [left, right] = this.columns;
    const width = this.body.clientWidth - 40 - left.offsetWidth - right.offsetWidth;
    const height = Math.min($('view').clientHeight, 48 + this.row * Math.max(left.childElementCount, right.childElementCount));
    const context = fit(this.canvas, width, height);
    const top = left.getBoundingClientRect().top - this.canvas.getBoundingClientRect().top;
    context.lineCap = 'round';
    for (const pair of pairs) {
      const [y0, y1] = pair.map(index => top + (index + .5) * this.row);
      context.strokeStyle = headColor(pair[0], source.length);
      context.globalAlpha = this.isFocused(pair) ? .9 : .1;
      context.lineWidth = 2.4;
      context.beginPath();
      context.moveTo(6, y0);
      context.bezierCurveTo(width * .46, y0, width * .54, y1, width - 6, y1);
      context.stroke();
    }
    context.globalAlpha = 1;
    this.columns.forEach((list, side) => {
      const linked = new Set(pairs.filter(pair => this.isFocused(pair)).map(pair => pair[side]));
      for (const token of list.children)
        token.style.opacity = !this.focus || linked.has(Number(token.dataset.index)) ? 1 : .35;
    });
    placeCaptions(left, right);
  },
};

/** Lists the word pairs next to the view. */
function listPairs() {
  const {pairs, source, target} = page.alignments;
  $('inspector').replaceChildren(make('h2', '', 'Aligned words'), ...pairs.map(([from, to]) =>
    make('div', 'row', make('span', '', `${plain(source[from])} → ${plain(target[to])}`), make('span', 'value', `${from}-${to}`))));
}
