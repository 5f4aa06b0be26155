// Sends one document and shows what comes back. Whatever a document says is set as text, never as markup.
"use strict";

const COLOURS = ["#0072b2", "#d55e00", "#00825f", "#aa4682", "#a06e00", "#1e78aa", "#5a5a5a"];
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
let limits = null;
let shown = null; // the answer as it came, to be copied
let asked = 0; // the newest request; an answer to an older one is not shown any more

function make(name, text, className) {
  const node = document.createElement(name);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

function draw(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function say(text, bad) {
  at("status").textContent = text;
  at("status").classList.toggle("bad", Boolean(bad));
}

function headers() {
  return at("key").value ? { "X-API-Key": at("key").value } : {};
}

async function fetched(route, options) {
  let response;
  try {
    response = await fetch(route, options);
  } catch {
    throw new Error("The service cannot be reached, or closed the connection.");
  }
  if (response.status === 401) at("key-label").hidden = false;
  let body = null;
  try {
    body = await response.json();
  } catch {
    // said below
  }
  if (response.ok && body) return body;
  throw new Error(body && body.error ? body.error.message : "The service answered " + response.status + ".");
}

async function loadModels() {
  try {
    const found = await fetched("v1/models", { headers: headers() });
    limits = found.limits;
    at("model").replaceChildren(...found.models.map((model) => make("option", model.name)));
    const size = Math.floor(limits.bytes / 2 ** 20);
    at("limits").textContent =
      "PDF, picture, or what an OCR engine wrote; up to " + size + " MiB and " + limits.pages + " pages";
    say("");
  } catch (error) {
    say(error.message, true);
  }
}

async function ask(file) {
  if (limits && file.size > limits.bytes) {
    say(file.name + ": is larger than the service takes.", true);
    return;
  }
  const number = ++asked;
  at("result").hidden = true;
  const form = new FormData();
  form.append("files", file);
  const query = new URLSearchParams({ pictures: "true", min_score: at("least").value || "0" });
  if (at("model").value) query.set("model", at("model").value);
  say("Reading " + file.name + " …");
  const began = performance.now();
  try {
    const reply = await fetched("v1/extract?" + query, { method: "POST", body: form, headers: headers() });
    if (number !== asked) return;
    show(reply.documents[0]);
    const count = reply.documents[0].entities.length;
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    say(count + (count === 1 ? " field" : " fields") + " by model " + reply.model + " in " + seconds + " s");
  } catch (error) {
    if (number === asked) say(error.message, true);
  }
}

function show(found) {
  shown = found;
  const labels = [...new Set(found.entities.map((entity) => entity.label))].sort();
  const color = new Map(labels.map((label, i) => [label, COLOURS[i % COLOURS.length]]));
  const entities = found.entities.map((entity, i) => ({ ...entity, id: String(i), color: color.get(entity.label) }));
  at("name").textContent = found.document;
  at("pages").replaceChildren(
    ...found.pages.map((page) => figure(page, entities.filter((entity) => entity.page === page.page)))
  );
  const byDoubt = [...entities].sort((a, b) => (a.score ?? 0) - (b.score ?? 0));
  at("rows").replaceChildren(...byDoubt.map(row));
  at("none").hidden = entities.length > 0;
  at("copy").textContent = "Copy JSON";
  at("result").hidden = false;
}

function figure(page, entities) {
  const svg = draw("svg", {
    viewBox: [0, 0, page.width, page.height].join(" "),
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": "frames of " + entities.length + " fields",
  });
  for (const entity of entities) {
    for (const [x0, y0, x1, y1] of entity.boxes) {
      const frame = draw("rect", {
        x: x0, y: y0, width: x1 - x0, height: y1 - y0, fill: entity.color, stroke: entity.color,
        class: entity.review ? "doubt" : "", tabindex: -1, // the keyboard goes by rows
      });
      const title = draw("title", {});
      title.textContent = entity.label + ": " + entity.text;
      frame.append(title);
      link(frame, entity.id, "tr");
      svg.append(frame);
    }
  }
  const paper = make("div");
  if (page.picture) {
    const image = make("img");
    image.alt = "page " + page.page;
    image.src = page.picture;
    paper.append(image);
  } else {
    svg.classList.add("alone");
  }
  paper.append(svg);
  const whole = make("figure");
  whole.append(paper, make("figcaption", "page " + page.page + (page.text_source ? ", read by " + page.text_source : "")));
  return whole;
}

function row(entity) {
  const line = make("tr", undefined, entity.review ? "doubt" : "");
  line.tabIndex = 0;
  const label = make("td", entity.label);
  const dot = make("span", undefined, "dot");
  dot.style.background = entity.color;
  label.prepend(dot);
  const text = make("td", entity.text, "t");
  const value = entity.value ? [entity.value.value, entity.value.currency].filter(Boolean).join(" ") : entity.text;
  const doubt = entity.value?.ambiguous ? " ?" : "";  // it could be read in two ways
  if (doubt || value !== entity.text) text.append(make("small", value + doubt));
  const number = (score) => make("td", score === null ? "" : score.toFixed(2), "n");
  line.append(label, text, number(entity.score), number(entity.ocr_score));
  link(line, entity.id, "rect");
  return line;
}

// Point at a field or at its frame: both light up, and a click or the keyboard brings the other into view.
function link(node, id, other) {
  node.dataset.e = id;
  node.addEventListener("mouseenter", () => mark(id, true));
  node.addEventListener("mouseleave", () => mark(id, node === document.activeElement));
  node.addEventListener("focus", () => mark(id, true, other));
  node.addEventListener("blur", () => mark(id, false));
  node.addEventListener("click", () => mark(id, true, other));
}

function mark(id, on, bring) {
  for (const node of document.querySelectorAll('[data-e="' + id + '"]')) {
    node.classList.toggle("on", on);
    if (on && bring && node.tagName.toLowerCase() === bring) node.scrollIntoView({ block: "nearest" });
  }
}

at("file").addEventListener("change", () => {
  if (at("file").files.length) ask(at("file").files[0]);
  at("file").value = ""; // so that the same one can be chosen again
});
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    at("drop").classList.add("over");
  });
}
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) at("drop").classList.remove("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  at("drop").classList.remove("over");
  if (event.dataTransfer.files.length) ask(event.dataTransfer.files[0]);
});
at("ask").addEventListener("submit", (event) => event.preventDefault());
at("key").addEventListener("change", loadModels);
at("copy").addEventListener("click", async () => {
  const text = JSON.stringify({ ...shown, pages: shown.pages.map(({ picture, ...page }) => page) }, null, 2);
  try {
    await navigator.clipboard.writeText(text);
    at("copy").textContent = "Copied";
  } catch {
    say("The browser does not let this page copy.", true);
  }
});
loadModels();
