// Shows the document of the API, and sends requests that are filled in. It asks this server and no other.
"use strict";

const METHODS = ["get", "post", "delete"];
const MAX_DEPTH = 4;

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key === "onclick") made.addEventListener("click", value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function resolve(api, schema) {
  const name = schema?.$ref?.split("/").pop();
  return name ? { ...api.components.schemas[name], name } : schema;
}

// A schema as a line a field, a few levels deep.
function outline(api, schema, depth = 0) {
  const known = resolve(api, schema) ?? {};
  const indent = "  ".repeat(depth);
  if (known.properties && depth < MAX_DEPTH) {
    const required = new Set(known.required ?? []);
    const lines = Object.entries(known.properties).map(([field, of]) => {
      const text = resolve(api, of)?.description ?? of.description;
      const note = text ? `  // ${text.split("\n")[0]}` : "";
      return `${indent}  ${field}${required.has(field) ? "" : "?"}: ${outline(api, of, depth + 1)}${note}`;
    });
    return `{\n${lines.join("\n")}\n${indent}}`;
  }
  if (known.items) return `[${outline(api, known.items, depth + 1)}]`;
  const choices = known.anyOf ?? known.oneOf;
  if (choices) return choices.map((choice) => outline(api, choice, depth + 1)).join(" | ");
  if (known.enum) return known.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (known.const !== undefined) return JSON.stringify(known.const);
  return known.name ?? [known.type ?? "any"].flat().join(" | ");
}

// A body to begin with: what is required, with empty values.
function example(api, schema, depth = 0) {
  const known = resolve(api, schema) ?? {};
  const type = [known.type].flat()[0];
  if (known.default !== undefined) return known.default;
  if (known.enum) return known.enum[0];
  if (known.const !== undefined) return known.const;
  if (known.properties && depth < MAX_DEPTH) {
    const required = known.required ?? [];
    return Object.fromEntries(required.map((field) => [field, example(api, known.properties[field], depth + 1)]));
  }
  const choices = known.anyOf ?? known.oneOf;
  if (choices) return example(api, choices[0], depth + 1);
  return { string: "", integer: 0, number: 0, boolean: false, array: [], object: {} }[type] ?? null;
}

function bodySchema(operation) {
  return operation.requestBody?.content?.["application/json"]?.schema;
}

async function send(method, path, operation, fields, body, output) {
  let address = path;
  const query = new URLSearchParams();
  for (const parameter of operation.parameters ?? []) {
    const value = fields.get(parameter.name).value;
    if (parameter.in === "path") address = address.replace(`{${parameter.name}}`, encodeURIComponent(value).replaceAll("%2F", "/"));
    else if (value !== "") query.set(parameter.name, value);
  }
  const headers = {};
  const token = document.getElementById("token").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  const target = query.size ? `${address}?${query}` : address;
  output.textContent = "…";
  try {
    const response = await fetch(target, { method: method.toUpperCase(), headers, body: body?.value });
    const text = await response.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* It is no JSON. */ }
    output.textContent = `${method.toUpperCase()} ${target}\n${response.status} ${response.statusText}\n\n${shown}`;
  } catch (error) {
    output.textContent = `no answer: ${error}`;
  }
}

function details(api, method, path, operation) {
  const content = element("div");
  const fields = new Map();
  if (operation.parameters?.length) {
    const rows = operation.parameters.map((parameter) => {
      const field = element("input", { "aria-label": parameter.name });
      fields.set(parameter.name, field);
      const name = element("code", {}, parameter.name + (parameter.required ? " *" : ""));
      return element("tr", {}, element("td", {}, name), element("td", {}, field), element("td", {}, parameter.description ?? ""));
    });
    content.append(element("table", {}, ...rows));
  }
  const schema = bodySchema(operation);
  let body;
  if (schema) {
    body = element("textarea", { "aria-label": "body" });
    body.value = JSON.stringify(example(api, schema), null, 2);
    content.append(element("p", {}, "Body"), element("pre", {}, outline(api, schema)), body);
  }
  const output = element("pre", { hidden: "" });
  const button = element("button", { type: "button", onclick: () => {
    output.hidden = false;
    send(method, path, operation, fields, body, output);
  } }, "Send");
  content.append(element("p", {}, button), output);
  for (const [status, answer] of Object.entries(operation.responses)) {
    const described = answer.content?.["application/json"]?.schema;
    if (described) content.append(element("p", {}, `Answer ${status}`), element("pre", {}, outline(api, described)));
  }
  return content;
}

function show(api) {
  const tags = new Map();
  for (const [path, operations] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => operations[name])) {
      const operation = operations[method];
      const line = element("summary", {},
        element("span", { class: "method" }, method), element("code", {}, path), ` ${operation.summary} `,
        element("span", { class: "scope" }, operation["x-scope"]));
      const entry = element("details", { "data-text": `${path} ${operation.summary}`.toLowerCase() }, line);
      // What is not opened is not made.
      entry.addEventListener("toggle", () => {
        if (entry.open && entry.children.length === 1) entry.append(details(api, method, path, operation));
      });
      const tag = operation.tags[0];
      if (!tags.has(tag)) tags.set(tag, element("section", {}, element("h2", {}, tag)));
      tags.get(tag).append(entry);
    }
  }
  document.getElementById("about").textContent = api.info.description;
  document.getElementById("operations").replaceChildren(...tags.values());
}

document.getElementById("filter").addEventListener("input", (event) => {
  const wanted = event.target.value.toLowerCase();
  for (const entry of document.querySelectorAll("details")) entry.hidden = !entry.dataset.text.includes(wanted);
});

fetch("/openapi.json").then((response) => response.json()).then(show).catch((error) => {
  document.getElementById("operations").textContent = `the document cannot be read: ${error}`;
});
