// SPDX-License-Identifier: Apache-2.0
//
// Repeats a call on the server (?iterate): each step gets the results of the previous
// one. Results are drawn a few times a second: numbers as a growing plot, vectors as
// one row for each step, anything else as the last step alone.

const STEPS_DRAWN_MS = 150;
const STEP_ROWS = 200;  // rows of a heat map: those of the last steps
const STEPS_MOST = 100000;

// Can values of type `from` be used as values of type `to`? The server checks more.
const mayFeed = (from, to) => from.kind === to.kind && from.dtype === to.dtype
  && ["scalar", "tensor", "vector", "dict", "tuple", "bytes"].includes(from.kind);
const isNumber = (type) => type.kind === "scalar"
  || (type.kind === "tensor" && Array.isArray(type.shape) && type.shape.every((dim) => dim === 1));
const isVector = (type) => ["tensor", "vector"].includes(type.kind) && type.shape?.length === 1;

const resultName = (signature, each, i) =>
  each.name ?? (signature.results.length > 1 ? `result ${i}` : "result");

function selectField(label, entries) {
  const select = make("select", { id: makeId() },
    ...entries.map(([text, value]) => make("option", { value }, text)));
  return { select, node: make("div", { className: "field" },
    make("label", { htmlFor: select.id }, label), select) };
}

// Makes the fields of "repeat": {nodes, read}. `read` throws if a field shows an error.
function repeatFields(view) {
  const results = resultsOf(view.signature).map((each, i) =>
    ({ type: each.type, name: resultName(view.signature, each, i) }));
  const sent = view.signature.arguments.filter((each) => ["in", "inout", "scratch"].includes(each.role));
  const input = make("input", { type: "number", min: 1, max: STEPS_MOST, value: "64" });
  const times = controlField("Steps", input, () => {
    const value = Number(input.value);
    if (Number.isInteger(value) && value >= 1 && value <= STEPS_MOST) return value;
    throw new Error(`a number from 1 to ${STEPS_MOST}`);
  }, (value) => { input.value = value; });
  const feeds = results.map((result, i) => {
    const fits = sent.map((each, k) => [each.name ?? `argument ${k}`, String(k), each.type])
      .filter((each) => mayFeed(result.type, each[2]));
    return { i, fits, field: selectField(`${result.name} becomes`, [["nothing", ""], ...fits]) };
  }).filter((each) => each.fits.length);
  const numbers = results.map((each, i) => [each.name, String(i), each.type])
    .filter((each) => isNumber(each[2]));
  const which = selectField("Until", [["all steps are made", ""], ...numbers.map((each) => [`${each[0]} is`, each[1]])]);
  const text = make("input", { type: "text", value: "0", autocomplete: "off" });
  const equals = controlField("Value", text, () => {
    if (!which.select.value) return null;
    const dtype = dtypeOf(results[Number(which.select.value)].type.dtype);
    return dtype.kind === "bool" ? text.value === "true" : readElement(text.value, dtype);
  }, (value) => { text.value = value; });
  const follow = () => { equals.node.hidden = !which.select.value; };
  which.select.onchange = follow;
  follow();
  const read = () => {
    const [count, value] = readAll([{ field: times }, { field: equals }]);
    const feed = Object.fromEntries(feeds.filter((each) => each.field.select.value)
      .map((each) => [each.i, Number(each.field.select.value)]));
    return { times: count, feed, ...(which.select.value
      ? { until: { result: Number(which.select.value), equals: value } } : {}) };
  };
  return { results, read, nodes: [times.node, ...feeds.map((each) => each.field.node),
    ...(numbers.length ? [which.node, equals.node] : [])] };
}

// Returns the parts of a result that are drawn: {name, type, at, get} for each part of
// a dict or tuple.
function partsOf(name, type, at, get) {
  const inner = type.fields?.map((each) => [each.name, each.name, each.type])
    ?? (Array.isArray(type.items) ? type.items.map((each, i) => [i, `${name} ${i}`, each]) : null);
  if (!inner?.length) return [{ name, type, at, get }];
  return inner.flatMap(([key, text, each]) =>
    partsOf(text, each, `${at}/${key}`, (value) => get(value)[key]));
}

// Gathers and draws the values of one part of the results: {add, draw}. `all` counts
// every step.
function stepsOf({ name, type, at, get }, shown) {
  const values = [];
  let all = 0;
  const { box, node } = scrollBox(`Steps of ${name}`);
  const rows = () => values.map((each) => [each].flat());
  // A row is at least as high as a line while there is room, so that every step is
  // visible.
  const map = () => {
    const first = all - values.length + 1;
    const nodes = heatMap({ rows: rows(), rowText: (i) => `step ${first + i}`,
      text: `${name}, a row for each of ${values.length} steps` });
    nodes[0].style.height = `${Math.max(48, Math.min(240, 20 * values.length))}px`;
    return [make("p", { className: "quiet" }, `A row for each step, from ${first} at the top to ${all}`), ...nodes];
  };
  const tensor = () => ({ name, type, value: values.map((each) => [each].flat(9)[0]),
    shape: [values.length], text: `${name}, ${values.length} steps` });
  const last = () => make("p", { className: "quiet" }, "last: ", make("code", {}, JSON.stringify(values.at(-1))));
  const isLine = isNumber(type) && dtypeOf(type.dtype).kind !== "complex";
  const isRows = isVector(type) && dtypeOf(type.dtype).kind !== "complex";
  const kept = isLine ? STEPS_MOST : isRows ? STEP_ROWS : 1;
  const paint = () => {
    if (isLine && values.length > 1) return [...linePlot(tensor()), last()];
    if (isRows && rows().every((row) => row.length && row.length === values[0].length)) {
      return map();
    }
    return [valueView(name, values.at(-1), type, at, shown)];
  };
  return { node: make("section", { className: "answer" }, make("p", { className: "quiet" }, caption(name, type)), node),
    add: (value) => { all++; values.push(get(value)); if (values.length > kept) values.shift(); },
    draw: () => { if (values.length) box.replaceChildren(...paint().filter(Boolean)); } };
}

