// Where things lie on the canvas: operations from left to right, memory from top to bottom, each lane as high as its bytes.
const GUTTER = 150, OVERVIEW = 30, AXIS = 24, FLAGS = 18, GAP = 8, UNDO = 20, COTANGENT = 64;
const LANE = [26, 26, 13];
const GROUPS = ["arguments", "overwritten", "temporary"];
const DETAILED = 3;  // pixels for an operation, below which columns of pixels stand for several
const AT_FIRST = 160;  // operations in the first view

class Layout {
  constructor(model, canvas) {
    this.model = model;
    this.canvas = canvas;
    this.from = 0;
    this.to = Math.min(Math.max(model.count, 1), AT_FIRST);
    this.selected = 0;
    this.matched = null;
    this.place();
  }

  // The top of each track and of each lane. A program that fits into the first view needs no overview.
  place() {
    this.overview = this.model.count > AT_FIRST ? OVERVIEW : 0;
    this.axisTop = this.overview;
    this.flagsTop = this.axisTop + AXIS;
    let y = this.flagsTop + (this.model.differences.length ? FLAGS : 0);
    this.cotangentTop = y;
    if (this.model.hasCotangents) y += COTANGENT;
    this.undoTop = y;
    y += UNDO + 2;
    this.tops = [];
    this.heights = [];
    this.groupTops = [];
    for (const group of this.model.memory.groups) {
      this.groupTops.push(y);
      for (let lane = 0; lane < group.lanes; lane++) {
        this.tops.push(y);
        this.heights.push(LANE[group.kind] - 3);
        y += LANE[group.kind];
      }
      if (group.lanes) y += GAP;
    }
    this.height = y;
  }

  get scale() { return (this.width - GUTTER - 8) / (this.to - this.from); }

  x(k) { return GUTTER + (k - this.from) * this.scale; }

  operationAt(x) {
    const k = Math.floor(this.from + (x - GUTTER) / this.scale);
    return Math.min(Math.max(k, 0), this.model.count - 1);
  }

  show(from, to) {
    const most = Math.max(this.model.count, 1);
    const span = Math.min(Math.max(to - from, Math.min(8, most)), most);
    this.from = Math.min(Math.max(from, 0), most - span);
    this.to = this.from + span;
    this.draw();
  }

  zoom(factor, around) {
    const span = (this.to - this.from) * factor;
    const share = (around - this.from) / (this.to - this.from);
    this.show(around - share * span, around + (1 - share) * span);
  }

  reveal(k) {
    const span = this.to - this.from;
    if (k < this.from || k + 1 > this.to) this.show(k + 0.5 - span / 2, k + 0.5 + span / 2);
    else this.draw();
  }

  // Brings the operation under a point of the overview into the middle of the view.
  centre(x) {
    const middle = ((x - GUTTER) / (this.width - GUTTER - 8)) * this.model.count, half = (this.to - this.from) / 2;
    this.show(middle - half, middle + half);
  }
}
