// The whole picture: marks, names on the left, numbers above, the overview, the selected operation.
class Drawing extends Marks {
  draw() {
    const ratio = window.devicePixelRatio || 1;
    this.width = Math.max(this.canvas.clientWidth, 320);
    this.canvas.style.height = `${this.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const pen = this.pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.colours = {};
    pen.fillStyle = this.colour("paper");
    pen.fillRect(0, 0, this.width, this.height);
    if (!this.model.count) return;
    this.first = Math.max(0, Math.floor(this.from));
    this.last = Math.min(this.model.count, Math.ceil(this.to));
    this.drawLives();
    if (this.scale >= DETAILED) this.drawRegions(); else this.drawColumns();
    this.drawUndo();
    if (this.model.hasCotangents) this.drawCotangents();
    this.drawGutter();
    this.drawAxis();
    this.drawSelection();
    if (this.overview) this.drawOverview();
  }

  // The whole program: the bytes that it writes, column by column, where engines part, and what is in view.
  drawOverview() {
    const pen = this.pen, model = this.model, width = Math.floor(this.width - GUTTER - 8), bottom = OVERVIEW - 4;
    if (!this.written || this.written.length !== width) {
      this.written = new Float64Array(width);
      for (let k = 0; k < model.count; k++) {
        const column = Math.floor((k * width) / model.count);
        model.eachRegion(k, (memory, start, stop, isWrite) => { if (isWrite) this.written[column] += stop - start; });
      }
    }
    const most = this.written.reduce((a, b) => Math.max(a, b), 1);
    pen.fillStyle = this.colour("life");
    pen.fillRect(GUTTER, 2, width, bottom - 2);
    pen.fillStyle = this.colour("faint");
    this.written.forEach((bytes, column) => {
      const height = (bytes / most) * (bottom - 6);
      pen.fillRect(GUTTER + column, bottom - height, 1, height);
    });
    pen.fillStyle = this.colour("wrong");
    pen.font = "bold 12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (const one of model.differences) pen.fillText("▼", GUTTER + ((one.at + 0.5) * width) / model.count, 9);
    pen.strokeStyle = this.colour("focus");
    pen.lineWidth = 2;
    const left = GUTTER + (this.from * width) / model.count, right = GUTTER + (this.to * width) / model.count;
    pen.strokeRect(left, 2, Math.max(right - left, 3), bottom - 1);
    pen.fillStyle = this.colour("faint");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "right";
    pen.fillText("bytes written", GUTTER - 8, OVERVIEW / 2);
  }

  drawGutter() {
    const pen = this.pen, { lane, name, first, last } = this.model.memory;
    pen.fillStyle = this.colour("paper");
    pen.fillRect(0, 0, GUTTER - 2, this.height);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    const write = (text, y, colour, size = 12) => {
      pen.fillStyle = this.colour(colour);
      pen.font = `${size}px system-ui, sans-serif`;
      pen.fillText(fitted(pen, text, GUTTER - 14), GUTTER - 8, y);
    };
    const shown = new Array(this.tops.length).fill(-1);
    for (let m = 0; m < lane.length; m++) {
      const alive = first[m] <= this.selected && this.selected <= last[m];
      if (shown[lane[m]] < 0 || alive) shown[lane[m]] = m;
    }
    let base = 0;
    this.model.memory.groups.forEach((group, kind) => {
      for (let l = base; l < base + group.lanes; l++) {
        if (LANE[kind] > 20) write(name[shown[l]], this.tops[l] + this.heights[l] / 2, "ink");
      }
      if (LANE[kind] <= 20 && group.lanes) {
        write(GROUPS[kind], this.groupTops[kind] + this.heights[base] / 2, "faint");
        const free = group.lanes > 1 ? this.tops[base + 1] + this.heights[base] / 2 : null;
        if (group.hidden && free) write(`${group.hidden} in the last row`, free, "faint", 11);
      }
      base += group.lanes;
    });
    write("undone, way back", this.undoTop + UNDO / 2 - 2, "faint");
    if (this.model.hasCotangents) {
      write("|cotangent|", this.cotangentTop + COTANGENT / 2, "faint");
      write(`1e${Math.round(this.range[1])}`, this.cotangentTop + 12, "faint", 10);
      write(`1e${Math.round(this.range[0])}`, this.cotangentTop + COTANGENT - 9, "faint", 10);
    }
  }

  drawAxis() {
    const pen = this.pen, raw = (this.to - this.from) / Math.max((this.width - GUTTER) / 90, 1);
    const power = 10 ** Math.floor(Math.log10(Math.max(raw, 1)));
    const step = [1, 2, 5, 10].map((digit) => digit * power).find((size) => size >= raw) || 1;
    pen.strokeStyle = this.colour("line");
    pen.lineWidth = 1;
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    for (let k = Math.ceil(this.from / step) * step; k < this.last; k += step) {
      const x = this.x(k + 0.5);
      pen.fillStyle = this.colour("faint");
      pen.fillText(this.model.number[k].toLocaleString("en"), Math.min(x, this.width - 22), this.axisTop + 9);
      pen.beginPath();
      pen.moveTo(x, this.axisTop + 16);
      pen.lineTo(x, this.axisTop + AXIS - 2);
      pen.stroke();
    }
    pen.fillStyle = this.colour("wrong");
    pen.font = "bold 12px system-ui, sans-serif";
    for (const one of this.model.differences) {
      const x = this.x(one.at + 0.5);
      if (x >= GUTTER && x <= this.width) pen.fillText(`▼${one.number}`, x + 4, this.flagsTop + FLAGS / 2 - 1);
    }
  }

  drawSelection() {
    const left = this.x(this.selected), right = this.x(this.selected + 1);
    if (right < GUTTER || left > this.width) return;
    const top = this.axisTop + AXIS - 4;
    this.pen.strokeStyle = this.colour("focus");
    this.pen.lineWidth = 2;
    this.pen.strokeRect(left - 1, top, Math.max(right - left, 2) + 2, this.height - top - 4);
  }
}

function fitted(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length--;
  return `${text.slice(0, length)}…`;
}
