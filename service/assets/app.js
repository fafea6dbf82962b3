"use strict";
// Polls the lanes' counters and draws them. Builds elements only, never markup from text.

const PERIOD_MS = 1000;
const HISTORY = 60;
const SVG = "http://www.w3.org/2000/svg";

const NAMES = {
  anonymous: ["Public", "ui_listener"],
  local_health: ["Local", "ui_local_listener"],
  provider_health: ["Provider health", "ui_provider_health_listener"],
};

const lanes = new Map();
const byId = (id) => document.getElementById(id);
const count = new Intl.NumberFormat("en");

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function drawing(tag, attributes) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function meter(label) {
  const value = element("span");
  const reserve = drawing("rect", { class: "reserve", height: "1", width: "0" });
  const bar = drawing("rect", { height: "1", width: "0" });
  const svg = drawing("svg", { viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(reserve, bar);
  const name = element("span", {}, label);
  const node = element("div", { class: "meter" }, name, value, svg);
  const set = (used, limit, kept) => {
    name.textContent = kept > 0 ? `${label}, ${count.format(kept)} kept for this lane alone` : label;
    value.textContent = `${count.format(used)} of ${count.format(limit)}`;
    bar.setAttribute("width", limit > 0 ? (100 * used) / limit : 0);
    reserve.setAttribute("width", limit > 0 ? (100 * kept) / limit : 0);
  };
  return { node, set };
}

function card(name) {
  const [title, grant] = NAMES[name] ?? [name, ""];
  const rate = element("span", {}, "–");
  const area = drawing("path", { class: "area" });
  const line = drawing("path", {});
  const spark = drawing("svg", {
    class: "spark", viewBox: `0 0 ${HISTORY - 1} 10`, preserveAspectRatio: "none",
    role: "img", "aria-label": `Requests per second on the ${title} lane, last minute`,
  });
  spark.append(area, line);
  const slots = meter("slots");
  const conns = meter("connections");
  const figures = element("dl", { class: "figures" });
  const node = element("article", { class: "lane", "data-lane": name },
    element("h3", {}, title, element("small", {}, element("code", {}, grant))),
    element("div", { class: "rate" }, rate, element("small", {}, "requests/s")),
    spark, slots.node, conns.node, figures);
  byId("lanes").append(node);
  const values = new Map();
  const figure = (label, value, isAlarm) => {
    if (!values.has(label)) {
      const dd = element("dd");
      figures.append(element("dt", {}, label), dd);
      values.set(label, dd);
    }
    values.get(label).textContent = count.format(value);
    values.get(label).classList.toggle("some", isAlarm && value > 0);
  };
  return { rate, area, line, slots, conns, figure, history: [], last: null };
}

function draw(lane) {
  const top = Math.max(1, ...lane.history);
  const first = HISTORY - lane.history.length;
  const points = lane.history.map((value, at) => `${first + at} ${(9.6 - (9.2 * value) / top).toFixed(2)}`);
  if (points.length < 2) return;
  lane.line.setAttribute("d", `M${points.join("L")}`);
  lane.area.setAttribute("d", `M${first} 10L${points.join("L")}L${HISTORY - 1} 10Z`);
}

function show(data, at) {
  byId("version").textContent = data.version;
  setState(data.state, data.state);
  byId("general").textContent = `${data.general.in_use} of ${data.general.limit}`;
  byId("bytes").textContent = size(data.bytes.in_flight);
  byId("bytes-high").textContent = size(data.bytes.high_water);
  byId("uptime").textContent = duration(data.uptime_ms);
  for (const now of data.lanes) {
    if (!lanes.has(now.lane)) lanes.set(now.lane, card(now.lane));
    const lane = lanes.get(now.lane);
    if (lane.last && at > lane.last.at) {
      const perSecond = (1000 * Math.max(0, now.completed - lane.last.completed)) / (at - lane.last.at);
      lane.history.push(perSecond);
      if (lane.history.length > HISTORY) lane.history.shift();
      lane.rate.textContent = perSecond >= 100 ? count.format(Math.round(perSecond)) : perSecond.toFixed(1);
      draw(lane);
    }
    lane.last = { at, completed: now.completed };
    lane.slots.set(now.serving, now.slot_limit, now.slot_reserve);
    lane.conns.set(now.conns, now.conn_limit, 0);
    const refused = Object.values(now.overloads).reduce((sum, value) => sum + value, 0);
    lane.figure("admitted", now.admitted, false);
    lane.figure("completed", now.completed, false);
    lane.figure("cancelled", now.cancelled, false);
    lane.figure("waiting", now.waiting, false);
    lane.figure("refused (429, 503)", refused, true);
    lane.figure("route denied", now.route_denied, false);
    lane.figure("connections refused", now.conns_refused, true);
  }
}

function setState(state, text) {
  byId("state").dataset.state = state;
  byId("state-text").textContent = text;
}

function size(bytes) {
  return bytes < 1024 ? `${bytes} B` : `${(bytes / 1024).toFixed(bytes < 10240 ? 1 : 0)} KiB`;
}

function duration(ms) {
  const s = Math.floor(ms / 1000);
  const two = (value) => String(value).padStart(2, "0");
  const days = Math.floor(s / 86400);
  const clock = `${two(Math.floor(s / 3600) % 24)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
  return days > 0 ? `${days} d ${clock}` : clock;
}

async function poll() {
  let delay = PERIOD_MS;
  try {
    const answer = await fetch("/api/ingress", { cache: "no-store", signal: AbortSignal.timeout(5000) });
    if (answer.ok) {
      show(await answer.json(), performance.now());
    } else {
      setState("lost", `refused (${answer.status})`);
      delay = 1000 * (Number(answer.headers.get("Retry-After")) || 2);
    }
  } catch {
    setState("lost", "no answer");
    delay = 2 * PERIOD_MS;
  }
  setTimeout(poll, document.hidden ? 5 * delay : delay);
}

poll();
