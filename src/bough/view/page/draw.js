"use strict";
// WebGL 2: every geometry once, its pieces as instances; of small geometries many pieces to an instance, since each one
// has a price, above all where no card draws. A new configuration uploads 64 bytes a body and nothing else; tens of
// thousands of links are a few calls.

const LIGHT = [0.42, -0.36, 0.83];
const MANY = 1000; // pieces of one geometry beyond which some may be left out
const FEW = 2000; // that are never left out: lines of so many take next to no time
const BATCH = 64; // of so many, that are one instance
const LINE = { points: [0, 0, -0.5, 0, 0, 0.5], normals: [0, 0, 0, 0, 0, 0], order: [0, 1] }; // a rod from afar

class Stage {
  constructor(canvas) {
    this.canvas = canvas;
    const gl = canvas.getContext("webgl2", { antialias: false, stencil: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("this browser has no WebGL 2");
    this.gl = gl;
    this.program = this.compile(VERTEX, FRAGMENT, ["camera", "bodies", "pieces", "batch", "light", "shadow", "eye", "adaptive", "image"]);
    this.wire = this.compile(WIRE_VERTEX, WIRE_FRAGMENT, ["camera", "bodies", "pieces", "batch", "adaptive"]);
    this.floor = this.compile(GROUND_VERTEX, GROUND_FRAGMENT, ["camera", "ground", "spacing"]);
    this.square = this.geometry(corners(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), new Int32Array([0, 1, 2, 0, 2, 3])));
    this.smooth = [0, 1, 2].map((k) => (k ? gl.createRenderbuffer() : gl.createFramebuffer())); // with colours and depths
    this.white = this.image(new Uint8Array([255, 255, 255]), [1, 1]);
    this.parts = [];
    this.adaptive = 0;
  }

  compile(vertex, fragment, uniforms) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const at = Object.fromEntries(uniforms.map((name) => [name, gl.getUniformLocation(program, name)]));
    return { program, at };
  }

  /** Room for the placements of n bodies and of the world, which comes first. */
  bodies(n) {
    const gl = this.gl;
    this.rows = Math.ceil((4 * (n + 1)) / WIDE);
    this.table = new Float32Array(4 * WIDE * this.rows);
    this.table[0] = this.table[5] = this.table[10] = 1;
    this.table[12] = -1; // the world neither moves nor fades
    this.texture = this.numbers(this.rows);
  }

