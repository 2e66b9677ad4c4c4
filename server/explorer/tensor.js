// SPDX-License-Identifier: Apache-2.0
//
// The field of a tensor: a grid, JSON, a file or a drawing. All of these edit the same
// nested arrays. An editor is {node, controls, read, raw}. `read` returns the value or
// throws. `raw` returns what was typed, even if it is wrong; undefined: no other editor
// can use it.

const GRID_MOST = 1024;  // elements
// Elements that may be typed; a larger tensor is read from a file.
const TYPED_MOST = 1 << 16;
const PAD_LEAST = 4, PAD_MOST = 128;  // limits of the dims of a drawing

const startShape = (type) => (type.shape ?? [1]).map((dim) => dim ?? 2);

// Returns the two dims of the picture if the tensor may be one: the dims before them
// are 1 or open.
function pictureOf(type) {
  const shape = type.shape;
  if (!shape || shape.length < 2 || dtypeOf(type.dtype).kind === "complex") return null;
  const leading = shape.slice(0, -2);
  if (leading.some((dim) => dim !== null && dim !== 1)) return null;
  const [height, width] = shape.slice(-2);
  return { leading, height, width };
}

const isDrawable = (picture) => picture && [picture.height, picture.width]
  .every((dim) => dim !== null && dim >= PAD_LEAST && dim <= PAD_MOST);

// Can a drawing show the value? It must have the size of the picture; the number of
// images may be open.
function canDraw(value, type, picture) {
  try {
    checkShape(shapeOf(value), type.shape);
    return shapeOf(value).length === picture.leading.length + 2
      && flatten(value).every((each) => Number.isFinite(Number(each)) && typeof each !== "object");
  } catch { return false; }  // it is ragged, or has another shape
}

function canGrid(value) {
  try {
    const flat = flatten(value);
    return shapeOf(value).length <= 2 && flat.length <= GRID_MOST
      && flat.every((each) => each !== null && typeof each !== "object");
  } catch { return false; }  // it is ragged
}

// Returns the number that stands for ink in a picture with elements of this type.
const inkOf = ({ name, kind }) =>
  (name === "i8" ? "16" : ["float", "bool"].includes(kind) ? "1" : "255");

function tensorField(name, type) {
  const dtype = dtypeOf(type.dtype);
  const body = make("div", {}), about = make("p", { className: "quiet" });
  const stays = make("p", { className: "quiet", role: "status" });
  const picture = pictureOf(type);
  const count = startShape(type).reduce((all, dim) => all * dim, 1);
  const large = count > TYPED_MOST;
  let value = large ? null : nest(startShape(type), () => (dtype.kind === "complex" ? [0, 0] : 0));
  let checked = null;  // the last value that was correct
  let editor = null;  // {node, read, controls}
  let now = null;  // the way that is used now

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
  const use = (way) => {
    now = way;
    editor = way.make();
    body.replaceChildren(editor.node);
    editor.node.addEventListener("input", () => { stays.textContent = ""; check(); });
    stays.textContent = "";
    check();
  };
  const scale = make("input", { type: "text", id: makeId(), size: 6, inputMode: "decimal",
    value: inkOf(dtype) });
  const drawing = { name, type, picture, ink: () => Number(scale.value) || 1,
    whole: dtype.kind !== "float", get: () => value, set: (next) => { value = next; },
    scaleRow: make("p", { className: "row" },
      make("label", { htmlFor: scale.id }, "Value of black"), scale) };
  // Each way is {text, can(value), make(), noun}. A way that cannot show the value
  // cannot be chosen: the present way stays.
  const ways = [
    ...(!large && isDrawable(picture) ? [{ text: "Draw", noun: "A drawing",
      can: (each) => canDraw(each, type, picture), make: () => padEditor(drawing) }] : []),
    ...(dtype.kind !== "complex" && (type.shape ?? [0]).length <= 2 && count <= GRID_MOST
      ? [{ text: "Grid", noun: "A grid", can: canGrid, make: () => gridEditor(name, type, dtype, value) }] : []),
    ...(large ? [] : [{ text: "JSON", can: () => true, make: () => jsonEditor(name, value) }]),
    { text: "File", can: () => true, make: () => fileEditor(drawing) },
  ];
  const turn = (way) => {
    const kept = editor.raw();
    if (kept !== undefined) value = kept;
    if (kept !== undefined && way.can(value)) { use(way); return; }
    choose.mark(now.text);
    check();
    stays.textContent = kept === undefined ? "What is no JSON stays here: mend or empty it"
      : `${way.noun} cannot show this, so it stays ${now.text}`;
  };
  const choose = choice(`How to give ${name}`, ways.map((each) => [each.text, () => turn(each)]));
  choose.mark(ways[0].text);
  use(ways[0]);
  const node = make("fieldset", {}, make("legend", {}, caption(name, type)), choose.row, body, about, stays, fault.line);
  const write = (given) => {
    value = given?.data ? unpack(given, dtype) : given;
    const way = [now, ...ways].find((each) => each.can(value) && (each.text !== "File" || large));
    choose.mark(way.text);
    use(way);
  };
  return { node, write, mark: told, type,
    fail: (text) => { told(text); (editor.controls[0] ?? node).focus?.(); },
    read() {
      if (!check()) throw new Error(`${name}: ${fault.line.textContent}`);
      return value;
    } };
}

function jsonEditor(name, value) {
  const text = make("textarea", { spellcheck: false, "aria-label": `${name} as JSON`, value: printRows(value) });
  const read = () => {
    try { return JSON.parse(text.value); } catch (error) { throw new Error(`this is no JSON: ${error.message}`); }
  };
  const raw = () => {
    if (!text.value.trim()) return value;
    try { return read(); } catch { return undefined; }
  };
  return { node: make("div", { className: "box" }, text), controls: [text], read, raw };
}

// Prints a value as JSON, with one line for each row of a matrix.
function printRows(value) {
  const rows = Array.isArray(value) && Array.isArray(value[0]) && !Array.isArray(value[0][0]);
  return rows ? `[${value.map((row) => JSON.stringify(row)).join(",\n ")}]` : JSON.stringify(value);
}
