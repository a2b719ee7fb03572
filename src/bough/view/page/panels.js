"use strict";
// What stands beside the picture: facts, sliders, the pattern of H and L, counts, plots, the time bar.

const MOST_SLIDERS = 60;
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5];

/** An element with a class, text and children. */
function make(tag, name = "", content = "", children = []) {
  const found = document.createElement(tag);
  if (name) found.className = name;
  if (content !== "") found.textContent = content;
  found.append(...children);
  return found;
}

function section(title, children, open = true) {
  const found = make("details", "", "", [make("summary", "", title), ...children]);
  found.open = open;
  return found;
}

function table(rows) {
  return make("table", "", "", rows.map((row) => make("tr", "", "", row.map((cell) => make("td", "", String(cell))))));
}

function show_facts(content) {
  const found = [section("Model", [table(Object.entries(content.facts))])];
  if (content.counts.length) {
    const digits = (x) => x.toLocaleString("en");
    const rows = content.counts.map(([name, ...numbers]) => [name, ...numbers.map(digits)]);
    found.push(section("Operations", [table([["", "mul", "add", "div"], ...rows])], false));
  }
  if (content.notes.length) found.push(section("Notes", content.notes.map((note) => make("p", "note", note)), false));
  return found;
}

/** One slider for each number that moves a joint: quaternions are turned about x, y and z. */
function slider_list(joints) {
  const found = [], words = { floating: ["x", "y", "z", "turn x", "turn y", "turn z"], spherical: ["turn x", "turn y", "turn z"],
    planar: ["x", "y", "turn"], cylindrical: ["turn", "slide"], universal: ["turn 1", "turn 2"] };
  joints.names.forEach((name, j) => {
    const parts = words[joints.types[j]] || [""];
    parts.forEach((part, k) => {
      const own = part === "", metres = part.length === 1 || part === "slide";
      const [low, high] = own ? [joints.low[j], joints.high[j]] : metres ? [-1, 1] : [-Math.PI, Math.PI];
      const unit = metres || joints.types[j] === "prismatic" ? joints.length : "rad";
      found.push({ name: own ? name : `${name} ${part}`, joint: j, part: k, type: joints.types[j], low, high, unit });
    });
  });
  return found;
}

/** Put the value of a slider into q. */
function set_slider(slider, joints, values, q) {
  const k = joints.q[slider.joint];
  const turned = (at, v) => {
    const angle = Math.hypot(...v), s = angle > 1e-9 ? Math.sin(angle / 2) / angle : 0.5;
    q.set([s * v[0], s * v[1], s * v[2], Math.cos(angle / 2)], at);
  };
  if (slider.type === "floating") {
    q.set(values.slice(0, 3), k);
    turned(k + 3, values.slice(3));
  } else if (slider.type === "spherical") turned(k, values);
  else q.set(values, k);
}

function show_sliders(content, q, changed) {
  const joints = content.joints;
  if (!joints || !joints.names.length) return [];
  const all = slider_list(joints), list = make("div", "sliders"), search = make("input", "search");
  search.placeholder = `find one of ${joints.names.length.toLocaleString("en")} joints`;
  const values = {};
  const own = (s) => (values[s.joint] ??= start_values(s, joints, q));
  const fill = () => {
    const word = search.value.toLowerCase();
    const shown = all.filter((s) => s.name.toLowerCase().includes(word));
    list.replaceChildren(...shown.slice(0, MOST_SLIDERS).map((s) => slider_row(s, content, own, (value) => {
      own(s)[s.part] = value;
      set_slider(s, joints, own(s), q);
      changed();
    })));
    if (shown.length > MOST_SLIDERS) list.append(make("p", "note", `and ${(shown.length - MOST_SLIDERS).toLocaleString("en")} more`));
  };
  search.addEventListener("input", fill);
  fill();
  const renew = () => { for (const key of Object.keys(values)) delete values[key]; fill(); };
  const found = section("Joints", all.length > 12 ? [search, list] : [list]);
  found.renew = renew;
  return [found];
}

