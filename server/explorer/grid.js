// SPDX-License-Identifier: Apache-2.0
//
// A tensor as a grid of fields, one for each element. Arrow keys move from field to
// field, and cells of a spreadsheet can be pasted.

const DIM_MOST = 64;
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Splits text that was copied from a spreadsheet, or a text of numbers, into rows of
// words.
const pastedRows = (text) => text.trim().split(/\r?\n/).map((line) =>
  (line.includes("\t") ? line.split("\t") : line.trim().split(/[,;]\s*|\s+/)));

// Does the arrow key leave the cell? Otherwise it moves the cursor within its text.
function leaves(cell, step) {
  const { selectionStart: from, selectionEnd: to, value } = cell;
  if (!step[1] || (from === 0 && to === value.length)) return true;
  return from === to && from === (step[1] < 0 ? 0 : value.length);
}

function gridEditor(name, type, dtype, start) {
  const rank = shapeOf(start).length;
  const isOpen = (i) => !type.shape || type.shape[i] === null;
  const { box, node: boxNode } = scrollBox(`Elements of ${name}`);
  const editor = { node: make("div", {}), controls: [], read: null, raw: null };
  let cells = [], misfit = "";
  const dims = shapeOf(start).map((dim, i) => make("input", { type: "number", min: 0,
    max: DIM_MOST, value: dim, disabled: !isOpen(i), "aria-label": `Dim ${i} of ${name}` }));
  const build = (value) => {
    const rows = rank === 0 ? [[value]] : rank === 1 ? [value] : value;
    cells = rows.map((row, i) => row.map((each, j) =>
      make("input", { type: "text", value: String(each), autocomplete: "off",
        "aria-label": `${name} ${rank === 2 ? `${i}, ${j}` : j}` })));
    const table = make("table", { className: "grid", role: "presentation" },
      make("tbody", {}, ...cells.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell))))));
    box.replaceChildren(table);
    editor.controls = wholeControls();
  };
  // An error of the whole tensor is marked at its dims, if these can be changed.
  const wholeControls = () => {
    const open = dims.filter((each) => !each.disabled);
    return open.length ? open : cells.flat();
  };
  const valueOf = (rows) => (rank === 0 ? rows[0][0] : rank === 1 ? rows[0] : rows);
  editor.read = () => {
    if (misfit) throw new Error(misfit);
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
    editor.controls = first ? [first.cell] : wholeControls();
    if (first) throw new Error(`${first.cell.getAttribute("aria-label")}: ${first.error.message}`);
    return valueOf(values);
  };
  // A word that is not an element is returned as a text.
  editor.raw = () => valueOf(cells.map((row) => row.map((cell) => {
    try { return readElement(cell.value, dtype); } catch { /* as it is */ }
    const number = Number(cell.value);
    return cell.value.trim() && Number.isFinite(number) ? number : cell.value;
  })));
  const resize = () => {
    const shape = dims.map((dim) =>
      Math.min(DIM_MOST, Math.max(0, Math.trunc(Number(dim.value)) || 0)));
    const rows = cells.map((row) => row.map((cell) => cell.value));
    build(nest(shape, (index) =>
      (rank === 1 ? rows[0]?.[index[0]] : rows[index[0]]?.[index[1]]) ?? "0"));
  };
  const placeOf = (cell) => {
    const i = cells.findIndex((row) => row.includes(cell));
    return i < 0 ? null : [i, cells[i].indexOf(cell)];
  };
  box.addEventListener("keydown", (event) => {
    const step = ARROWS[event.key], at = placeOf(event.target);
    if (!step || !at || event.shiftKey || event.ctrlKey || !leaves(event.target, step)) return;
    const next = cells[at[0] + step[0]]?.[at[1] + step[1]];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.select();
  });
  // Fills the cells from this one on. Open dims grow if needed. If the words do not
  // fit, nothing is changed.
  const fill = (at, pasted) => {
    const rows = rank === 1 && pasted.every((row) => row.length === 1) ? [pasted.flat()] : pasted;
    const ends = [at[0] + rows.length, at[1] + rows.reduce((most, row) => Math.max(most, row.length), 0)];
    const has = [cells.length, cells[0].length];
    const wants = rank === 2 ? [0, 1] : [1];
    const fits = ends.every((end, k) => end <= has[k]
      || (wants.includes(k) && isOpen(wants.indexOf(k)) && end <= DIM_MOST))
      && Math.max(ends[0], has[0]) * Math.max(ends[1], has[1]) <= GRID_MOST;
    misfit = fits ? "" : `what was pasted ends at ${ends.join("x")}, the grid at ${has.join("x")}`;
    if (misfit) return;
    wants.forEach((k, i) => { if (rank) dims[i].value = Math.max(ends[k], has[k]); });
    if (rank && ends.some((end, k) => end > has[k])) resize();
    rows.forEach((row, i) => row.forEach((word, j) => { cells[at[0] + i][at[1] + j].value = word.trim(); }));
    cells[at[0]][at[1]].focus();
  };
  box.addEventListener("paste", (event) => {
    const at = placeOf(event.target);
    const pasted = pastedRows(event.clipboardData.getData("text"));
    if (!at || (pasted.length === 1 && pasted[0].length === 1)) return;
    event.preventDefault();
    fill(at, pasted);
    changed(box);
  });
  box.addEventListener("input", (event) => { if (event.target !== box) misfit = ""; });
  dims.forEach((dim) => dim.addEventListener("input", () => { misfit = ""; resize(); }));
  build(start);
  if (dims.some((dim) => !dim.disabled)) {
    editor.node.append(make("p", { className: "row dims" }, "Shape", ...dims));
  }
  editor.node.append(boxNode);
  return editor;
}
