// SPDX-License-Identifier: Apache-2.0
//
// The form of a function's arguments.

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

pane("left", (view) => {
  const call = callForm(view.signature);
  const node = make("form", { noValidate: true, id: makeId(),
    "aria-label": `Call ${view.signature.name}` },
    make("h3", {}, "Arguments"), ...call.fields.map((each) => each.field.node));
  node.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) node.requestSubmit();
  });
  view.form = { ...call, node };
  return node;
});
