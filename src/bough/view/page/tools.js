"use strict";
// What is done with a scene: switches of layers and colours, views, a picture, keys, and a click on a body.

const VIEWS = { front: [0, 0.05], side: [-Math.PI / 2, 0.05], top: [-Math.PI / 2, 1.5] };

function show_tools(element, state, changed) {
  const { content, stage, camera } = state, button = (word, act) => {
    const found = make("button", "", word);
    found.addEventListener("click", act);
    return found;
  };
  const toggle = (word, act) => {
    const box = Object.assign(make("input"), { type: "checkbox" });
    box.addEventListener("change", () => { act(box.checked); changed(); });
    return make("label", "switch", "", [box, document.createTextNode(word)]);
  };
  const switches = Object.entries(content.layers).map(([name, shapes]) => {
    const parts = shapes.map((shape) => Object.assign(stage.add(shape), { hidden: true }));
    return toggle(name, (on) => parts.forEach((part) => { part.hidden = !on; }));
  });
  if (state.parts.some((part) => branch_colour(part, content).some((c, k) => c !== part.colour[k]))) {
    switches.push(toggle("colours of branches", (on) => state.parts.forEach((part) => {
      part.material ??= part.colour;
      part.colour = on ? branch_colour(part, content) : part.material;
      part.plain = on;
      stage.replace(part, part.placement);
    })));
  }
  switches.push(toggle("camera follows", (on) => { state.follow = on; }));
  const views = Object.entries(VIEWS).map(([word, view]) => button(word, () => { [camera.azimuth, camera.height] = view; changed(); }));
  return [section("Show", [...switches, make("div", "buttons", "", [...views, button("save picture", () => save_picture(state))])], false)];
}

/** Colours of the pieces of a part, by the branches of their bodies. */
function branch_colour(part, content) {
  return part.colour.map((c, k) => { const body = part.body[Math.floor(k / 3)]; return body < 0 ? c : content.colours[3 * body + (k % 3)]; });
}

function save_picture(state) {
  state.still();
  state.stage.canvas.toBlob((blob) => {
    const link = Object.assign(document.createElement("a"), { download: "bough.png", href: URL.createObjectURL(blob) });
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

/** Space plays, arrows step; on a page of one scene wherever the keys go, else in the scene that has them. */
function listen_to_keys(element, bar) {
  element.tabIndex = 0;
  (element.classList.contains("whole") ? document : element).addEventListener("keydown", (e) => {
    if (["INPUT", "SELECT", "BUTTON"].includes(e.target.tagName) && e.target.dataset.role !== "time") return;
    if (e.key === " ") bar.run(!bar.running());
    else if (e.key === "ArrowRight") bar.step(1);
    else if (e.key === "ArrowLeft") bar.step(-1);
    else return;
    e.preventDefault();
  });
}

/** A click, which is no drag, tells what body is there. */
function tell_on_click(element, state) {
  const canvas = state.stage.canvas, label = make("p", "hint picked");
  element.append(label);
  const bodies = state.content.bodies;
  let down = null, picked = -1;
  state.tell = () => {
    if (picked < 0 || !bodies) { label.textContent = ""; return; }
    const at = [3, 7, 11].map((k) => state.world[12 * picked + k].toFixed(3)).join(", ");
    const mass = picked < bodies.mass.length ? `, ${Number(bodies.mass[picked].toPrecision(4))} kg` : "";
    label.textContent = `${bodies.names[picked]}${mass}; its joint's frame is at ${at} m`;
  };
  canvas.addEventListener("pointerdown", (e) => { down = [e.clientX, e.clientY]; });
  canvas.addEventListener("pointerup", (e) => {
    if (!down || Math.hypot(e.clientX - down[0], e.clientY - down[1]) > 4) return;
    const box = canvas.getBoundingClientRect();
    picked = body_at(state, (2 * (e.clientX - box.x)) / box.width - 1, 1 - (2 * (e.clientY - box.y)) / box.height);
    state.tell();
  });
}

/** The body whose piece is nearest along the ray through a point of the picture (-1 to 1, up); -1 if there is none. */
function body_at(state, x, y) {
  const { stage, camera, world } = state, [right, up, back] = camera.axes(), eye = camera.eye();
  const aspect = stage.canvas.clientWidth / stage.canvas.clientHeight, f = 1 / Math.tan(0.36);
  const a = ((x + (stage.covered ? stage.covered() : 0)) * Math.max(aspect, 1)) / f, b = y / (f * Math.min(aspect, 1));
  const ray = [0, 1, 2].map((k) => a * right[k] + b * up[k] - back[k]);
  let best = Infinity, found = -1;
  for (const part of state.parts) {
    for (let i = 0; i < part.pieces; i++) {
      const way = distance_along(part, i, world, eye, ray);
      if (way < best) [best, found] = [way, part.body[i]];
    }
  }
  return found;
}

/** How far along a ray the box about a piece begins, or infinity. */
function distance_along(part, i, world, eye, ray) {
  const own = new Float64Array(12), P = part.placement.subarray(12 * i, 12 * i + 12), body = part.body[i];
  if (body < 0) own.set(P);
  else compose(world, 12 * body, P, 0, own, 0);
  const column = (k) => [own[k], own[4 + k], own[8 + k]], dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  const cross = (u, v) => [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
  const A = [0, 1, 2].map(column), away = eye.map((e, k) => e - own[4 * k + 3]), volume = dot(A[0], cross(A[1], A[2]));
  let near = 0, far = Infinity;
  for (let k = 0; k < 3; k++) {
    const n = cross(A[(k + 1) % 3], A[(k + 2) % 3]), start = dot(n, away) / volume, rate = dot(n, ray) / volume;
    const times = [(part.low[k] - start) / rate, (part.high[k] - start) / rate];
    near = Math.max(near, Math.min(...times));
    far = Math.min(far, Math.max(...times));
  }
  return near <= far ? near : Infinity;
}
