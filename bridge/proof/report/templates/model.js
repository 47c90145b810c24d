"use strict";

// A timeline in columns (payload.py), with what is asked of it.
class Model {
  constructor(data) {
    Object.assign(this, data);
    this.count = data.number.length;
    this.starts = new Uint32Array(this.count + 1);
    for (let k = 0; k < this.count; k++) {
      this.starts[k + 1] = this.starts[k] + data.reads[k] + data.writes[k];
    }
    this.blamed = new Map();
    for (const one of data.differences) {
      if (!this.blamed.has(one.at)) this.blamed.set(one.at, []);
      this.blamed.get(one.at).push(one);
    }
    this.hasCotangents = data.cotangent.some((size) => size !== null);
  }

  // Calls visit(memory, start, stop, isWrite, shape) for each region of operation k.
  eachRegion(k, visit) {
    const firstWrite = this.starts[k] + this.reads[k];
    for (let r = this.starts[k]; r < this.starts[k + 1]; r++) {
      visit(this.regions[4 * r], this.regions[4 * r + 1], this.regions[4 * r + 2], r >= firstWrite, this.regions[4 * r + 3]);
    }
  }

  regionTexts(k, writes) {
    const found = [];
    this.eachRegion(k, (memory, start, stop, isWrite, shape) => {
      if (isWrite !== writes) return;
      const size = this.memory.size[memory];
      const span = start === 0 && stop === size ? "" : ` bytes ${start}:${stop} of ${size}`;
      found.push(`${this.memory.name[memory]}${span} ${this.shapes[shape]}`);
    });
    return found;
  }

  title(k) { return this.texts[this.name[k]]; }
  line(k) { return this.places[this.where[k]]; }
  code(k) { return this.texts[this.source[k]]; }
  note(k) { return ["", "overwrites", "reads what it overwrites"][this.undo[k]]; }

  cotangentText(k) {
    const size = this.cotangent[k];
    return size === null ? "none" : typeof size === "string" ? size : Number(size.toPrecision(3)).toString();
  }

  // The position of the operation with this number, or of the next one that the page holds.
  position(number) {
    let low = 0, high = this.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.number[middle] < number) low = middle + 1; else high = middle;
    }
    return Math.min(low, this.count - 1);
  }

  // Which operations match: Uint8Array, or null if all do.
  matching(words, choice) {
    if (!words && choice === "all") return null;
    const wanted = words.toLowerCase();
    const inTexts = this.texts.map((text) => text.toLowerCase().includes(wanted));
    const inPlaces = this.places.map((text) => text.toLowerCase().includes(wanted));
    // Memory that the program made is called after an operation: it is asked for by its number.
    const { name, lane, groups } = this.memory;
    const inMemory = name.map((text, m) => wanted.startsWith("#")
      ? `${text.toLowerCase()} `.startsWith(`${wanted} `)
      : lane[m] < groups[0].lanes && text.toLowerCase().includes(wanted));
    const chosen = {
      all: () => true,
      overwrites: (k) => this.undo[k] > 0,
      overlaps: (k) => this.undo[k] === 2,
      blamed: (k) => this.blamed.has(k),
      none: (k) => this.cotangent[k] === null,
      bad: (k) => typeof this.cotangent[k] === "string",
    }[choice];
    const found = new Uint8Array(this.count);
    for (let k = 0; k < this.count; k++) {
      if (!chosen(k)) continue;
      let hit = !wanted || inTexts[this.name[k]] || inTexts[this.source[k]] || inPlaces[this.where[k]];
      if (!hit) this.eachRegion(k, (memory) => { hit = hit || inMemory[memory]; });
      found[k] = hit ? 1 : 0;
    }
    return found;
  }
}
