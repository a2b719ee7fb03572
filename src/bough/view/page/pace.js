"use strict";
// Thirty frames per second: while something moves, what a browser cannot draw in time is left out step by step, and the
// page says so. A picture that stands still has everything.

const LIMIT = 1000 / 30; // milliseconds for a picture
const ALL = { pixels: 1, share: 1, smooth: true, shadows: true, simple: false, lines: false, words: "" };
const ROUGH = { ...ALL, smooth: false, shadows: false };
const LEVELS = [
  ALL,
  { ...ALL, shadows: false, words: "no shadows" },
  { ...ROUGH, words: "no shadows, rough edges" },
  { ...ROUGH, pixels: 0.7, simple: true, words: "no shadows, fewer pixels, plain shapes" },
  { ...ROUGH, pixels: 0.7, simple: true, lines: true, words: "links as lines" },
  { ...ROUGH, pixels: 0.5, simple: true, lines: true, share: 0.4, words: "few pixels, two links in five, as lines" },
  { ...ROUGH, pixels: 0.35, simple: true, lines: true, share: 0.1, words: "few pixels, one link in ten, as lines" },
];
const PATIENCE = 250; // ms without a new picture after which the whole one is drawn
const BEARABLE = 1500; // ms that a whole picture may take; beyond, one of all pieces with plain shapes stands

class Pace {
  constructor(note) {
    this.note = note;
    this.level = 0;
    this.links = true; // whether there are enough of them to become lines
    this.milliseconds = null; // the mean of the last pictures of this level
    this.whole = 0; // ms that a picture with everything took
    this.restart();
    document.addEventListener("visibilitychange", () => this.restart());
  }

  get moving() { return LEVELS[this.level]; }

  get still() { return LEVELS[this.whole > BEARABLE ? Math.min(this.level, 3) : 0]; }

  /** Pictures per second as they were measured, or null before that. */
  get rate() { return this.milliseconds === null ? null : 1000 / this.milliseconds; }

  restart() {
    this.count = -1; // the first picture compiles shaders, or waits for those before
    this.sum = 0;
    this.era = (this.era || 0) + 1;
  }

  /** A picture of something that moves was drawn: it is timed until the browser asks for the next one; then `shown`. */
  drawn(shown) {
    const began = performance.now(), era = this.era;
    requestAnimationFrame(() => {
      if (era === this.era) this.took(performance.now() - began);
      shown();
    });
  }

  took(milliseconds) {
    if (++this.count <= 0) return;
    this.sum += milliseconds;
    const mean = this.sum / this.count;
    if (this.count < (mean > 6 * LIMIT ? 1 : 10)) return;
    this.milliseconds = mean;
    if (this.level === 0) this.whole = mean;
    const far = mean > 20 * LIMIT ? 4 : mean > 6 * LIMIT ? 2 : 1;
    if (mean > 1.02 * LIMIT && this.level < LEVELS.length - 1) this.level = Math.min(LEVELS.length - 1, this.level + far);
    this.restart();
    this.say();
  }

  say() {
    if (!this.level) return;
    const rate = this.rate < 10 ? this.rate.toFixed(1) : Math.round(this.rate), level = LEVELS[this.level];
    const words = level.lines && !this.links ? "no floor, few pixels, plain shapes" : level.words;
    this.note.textContent = `${rate} frames per second; while it moves: ${words}`;
  }
}

/** Pieces in an order in which the first few are spread over all of them: the same one every time. */
function spread(count) {
  const order = Uint32Array.from({ length: count }, (_, k) => k);
  let seed = 12345;
  for (let k = count - 1; k > 0; k--) {
    seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
    const j = seed % (k + 1), kept = order[k];
    order[k] = order[j];
    order[j] = kept;
  }
  return order;
}

/** The geometry that stands for a rod, a cone or a ball where there is no time for it. */
function plain_shape(kind) {
  if (kind === "sphere") {
    const v = [0.5, 0, 0, 0, 0.5, 0, 0, 0, 0.5, -0.5, 0, 0, 0, -0.5, 0, 0, 0, -0.5];
    return { vertices: Float32Array.from(v), faces: Int32Array.from([0, 1, 2, 1, 3, 2, 3, 4, 2, 4, 0, 2, 1, 0, 5, 3, 1, 5, 4, 3, 5, 0, 4, 5]) };
  }
  const v = [], f = [];
  for (let k = 0; k < 3; k++) {
    const x = 0.5 * Math.cos((2 * Math.PI * k) / 3), y = 0.5 * Math.sin((2 * Math.PI * k) / 3), next = (k + 1) % 3;
    v.push(x, y, -0.5, kind === "cone" ? 0 : x, kind === "cone" ? 0 : y, 0.5);
    f.push(2 * k, 2 * next, 2 * k + 1, 2 * next, 2 * next + 1, 2 * k + 1);
  }
  return { vertices: Float32Array.from(v), faces: Int32Array.from(f) };
}