  /** A texture with rows of four numbers a texel. */
  numbers(rows) {
    const gl = this.gl, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32F, WIDE, rows);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return texture;
  }

  /** A texture of a mesh, rows of pixels from the lowest. */
  image(pixels, [wide, high]) {
    const gl = this.gl, texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, wide, high, 0, gl.RGB, gl.UNSIGNED_BYTE, pixels);
    gl.generateMipmap(gl.TEXTURE_2D);
    return texture;
  }

  /** World placements, twelve numbers a body, and how active each body is, 0 to 1. */
  move(world, active) {
    const gl = this.gl, table = this.table, n = world.length / 12;
    for (let i = 0; i < n; i++) {
      const to = 16 * (i + 1), from = 12 * i;
      for (let k = 0; k < 12; k++) table[to + k] = world[from + k];
      table[to + 12] = active ? active[i] : 0;
    }
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDE, this.rows, gl.RGBA, gl.FLOAT, table);
  }

  /** A geometry, as many times over as pieces go into an instance. */
  geometry({ points, normals, order, places = [] }, times = 1) {
    const gl = this.gl, vao = gl.createVertexArray();
    const one = points.length / 3, slot = Float32Array.from({ length: one * times }, (_, k) => Math.floor(k / one));
    const index = Uint32Array.from({ length: order.length * times }, (_, k) => order[k % order.length] + one * Math.floor(k / order.length));
    const again = (array) => Float32Array.from({ length: array.length * times }, (_, k) => array[k % array.length]);
    gl.bindVertexArray(vao);
    [[again(points), 3], [again(normals), 3], [slot, 1], [again(places), 2]].forEach(([array, size], place) => {
      if (!array.length) return;
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, array, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, size, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, index, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { vao, count: index.length };
  }

  /** Pieces of one geometry; returns what `replace` takes to move them. Many of them have a plain stand-in, by kind. */
  add({ vertices, faces, body, placement, colour, kind, uv, image, image_size }) {
    const pieces = body.length, many = pieces > MANY, batch = many ? BATCH : 1;
    const part = { ...this.geometry(corners(vertices, faces, uv), batch), pieces, many, batch, body, colour };
    if (image) part.image = this.image(image, image_size);
    part.low = [0, 1, 2].map((k) => vertices.reduce((x, v, j) => (j % 3 === k ? Math.min(x, v) : x), Infinity));
    part.high = [0, 1, 2].map((k) => vertices.reduce((x, v, j) => (j % 3 === k ? Math.max(x, v) : x), -Infinity));
    if (many && ["cylinder", "cone", "sphere"].includes(kind)) {
      const shape = plain_shape(kind);
      part.simple = this.geometry(corners(shape.vertices, shape.faces), batch);
      if (kind === "cylinder") part.line = this.geometry(LINE, batch);
    }
    part.order = many ? spread(pieces) : Uint32Array.from({ length: pieces }, (_, k) => k);
    part.rows = Math.max(1, Math.ceil((4 * pieces) / WIDE));
    part.texture = this.numbers(part.rows);
    this.replace(part, placement);
    this.parts.push(part);
    return part;
  }

  /** Twelve numbers for each piece say where it is in its body. */
  replace(part, placement) {
    const gl = this.gl, table = new Float32Array(4 * WIDE * part.rows);
    part.placement = placement;
    part.order.forEach((from, to) => {
      table.set(placement.subarray(12 * from, 12 * from + 12), 16 * to);
      for (let k = 0; k < 3; k++) table[16 * to + 12 + k] = part.colour[3 * from + k] / 255;
      table[16 * to + 15] = part.body[from];
    });
    gl.bindTexture(gl.TEXTURE_2D, part.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, WIDE, part.rows, gl.RGBA, gl.FLOAT, table);
  }

  /** All there is, as finely as `quality` says (see pace.js). */
  draw(camera, view, quality) {
    const gl = this.gl, canvas = this.canvas, dense = Math.min(window.devicePixelRatio || 1, 2) * quality.pixels;
    const wide = Math.max(1, Math.round(canvas.clientWidth * dense)), high = Math.max(1, Math.round(canvas.clientHeight * dense));
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    if (quality.smooth) this.smoothly(wide, high);
    gl.viewport(0, 0, wide, high);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const matrix = camera.matrix(wide / high, this.covered ? this.covered() : 0), eye = camera.eye();
    if (!quality.lines) this.ground(matrix, view);
    gl.useProgram(this.program.program);
    const at = this.program.at;
    gl.uniformMatrix4fv(at.camera, false, matrix);
    gl.uniform3fv(at.eye, eye);
    gl.uniform3fv(at.light, LIGHT);
    gl.uniform1f(at.adaptive, this.adaptive);
    gl.uniform1i(at.bodies, 0);
    gl.uniform1i(at.pieces, 1);
    gl.uniform1i(at.image, 2);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    if (eye[2] > view.floor && quality.shadows) this.shadows(at, view, quality);
    gl.uniform4f(at.shadow, view.floor, 0, 0, 0);
    this.pieces(quality);
    if (quality.lines) this.lines(matrix, quality);
    if (!quality.smooth) return;
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, null); // the samples of each pixel become one
    gl.blitFramebuffer(0, 0, wide, high, 0, 0, wide, high, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  /** What follows is drawn with several samples a pixel, where there is time for that. */
  smoothly(wide, high) {
    const gl = this.gl, [frame, ...buffers] = this.smooth;
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    if (this.size === `${wide} ${high}`) return;
    this.size = `${wide} ${high}`;
    [[gl.RGBA8, gl.COLOR_ATTACHMENT0], [gl.DEPTH24_STENCIL8, gl.DEPTH_STENCIL_ATTACHMENT]].forEach(([format, use], k) => {
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffers[k]);
      gl.renderbufferStorageMultisample(gl.RENDERBUFFER, Math.min(4, gl.getParameter(gl.MAX_SAMPLES)), format, wide, high);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, use, gl.RENDERBUFFER, buffers[k]);
    });
  }

  /** Bodies cast on the floor, each pixel darkened once. */
  shadows(at, view, quality) {
    const gl = this.gl;
    gl.uniform4f(at.shadow, view.floor, 1, 0.16, 0);
    gl.enable(gl.BLEND);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.depthMask(false);
    this.pieces(quality);
    gl.depthMask(true);
    gl.disable(gl.STENCIL_TEST);
    gl.disable(gl.BLEND);
  }

  pieces(quality) {
    const lines = quality.lines && this.parts.some((part) => part.line);
    for (const part of this.parts) {
      if (lines && part.simple) continue; // left out, or drawn as lines
      this.part(part, quality.simple && part.simple ? part.simple : part, this.gl.TRIANGLES, this.program.at, quality);
    }
  }

  /** Links as lines. */
  lines(matrix, quality) {
    const gl = this.gl, at = this.wire.at;
    gl.useProgram(this.wire.program);
    gl.uniformMatrix4fv(at.camera, false, matrix);
    gl.uniform1f(at.adaptive, this.adaptive);
    gl.uniform1i(at.bodies, 0);
    gl.uniform1i(at.pieces, 1);
    for (const part of this.parts) if (part.line) this.part(part, part.line, gl.LINES, at, quality);
  }

  part(part, { vao, count }, mode, at, quality) {
    if (part.hidden) return;
    const gl = this.gl, shown = Math.max(Math.min(part.pieces, FEW), Math.ceil(part.pieces * quality.share));
    gl.bindVertexArray(vao);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, part.texture);
    gl.activeTexture(gl.TEXTURE2);
    gl.bindTexture(gl.TEXTURE_2D, (!part.plain && part.image) || this.white);
    gl.uniform2i(at.batch, part.batch, shown);
    gl.drawElementsInstanced(mode, count, gl.UNSIGNED_INT, 0, Math.ceil(shown / part.batch));
    gl.bindVertexArray(null);
    gl.activeTexture(gl.TEXTURE0);
  }

  ground(matrix, view) {
    const gl = this.gl, at = this.floor.at;
    gl.useProgram(this.floor.program);
    gl.uniformMatrix4fv(at.camera, false, matrix);
    gl.uniform4f(at.ground, view.center[0], view.center[1], view.floor, 5 * view.radius);
    gl.uniform1f(at.spacing, 10 ** Math.round(Math.log10(view.radius / 4)));
    gl.enable(gl.BLEND);
    gl.depthMask(false);
    gl.bindVertexArray(this.square.vao);
    gl.drawElements(gl.TRIANGLES, 6, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }
}

