"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const element = (id) => document.getElementById(id);
const width = 560, height = 260, left = 62, right = 12, above = 10, below = 30;

function make(name, attributes = {}, text = "") {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.textContent = text;
  return made;
}

function draw(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function written(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e5) return Number(value.toPrecision(4)).toLocaleString("en");
  return size < 1e-3 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

// Round numbers that divide [low, high] into about five parts.
function ticks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * (1 - 1e-9));
  const result = [];
  for (let tick = Math.ceil(low / step); tick * step <= high + step * 1e-9; ++tick) result.push(tick * step);
  return result;
}

// Powers of ten, with twos and fives between them where there are few; within one power as on a linear scale.
function logarithmicTicks(low, high) {
  if (high / low < 10) return ticks(low, high).filter((tick) => tick > 0);
  const result = [];
  const few = high / low < 1e3;
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power) {
    for (const factor of few ? [1, 2, 5] : [1]) {
      const tick = factor * 10 ** power;
      if (tick >= low && tick <= high) result.push(tick);
    }
  }
  return result;
}

function scaleOf(chart, logarithmic) {
  const points = chart.series.flatMap((series) => series.points).filter(([, value]) => !logarithmic || value > 0);
  const xs = points.map(([step]) => step), ys = points.map(([, value]) => value);
  const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  let [x0, x1, y0, y1] = points.length ? [least(xs), most(xs), least(ys), most(ys)] : [0, 1, 0.1, 1];
  if (x0 === x1) [x0, x1] = [x0 - 1, x1 + 1];
  if (y0 === y1) [y0, y1] = logarithmic ? [y0 / 2, y1 * 2] : [y0 - (Math.abs(y0) / 2 || 1), y1 + (Math.abs(y1) / 2 || 1)];
  const share = logarithmic ? (y) => Math.log(y / y0) / Math.log(y1 / y0) : (y) => (y - y0) / (y1 - y0);
  return {
    x: (step) => left + ((step - x0) / (x1 - x0)) * (width - left - right),
    y: (value) => height - below - share(value) * (height - above - below),
    xTicks: ticks(x0, x1).filter(Number.isInteger),
    yTicks: logarithmic ? logarithmicTicks(y0, y1) : ticks(y0, y1),
    shows: ([, value]) => !logarithmic || value > 0,
  };
}

// The point of a series that is nearest to `step`.
function nearest(points, step) {
  return points.reduce((best, point) => (Math.abs(point[0] - step) < Math.abs(best[0] - step) ? point : best));
}

class Chart {
  constructor(chart, number) {
    this.chart = chart;
    this.steps = [...new Set(chart.series.flatMap((series) => series.points.map(([step]) => step)))].sort((a, b) => a - b);
    this.at = this.steps.length - 1;
    this.figure = make("figure", { class: "panel" });
    this.figure.append(make("figcaption", { id: `chart-${number}-title` }, chart.unit ? `${chart.title} (${chart.unit})` : chart.title));
    this.svg = draw(this.figure, "svg", {
      class: "chart", viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application",
      "aria-roledescription": "line chart", "aria-labelledby": `chart-${number}-title`,
      "aria-describedby": `chart-help chart-${number}-values`,
    });
    this.legend = make("div", { class: "legend", id: `chart-${number}-values`, "aria-live": "polite" });
    this.figure.append(this.legend);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("keydown", (event) => this.press(event));
    this.draw(false);
  }

