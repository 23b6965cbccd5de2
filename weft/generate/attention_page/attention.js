"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const dark = matchMedia("(prefers-color-scheme: dark)");
const mean = "mean";
const state = { layer: 0, head: 0, query: 0, key: 0 };

// Weights come as 16-bit fractions of 1, base64, rows one after the other; of causal maps only the keys up to the query's
// own place, since the others are 0.
function decode(map) {
  const bytes = Uint8Array.from(atob(map.packed), (c) => c.charCodeAt(0));
  const packed = new DataView(bytes.buffer);
  const weights = new Float32Array(map.heads * map.queryCount * map.keyCount);
  let place = 0;
  for (let head = 0; head < map.heads; ++head) {
    for (let query = 0; query < map.queryCount; ++query) {
      const row = (head * map.queryCount + query) * map.keyCount;
      const keys = map.causal ? Math.min(map.keyCount, query + 1 + map.keyCount - map.queryCount) : map.keyCount;
      for (let key = 0; key < keys; ++key, place += 2) weights[row + key] = packed.getUint16(place, true) / 65535;
    }
  }
  return weights;
}

for (const map of data.maps) {
  map.queryTokens = data.sequences[map.queries];
  map.keyTokens = data.sequences[map.keys];
  map.queryCount = map.queryTokens.length;
  map.keyCount = map.keyTokens.length;
}

function weightsOf(layer, head) {
  const map = data.maps[layer];
  map.weights ??= decode(map);
  const size = map.queryCount * map.keyCount;
  if (head !== mean) return map.weights.subarray(head * size, (head + 1) * size);
  if (!map.mean) {
    map.mean = new Float32Array(size);
    for (let i = 0; i < map.weights.length; ++i) map.mean[i % size] += map.weights[i] / map.heads;
  }
  return map.mean;
}

function palette() {
  const stops = dark.matches
    ? [[16, 21, 28], [24, 78, 145], [90, 170, 240], [240, 248, 255]]
    : [[255, 255, 255], [158, 202, 235], [33, 113, 181], [5, 30, 75]];
  const colours = new Uint8ClampedArray(256 * 4).fill(255);
  for (let i = 0; i < 256; ++i) {
    const at = (i / 255) * (stops.length - 1);
    const from = Math.min(stops.length - 2, Math.floor(at));
    for (let c = 0; c < 3; ++c) colours[i * 4 + c] = stops[from][c] + (at - from) * (stops[from + 1][c] - stops[from][c]);
  }
  return new Uint32Array(colours.buffer);  // one number a colour, to be copied as it is
}

