// SPDX-License-Identifier: Apache-2.0
//
// Fields made from types. A field is {node, read, write, fail, children}. `read`
// returns the value or throws; `write` shows a value that checkShown allows; `fail`
// shows an error of the server about this field.

// Tells the form that this field has another value.
const changed = (node) => node.dispatchEvent(new Event("input", { bubbles: true }));

// Makes a line below a field that shows its error, also to screen readers.
function faultLine(controls) {
  const id = makeId();
  const line = make("p", { className: "wrong", id, role: "alert" });
  let marked = [];
  const show = (text) => {
    line.textContent = text;
    marked.forEach((each) => each.setAttribute("aria-invalid", "false"));
    marked = controls();
    for (const control of marked) {
      control.setAttribute("aria-invalid", text !== "");
      control.setAttribute("aria-describedby", id);
    }
  };
  return { line, show };
}

// Makes a field with one control, whose value is checked at each change.
function controlField(label, control, readValue, writeValue) {
  control.id = makeId();
  const fault = faultLine(() => [control]);
  const read = () => {
    try {
      const value = readValue();
      fault.show("");
      return value;
    } catch (error) {
      fault.show(error.message);
      throw error;
    }
  };
  const check = () => { try { read(); } catch { /* shown */ } };
  control.addEventListener("input", check);
  const caption = make("label", { htmlFor: control.id }, label);
  return { node: make("div", { className: "field" }, caption, control, fault.line), read,
    write: (value) => { writeValue(value); check(); },
    fail: (text) => { fault.show(text); control.focus(); } };
}

const typeText = (type) => {
  switch (type.kind) {
    case "scalar": return type.dtype;
    case "tensor": return `tensor<${type.shape ? [...type.shape.map((dim, i) => dim ?? (type.dims?.[i] ? `[${type.dims[i]}]` : "?")), type.dtype ?? "?"].join("x") : `*x${type.dtype}`}>`;
    case "vector": return `vector<${[...type.shape, type.dtype].join("x")}>`;
    case "bytes": return type.encoding === "utf8" ? "text" : "bytes";
    default: return type.kind;
  }
};

// Explains the signs that a type has in place of dims; "": it has none.
const typeHelp = (text) => [/[<x]\?x/.test(text) ? "? is any size" : "",
  ...new Set(text.match(/(?<=[<x])\[[^\]]+\](?=x)/g)?.map((each) => `${each} is any size, the same wherever it stands`)),
].filter(Boolean).join("; ");

const typeSpan = (text) =>
  make("span", { className: "type", title: typeHelp(text) || undefined }, text);

const caption = (name, type) => make("span", {}, name, " ", typeSpan(typeText(type)));

function scalarField(name, type) {
  const dtype = dtypeOf(type.dtype);
  if (dtype.kind === "complex") return jsonField(name, type, [0, 0]);
  if (dtype.kind === "bool") {
    const box = make("input", { type: "checkbox" });
    return controlField(caption(name, type), box, () => box.checked,
      (value) => { box.checked = value; });
  }
  const input = make("input", { type: "text", value: "0", autocomplete: "off",
    inputMode: dtype.kind === "float" ? "decimal" : "numeric" });
  return controlField(caption(name, type), input, () => readElement(input.value, dtype),
    // JSON has rounded an integer that is not safe.
    (value) => { input.value = dtype.kind === "float" || typeof value === "string" || Number.isSafeInteger(value) ? value : ""; });
}

function jsonField(name, type, value, check = () => {}) {
  const text = make("textarea", { spellcheck: false, value: JSON.stringify(value) });
  return controlField(caption(name, type), text, () => {
    let read;
    try { read = JSON.parse(text.value); } catch (error) { throw new Error(`this is no JSON: ${error.message}`); }
    check(read);
    return read;
  }, (given) => { text.value = JSON.stringify(given); });
}

function bytesField(name, type) {
  const text = make("textarea", { spellcheck: false });
  return controlField(caption(name, type), text, () => text.value,
    (value) => { text.value = value; });
}

function groupField(name, type, fields, collect, extra = []) {
  const fault = faultLine(() => []);
  const node = make("fieldset", {}, make("legend", {}, caption(name, type)),
    ...fields.map((each) => each.field.node), ...extra, fault.line);
  return { node, fail: fault.show, children: fields,
    write: (value) => fields.forEach((each) => each.field.write(value[each.key])),
    read: () => { fault.show(""); return collect(readAll(fields)); } };
}

// Reads every field, so that each one shows its error. Throws the first error.
function readAll(fields) {
  let first;
  const values = fields.map(({ field }) => {
    try { return field.read(); } catch (error) { first ??= error; return undefined; }
  });
  if (first) throw first;
  return values;
}

function dictField(name, type) {
  const fields = type.fields.map((each) => ({ key: each.name, field: makeField(each.name, each.type) }));
  return groupField(name, type, fields,
    (values) => Object.fromEntries(values.map((value, i) => [fields[i].key, value])));
}

function tupleField(name, type) {
  const fields = type.items.map((each, i) => ({ key: String(i), field: makeField(`${name} ${i}`, each) }));
  return groupField(name, type, fields, (values) => values);
}

function listField(name, type) {
  const fields = [];
  const list = groupField(name, type, fields, (values) => values);
  const row = make("div", { className: "row" });
  const add = () => {
    const field = makeField(`${name} ${fields.length}`, type.items);
    fields.push({ key: String(fields.length), field });
    row.before(field.node);
  };
  const drop = () => fields.pop()?.field.node.remove();
  const then = (act) => () => { act(); changed(row); };
  row.append(button("Add an element", then(add)), button("Remove the last", then(drop)));
  list.node.insertBefore(row, list.node.lastChild);
  add();
  const write = (value) => {
    while (fields.length > value.length) drop();
    while (fields.length < value.length) add();
    list.write(value);
  };
  return { ...list, write };
}

function makeField(name, type) {
  switch (type.kind) {
    case "scalar": return scalarField(name, type);
    case "tensor":
    case "vector": return tensorField(name, type);
    case "bytes": return bytesField(name, type);
    case "dict": return dictField(name, type);
    case "tuple": return tupleField(name, type);
    case "list": return listField(name, type);
    case "null": return { node: make("p", { className: "quiet" }, `${name}: null`), read: () => null, write() {}, fail() {} };
    default: return jsonField(name, type, type.kind === "refarray" ? [] : null);
  }
}

// Throws if the value fits the type, but is written in a form that the page does not
// read.
function checkShown(name, type, value) {
  const inner = type.fields?.map((each) => [each.type, value[each.name]])
    ?? (Array.isArray(type.items) ? type.items.map((each, i) => [each, value[i]])
      : type.items && value.map((each) => [type.items, each]));
  inner?.forEach((each) => checkShown(name, ...each));
  const coded = value !== null && typeof value === "object" && !Array.isArray(value) && !value.data;
  if (type.kind === "bytes" ? typeof value !== "string" : coded && ["tensor", "vector"].includes(type.kind)) {
    throw new Error(`the page does not read how ${name} is written`);
  }
}

// Returns the field to which a JSON pointer leads, or the nearest field around that
// place.
function fieldAt(fields, steps) {
  const found = fields.find((each) => each.key === steps[0]);
  if (!found) return null;
  const inner = found.field.children && fieldAt(found.field.children, steps.slice(1));
  return inner || found.field;
}
