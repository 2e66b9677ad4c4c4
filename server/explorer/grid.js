// SPDX-License-Identifier: Apache-2.0
//
// A tensor as a grid of fields, an element each.

function gridEditor(name, type, dtype, start) {
  const rank = shapeOf(start).length;
  const box = make("div", { className: "box", tabIndex: 0, role: "region", "aria-label": `Elements of ${name}` });
  const node = make("div", {});
  const editor = { node, controls: [], read: null };
  let cells = [];
  const dims = shapeOf(start).map((dim, i) => {
    const open = !type.shape || type.shape[i] === null;
    return make("input", { type: "number", min: 0, max: 64, value: dim, disabled: !open,
      "aria-label": `Dim ${i} of ${name}` });
  });
  const build = (value) => {
    const rows = rank === 0 ? [[value]] : rank === 1 ? [value] : value;
    cells = rows.map((row, i) => row.map((each, j) =>
      make("input", { type: "text", value: String(each), autocomplete: "off",
        "aria-label": `${name} ${rank === 2 ? `${i}, ${j}` : j}` })));
    const table = make("table", { className: "grid", role: "presentation" },
      make("tbody", {}, ...cells.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))));
    box.replaceChildren(table);
    editor.controls = cells.flat();
  };
  editor.read = () => {
    let first = null;
    const values = cells.map((row) => row.map((cell) => {
      try {
        const value = readElement(cell.value, dtype);
        cell.setAttribute("aria-invalid", "false");
        return value;
      } catch (error) {
        first ??= { cell, error };
        return 0;
      }
    }));
    editor.controls = first ? [first.cell] : cells.flat();
    if (first) throw new Error(`${first.cell.getAttribute("aria-label")}: ${first.error.message}`);
    return rank === 0 ? values[0][0] : rank === 1 ? values[0] : values;
  };
  const resize = () => {
    const shape = dims.map((dim) => Math.min(64, Math.max(0, Math.trunc(Number(dim.value)) || 0)));
    const rows = cells.map((row) => row.map((cell) => cell.value));
    build(nest(shape, (index) => (rank === 1 ? rows[0]?.[index[0]] : rows[index[0]]?.[index[1]]) ?? "0"));
  };
  dims.forEach((dim) => dim.addEventListener("input", resize));
  build(start);
  if (dims.some((dim) => !dim.disabled)) {
    node.append(make("p", { className: "row dims" }, "Shape", ...dims));
  }
  node.append(box);
  return editor;
}