/** The numbers behind the sliders of a joint, from q. */
function start_values(slider, joints, q) {
  const k = joints.q[slider.joint];
  const vector = (at) => {
    const w = Math.max(-1, Math.min(1, q[at + 3])), angle = 2 * Math.acos(w), s = Math.sin(angle / 2);
    return [0, 1, 2].map((j) => (s > 1e-9 ? (angle / s) * q[at + j] : 0));
  };
  if (slider.type === "floating") return [q[k], q[k + 1], q[k + 2], ...vector(k + 3)];
  if (slider.type === "spherical") return vector(k);
  const parts = { planar: 3, cylindrical: 2, universal: 2 }[slider.type] || 1;
  return Array.from(q.slice(k, k + parts));
}

function slider_row(slider, content, own, set) {
  const input = make("input"), value = make("span", "value"), dot = make("span", "dot");
  const body = content.joints.body[slider.joint], c = content.colours;
  dot.style.background = `rgb(${c[3 * body]},${c[3 * body + 1]},${c[3 * body + 2]})`;
  const now = own(slider)[slider.part];
  Object.assign(input, { type: "range", step: "any", min: Math.min(slider.low, now), max: Math.max(slider.high, now), value: now });
  input.dataset.joint = slider.name;
  const show = () => { value.textContent = `${Number(input.value).toFixed(2)} ${slider.unit}`; };
  input.addEventListener("input", () => { set(Number(input.value)); show(); });
  show();
  return make("label", "", "", [make("span", "name", "", [dot, document.createTextNode(slider.name)]), value, input]);
}

/** Nonzeros of H in the colours of branches; below the diagonal they are those of L. */
function show_pattern(pattern) {
  if (!pattern) return [];
  const canvas = make("canvas", "pattern"), n = pattern.size, paint = canvas.getContext("2d");
  canvas.width = canvas.height = n;
  const button = (word) => make("button", "", word), both = button("H"), low = button("L");
  const draw = (lower) => {
    const image = paint.createImageData(n, n);
    for (let k = 0; k < n * n; k++) {
      const hidden = lower && k % n > Math.floor(k / n);
      image.data.set(pattern.cells.subarray(4 * k, 4 * k + 3), 4 * k);
      const share = pattern.cells[4 * k + 3];
      image.data[4 * k + 3] = hidden || !share ? 0 : 60 + (195 * share) / 255;
    }
    paint.putImageData(image, 0, 0);
    both.classList.toggle("on", !lower);
    low.classList.toggle("on", lower);
  };
  both.addEventListener("click", () => draw(false));
  low.addEventListener("click", () => draw(true));
  draw(false);
  const words = `${pattern.n.toLocaleString("en")} x ${pattern.n.toLocaleString("en")}; H = L' D L without fill-in`;
  return [section("Mass matrix H and factor L", [make("div", "buttons", "", [both, low]), canvas, make("p", "note", words)])];
}

const digits = (v) => (!Number.isFinite(v) ? "-" : v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e6) ? v.toExponential(2) : Number(v.toPrecision(4)).toLocaleString("en"));

/** The position of one joint along the motion, which is chosen by its name; at first the one that moves farthest. */
function joint_plot(joints, motion, rows) {
  const select = make("select"), found = make("div", "", "", [select]);
  const all = joints.names.map((name, j) => [name, joints.q[j], joints.types[j]]).filter(([, , type]) => !["floating", "spherical"].includes(type));
  const swing = ([, at]) => rows.reduce((most, row) => Math.max(most, Math.abs(row[at] - rows[0][at])), 0);
  const offered = all.slice(0, 2000), swings = offered.map(swing), first = swings.indexOf(Math.max(...swings));
  offered.forEach(([name], k) => select.append(Object.assign(make("option", "", name), { value: k, selected: k === first })));
  let shown = null, last = 0;
  const choose = () => {
    const [name, at, type] = all[Number(select.value)];
    const line = plot(`${name}, ${type === "prismatic" ? joints.length : "rad"}`, motion.time, rows.map((row) => row[at]), motion.unit, false);
    if (shown) shown.replaceWith(line);
    else found.append(line);
    shown = line;
    shown.at(last);
  };
  select.addEventListener("change", choose);
  if (all.length) choose();
  else select.hidden = true;
  found.at = (k) => { last = k; if (shown) shown.at(k); };
  return found;
}

