"use strict";
// One scene: data from Python, the stage, the panels, and what happens when something is moved.

async function open_scene(element) {
  const content = await unpack_all(JSON.parse(element.querySelector("script").textContent));
  const canvas = make("canvas", "stage"), links = content.links, n = links.parent.length;
  const aside = make("aside"), heading = make("h1", "", content.title);
  element.append(canvas, heading, make("p", "hint", "drag: turn · shift-drag: move · wheel: zoom · double-click: reset · click: name · space: play"), aside);
  let stage;
  try {
    stage = new Stage(canvas);
  } catch (error) {
    element.append(make("p", "hint error", `No picture: ${error.message}.`));
    return;
  }
  stage.bodies(n);
  const parts = content.shapes.map((shape) => stage.add(shape));
  const camera = new Camera(content.view), q = Float64Array.from(content.q), world = new Float64Array(12 * n);
  const state = { content, stage, camera, q, world, parts, frames: 0, sample: 0 };
  let waiting = false, rest = 0;
  const note = make("p", "hint slow"), pace = new Pace(note);
  element.append(note);
  state.pace = pace;
  pace.links = stage.parts.some((part) => part.line);
  state.still = () => { stage.draw(camera, content.view, pace.still); state.frames++; pace.restart(); };
  state.draw = () => {
    stage.draw(camera, content.view, pace.moving);
    const own = ++state.frames;
    clearTimeout(rest);
    pace.drawn(() => { if (pace.level && own === state.frames) rest = setTimeout(state.still, PATIENCE); });
  };
  const changed = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; state.draw(); });
  };
  const arrows = content.arrows && add_arrows(stage, content);
  state.move = (active) => {
    const before = [world[3], world[7], world[11]];
    place_bodies(links, q, world);
    if (state.follow) camera.target = camera.target.map((x, k) => x + world[4 * k + 3] - before[k]);
    stage.move(world, active);
    if (arrows) arrows(world, state.sample);
    if (state.tell) state.tell();
    changed();
  };
  const sliders = show_sliders(content, q, () => { stage.adaptive = 0; state.move(null); });
  const motion = content.motion && play_motion(state, sliders[0]);
  const plots = motion ? [section("Along the motion", motion.plots)] : [];
  aside.append(...plots, ...show_pattern(content.pattern), ...(motion ? [] : sliders), ...show_tools(element, state, changed), ...show_facts(content), ...(motion ? sliders : []));
  if (motion) { element.append(motion.bar); sliders.forEach((s) => { s.open = false; }); element.classList.add("moving"); listen_to_keys(element, motion.bar); }
  tell_on_click(element, state);
  stage.covered = () => (canvas.clientWidth > 700 ? aside.offsetWidth / canvas.clientWidth : 0);
  camera.attach(canvas, changed);
  new ResizeObserver(changed).observe(canvas);
  state.move(null);
  if (motion) { state.bar = motion.bar; motion.bar.querySelector("input").dispatchEvent(new Event("input")); }
  if (motion && element.classList.contains("boxed")) play_when_seen(element, motion.bar);
  element.bough = state;
  element.dataset.ready = "yes";
}

/** In a page of several scenes the one that is looked at plays. */
function play_when_seen(element, bar) {
  let began = false;
  new IntersectionObserver((entries) => {
    const seen = entries[entries.length - 1].intersectionRatio > 0.6;
    if (seen && !began) { began = true; bar.run(true); }
    if (!seen) bar.run(false);
  }, { threshold: [0, 0.6, 1] }).observe(element);
}

/** The time bar and plots of a motion; samples go to the stage, with the joints that move in them. */
function play_motion(state, sliders) {
  const motion = state.content.motion, links = state.content.links, rows = unfold(motion.q);
  const plots = Object.entries(motion.tracks).map(([name, track]) => plot(name, motion.time, track, motion.unit));
  if (state.content.joints && state.content.joints.names.length) plots.push(joint_plot(state.content.joints, motion, rows));
  const active = motion.adaptive ? new Float32Array(links.parent.length) : null;
  const go = (k) => {
    state.q.set(rows[k]);
    state.sample = k;
    if (active) {
      const before = rows[Math.max(0, k - 1)];
      for (let i = 0; i < active.length; i++) {
        active[i] = 0;
        for (let j = links.q[i]; j < links.q[i] + links.width[links.kind[i]]; j++) if (before[j] !== rows[k][j]) active[i] = 1;
      }
      state.stage.adaptive = 1;
    }
    state.move(active);
    plots.forEach((p) => p.at(k));
    if (sliders && sliders.open) sliders.renew();
  };
  return { plots, bar: time_bar(motion.time, go, motion.unit) };
}

/** Forces as arrows, in metres: a rod and a tip each. */
function add_arrows(stage, content) {
  const { body, point, force } = content.arrows, k = body.length, units = content.units;
  const wide = 0.018 * content.view.radius;
  const colour = new Uint8Array(3 * k).map((_, i) => [214, 69, 46][i % 3]), none = new Int32Array(k).fill(-1);
  const blank = () => new Float32Array(12 * k);
  const rod = stage.add({ ...units.cylinder, body: none, placement: blank(), colour });
  const tip = stage.add({ ...units.cone, body: none, placement: blank(), colour });
  return (world, sample) => {
    const rods = blank(), tips = blank(), from = Math.min(sample, force.length / (3 * k) - 1) * 3 * k;
    for (let i = 0; i < k; i++) {
      const f = [0, 1, 2].map((j) => force[from + 3 * i + j]), size = Math.hypot(...f);
      const start = point_of(world, body[i], point.subarray(3 * i, 3 * i + 3));
      if (size < 1e-6 * content.view.radius) continue;
      const head = Math.min(4 * wide, 0.5 * size), shaft = size - head;
      stretch(rods, i, start, f, 0, shaft, wide);
      stretch(tips, i, start, f, shaft, size, 2.6 * wide);
    }
    stage.replace(rod, rods);
    stage.replace(tip, tips);
  };
}

/** A placement of a unit shape along f, between two distances from a point. */
function stretch(out, i, start, f, from, to, wide) {
  const size = Math.hypot(...f), z = f.map((x) => x / size), side = Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  let x = cross(side, z);
  const s = Math.hypot(...x);
  x = x.map((v) => v / s);
  const y = cross(z, x), middle = (from + to) / 2;
  for (let r = 0; r < 3; r++) out.set([wide * x[r], wide * y[r], (to - from) * z[r], start[r] + middle * z[r]], 12 * i + 4 * r);
}
