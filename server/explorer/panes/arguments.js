// SPDX-License-Identifier: Apache-2.0
//
// The form of a function's arguments.

// May an answer have integers of more than 53 bits, which JavaScript rounds? Where the
// type is not known it may.
function isWide(type) {
  if (["bytes", "null"].includes(type?.kind)) return false;
  const inner = type?.fields?.map((each) => each.type) ?? type?.items;
  if (inner) return [inner].flat().some(isWide);
  const { kind, bits } = dtypeOf(type?.dtype);
  return kind === "other" || (["int", "uint"].includes(kind) && bits > 53);
}

// The fields of what a client sends, and the call they make.
function callForm(signature) {
  const sent = signature.arguments.filter((each) => ["in", "inout", "scratch"].includes(each.role));
  const named = sent.length > 0 && sent.every((each) => each.keyword && each.name);
  const fields = sent.map((each, i) => ({ key: named ? each.name : String(i),
    field: makeField(each.name ?? `argument ${i}`, each.type) }));
  const options = resultsOf(signature).some((each) => isWide(each.type))
    ? { options: { int64: "string" } } : {};
  const read = () => {
    const values = readAll(fields);
    const given = named
      ? { kwargs: Object.fromEntries(values.map((value, i) => [fields[i].key, value])) }
      : { args: values };
    return { ...given, ...options };
  };
  // Shows what a call document has; throws if the page cannot.
  const write = ({ args = [], kwargs = {} }) => {
    const values = sent.map((each, i) => kwargs[each.name] ?? args[i]);
    values.forEach((value, i) => checkShown(sent[i].name ?? `argument ${i}`, sent[i].type, value));
    values.forEach((value, i) => fields[i].field.write(value));
  };
  // Shows a problem at the field its pointer leads to. False: it leads to none.
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

// Buttons that fill the form with the module's examples; null if it has none.
function exampleRow(view, call) {
  const names = view.signature.examples ?? [];
  const fault = faultLine(() => []);
  const fill = async (name) => {
    fault.show("");
    try {
      call.write(await getJson(`${view.path}/example?name=${encodeURIComponent(name)}`));
      view.form.node.dispatchEvent(new Event("input"));
    } catch (error) {
      if (!error.isAccess) fault.show(`The example cannot be shown: ${error.message}`);
    }
  };
  return names.length ? make("div", { role: "group", "aria-label": "Examples" },
    make("p", { className: "row" }, "Examples ", ...names.map((each) => button(each, () => fill(each)))),
    fault.line) : null;
}

pane("left", (view) => {
  const call = callForm(view.signature);
  const node = make("form", { noValidate: true, id: makeId(),
    "aria-label": `Call ${view.signature.name}` },
    make("h3", {}, "Arguments"), exampleRow(view, call), ...call.fields.map((each) => each.field.node),
    call.fields.length ? null : make("p", { className: "quiet" }, "It takes nothing."));
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit();
  });
  view.form = { ...call, node };
  return node;
});