/** A line along the motion, with a mark at the present moment; logarithmic where it spans decades. */
function plot(name, time, track, unit = "s", decades = true) {
  const box = "http://www.w3.org/2000/svg", svg = document.createElementNS(box, "svg");
  const wide = 260, high = 64, good = Array.from(track).filter(Number.isFinite);
  const positive = good.filter((x) => x > 0), least = Math.min(...positive), most = Math.max(...good);
  const log = decades && positive.length > 0.9 * good.length && most > 50 * least;
  const scale = (x) => (log ? Math.log10(Math.max(x, least)) : x);
  const low = log ? scale(least) : Math.min(decades ? 0 : Infinity, ...good), high_value = scale(most), span = high_value - low || 1;
  const x = (k) => (wide * (time[k] - time[0])) / (time[time.length - 1] - time[0] || 1);
  const y = (v) => high - 4 - ((high - 8) * (scale(v) - low)) / span;
  const line = document.createElementNS(box, "polyline"), mark = document.createElementNS(box, "line");
  const points = [];
  for (let k = 0; k < track.length; k++) if (Number.isFinite(track[k])) points.push(`${x(k).toFixed(1)},${y(track[k]).toFixed(1)}`);
  line.setAttribute("points", points.join(" "));
  mark.setAttribute("y2", high);
  svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  svg.append(line, mark);
  const text = (word, left, down, anchor) => {
    const found = document.createElementNS(box, "text");
    Object.entries({ x: left, y: down, "text-anchor": anchor }).forEach(([key, value]) => found.setAttribute(key, value));
    found.textContent = word;
    svg.append(found);
  };
  text(digits(most), 3, 9, "start");
  text(digits(log ? least : low), 3, high - 3, "start");
  text(`${digits(time[time.length - 1])} ${unit}`, wide - 3, high - 3, "end");
  const value = make("span", "value"), found = make("div", "plot", "", [make("span", "name", name + (log ? " (log)" : "")), value, svg]);
  found.at = (k) => {
    mark.setAttribute("x1", x(k));
    mark.setAttribute("x2", x(k));
    value.textContent = digits(track[k]);
  };
  return found;
}

/** Play, time and speed; calls `go(k)` for each sample that is to be shown. Times that are no seconds take six. */
function time_bar(time, go, unit = "s") {
  const play = make("button", "play", "\u25b6"), range = make("input"), clock = make("span", "clock"), speed = make("select");
  Object.assign(range, { type: "range", min: 0, max: time.length - 1, step: 1, value: 0 });
  range.dataset.role = "time";
  speed.append(...SPEEDS.map((s) => Object.assign(make("option", "", `${s}x`), { value: s, selected: s === 1 })));
  play.title = "play or pause";
  const last = time[time.length - 1];
  const rate = unit === "s" ? 1 : (last - time[0]) / 6;
  let running = false, at = time[0], before = 0;
  const show = (k) => { clock.textContent = `${time[k].toFixed(2)} / ${last.toFixed(2)} ${unit}`; go(k); };
  const step = (now) => {
    if (!running) return;
    at += (Math.min(now - before, 100) / 1000) * rate * Number(speed.value);
    before = now;
    if (at > last) at = time[0];
    let k = 0, high = time.length - 1;
    while (k < high) { const middle = (k + high + 1) >> 1; if (time[middle] <= at) k = middle; else high = middle - 1; }
    if (k !== Number(range.value)) { range.value = k; show(k); }
    requestAnimationFrame(step);
  };
  const run = (on) => {
    running = on;
    play.textContent = on ? "\u275a\u275a" : "\u25b6";
    if (on) requestAnimationFrame((now) => { before = now; step(now); });
  };
  play.addEventListener("click", () => run(!running));
  range.addEventListener("input", () => { run(false); at = time[range.value]; show(Number(range.value)); });
  show(0);
  const found = make("div", "time", "", [play, range, clock, speed]);
  found.run = run;
  found.running = () => running;
  found.step = (by) => { range.value = Number(range.value) + by; range.dispatchEvent(new Event("input")); };
  return found;
}
