// One timeline with its controls, details and list; all of them show the same selected operation.
class Explorer {
  constructor(frame) {
    this.frame = frame;
    this.model = new Model(JSON.parse(frame.querySelector("script").textContent));
    this.canvas = frame.querySelector("canvas");
    this.details = frame.querySelector(".details");
    this.drawing = new Drawing(this.model, this.canvas);
    this.listing = new Listing(this.model, frame.querySelector(".listing"), (k) => this.select(k));
    this.search = frame.querySelector("input");
    this.choice = frame.querySelector("select");
    this.search.addEventListener("input", () => this.filter());
    this.choice.addEventListener("change", () => this.filter());
    for (const button of frame.querySelectorAll("[data-action]")) {
      button.addEventListener("click", () => this.act(button.dataset.action));
    }
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.listing.frame.addEventListener("keydown", (event) => this.onListKey(event));
    this.followPointer();
    new ResizeObserver(() => this.drawing.draw()).observe(this.canvas);
    this.filter();
    this.select(this.model.differences.length ? this.model.differences[0].at : 0);
  }

  select(k) {
    if (!this.model.count || k === undefined) return;
    k = Math.min(Math.max(k, 0), this.model.count - 1);
    this.drawing.selected = k;
    this.drawing.reveal(k);
    this.listing.reveal(k);
    this.canvas.setAttribute("aria-valuenow", this.model.number[k]);
    this.canvas.setAttribute("aria-valuetext", `operation ${this.model.number[k]}, ${this.model.title(k)}, ${this.model.line(k)}`);
    this.describe(k);
  }

  describe(k) {
    const model = this.model;
    const line = (...parts) => {
      const paragraph = document.createElement("p");
      for (const [kind, text] of parts) {
        const element = document.createElement(kind);
        element.textContent = text;
        paragraph.append(element, " ");
      }
      return paragraph;
    };
    const lines = [line(["strong", `No. ${model.number[k].toLocaleString("en")} ${model.title(k)}`], ["span", model.line(k)])];
    if (model.code(k)) lines.push(line(["code", model.code(k)]));
    lines.push(line(["strong", "reads"], ["span", model.regionTexts(k, false).join("; ") || "nothing"]));
    lines.push(line(["strong", "writes"], ["span", model.regionTexts(k, true).join("; ") || "nothing"]));
    const notes = [];
    if (model.undo[k]) notes.push(`${model.note(k)}: put back on the way back`);
    if (model.hasCotangents) notes.push(`largest |cotangent|: ${model.cotangentText(k)}`);
    if (notes.length) lines.push(line(["span", notes.join("; ")]));
    for (const one of model.blamed.get(k) || []) lines.push(line(["strong", `${one.mark} difference ${one.number}`], ["span", one.what]));
    this.details.replaceChildren(...lines);
  }

  filter() {
    const matched = this.model.matching(this.search.value.trim(), this.choice.value);
    this.drawing.matched = matched;
    this.drawing.draw();
    this.listing.filter(matched);
    const held = this.model.count < this.model.total ? `; the page holds ${this.model.count.toLocaleString("en")}` : "";
    this.frame.querySelector("output").textContent =
      `${this.listing.rows.length.toLocaleString("en")} of ${this.model.total.toLocaleString("en")} operations${held}`;
  }

  // The next operation after the selected one, or before it, for which `holds`.
  seek(step, holds) {
    for (let k = this.drawing.selected + step; k >= 0 && k < this.model.count; k += step) if (holds(k)) return this.select(k);
  }

  act(action) {
    const drawing = this.drawing, middle = drawing.selected + 0.5;
    const visible = middle > drawing.from && middle < drawing.to ? middle : (drawing.from + drawing.to) / 2;
    switch (action) {
      case "in": return drawing.zoom(0.5, visible);
      case "out": return drawing.zoom(2, visible);
      case "fit": return drawing.show(0, this.model.count);
      case "next": return this.seek(1, (k) => this.model.undo[k] > 0);
      case "previous": return this.seek(-1, (k) => this.model.undo[k] > 0);
      case "difference": {
        const places = [...this.model.blamed.keys()].sort((a, b) => a - b);
        return this.select(places.find((k) => k > drawing.selected) ?? places[0]);
      }
    }
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const k = this.drawing.selected, page = Math.max(1, Math.round((this.drawing.to - this.drawing.from) / 10));
    const moves = {
      ArrowRight: k + 1, ArrowLeft: k - 1, ArrowUp: k - 1, ArrowDown: k + 1,
      PageDown: k + page, PageUp: k - page, Home: 0, End: this.model.count - 1,
    };
    const actions = { "+": "in", "=": "in", "-": "out", "0": "fit", n: "next", p: "previous", d: "difference" };
    if (event.key in moves) this.select(moves[event.key]);
    else if (event.key in actions) this.act(actions[event.key]);
    else if (event.key === "Enter") this.listing.frame.focus();
    else return;
    event.preventDefault();
  }

  onListKey(event) {
    const page = Math.max(1, Math.floor(this.listing.frame.clientHeight / ROW) - 2), all = this.listing.rows.length;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -all, End: all };
    if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (all) this.select(this.listing.beside(steps[event.key]));
  }

  followPointer() {
    let pressed = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.offsetY < this.drawing.overview) return this.drawing.centre(event.offsetX);
      pressed = { x: event.offsetX, from: this.drawing.from, to: this.drawing.to, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!pressed) return;
      const by = (pressed.x - event.offsetX) / this.drawing.scale;
      pressed.moved = pressed.moved || Math.abs(event.offsetX - pressed.x) > 4;
      if (pressed.moved) this.drawing.show(pressed.from + by, pressed.to + by);
    });
    this.canvas.addEventListener("pointerup", (event) => {
      if (pressed && !pressed.moved) this.select(this.drawing.operationAt(event.offsetX));
      pressed = null;
    });
    this.canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      this.drawing.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.drawing.from + (event.offsetX - GUTTER) / this.drawing.scale);
    }, { passive: false });
  }
}

const explorers = [...document.querySelectorAll(".timeline")].map((frame) => new Explorer(frame));

for (const button of document.querySelectorAll("[data-operation]")) {
  button.addEventListener("click", () => {
    const frame = button.closest(".report").querySelector(".timeline");
    const explorer = explorers.find((one) => one.frame === frame);
    if (!explorer) return;
    explorer.select(explorer.model.position(Number(button.dataset.operation)));
    explorer.canvas.focus();
    explorer.canvas.scrollIntoView({ block: "center" });
  });
}

const theme = document.getElementById("theme");
theme.hidden = false;
theme.addEventListener("click", () => {
  const root = document.documentElement, chosen = root.dataset.theme;
  const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  explorers.forEach((one) => one.drawing.draw());
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => explorers.forEach((one) => one.drawing.draw()));
addEventListener("beforeprint", () => explorers.forEach((one) => { one.drawing.draw(); one.listing.print(); }));
addEventListener("afterprint", () => explorers.forEach((one) => one.listing.render()));
