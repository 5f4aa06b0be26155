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
  if (result.type) byId("name").append(make("small", " type " + result.type + ", confidence " + result.type_score.toFixed(2)));
  byId("pages").replaceChildren(
    ...result.pages.map((page) => figure(page, entities.filter((entity) => entity.page === page.page)))
  );
  // A field may consist of several entities, such as the lines of a description.
  const idsOf = (field) => entities.filter((entity) => entity.words.every((word) => field.words.includes(word))).map((e) => e.id);
  byId("rows").replaceChildren(...headerFields(result.fields).map(([name, field]) => row(name, field, result, idsOf(field), color)));
  byId("items").replaceChildren(
    ...Object.entries(result.fields).filter(([, item]) => isItemList(item)).map(([name, items]) => itemTable(name, items, idsOf))
  );
  const checks = result.checks.filter((check) => check.status !== "not_applicable");
  byId("checks").replaceChildren(...checks.map((check) => make("li", describe(check), check.status)));
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
      link(rect, [entity.id], "tr");
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

const isField = (item) => item !== null && typeof item === "object" && "value" in item && "boxes" in item;
const isGroup = (item) => item !== null && typeof item === "object" && !Array.isArray(item) && !isField(item);
const readable = (name) => name.replaceAll("_", " ");

const withCents = (number) => number.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

// An amount that is printed with cents is shown with cents.
function format(field) {
  if (typeof field.value !== "number") return field.value ?? "";
  return /[.,]\d\d\s*$/.test(field.text) ? withCents(field.value) : field.value.toLocaleString("en-US");
}

// A list whose elements have several fields is shown as a table of its own.
function isItemList(item) {
  const fields = (group) => Object.values(group).filter((part) => isField(part) || Array.isArray(part));
  return Array.isArray(item) && item.some((element) => isGroup(element) && fields(element).length > 1);
}

function headerFields(fields, prefix = "") {
  return Object.entries(fields).flatMap(([name, item]) => {
    const path = prefix + readable(name);
    if (isField(item)) return [[path, item]];
    if (isGroup(item)) return headerFields(item, path + ": ");
    if (!Array.isArray(item) || isItemList(item)) return [];
    return item.flatMap((element) => {
      if (isField(element)) return [[path, element]];
      const constants = Object.values(element).filter((part) => typeof part === "string");
      return Object.values(element).filter(isField).map((field) => [[path, ...constants].join(" "), field]);
    });
  });
}

function row(name, field, result, ids, color) {
  const line = make("tr", undefined, field.review ? "review" : "");
  line.tabIndex = 0;
  const label = make("td", name);
  const dot = make("span", undefined, "dot");
  dot.style.background = color.get(result.entities[ids[0]]?.label) ?? COLORS[0];
  label.prepend(dot);
  const currency = typeof field.value === "number" && result.currency ? " " + result.currency : "";
  const value = make("td", field.value === null ? "not readable" : format(field) + currency, "t");
  const printed = [field.key_text, field.text].filter(Boolean).join(" ");
  if (printed !== String(field.value)) value.append(make("small", printed));
  if (field.reference) value.append(make("small", "matches " + Object.values(field.reference.entry).join(", ")));
  const number = (score) => make("td", score === null ? "" : score.toFixed(2), "n");
  line.append(label, value, number(field.score), number(field.ocr_score));
  link(line, ids, "rect");
  return line;
}

function itemTable(name, items, idsOf) {
  const nested = (item) => Object.values(item).filter(Array.isArray).flat().filter(isGroup);
  const rows = items.flatMap((item) => [[item, false], ...nested(item).map((part) => [part, true])]);
  const columns = [...new Set(rows.flatMap(([item]) => Object.keys(item).filter((key) => isField(item[key]))))];
  const table = make("table");
  const head = make("tr");
  head.append(...columns.map((column) => make("th", readable(column))));
  const body = make("tbody");
  for (const [item, isPart] of rows) {
    const fields = Object.values(item).filter(isField);
    const line = make("tr", undefined, fields.some((field) => field.review) ? "review" : "");
    line.tabIndex = 0;
    line.append(...columns.map((column, i) => make("td", item[column] ? format(item[column]) : "", i ? "n" : isPart ? "t part" : "t")));
    link(line, fields.flatMap(idsOf), "rect");
    body.append(line);
  }
  const header = make("thead");
  header.append(head);
  table.append(make("caption", readable(name)), header, body);
  return table;
}

function describe(check) {
  const name = readable(check.name) + (check.element === null ? "" : " " + (check.element + 1));
  return check.status === "passed" ? name + " passed" : name + " failed: " + withCents(check.left) + " is not " + withCents(check.right);
}

// Highlight a table row and its boxes together; on click or focus, scroll the counterpart into view.
function link(node, ids, counterpart) {
  node.dataset.e = ids.join(" ");
  node.addEventListener("mouseenter", () => highlight(ids, true));
  node.addEventListener("mouseleave", () => highlight(ids, node === document.activeElement));
  node.addEventListener("focus", () => highlight(ids, true, counterpart));
  node.addEventListener("blur", () => highlight(ids, false));
  node.addEventListener("click", () => highlight(ids, true, counterpart));
}

function highlight(ids, on, scrollTo) {
  for (const node of ids.flatMap((id) => [...document.querySelectorAll('[data-e~="' + id + '"]')])) {
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
