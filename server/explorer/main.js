// SPDX-License-Identifier: Apache-2.0
//
// The list of functions, and the page of one.

const LISTED_MOST = 300;
let listed = [];

const pathOf = (module, name) =>
  `/api/v1/functions/${encodeURIComponent(module)}/${encodeURIComponent(name)}`;
const hashOf = (each) => `#/${encodeURIComponent(each.module)}/${encodeURIComponent(each.name)}`;

// The token that was given in this tab; "": none was.
let token = sessionStorage.getItem("token") ?? "";
const withToken = (fields) => (token ? { ...fields, Authorization: `Bearer ${token}` } : fields);

async function getJson(path) {
  const answer = await fetch(path, { headers: withToken({ Accept: "application/json" }) });
  const read = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(read.detail ?? answer.statusText), { problem: read, status: answer.status });
  return read;
}

function askToken() {
  const field = make("input", { type: "password", autocomplete: "off", required: true });
  const form = make("form", { "aria-label": "Access" }, make("p", { className: "row" },
    make("label", {}, "Token ", field), make("button", { className: "main", type: "submit" }, "Use")),
  make("p", { className: "quiet" }, "This tab keeps it until it is closed."));
  form.onsubmit = async (event) => {
    event.preventDefault();
    token = field.value.trim();
    sessionStorage.setItem("token", token);
    await load();
  };
  byId("main").replaceChildren(make("h2", {}, "This server wants a token"), form);
}

// ---------------------------------------------------------------------------
// The list

// A module of which there are several versions is named with its version.
function withVersions(functions) {
  const versions = new Map();
  for (const { module, version } of functions) {
    versions.set(module, (versions.get(module) ?? new Set()).add(version));
  }
  return functions.map((each) => (versions.get(each.module).size > 1
    ? { ...each, module: `${each.module}@${each.version}` } : each));
}

