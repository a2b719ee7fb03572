"use strict";
// Programs of the graphics card. WebGL 2: pieces and bodies are rows of textures, in which a vertex finds its own.

const WIDE = 1024; // texels in a row; four for each body

const COMMON = `#version 300 es
precision highp float;
precision highp int;
uniform mat4 camera;
uniform sampler2D bodies, pieces;
uniform ivec2 batch; // pieces in an instance, and in all
uniform vec3 light;
uniform vec4 shadow; // floor, on or off, faint
layout(location=0) in vec3 position;
layout(location=1) in vec3 normal;
layout(location=2) in float slot;
layout(location=3) in vec2 uv;
vec4 texel(int k) { return texelFetch(bodies, ivec2(k % ${WIDE}, k / ${WIDE}), 0); }
vec4 piece(int k) { return texelFetch(pieces, ivec2(k % ${WIDE}, k / ${WIDE}), 0); }
`;

const VERTEX = COMMON + `
out vec3 at, facing, tint;
out vec2 place;
out float state;
void main() {
  place = uv;
  int own = gl_InstanceID * batch.x + int(slot);
  if (own >= batch.y) { at = facing = tint = vec3(0); state = 0.0; gl_Position = vec4(0, 0, 2, 1); return; }
  vec4 row0 = piece(4 * own), row1 = piece(4 * own + 1), row2 = piece(4 * own + 2), colour = piece(4 * own + 3);
  int k = 4 * (int(colour.w) + 1);
  vec4 a = texel(k), b = texel(k + 1), c = texel(k + 2);
  state = texel(k + 3).x;
  vec4 p = vec4(dot(row0, vec4(position, 1)), dot(row1, vec4(position, 1)), dot(row2, vec4(position, 1)), 1);
  at = vec3(dot(a, p), dot(b, p), dot(c, p));
  // columns of a placement carry sizes: normals are divided by them
  vec3 s = vec3(row0.x * row0.x + row1.x * row1.x + row2.x * row2.x, row0.y * row0.y + row1.y * row1.y + row2.y * row2.y,
                row0.z * row0.z + row1.z * row1.z + row2.z * row2.z);
  vec3 n = normal / max(s, vec3(1e-20));
  n = vec3(dot(row0.xyz, n), dot(row1.xyz, n), dot(row2.xyz, n));
  facing = normalize(vec3(dot(a.xyz, n), dot(b.xyz, n), dot(c.xyz, n)));
  tint = colour.xyz;
  if (shadow.y > 0.5) at -= light * max(at.z - shadow.x, 0.0) / light.z;
  gl_Position = camera * vec4(at, 1);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 eye, light;
uniform vec4 shadow;
uniform float adaptive;
uniform sampler2D image; // white where a mesh has no texture
in vec3 at, facing, tint;
in vec2 place;
in float state;
out vec4 colour;
void main() {
  if (shadow.y > 0.5) { colour = vec4(0.13, 0.15, 0.20, shadow.z); return; }
  vec3 n = normalize(facing), e = normalize(eye - at);
  if (dot(n, e) < 0.0) n = -n;
  float sun = max(dot(n, light), 0.0), sky = 0.5 + 0.5 * n.z;
  float shine = pow(max(dot(n, normalize(light + e)), 0.0), 40.0);
  float rim = pow(1.0 - max(dot(n, e), 0.0), 3.0);
  // joints that move in this step glow, the others fade
  float on = state < -0.5 ? 0.0 : adaptive;
  vec3 base = mix(tint * texture(image, place).rgb, vec3(0.50, 0.55, 0.62), on * 0.85 * (1.0 - state));
  base = mix(base, vec3(0.98, 0.36, 0.05), on * state);
  vec3 lit = base * (0.50 * mix(vec3(0.72, 0.70, 0.68), vec3(1.0, 1.02, 1.06), sky) + 0.62 * sun);
  colour = vec4(lit + 0.14 * shine + 0.10 * rim, 1);
}`;

// Links as lines: where they run, and their colour
const WIRE_VERTEX = COMMON + `
uniform float adaptive;
flat out vec3 ink;
void main() {
  int own = gl_InstanceID * batch.x + int(slot);
  if (own >= batch.y) { ink = vec3(0); gl_Position = vec4(0, 0, 2, 1); return; }
  vec4 colour = piece(4 * own + 3), at = vec4(position, 1);
  int k = 4 * (int(colour.w) + 1);
  at.xyz = vec3(dot(piece(4 * own), at), dot(piece(4 * own + 1), at), dot(piece(4 * own + 2), at));
  float state = texel(k + 3).x, on = state < -0.5 ? 0.0 : adaptive;
  ink = 0.8 * mix(mix(colour.xyz, vec3(0.50, 0.55, 0.62), on * 0.85 * (1.0 - state)), vec3(0.98, 0.36, 0.05), on * state);
  gl_Position = camera * vec4(dot(texel(k), at), dot(texel(k + 1), at), dot(texel(k + 2), at), 1);
}`;

const WIRE_FRAGMENT = `#version 300 es
precision mediump float;
flat in vec3 ink;
out vec4 colour;
void main() { colour = vec4(ink, 1); }`;

const GROUND_VERTEX = `#version 300 es
precision highp float;
uniform mat4 camera;
uniform vec4 ground; // x, y, z, half of its side
layout(location=0) in vec3 position;
out vec2 at;
void main() {
  at = ground.xy + ground.w * position.xy;
  gl_Position = camera * vec4(at, ground.z, 1);
}`;

const GROUND_FRAGMENT = `#version 300 es
precision highp float;
uniform vec4 ground;
uniform float spacing;
in vec2 at;
out vec4 colour;
float lines(vec2 p, float wide) {
  vec2 w = fwidth(p), d = abs(fract(p - 0.5) - 0.5);
  vec2 on = (1.0 - smoothstep(w * (wide - 0.5), w * (wide + 0.5), d)) * clamp(0.5 / max(w, 1e-6), 0.0, 1.0);
  return clamp(max(on.x, on.y), 0.0, 1.0);
}
void main() {
  float fade = 1.0 - smoothstep(0.25, 1.0, length(at - ground.xy) / ground.w);
  float ink = max(0.20 * lines(at / spacing, 0.5), 0.34 * lines(at / (5.0 * spacing), 0.8));
  colour = vec4(vec3(0.46, 0.49, 0.54), fade * ink);
}`;
