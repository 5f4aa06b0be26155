// Send one document to the service and display its fields. Document text is inserted as text, never as markup.
"use strict";

const COLORS = ["#0072b2", "#d55e00", "#00825f", "#aa4682", "#a06e00", "#1e78aa", "#5a5a5a"];
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
let limits = null;
let shown = null; // the displayed document, for the copy button
let latest = 0; // number of the latest request; responses to earlier ones are discarded

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

function setStatus(text, isError) {
  byId("status").textContent = text;
  byId("status").classList.toggle("error", Boolean(isError));
}

function headers() {
  return byId("key").value ? { "X-API-Key": byId("key").value } : {};
}

async function fetchJson(route, options) {
  let response;
  try {
    response = await fetch(route, options);
  } catch {
    throw new Error("The service cannot be reached, or it closed the connection.");
  }
  if (response.status === 401) byId("key-label").hidden = false;
  let body = null;
  try {
    body = await response.json();
  } catch {
    // reported below
  }
  if (response.ok && body) return body;
  throw new Error(body?.error?.message ?? "The service responded with status " + response.status + ".");
}

async function loadModels() {
  try {
    const response = await fetchJson("v1/models", { headers: headers() });
    limits = response.limits;
    byId("model").replaceChildren(...response.models.map((model) => make("option", model.name)));
    const size = Math.floor(limits.bytes / 2 ** 20);
    byId("limits").textContent = "PDF, image or OCR output; up to " + size + " MiB and " + limits.pages + " pages";
    setStatus("");
  } catch (error) {
    setStatus(error.message, true);
  }
}

async function extract(file) {
  if (limits && file.size > limits.bytes) {
    setStatus(file.name + ": the file is larger than the limit of " + limits.bytes + " bytes.", true);
    return;
  }
  const number = ++latest;
  byId("result").hidden = true;
  const form = new FormData();
  form.append("files", file);
  const query = new URLSearchParams({ images: "true", min_score: byId("min-score").value || "0" });
  if (byId("model").value) query.set("model", byId("model").value);
  setStatus("Reading " + file.name + " …");
  const start = performance.now();
  try {
    const response = await fetchJson("v1/extract?" + query, { method: "POST", body: form, headers: headers() });
    if (number !== latest) return;
    show(response.documents[0]);
    const count = response.documents[0].entities.length;
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    const fields = count + (count === 1 ? " field" : " fields");
    setStatus(fields + " extracted by model " + response.model + " in " + seconds + " s");
  } catch (error) {
    if (number === latest) setStatus(error.message, true);
  }
}

function show(result) {
  shown = result;
  const labels = [...new Set(result.entities.map((entity) => entity.label))].sort();
  const color = new Map(labels.map((label, i) => [label, COLORS[i % COLORS.length]]));
  const entities = result.entities.map((entity, i) => ({ ...entity, id: String(i), color: color.get(entity.label) }));
  byId("name").textContent = result.document;
  byId("pages").replaceChildren(
    ...result.pages.map((page) => figure(page, entities.filter((entity) => entity.page === page.page)))
  );
  const byScore = [...entities].sort((a, b) => (a.score ?? 0) - (b.score ?? 0));
  byId("rows").replaceChildren(...byScore.map(row));
  byId("none").hidden = entities.length > 0;
  byId("copy").textContent = "Copy JSON";
  byId("result").hidden = false;
}

function figure(page, entities) {
  const svg = draw("svg", {
    viewBox: [0, 0, page.width, page.height].join(" "),
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": "bounding boxes of " + entities.length + " fields",
  });
  for (const entity of entities) {
    for (const [x0, y0, x1, y1] of entity.boxes) {
      const rect = draw("rect", {
        x: x0, y: y0, width: x1 - x0, height: y1 - y0, fill: entity.color, stroke: entity.color,
        class: entity.review ? "review" : "", tabindex: -1, // keyboard focus is on the table rows
      });
      const title = draw("title", {});
      title.textContent = entity.label + ": " + entity.text;
      rect.append(title);
      link(rect, entity.id, "tr");
      svg.append(rect);
    }
  }
  const container = make("div");
  if (page.image) {
    const image = make("img");
    image.alt = "page " + page.page;
    image.src = page.image;
    container.append(image);
  } else {
    svg.classList.add("no-image");
  }
  container.append(svg);
  const node = make("figure");
  const source = page.text_source ? ", text from " + page.text_source : "";
  node.append(container, make("figcaption", "page " + page.page + source));
  return node;
}

function row(entity) {
  const line = make("tr", undefined, entity.review ? "review" : "");
  line.tabIndex = 0;
  const label = make("td", entity.label);
  const dot = make("span", undefined, "dot");
  dot.style.background = entity.color;
  label.prepend(dot);
  const text = make("td", entity.text, "t");
  const value = entity.value ? [entity.value.value, entity.value.currency].filter(Boolean).join(" ") : entity.text;
  const mark = entity.value?.ambiguous ? " ?" : ""; // such as 03/04/2019
  if (mark || value !== entity.text) text.append(make("small", value + mark));
  const number = (score) => make("td", score === null ? "" : score.toFixed(2), "n");
  line.append(label, text, number(entity.score), number(entity.ocr_score));
  link(line, entity.id, "rect");
  return line;
}

// Highlight a table row and its boxes together; on click or focus, scroll the counterpart into view.
function link(node, id, counterpart) {
  node.dataset.e = id;
  node.addEventListener("mouseenter", () => highlight(id, true));
  node.addEventListener("mouseleave", () => highlight(id, node === document.activeElement));
  node.addEventListener("focus", () => highlight(id, true, counterpart));
  node.addEventListener("blur", () => highlight(id, false));
  node.addEventListener("click", () => highlight(id, true, counterpart));
}

function highlight(id, on, scrollTo) {
  for (const node of document.querySelectorAll('[data-e="' + id + '"]')) {
    node.classList.toggle("on", on);
    if (on && scrollTo && node.tagName.toLowerCase() === scrollTo) node.scrollIntoView({ block: "nearest" });
  }
}

byId("file").addEventListener("change", () => {
  if (byId("file").files.length) extract(byId("file").files[0]);
  byId("file").value = ""; // so that choosing the same file again triggers a change event
});
for (const kind of ["dragenter", "dragover"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    byId("drop").classList.add("over");
  });
}
document.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) byId("drop").classList.remove("over");
});
document.addEventListener("drop", (event) => {
  event.preventDefault();
  byId("drop").classList.remove("over");
  if (event.dataTransfer.files.length) extract(event.dataTransfer.files[0]);
});
byId("form").addEventListener("submit", (event) => event.preventDefault());
byId("key").addEventListener("change", loadModels);
byId("copy").addEventListener("click", async () => {
  const text = JSON.stringify({ ...shown, pages: shown.pages.map(({ image, ...page }) => page) }, null, 2);
  try {
    await navigator.clipboard.writeText(text);
    byId("copy").textContent = "Copied";
  } catch {
    setStatus("The browser denied access to the clipboard.", true);
  }
});
loadModels();