function showList() {
  const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = listed.filter((each) => {
    const text = `${each.module} ${each.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const shown = found.slice(0, LISTED_MOST);
  const modules = new Map();
  for (const each of shown) {
    if (!modules.has(each.module)) modules.set(each.module, make("ul", {}));
    const here = hashOf(each) === location.hash;
    modules.get(each.module).append(make("li", {}, make("a", { href: hashOf(each), title: each.reason ?? each.text,
      className: each.callable ? "" : "off", "aria-current": here ? "page" : undefined }, each.name)));
  }
  byId("functions").replaceChildren(...[...modules].map(([module, list]) =>
    make("li", {}, make("span", {}, module), list)));
  byId("found").textContent = `${found.length} of ${listed.length} functions`
    + (found.length > shown.length ? `, the first ${shown.length} are shown` : "");
}

// ---------------------------------------------------------------------------
// The signature

function typeNode(name, type, role) {
  const node = make("li", {}, make("b", {}, name), name ? " " : "",
    make("span", { className: "type" }, typeText(type), role && role !== "in" ? ` (${role})` : ""));
  const inner = type.fields?.map((each) => typeNode(each.name, each.type))
    ?? (Array.isArray(type.items) ? type.items.map((each, i) => typeNode(String(i), each))
      : type.items ? [typeNode("each", type.items)] : []);
  if (inner.length) node.append(make("ul", {}, ...inner));
  return node;
}

function signatureTree(signature) {
  const part = (title, nodes) => make("li", {}, title,
    make("ul", {}, ...(nodes.length ? nodes : [make("li", { className: "quiet" }, "nothing")])));
  return make("ul", { className: "tree" },
    part("takes", signature.arguments.map((each, i) => typeNode(each.name ?? `argument ${i}`, each.type, each.role))),
    part("gives", signature.results.map((each, i) => typeNode(each.name ?? (i || signature.results.length > 1 ? `result ${i}` : "result"), each.type))));
}

// ---------------------------------------------------------------------------
// A function

// The fields of what a client sends, and the body they make.
function callForm(signature) {
  const sent = signature.arguments.filter((each) => ["in", "inout", "scratch"].includes(each.role));
  const named = sent.length > 0 && sent.every((each) => each.keyword && each.name);
  const fields = sent.map((each, i) => ({ key: named ? each.name : String(i),
    field: makeField(each.name ?? `argument ${i}`, each.type) }));
  const options = { options: { int64: "string" } };  // a number here is exact to 53 bits
  const body = () => {
    const values = readAll(fields);
    const given = named
      ? { kwargs: Object.fromEntries(values.map((value, i) => [fields[i].key, value])) }
      : { args: values };
    return JSON.stringify({ ...given, ...options });
  };
  // Shows a problem at the field its pointer leads to.
  const fail = (problem) => {
    const steps = (problem.pointer ?? "").split("/").slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const place = ["kwargs", "args"].includes(steps[0]) ? steps.slice(1) : steps;
    fieldAt(fields, place)?.fail(problem.detail);
  };
  return { fields, body, fail };
}

async function send(path, body) {
  const began = performance.now();
  const answer = await fetch(path, { method: "POST", body,
    headers: withToken({ "Content-Type": "application/json", Accept: "application/json" }) });
  const read = await answer.json();
  return { ok: answer.ok, status: answer.status, read, ms: performance.now() - began,
    stages: stagesOf(answer.headers.get("Server-Timing")) };
}

function functionView(signature, path) {
  const call = callForm(signature);
  const status = make("p", { role: "status", className: "quiet" });
  const out = make("div", { id: "answer" });
  const snippets = snippetsView(location.origin + path, call.body, () => token !== "");
  const profiled = make("input", { type: "checkbox" });
  const form = make("form", { noValidate: true, "aria-label": `Call ${signature.name}` },
    ...call.fields.map((each) => each.field.node),
    make("p", { className: "row" }, make("button", { className: "main", type: "submit" }, "Call"),
      make("label", {}, profiled, " with a profile"), status));
  let turn = 0;
  form.onsubmit = async (event) => {
    event.preventDefault();
    let body;
    try { body = call.body(); } catch (error) {
      status.textContent = `Not called: ${error.message}`;
      form.querySelector("[aria-invalid=true]")?.focus();
      return;
    }
    const mine = ++turn;
    status.textContent = "calling…";
    let answer;
    try { answer = await send(profiled.checked ? `${path}?profile=1` : path, body); } catch (error) {
      status.textContent = `The server was not reached: ${error.message}`;
      return;
    }
    if (mine !== turn) return;
    status.textContent = answer.ok ? `Answered in ${answer.ms.toFixed(1)} ms` : `Refused: ${answer.read.detail}`;
    const parts = answer.ok ? answerView(signature, answer.read.results) : [problemView(answer.read, answer.status)];
    if (answer.stages.length) parts.push(make("h3", {}, "Where the time went"), timeView(answer.stages, answer.ms));
    if (answer.read.profile) parts.push(make("h3", {}, "The profile of the call"), profileView(answer.read.profile));
    out.replaceChildren(make("h3", {}, answer.ok ? "Answer" : "Problem"), ...parts);
    if (!answer.ok) call.fail(answer.read);
  };
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("input", snippets.later);
  form.addEventListener("click", snippets.later);
  return [form, out, make("h3", {}, "This call elsewhere"), snippets.node];
}

async function showFunction() {
  const asked = location.hash;
  const main = byId("main");
  showList();
  let module, name;
  try { [module, name] = asked.slice(2).split("/").map(decodeURIComponent); } catch { /* no name */ }
  if (!name) return;
  const title = make("h2", {}, make("small", {}, `${module} / `), name);
  document.title = `${name} · farcall`;
  try {
    const signature = await getJson(pathOf(module, name));
    if (location.hash !== asked) return;  // another function was chosen meanwhile
    main.replaceChildren(title, signatureTree(signature), make("h3", {}, "Arguments"),
      ...(signature.callable ? functionView(signature, pathOf(module, name))
        : [make("p", { className: "problem" }, `It cannot be called: ${signature.reason}`)]));
  } catch (error) {
    if (location.hash !== asked) return;
    main.replaceChildren(title, error.problem ? problemView(error.problem, error.status) : make("p", {}, error.message));
  }
}

async function start() {
  byId("search").addEventListener("input", showList);
  addEventListener("hashchange", async () => { await showFunction(); byId("main").focus(); });
  addEventListener("keydown", (event) => {
    const typing = /INPUT|TEXTAREA|SELECT/.test(document.activeElement.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); byId("search").focus(); }
  });
  await load();
}

async function load() {
  try {
    const [info, functions] = await Promise.all([getJson("/api/v1"), getJson("/api/v1/functions")]);
    listed = withVersions(functions.functions);
    byId("server").textContent = `${info.name} ${info.version}, ${info.modules} modules on ${location.host}`;
    showList();
    if (!location.hash && listed.length) location.replace(hashOf(listed.find((each) => each.callable) ?? listed[0]));
    else await showFunction();
  } catch (error) {
    byId("found").textContent = `The list cannot be read: ${error.message}`;
    if (error.status === 401 || error.status === 403) askToken();
  }
}

start();
