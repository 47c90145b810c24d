// The list of operations: only the rows in sight are in the document.
const ROW = 26, SPARE = 12, PRINTED = 500;

class Listing {
  constructor(model, frame, choose) {
    this.model = model;
    this.frame = frame;
    this.choose = choose;
    this.table = frame.querySelector("table");
    this.body = frame.querySelector("tbody");
    this.selected = 0;
    this.filter(null);
    frame.addEventListener("scroll", () => this.render());
    this.body.addEventListener("click", (event) => {
      const row = event.target.closest("tr[data-position]");
      if (row) choose(Number(row.dataset.position));
    });
  }

  filter(matched) {
    this.rows = [];
    for (let k = 0; k < this.model.count; k++) if (!matched || matched[k]) this.rows.push(k);
    this.table.setAttribute("aria-rowcount", this.rows.length + 1);
    this.frame.scrollTop = 0;
    this.render();
  }

  reveal(k) {
    this.selected = k;
    const row = this.rows.indexOf(k);
    if (row >= 0) {
      const head = this.table.tHead.offsetHeight, top = row * ROW, view = this.frame.clientHeight - head;
      if (top < this.frame.scrollTop || top + ROW > this.frame.scrollTop + view) {
        this.frame.scrollTop = Math.max(0, top - view / 2);
      }
    }
    this.render();
  }

  // The operation that lies `by` rows below the selected one.
  beside(by) {
    let row = this.rows.indexOf(this.selected);
    if (row < 0) row = this.rows.findIndex((k) => k > this.selected) - (by > 0 ? 1 : 0);
    return this.rows[Math.min(Math.max(row + by, 0), this.rows.length - 1)];
  }

  render() {
    const first = Math.max(0, Math.floor(this.frame.scrollTop / ROW) - SPARE);
    this.renderRows(first, Math.min(this.rows.length, first + Math.ceil(this.frame.clientHeight / ROW) + 2 * SPARE));
  }

  renderRows(first, last) {
    this.body.replaceChildren(spacer(first));
    for (let row = first; row < last; row++) this.body.append(this.row(row));
    this.body.append(spacer(this.rows.length - last));
  }

  row(position) {
    const model = this.model, k = this.rows[position], row = document.createElement("tr");
    row.dataset.position = k;
    row.setAttribute("aria-rowindex", position + 2);
    if (k === this.selected) {
      row.className = "chosen";
      row.setAttribute("aria-current", "true");
    }
    const columns = [
      [model.number[k], "figure"], [model.title(k), model.blamed.has(k) ? "blamed" : ""], [model.line(k), "line"], [model.code(k), ""],
      [model.regionTexts(k, false).join("; "), "memory"], [model.regionTexts(k, true).join("; "), "memory"],
      [model.note(k), "over"],
    ];
    if (this.table.tHead.rows[0].cells.length > 7) columns.push([model.cotangentText(k), "figure"]);
    for (const [text, name] of columns) {
      const cell = document.createElement("td");
      cell.textContent = name === "line" ? lastPart(text) : name === "memory" ? briefly(text) : text;
      cell.title = text;
      if (name) cell.className = name;
      row.append(cell);
    }
    return row;
  }

  print() {
    const count = Math.min(this.rows.length, PRINTED);
    this.renderRows(0, count);
    this.body.lastElementChild.remove();
    if (count === this.rows.length) return;
    const row = document.createElement("tr"), cell = document.createElement("td");
    cell.colSpan = this.table.tHead.rows[0].cells.length;
    cell.textContent = `the first ${count} of ${this.rows.length.toLocaleString("en")} operations; the page shows them all`;
    row.append(cell);
    this.body.append(row);
  }
}

function spacer(rows) {
  const row = document.createElement("tr");
  row.className = "spacer";
  row.setAttribute("aria-hidden", "true");
  row.style.height = `${rows * ROW}px`;
  if (!rows) row.hidden = true;
  return row;
}

function lastPart(path) {
  return path.split(" in ")[0].split(/[/\\]/).pop();
}

// `#3 np.sin bytes 8:40 of 48 (4,) float64` as `#3 np.sin 8:40`.
function briefly(regions) {
  return regions.replaceAll(/ bytes (\d+:\d+) of \d+/g, " $1").replaceAll(/ \([\d, ]*\) \w+(?=;|$)/g, "");
}
