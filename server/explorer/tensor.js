// SPDX-License-Identifier: Apache-2.0
//
// The field of a tensor: a grid, JSON, a file, or a drawing. All edit the same nested
// arrays.

const GRID_MOST = 1024;  // elements
const TYPED_MOST = 1 << 16;  // of what may be typed; more is read from a file
const PAD_LEAST = 4, PAD_MOST = 128;  // dims of what may be drawn

const startShape = (type) => (type.shape ?? [1]).map((dim) => dim ?? 2);

// The two dims of a picture, if the tensor may be one: leading dims are 1, or left open.
function pictureOf(type) {
  const shape = type.shape;
  if (!shape || shape.length < 2 || dtypeOf(type.dtype).kind === "complex") return null;
  const leading = shape.slice(0, -2);
  if (leading.some((dim) => dim !== null && dim !== 1)) return null;
  const [height, width] = shape.slice(-2);
  return { leading: leading.map(() => 1), height, width };
}

const isDrawable = (picture) => picture && [picture.height, picture.width]
  .every((dim) => dim !== null && dim >= PAD_LEAST && dim <= PAD_MOST);

function tensorField(name, type) {
  const dtype = dtypeOf(type.dtype);
  const whole = dtype.kind !== "float";
  const id = makeId();
  const body = make("div", {}), about = make("p", { className: "quiet", id });
  const picture = pictureOf(type);
  const count = startShape(type).reduce((all, dim) => all * dim, 1);
  const large = count > TYPED_MOST;
  let value = large ? null : nest(startShape(type), () => (dtype.kind === "complex" ? [0, 0] : 0));
  let checked = null;  // the value that was found right
  let editor = null;  // {node, read, controls}

  const fault = faultLine(() => editor?.controls ?? []);
  const told = (text) => { fault.show(text); about.hidden = text !== ""; };
  const check = () => {
    try {
      if (editor) value = editor.read();
      if (value === null) throw new Error(`choose a file of ${count} elements`);
      if (value !== checked) checkTensor(value, type);
      checked = value;
      const shape = dtype.kind === "complex" ? [] : shapeOf(value);
      if (shape.length) about.textContent = `${shapeText(shape)}, ${shape.reduce((all, dim) => all * dim, 1)} elements`;
      told("");
      return true;
    } catch (error) {
      told(error.message);
      return false;
    }
  };
  const use = (made) => {
    editor = made;
    body.replaceChildren(made.node);
    made.node.addEventListener("input", check);
    check();
  };
  const set = (next) => { value = next; };
  const scale = make("input", { type: "text", id: makeId(), size: 6, inputMode: "decimal",
    value: type.dtype === "i8" ? "16" : whole ? "255" : "1" });
  const ink = () => Number(scale.value) || 1;
  const scaleRow = make("p", { className: "row" },
    make("label", { htmlFor: scale.id }, "Black is"), scale);

  const fits = !large;
  const canGrid = () => {
    try {
      return shapeOf(value).length <= 2 && flatten(value).length <= GRID_MOST;
    } catch { return false; }  // it is ragged
  };
  const useGrid = () => {
    if (canGrid()) { use(gridEditor(name, type, dtype, value)); return; }
    way.press("JSON");
    about.textContent = "A grid cannot show this, so it stays JSON";
    about.hidden = false;
  };
  const entries = [];
  if (fits && isDrawable(picture)) {
    entries.push(["Draw", () => use(padEditor(name, picture, () => value, set, ink, whole, scaleRow))]);
  }
  if (dtype.kind !== "complex" && (type.shape ?? [0]).length <= 2 && count <= GRID_MOST) {
    entries.push(["Grid", useGrid]);
  }
  if (fits) entries.push(["JSON", () => use(jsonEditor(name, value))]);
  entries.push(["File", () => use(fileEditor(name, type, picture, () => value, set, ink, whole, scaleRow, check))]);
  const way = choice(`How to give ${name}`, entries);
  const node = make("fieldset", {}, make("legend", {}, caption(name, type)), way.row, body, about, fault.line);
  way.press(entries[0][0]);
  const write = (given) => {
    set(given?.data ? unpack(given, dtype) : given);
    way.press(entries[0][0]);
  };
  return { node, write, fail: (text) => { told(text); (editor.controls[0] ?? node).focus?.(); },
    read() {
      if (!check()) throw new Error(`${name}: ${fault.line.textContent}`);
      return value;
    } };
}

function jsonEditor(name, value) {
  const text = make("textarea", { spellcheck: false, "aria-label": `${name} as JSON`, value: printRows(value) });
  return { node: make("div", { className: "box" }, text), controls: [text], read() {
    try { return JSON.parse(text.value); } catch (error) { throw new Error(`this is no JSON: ${error.message}`); }
  } };
}

// The JSON of a value; of a matrix, with a line for each row.
function printRows(value) {
  const rows = Array.isArray(value) && Array.isArray(value[0]) && !Array.isArray(value[0][0]);
  return rows ? `[${value.map((row) => JSON.stringify(row)).join(",\n ")}]` : JSON.stringify(value);
}