/** Corners of triangles with smooth normals, except across edges, and places in a texture; equal corners are kept once. */
function corners(vertices, faces, uv) {
  const count = faces.length / 3, face = new Float32Array(faces.length);
  for (let t = 0; t < count; t++) {
    const [a, b, c] = [0, 1, 2].map((k) => 3 * faces[3 * t + k]);
    const u = [0, 1, 2].map((k) => vertices[b + k] - vertices[a + k]), w = [0, 1, 2].map((k) => vertices[c + k] - vertices[a + k]);
    face.set([u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]], 3 * t);
  }
  const around = Array.from({ length: vertices.length / 3 }, () => []);
  faces.forEach((v, k) => around[v].push((k / 3) | 0));
  const points = [], normals = [], places = [], order = new Uint32Array(faces.length), known = new Map();
  faces.forEach((v, k) => {
    const t = 3 * ((k / 3) | 0), own = face.subarray(t, t + 3), size = Math.hypot(...own) || 1;
    let n = [0, 0, 0];
    for (const o of around[v]) {
      const other = face.subarray(3 * o, 3 * o + 3), long = Math.hypot(...other);
      if (own[0] * other[0] + own[1] * other[1] + own[2] * other[2] > 0.6 * size * long) n = n.map((x, j) => x + other[j]);
    }
    const long = Math.hypot(...n) || 1;
    n = n.map((x) => x / long);
    const key = `${v} ${n.map((x) => Math.round(500 * x))}`;
    if (!known.has(key)) {
      known.set(key, known.size);
      points.push(...vertices.subarray(3 * v, 3 * v + 3));
      normals.push(...n);
      if (uv) places.push(uv[2 * v], uv[2 * v + 1]);
    }
    order[k] = known.get(key);
  });
  return { points: Float32Array.from(points), normals: Float32Array.from(normals), places: Float32Array.from(places), order };
}
