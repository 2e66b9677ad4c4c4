// SPDX-License-Identifier: Apache-2.0
//
// The form of a function's arguments.

// Can the answer have integers of more than 53 bits, which JavaScript rounds? True if
// the type is not known.
function isWide(type) {
  if (["bytes", "null"].includes(type?.kind)) return false;
  const inner = type?.fields?.map((each) => each.type) ?? type?.items;
  if (inner) return [inner].flat().some(isWide);
  const { kind, bits } = dtypeOf(type?.dtype);
  return kind === "other" || (["int", "uint"].includes(kind) && bits > 53);
}

// Throws if dims of the same name differ; the later field shows the error.
function checkDims(fields, values) {
  const known = new Map();
  fields.forEach(({ name: whose, field: { type, mark } }, i) => type?.dims?.forEach((name, k) => {
    if (!name) return;
    const is = shapeOf(values[i])[k], was = known.get(name);
    if (!was || is === undefined) { known.set(name, { is, said: `dim ${k} of ${whose} is ${is}` }); return; }
    if (is === was.is) return;
    const fault = `dim ${k} is ${is}, ${was.said}: both are '${name}'`;
    mark(fault);
    throw new Error(fault);
  }));
}

// Makes the fields for the arguments that a client sends, and reads the call from them.
function callForm(signature) {
  const sent = signature.arguments.filter((each) => ["in", "inout", "scratch"].includes(each.role));
  const named = sent.length > 0 && sent.every((each) => each.keyword && each.name);
  const fields = sent.map((each, i) => {
    const name = each.name ?? `argument ${i}`;
    return { key: named ? each.name : String(i), name, field: makeField(name, each.type) };
  });
  const options = resultsOf(signature).some((each) => isWide(each.type))
    ? { options: { int64: "string" } } : {};
  const read = () => {
    const values = readAll(fields);
    checkDims(fields, values);
    const given = named
      ? { kwargs: Object.fromEntries(values.map((value, i) => [fields[i].key, value])) }
      : { args: values };
    return { ...given, ...options };
  };
  // Shows the arguments of a call document; throws if the page cannot show one.
  const write = ({ args = [], kwargs = {} }) => {
    const values = sent.map((each, i) => kwargs[each.name] ?? args[i]);
    values.forEach((value, i) => checkShown(sent[i].name ?? `argument ${i}`, sent[i].type, value));
    values.forEach((value, i) => fields[i].field.write(value));
  };
  // Shows a problem at the field to which its pointer leads. False: it leads to no
  // field.
  const fail = (problem) => {
    const steps = (problem.pointer ?? "").split("/").slice(1)
      .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
    const place = ["kwargs", "args"].includes(steps[0]) ? steps.slice(1) : steps;
    const field = fieldAt(fields, place);
    field?.fail(problem.detail);
    return Boolean(field);
  };
  return { fields, read, write, fail };
}

// Makes buttons that fill the form with examples of the module: {node, open}. The
// button of the example that is in the form is pressed. `open` fills in the first
// example, if there is one and nothing was typed meanwhile.
function exampleRow(view, call) {
  const names = view.signature.examples ?? [];
  const fault = faultLine(() => []);
  let asked = 0;  // grows when another example, or none, is wanted
  let isOpening = true;  // nothing was chosen or typed yet
  const press = (name) => buttons.forEach((each) =>
    each.setAttribute("aria-pressed", each.textContent === name));
  const fill = async (name) => {
    const mine = ++asked;
    fault.show("");
    const values = await getJson(`${view.path}/example?name=${encodeURIComponent(name)}`);
    if (mine !== asked) return;
    call.write(values);
    changed(view.form.node);
    press(name);
  };
  const end = () => { isOpening = false; asked++; };
  const choose = async (name) => {
    end();
    try { await fill(name); } catch (error) {
      if (!error.isAccess) fault.show(`The example cannot be shown: ${error.message}`);
    }
  };
  const buttons = names.map((each) => button(each, () => choose(each), { "aria-pressed": "false" }));
  const node = make("div", { role: "group", "aria-label": "Examples", hidden: !names.length },
    make("p", { className: "row" }, "Examples ", ...buttons), fault.line);
  return { node,
    // Choosing another way to enter a value does not change the value, but shows that a
    // person is using the form.
    edited(isWay) {
      if (!isWay || isOpening) end();
      if (!isWay) press(null);
    },
    open() { if (names.length) fill(names[0]).catch(() => { /* a person may choose it */ }); } };
}

pane("left", (view) => {
  const call = callForm(view.signature);
  const examples = exampleRow(view, call);
  const node = make("form", { noValidate: true, id: makeId(),
    "aria-label": `Call ${view.signature.name}` },
    make("h3", {}, "Arguments"), examples.node, ...call.fields.map((each) => each.field.node),
    call.fields.length ? null : make("p", { className: "quiet" }, "It takes nothing."));
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit();
  });
  node.addEventListener("input", ({ target }) => {
    const isWay = target.type === "radio";
    examples.edited(isWay);
    if (!isWay) view.set({ edited: true });
  });
  view.form = { ...call, node };
  examples.open();
  return node;
});