  draw(logarithmic) {
    this.svg.replaceChildren();
    this.scale = scaleOf(this.chart, logarithmic);
    const { x, y, xTicks, yTicks, shows } = this.scale;
    for (const tick of yTicks) {
      draw(this.svg, "line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) });
      draw(this.svg, "text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, written(tick));
    }
    for (const tick of xTicks) draw(this.svg, "text", { x: x(tick), y: height - below + 18, "text-anchor": "middle" }, tick);
    draw(this.svg, "path", { class: "axis", fill: "none", d: `M${left} ${above}V${height - below}H${width - right}` });
    this.chart.series.forEach(({ points }, i) => {
      const visible = points.filter(shows);
      const d = visible.map(([step, value], j) => `${j ? "L" : "M"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`).join("");
      draw(this.svg, "path", { class: `series series-${i}`, d });
      if (visible.length > 40) return;
      for (const [step, value] of visible) draw(this.svg, "circle", { class: `dot dot-${i}`, cx: x(step), cy: y(value), r: 2.5 });
    });
    this.cursor = draw(this.svg, "line", { class: "cursor", y1: above, y2: height - below, visibility: "hidden" });
    this.show();
  }

  point(event) {
    const box = this.svg.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * width;
    let best = 0;
    this.steps.forEach((step, i) => {
      if (Math.abs(this.scale.x(step) - place) < Math.abs(this.scale.x(this.steps[best]) - place)) best = i;
    });
    this.move(best);
  }

  press(event) {
    const places = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, PageDown: this.at - 10, PageUp: this.at + 10, Home: 0, End: Infinity };
    if (!(event.key in places) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.move(places[event.key]);
  }

  move(at) {
    this.at = Math.max(0, Math.min(this.steps.length - 1, at));
    this.cursor.setAttribute("visibility", "visible");
    this.show();
  }

  show() {
    const step = this.steps[this.at];
    this.cursor.setAttribute("x1", this.scale.x(step));
    this.cursor.setAttribute("x2", this.scale.x(step));
    this.legend.replaceChildren(...this.chart.series.map(({ name, points }, i) => {
      const entry = make("span");
      const [at, value] = nearest(points, step);
      entry.append(make("span", { class: `mark mark-${i}` }), `${name} ${written(value)} at step ${at}`);
      return entry;
    }));
  }
}

function showSamples(set) {
  const columns = [["input", "Input"], ["output", "The model’s answer"], ["expected", "Right answer"]]
    .filter(([key]) => set.samples.some((sample) => key in sample));
  element("sample-head").replaceChildren(...columns.map(([, title]) => make("th", { scope: "col" }, title)));
  element("samples").replaceChildren(...set.samples.map((sample) => {
    const row = make("tr");
    row.append(...columns.map(([key]) => make("td", {}, sample[key] ?? "")));
    return row;
  }));
}

// Whether to load the page again is remembered for this window.
function follow() {
  if (data.status !== "running") return;
  let wanted = true;
  try { wanted = sessionStorage.getItem("follow") !== "no"; } catch { /* storage is off: every load starts with yes */ }
  element("follow-label").hidden = false;
  element("follow").checked = wanted;
  element("follow").addEventListener("change", (event) => {
    try { sessionStorage.setItem("follow", event.target.checked ? "yes" : "no"); } catch { /* as above */ }
  });
  setInterval(() => { if (element("follow").checked && !document.hidden) location.reload(); }, 20000);
}

element("name").textContent = data.name;
element("status").textContent = data.status;
element("status").className = `status-${data.status}`;
element("updated").textContent = `· ${data.task} · as of ${data.updated}`;
element("summary").replaceChildren(...data.summary.map(([name, value]) => {
  const entry = make("div");
  entry.append(make("dt", {}, name), make("dd", {}, value));
  return entry;
}));
const charts = data.charts.map((chart, i) => new Chart(chart, i));
element("charts").replaceChildren(...charts.map((chart) => chart.figure));
element("controls").addEventListener("submit", (event) => event.preventDefault());
element("logarithmic").addEventListener("change", (event) => charts.forEach((chart) => chart.draw(event.target.checked)));
element("recipe").textContent = data.recipe;
if (data.samples.length > 0) {
  element("samples-section").hidden = false;
  element("sample-step").replaceChildren(...data.samples.map(({ step }, i) => new Option(step, i)));
  element("sample-step").value = data.samples.length - 1;
  element("sample-step").addEventListener("change", (event) => showSamples(data.samples[event.target.value]));
  showSamples(data.samples.at(-1));
}
follow();