async function repeatCall(view, fields, mine, show) {
  const shown = shownOf(view.signature);
  const all = fields.results.flatMap(({ name, type }, i) =>
    partsOf(name, type, `/${i}`, (results) => results[i])).map((each) => stepsOf(each, shown));
  const draw = () => all.forEach((each) => each.draw());
  let steps = 0, drawn = 0;
  show({ phase: "running", nodes: all.map((each) => each.node) });
  try {
    for await (const part of sendSteps(`${view.path}?iterate&timing=1`, mine.body, mine.stop.signal, sessionOf(view))) {
      if (part.code !== undefined) throw Object.assign(new Error(part.detail), { problem: part, status: part.status });
      if (part.done) {
        draw();
        return { phase: part.done, steps, timing: part.timing };
      }
      all.forEach((each) => each.add(part.results));
      steps = part.step;
      if (performance.now() < drawn) continue;
      draw();
      show({ phase: "step", steps });
      // While the page draws, nothing is read, so the server pauses too: the page stays
      // usable.
      await new Promise((resolve) => { setTimeout(resolve); });
      drawn = performance.now() + STEPS_DRAWN_MS;
    }
    return { phase: "cut", steps };
  } catch (error) {
    draw();
    if (error.problem) return { phase: "failed", steps, error };
    return { phase: error.name === "AbortError" ? "cancelled" : "cut", steps, message: error.message };
  }
}

const REPEAT_TEXTS = {
  running: () => "Running…",
  times: (end) => `Made ${end.steps} steps`,
  until: (end) => `Ended by its value after ${end.steps} steps`,
  cancelled: (end) => `Cancelled after ${end.steps} steps`,
  cut: (end) => `The answer ended after ${end.steps} steps: ${end.message ?? "nobody says why"}`,
  failed: (end) => (end.steps ? `Failed after ${end.steps} steps` : "Refused"),
};

pane("right", (view) => {
  const fields = repeatFields(view);
  const status = make("span", { role: "status" });
  const count = make("span", { "aria-hidden": "true" });
  const node = make("div", {});
  const start = make("button", { type: "submit" }, "Repeat");
  const cancel = button("Cancel", () => view.repeat?.stop.abort(), { hidden: true });
  const told = (end) => {
    count.textContent = end.phase === "step" ? `step ${end.steps}` : "";
    if (end.phase === "step") return;
    const running = end.phase === "running";
    if (!running && document.activeElement === cancel) start.focus();
    cancel.hidden = !running;
    const marked = end.error && !end.steps && view.form.fail(end.error.problem);
    status.textContent = marked ? "Refused: see the marked field" : REPEAT_TEXTS[end.phase](end);
    if (running) node.replaceChildren(...end.nodes);
    node.classList.remove("old");
    if (end.timing) node.append(timeView(Object.entries(end.timing), end.ms));
    if (end.error && !marked) node.append(problemView(end.error.problem, end.error.status));
  };
  const form = make("form", { noValidate: true, "aria-label": `Repeat ${view.signature.name}` },
    make("p", { className: "quiet" }, "Each step calls the function once more. A result that "
      + "“becomes” an argument takes its place in the next step; the other arguments stay."),
    make("div", {}, ...fields.nodes), make("div", { className: "row" }, start, cancel),
    make("p", { className: "quiet" }, status, " ", count));
  form.onsubmit = async (event) => {
    event.preventDefault();
    view.repeat?.stop.abort();
    node.classList.add("old");
    const mine = { stop: new AbortController(), began: performance.now() };
    try { mine.body = JSON.stringify({ ...view.form.read(), repeat: fields.read() }); } catch {
      status.textContent = "Not called: see the marked field";
      return;
    }
    view.repeat = mine;
    const end = await repeatCall(view, fields, mine, (each) => { if (view.repeat === mine) told(each); });
    if (view.repeat === mine) told({ ...end, ms: performance.now() - mine.began });
  };
  view.watch(["edited"], () => { if (view.edited) node.classList.add("old"); });
  view.watch(["left"], () => {
    view.repeat?.stop.abort();
    view.repeat = null;
    cancel.hidden = true;
    status.textContent = count.textContent = "";
    node.replaceChildren();
  });
  const pane = make("details", { className: "signature" }, make("summary", {}, "Repeat"), form, node);
  // The code in panes/snippets.js repeats the call while this pane is open.
  const tell = () => view.set({ steps: pane.open ? fields.read : null });
  pane.addEventListener("toggle", tell);
  form.addEventListener("input", () => { node.classList.add("old"); tell(); });
  return pane;
});