// The map as a picture of one pixel per weight.
function picture(layer, head, largest) {
  const map = data.maps[layer];
  const weights = weightsOf(layer, head);
  const colours = palette();
  const canvas = document.createElement("canvas");
  canvas.width = map.keyCount;
  canvas.height = map.queryCount;
  const image = new ImageData(map.keyCount, map.queryCount);
  const pixels = new Uint32Array(image.data.buffer);
  for (let i = 0; i < weights.length; ++i) pixels[i] = colours[Math.min(255, Math.round((255 * weights[i]) / largest))];
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// The weight that is drawn in full colour.
function fullColour(weights) {
  if (!element("own-scale").checked) return 1;
  let largest = 1e-9;
  for (const weight of weights) largest = Math.max(largest, weight);
  return largest;
}

// Spaces and line ends of a token, made visible.
const shown = (token) => (token === "" ? "∅" : token.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣"));
const shortened = (token) => { const all = [...shown(token)]; return all.length > 12 ? all.slice(0, 11).join("") + "…" : all.join(""); };
const headName = (head) => (head === mean ? "mean of all heads" : `head ${head}`);

const layout = { cell: 20, left: 0, top: 0 };

function drawMap() {
  const map = data.maps[state.layer];
  const weights = weightsOf(state.layer, state.head);
  const largest = fullColour(weights);
  const style = getComputedStyle(document.body);
  const canvas = element("cells");
  const context = canvas.getContext("2d");
  const font = "12px ui-monospace, monospace";
  layout.cell = Math.max(3, Math.min(28, Math.floor(760 / Math.max(map.queryCount, map.keyCount))));
  context.font = font;
  const widest = (tokens) => Math.ceil(Math.max(...tokens.map((token) => context.measureText(shortened(token)).width))) + 8;
  layout.left = widest(map.queryTokens);
  layout.top = widest(map.keyTokens);
  const width = layout.left + map.keyCount * layout.cell + 1, height = layout.top + map.queryCount * layout.cell + 1;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.imageSmoothingEnabled = false;
  context.drawImage(picture(state.layer, state.head, largest), layout.left, layout.top, map.keyCount * layout.cell,
                    map.queryCount * layout.cell);
  context.strokeStyle = style.getPropertyValue("--line");
  context.strokeRect(layout.left - 0.5, layout.top - 0.5, map.keyCount * layout.cell + 1, map.queryCount * layout.cell + 1);
  context.fillStyle = style.getPropertyValue("--ink");
  context.font = font;
  context.textBaseline = "middle";
  const step = Math.ceil(13 / layout.cell);
  context.textAlign = "right";
  for (let query = 0; query < map.queryCount; query += step) {
    context.fillText(shortened(map.queryTokens[query]), layout.left - 5, layout.top + (query + 0.5) * layout.cell);
  }
  context.textAlign = "left";
  for (let key = 0; key < map.keyCount; key += step) {
    context.save();
    context.translate(layout.left + (key + 0.5) * layout.cell, layout.top - 5);
    context.rotate(-Math.PI / 2);
    context.fillText(shortened(map.keyTokens[key]), 0, 0);
    context.restore();
  }
  element("map-title").textContent = `${map.layer}, ${headName(state.head)}`;
  element("scale").textContent = `Full colour: ${largest.toFixed(4)}`;
}

function describe(query, key) {
  const map = data.maps[state.layer];
  const weight = weightsOf(state.layer, state.head)[query * map.keyCount + key];
  return `query ${query} “${shown(map.queryTokens[query])}” → key ${key} “${shown(map.keyTokens[key])}”: ${weight.toFixed(4)}`;
}

function showCell() {
  const map = data.maps[state.layer];
  const cursor = element("cursor");
  cursor.hidden = false;
  cursor.style.left = `${layout.left + state.key * layout.cell - 2}px`;
  cursor.style.top = `${layout.top + state.query * layout.cell - 2}px`;
  cursor.style.width = cursor.style.height = `${layout.cell + 4}px`;
  element("readout").textContent = describe(state.query, state.key);
  const row = weightsOf(state.layer, state.head).subarray(state.query * map.keyCount, (state.query + 1) * map.keyCount);
  const order = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b).slice(0, 8).filter((key) => row[key] > 0);
  element("strongest-title").textContent = `Strongest keys of query ${state.query} “${shown(map.queryTokens[state.query])}”`;
  element("strongest").replaceChildren(...order.map((key) => {
    const item = document.createElement("li");
    const token = document.createElement("span");
    token.className = "token";
    token.textContent = shown(map.keyTokens[key]);
    item.append(token, ` (${key}) ${row[key].toFixed(4)}`);
    return item;
  }));
}

function fillHeads() {
  const heads = [...Array(data.maps[state.layer].heads).keys(), mean];
  element("head").replaceChildren(...heads.map((head) => new Option(head === mean ? "mean" : `${head}`, head)));
  if (!heads.includes(state.head)) state.head = 0;
  element("head").value = state.head;
}

function choose(layer, head) {
  state.layer = layer;
  state.head = head;
  const map = data.maps[layer];
  state.query = Math.min(state.query, map.queryCount - 1);
  state.key = Math.min(state.key, map.keyCount - 1);
  element("layer").value = layer;
  fillHeads();
  drawMap();
  showCell();
  for (const cell of element("overview").querySelectorAll("[role=gridcell]")) {
    const chosen = Number(cell.dataset.layer) === layer && (head === mean ? cell.dataset.head === "0" : Number(cell.dataset.head) === head);
    cell.setAttribute("aria-selected", chosen && head !== mean);
    cell.tabIndex = chosen ? 0 : -1;
  }
}

function makeOverview() {
  element("overview").replaceChildren(...data.maps.map((map, layer) => {
    const row = document.createElement("div");
    row.setAttribute("role", "row");
    const header = document.createElement("span");
    header.setAttribute("role", "rowheader");
    // A long path may be broken behind its dots and underscores.
    header.append(...map.layer.split(/(?<=[._])/).flatMap((part) => [part, document.createElement("wbr")]));
    row.append(header);
    for (let head = 0; head < map.heads; ++head) {
      const cell = document.createElement("div");
      cell.setAttribute("role", "gridcell");
      cell.setAttribute("aria-label", `${map.layer}, head ${head}`);
      cell.dataset.layer = layer;
      cell.dataset.head = head;
      cell.tabIndex = -1;
      cell.title = `${map.layer}, head ${head}`;
      cell.append(document.createElement("canvas"));
      row.append(cell);
    }
    return row;
  }));
}

// Layer by layer between other events, so that a large model does not hold up the page.
let drawing = 0;
function drawOverview(layer = 0, run = ++drawing) {
  if (layer === data.maps.length || run !== drawing) return;
  for (const cell of element("overview").querySelectorAll(`[data-layer="${layer}"]`)) {
    const head = Number(cell.dataset.head);
    const canvas = cell.firstChild;
    canvas.width = canvas.height = 88;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = data.maps[layer].queryCount > 88 || data.maps[layer].keyCount > 88;
    context.drawImage(picture(layer, head, fullColour(weightsOf(layer, head))), 0, 0, 88, 88);
  }
  setTimeout(drawOverview, 0, layer + 1, run);
}

function cellAt(event) {
  const map = data.maps[state.layer];
  const box = element("cells").getBoundingClientRect();
  const key = Math.floor((event.clientX - box.left - layout.left) / layout.cell);
  const query = Math.floor((event.clientY - box.top - layout.top) / layout.cell);
  return key >= 0 && query >= 0 && key < map.keyCount && query < map.queryCount ? { query, key } : null;
}

element("map").addEventListener("mousemove", (event) => {
  const cell = cellAt(event);
  const tip = element("tip");
  tip.hidden = !cell;
  if (!cell) return;
  tip.textContent = describe(cell.query, cell.key);
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 4)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 4)}px`;
});
element("map").addEventListener("mouseleave", () => { element("tip").hidden = true; });
element("map").addEventListener("click", (event) => {
  const cell = cellAt(event);
  if (cell) Object.assign(state, cell);
  showCell();
});

// Moves one of two coordinates and says whether the key was one that moves.
function moved(event, place, rows, columns) {
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0],
                  PageDown: [10, 0], Home: [0, -columns], End: [0, columns] };
  const step = steps[event.key];
  if (!step || event.altKey || event.metaKey || event.ctrlKey) return null;
  event.preventDefault();
  const within = (value, count) => Math.max(0, Math.min(count - 1, value));
  return [within(place[0] + step[0], rows), within(place[1] + step[1], columns)];
}

element("map").addEventListener("keydown", (event) => {
  const map = data.maps[state.layer];
  const place = moved(event, [state.query, state.key], map.queryCount, map.keyCount);
  if (!place) return;
  [state.query, state.key] = place;
  showCell();
  element("cursor").scrollIntoView({ block: "nearest", inline: "nearest" });
});

function chooseCell(cell) {
  choose(Number(cell.dataset.layer), Number(cell.dataset.head));
  cell.focus();
}

element("overview").addEventListener("click", (event) => {
  const cell = event.target.closest("[role=gridcell]");
  if (cell) chooseCell(cell);
});
element("overview").addEventListener("keydown", (event) => {
  const cell = event.target.closest("[role=gridcell]");
  if (!cell) return;
  const most = Math.max(...data.maps.map((map) => map.heads));
  const place = moved(event, [Number(cell.dataset.layer), Number(cell.dataset.head)], data.maps.length, most);
  if (!place) return;
  const head = Math.min(place[1], data.maps[place[0]].heads - 1);
  chooseCell(element("overview").querySelector(`[data-layer="${place[0]}"][data-head="${head}"]`));
});

element("controls").addEventListener("submit", (event) => event.preventDefault());
element("layer").addEventListener("change", (event) => choose(Number(event.target.value), state.head));
element("head").addEventListener("change", (event) => choose(state.layer, event.target.value === mean ? mean : Number(event.target.value)));
for (const source of [element("own-scale"), dark]) source.addEventListener("change", () => { drawMap(); drawOverview(); });

const counts = Object.entries(data.sequences).map(([name, tokens]) => `${name}: ${tokens.length} tokens`).join(" · ");
element("about").textContent = `${data.model} · ${data.architecture} · ${counts}`;
element("layer").replaceChildren(...data.maps.map((map, layer) => new Option(`${map.layer} (${map.kind})`, layer)));
makeOverview();
choose(0, 0);
drawOverview();
