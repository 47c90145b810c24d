// What is drawn of operations and memory.
class Marks extends Layout {
  // One of the page's colours, as the theme at hand has it.
  colour(name) {
    if (!(name in this.colours)) {
      this.canvas.style.color = `var(--${name})`;
      this.colours[name] = getComputedStyle(this.canvas).color;
      this.canvas.style.color = "";
    }
    return this.colours[name];
  }

  hatch() {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.fillStyle = this.colour("over");
    pen.fillRect(0, 0, 6, 6);
    pen.strokeStyle = this.colour("paper");
    pen.lineWidth = 1.4;
    for (const shift of [-6, 0, 6]) {
      pen.beginPath();
      pen.moveTo(shift, 6);
      pen.lineTo(shift + 6, 0);
      pen.stroke();
    }
    return this.pen.createPattern(tile, "repeat");
  }

  // Upper and lower edge of a region in its lane.
  edges(memory, start, stop) {
    const lane = this.model.memory.lane[memory], size = this.model.memory.size[memory] || 1;
    const height = this.heights[lane], top = this.tops[lane];
    const low = Math.min(top + (height * start) / size, top + height - 3);
    return [low, Math.max(top + (height * stop) / size, low + 3)];
  }

  drawLives() {
    const { lane, first, last } = this.model.memory;
    this.pen.fillStyle = this.colour("life");
    for (let m = 0; m < lane.length; m++) {
      if (last[m] + 1 < this.from || first[m] > this.to) continue;
      const left = Math.max(this.x(first[m]), GUTTER), right = Math.min(this.x(last[m] + 1), this.width);
      this.pen.fillRect(left, this.tops[lane[m]], Math.max(right - left, 1), this.heights[lane[m]]);
    }
  }

  drawRegions() {
    const pen = this.pen, model = this.model, inset = this.scale > 8 ? 1 : 0;
    const width = Math.max(this.scale - 2 * inset, 1), hatch = this.hatch();
    for (let k = this.first; k < this.last; k++) {
      const x = this.x(k) + inset;
      pen.globalAlpha = this.matched && !this.matched[k] ? 0.15 : 1;
      for (const writing of [true, false]) {
        model.eachRegion(k, (memory, start, stop, isWrite) => {
          if (isWrite !== writing) return;
          const [top, bottom] = this.edges(memory, start, stop);
          if (isWrite) {
            pen.fillStyle = model.undo[k] ? hatch : this.colour("write");
            pen.fillRect(x, top, width, bottom - top);
            if (!model.undo[k]) return;
          }
          pen.strokeStyle = this.colour(isWrite ? "over" : "read");
          pen.lineWidth = 1.6;
          pen.strokeRect(x + 0.8, top + 0.8, Math.max(width - 1.6, 0.5), Math.max(bottom - top - 1.6, 0.5));
        });
      }
    }
    pen.globalAlpha = 1;
  }

  // Many operations in one column of pixels: the bytes that they read, write and overwrite together.
  drawColumns() {
    const columns = Math.ceil(this.width), lanes = this.tops.length, model = this.model;
    const low = [0, 1, 2].map(() => new Float32Array(columns * lanes).fill(Infinity));
    const high = [0, 1, 2].map(() => new Float32Array(columns * lanes));
    for (let k = this.first; k < this.last; k++) {
      if (this.matched && !this.matched[k]) continue;
      const column = Math.floor(this.x(k));
      if (column < GUTTER) continue;
      model.eachRegion(k, (memory, start, stop, isWrite) => {
        const kind = isWrite ? (model.undo[k] ? 2 : 1) : 0;
        const cell = model.memory.lane[memory] * columns + column;
        const [top, bottom] = this.edges(memory, start, stop);
        low[kind][cell] = Math.min(low[kind][cell], top);
        high[kind][cell] = Math.max(high[kind][cell], bottom);
      });
    }
    const width = Math.max(this.scale, 1);
    ["write", "over", "read"].forEach((name) => {
      const kind = ["read", "write", "over"].indexOf(name);
      this.pen.fillStyle = name === "over" ? this.hatch() : this.colour(name);
      for (let cell = 0; cell < low[kind].length; cell++) {
        if (high[kind][cell] === 0) continue;
        const x = cell % columns, top = low[kind][cell], height = high[kind][cell] - top;
        if (name !== "read") this.pen.fillRect(x, top, width, height);
        else {
          // The frame of what is read, so that what is written there can be seen.
          this.pen.fillRect(x, top, width, 2);
          this.pen.fillRect(x, top + height - 2, width, 2);
        }
      }
    });
  }

  drawUndo() {
    const middle = this.undoTop + UNDO / 2 - 2;
    this.pen.fillStyle = this.colour("over");
    let before = -Infinity;
    for (let k = this.first; k < this.last; k++) {
      const x = this.x(k + 0.5);
      // Signs that would lie on each other are left out; their row shows where there are any.
      if (!this.model.undo[k] || x - before < 4 || x < GUTTER) continue;
      before = x;
      this.pen.beginPath();
      this.pen.moveTo(x - 4, middle);
      this.pen.lineTo(x + 4, middle - 5);
      this.pen.lineTo(x + 4, middle + 5);
      this.pen.fill();
    }
  }

  drawCotangents() {
    const sizes = this.model.cotangent;
    if (this.range === undefined) {
      const logs = sizes.filter((size) => typeof size === "number" && size > 0).map(Math.log10);
      this.range = logs.reduce(([low, high], log) => [Math.min(low, log), Math.max(high, log)], [Infinity, -Infinity]);
      if (!(this.range[1] - this.range[0] > 1)) this.range = [Math.min(this.range[0], 0) - 0.5, Math.max(this.range[1], 0) + 0.5];
      if (!isFinite(this.range[0])) this.range = [-0.5, 0.5];
    }
    const [low, high] = this.range, bottom = this.cotangentTop + COTANGENT - 6, most = COTANGENT - 18;
    const width = Math.max(this.scale - 1, 1);
    let crossed = -Infinity;
    for (let k = this.first; k < this.last; k++) {
      const x = this.x(k), size = sizes[k];
      if (x < GUTTER - 1) continue;
      if (typeof size === "number") {
        const height = size > 0 ? 3 + ((Math.log10(size) - low) / (high - low)) * (most - 3) : 1;
        this.pen.fillStyle = this.colour("bar");
        this.pen.fillRect(x, bottom - height, width, height);
      } else if (size === null) {
        this.pen.fillStyle = this.colour("faint");
        this.pen.fillRect(x + width / 2 - 1, bottom - 2, 2, 2);
      } else if (x - crossed > 6) {
        crossed = x;
        this.pen.fillStyle = this.colour("wrong");
        this.pen.font = "bold 15px sans-serif";
        this.pen.textAlign = "center";
        this.pen.textBaseline = "middle";
        this.pen.fillText("×", x + width / 2, bottom - most / 2);
      }
    }
  }
}
