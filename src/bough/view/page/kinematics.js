"use strict";
// Where bodies are. The arrays are those of bough.view.kinematics; tests compare both.

const TYPES = { f4: Float32Array, i4: Int32Array, u1: Uint8Array };

/** An array that Python packed: base64 of zlib of numbers. */
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const found = new TYPES[packed.type](await new Response(stream).arrayBuffer());
  found.shape = packed.shape;
  return found;
}

/** The same object with every packed array in it unpacked. */
async function unpack_all(value) {
  if (value === null || typeof value !== "object") return value;
  if (typeof value.data === "string" && value.type in TYPES) return unpack(value);
  if (Array.isArray(value)) return Promise.all(value.map(unpack_all));
  const keys = Object.keys(value);
  const items = await Promise.all(keys.map((key) => unpack_all(value[key])));
  return Object.fromEntries(keys.map((key, k) => [key, items[k]]));
}

/** Configurations (T rows) of a motion, which come as the bits that changed since the row before. */
function unfold(bits) {
  const [rows, n] = bits.shape;
  for (let k = n; k < rows * n; k++) bits[k] ^= bits[k - n];
  const found = new Float32Array(bits.buffer);
  return Array.from({ length: rows }, (_, k) => found.subarray(k * n, (k + 1) * n));
}

/** What the joint of body i adds to its fixed part at q: twelve numbers, row by row, into m. Its moves, one by one. */
function joint_motion(links, i, q, m) {
  m.fill(0);
  m[0] = m[5] = m[10] = 1;
  const kind = links.kind[i];
  for (let k = links.start[kind]; k < links.start[kind + 1]; k++) {
    const axis = links.axis[k], at = links.q[i] + links.entry[k];
    if (axis === 6) {
      const turn = new Float64Array(12);
      rotation(q, at, turn);
      compose(m, 0, turn, 0, turn, 0);
      m.set(turn);
      continue;
    }
    const x = links.ratio[i] * q[at] + links.zero[k];
    if (axis < 3) turn_about(axis, x, m);
    slide_along(axis % 3, axis < 3 ? links.pitch[i] * x : x, m);
  }
}

/** m, then a turn about one of its axes. */
function turn_about(axis, x, m) {
  const c = Math.cos(x), s = Math.sin(x), a = (axis + 1) % 3, b = (axis + 2) % 3;
  for (let row = 0; row < 12; row += 4) {
    const u = m[row + a], v = m[row + b];
    m[row + a] = c * u + s * v;
    m[row + b] = c * v - s * u;
  }
}

/** m, then a shift along one of its axes. */
function slide_along(axis, x, m) {
  for (let row = 0; row < 12; row += 4) m[row + 3] += x * m[row + axis];
}

/** The rotation of the quaternion x y z w at q[k], of any length but zero. */
function rotation(q, k, m) {
  const s = 1 / Math.hypot(q[k], q[k + 1], q[k + 2], q[k + 3]);
  const x = s * q[k], y = s * q[k + 1], z = s * q[k + 2], w = s * q[k + 3];
  m[0] = 1 - 2 * (y * y + z * z); m[1] = 2 * (x * y - z * w); m[2] = 2 * (x * z + y * w);
  m[4] = 2 * (x * y + z * w); m[5] = 1 - 2 * (x * x + z * z); m[6] = 2 * (y * z - x * w);
  m[8] = 2 * (x * z - y * w); m[9] = 2 * (y * z + x * w); m[10] = 1 - 2 * (x * x + y * y);
}

/** c = a b of placements of twelve numbers, each at its offset; c may be b. */
function compose(a, i, b, j, c, k) {
  for (let column = 0; column < 4; column++) {
    const x = b[j + column], y = b[j + 4 + column], z = b[j + 8 + column];
    const w = column === 3 ? 1 : 0;
    c[k + column] = a[i] * x + a[i + 1] * y + a[i + 2] * z + a[i + 3] * w;
    c[k + 4 + column] = a[i + 4] * x + a[i + 5] * y + a[i + 6] * z + a[i + 7] * w;
    c[k + 8 + column] = a[i + 8] * x + a[i + 9] * y + a[i + 10] * z + a[i + 11] * w;
  }
}

/** World placements of all bodies at q, twelve numbers each: T_i = T_parent fixed_i motion_i(q). */
function place_bodies(links, q, world) {
  const m = new Float64Array(12);
  for (let i = 0; i < links.parent.length; i++) {
    joint_motion(links, i, q, m);
    compose(links.fixed, 12 * i, m, 0, world, 12 * i);
    const up = links.parent[i];
    if (up >= 0) compose(world, 12 * up, world, 12 * i, world, 12 * i);
  }
  return world;
}

/** A point of a body (-1: of the world) in the world. */
function point_of(world, body, p) {
  if (body < 0) return [p[0], p[1], p[2]];
  const o = 12 * body;
  return [0, 4, 8].map((r) => world[o + r] * p[0] + world[o + r + 1] * p[1] + world[o + r + 2] * p[2] + world[o + r + 3]);
}
