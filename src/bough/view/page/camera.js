"use strict";
// A camera that circles a point, z up; matrices are column by column, as WebGL wants them.

class Camera {
  constructor(view) {
    this.home = view;
    this.reset();
  }

  reset() {
    this.target = [...this.home.center];
    this.distance = 3 * this.home.radius;
    [this.azimuth, this.height] = this.home.direction;
  }

  /** Unit vectors: right, up, and back, from the target to the eye. */
  axes() {
    const ca = Math.cos(this.azimuth), sa = Math.sin(this.azimuth), ch = Math.cos(this.height), sh = Math.sin(this.height);
    return [[-sa, ca, 0], [-sh * ca, -sh * sa, ch], [ch * ca, ch * sa, sh]];
  }

  eye() {
    const back = this.axes()[2];
    return this.target.map((x, k) => x + this.distance * back[k]);
  }

  turn(dx, dy) {
    this.azimuth -= 0.008 * dx;
    this.height = Math.min(1.55, Math.max(-1.55, this.height + 0.008 * dy));
  }

  pan(dx, dy, pixels) {
    const [right, up] = this.axes(), scale = (0.9 * this.distance) / pixels;
    this.target = this.target.map((x, k) => x - scale * (dx * right[k] - dy * up[k]));
  }

  zoom(factor) {
    this.distance = Math.min(100 * this.home.radius, Math.max(0.02 * this.home.radius, this.distance * factor));
  }

  /** World to the picture; `aside` is how much of its width is covered on the right. */
  matrix(aspect, aside = 0) {
    const [x, y, z] = this.axes(), e = this.eye();
    const near = this.distance / 100, far = this.distance + 30 * this.home.radius;
    const f = 1 / Math.tan(0.36), depth = (far + near) / (near - far);
    const dot = (a) => -(a[0] * e[0] + a[1] * e[1] + a[2] * e[2]);
    const rows = [[...x, dot(x)], [...y, dot(y)], [...z, dot(z)]];
    // the shorter side of the picture has the full angle
    const m = [rows[0].map((v) => (f / Math.max(aspect, 1)) * v), rows[1].map((v) => f * Math.min(aspect, 1) * v)];
    m.push(rows[2].map((v, k) => depth * v + (k === 3 ? (2 * far * near) / (near - far) : 0)));
    m.push(rows[2].map((v) => -v));
    m[0] = m[0].map((v, k) => v - aside * m[3][k]);
    return Float32Array.from({ length: 16 }, (_, k) => m[k % 4][k >> 2]);
  }

  /** Mouse, touch and wheel on an element. */
  attach(element, changed) {
    const fingers = new Map();
    element.addEventListener("pointerdown", (e) => {
      element.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, [e.clientX, e.clientY]);
    });
    const lift = (e) => fingers.delete(e.pointerId);
    element.addEventListener("pointerup", lift);
    element.addEventListener("pointercancel", lift);
    element.addEventListener("pointermove", (e) => {
      const before = fingers.get(e.pointerId);
      if (!before) return;
      const now = [e.clientX, e.clientY], dx = now[0] - before[0], dy = now[1] - before[1];
      if (fingers.size === 2) {
        const other = [...fingers.entries()].find(([id]) => id !== e.pointerId)[1];
        const apart = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
        this.zoom(apart(before) / Math.max(apart(now), 1));
        this.pan(dx / 2, dy / 2, element.clientHeight);
      } else if (e.shiftKey || e.buttons > 1) this.pan(dx, dy, element.clientHeight);
      else this.turn(dx, dy);
      fingers.set(e.pointerId, now);
      changed();
    });
    element.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoom(Math.exp(0.001 * e.deltaY));
      changed();
    }, { passive: false });
    element.addEventListener("dblclick", () => { this.reset(); changed(); });
    element.addEventListener("contextmenu", (e) => e.preventDefault());
  }
}
