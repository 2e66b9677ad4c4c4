// SPDX-License-Identifier: Apache-2.0
//
// Answers: numbers, tables, heat maps, pictures; problems; where the time went.

const SHOWN_ROWS = 200, SHOWN_COLUMNS = 64;
const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

const NO_NUMBER = [224, 118, 42];  // the colour of what is not finite

function heatOf(part) {
  if (part === null) return NO_NUMBER;
  const at = Math.max(0, Math.min(1, part)) * (HEAT.length - 1);
  const low = Math.min(HEAT.length - 2, Math.floor(at));
  return HEAT[low].map((from, i) => from + (HEAT[low + 1][i] - from) * (at - low));
}

function tableOf(rows) {
  const shown = rows.slice(0, SHOWN_ROWS);
  const columns = Math.min(SHOWN_COLUMNS, shown[0]?.length ?? 0);
  const head = make("tr", {}, make("td", {}),
    ...Array.from({ length: columns }, (_, j) => make("th", { scope: "col" }, String(j))));
  const body = shown.map((row, i) => make("tr", {}, make("th", { scope: "row" }, String(i)),
    ...row.slice(0, columns).map((each) => make("td", {}, numberText(each)))));
  const cut = rows.length > shown.length || (rows[0]?.length ?? 0) > columns;
  return make("div", {}, make("table", { className: "values" }, make("tbody", {}, head, ...body)),
    cut ? make("p", { className: "quiet" }, `The first ${shown.length} rows and ${columns} columns; JSON has all.`) : null);
}

const numberText = (value) => (typeof value === "number" && !Number.isInteger(value)
  ? String(Number(value.toPrecision(6))) : String(value));

function canvasOf(rows, label, colour) {
  const height = rows.length, width = rows[0].length;
  const canvas = make("canvas", { height, width, role: "img", "aria-label": label });
  const context = canvas.getContext("2d");
  const image = context.createImageData(width, height);
  rows.flat().forEach((each, i) => image.data.set([...colour(each), 255], 4 * i));
  context.putImageData(image, 0, 0);
  canvas.style.width = `${Math.max(Math.min(width * Math.max(1, Math.floor(448 / width)), 640), 64)}px`;
  return canvas;
}

function rangeOf(flat) {
  let low = Infinity, high = -Infinity;
  for (const each of flat) {
    const value = Number(each);
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (low > high) return [0, 1];
  return [low, high];
}

// Where a value lies in a range, 0 to 1; null: it is no finite number. Halves, because
// the range of two doubles may be no double.
function partOf(each, [low, high]) {
  const value = Number(each);
  if (!Number.isFinite(value)) return null;
  return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0;
}

// A picture of three or four channels, of which the first three are shown. Values are 0
// to 1 or, if one is above 1, 0 to 255.
function colourCanvas(value, label) {
  const [, high] = rangeOf(flatten(value));
  const scale = high > 1 ? 1 : 255;
  return canvasOf(value.map((row) => row.map((pixel) => ({ pixel }))), label,
    ({ pixel }) => pixel.slice(0, 3).map((each) => each * scale));
}

// The planes of a tensor: its last two dims, once for each index of the others.
function planes(value, shape) {
  if (shape.length <= 2) return [value];
  const all = flatten(value.map((each) => planes(each, shape.slice(1)).map((plane) => ({ plane }))));
  return all.map((each) => each.plane);
}

function tensorView(name, value, type) {
  const shape = shapeOf(value);
  const count = shape.reduce((all, dim) => all * dim, 1);
  const body = make("div", { className: "box", tabIndex: 0, role: "region", "aria-label": name });
  const all = shape.length > 2 && count ? planes(value, shape) : [value];
  let plane = all[0];
  let way = null;
  const rows = () => (shape.length === 1 ? [plane] : plane);
  const text = `${name}, ${shapeText(shape)}`;
  const ways = [];
  if (count && shape.length >= 2) {
    const colours = shape.length === 3 && shape[2] >= 3 && shape[2] <= 4;
    ways.push(["Heat map", () => {
      const range = rangeOf(rows().flat());
      const [low, high] = range.map(numberText);
      const odd = rows().flat().some((each) => !Number.isFinite(Number(each)));
      body.replaceChildren(canvasOf(rows(), `Heat map of ${text}, from ${low} to ${high}`,
        (each) => heatOf(partOf(each, range))),
      make("p", { className: "quiet" }, `from ${low} (dark) to ${high} (bright)${odd ? "; orange is not finite" : ""}`));
    }]);
    ways.push(["Picture", () => {
      const range = rangeOf(rows().flat());
      body.replaceChildren(colours ? colourCanvas(value, `Picture of ${text}`)
        : canvasOf(rows(), `Picture of ${text}`, (each) => {
          const part = partOf(each, range);
          return part === null ? NO_NUMBER : [part * 255, part * 255, part * 255];
        }));
    }]);
  }
  if (count && shape.length) ways.push(["Table", () => body.replaceChildren(tableOf(rows()))]);
  ways.push(["JSON", () => body.replaceChildren(make("pre", {}, printRows(value)))]);
  const pressed = choice(`How to show ${name}`, ways.map(([label, act]) => [label, () => { way = act; act(); }]));
  if (NPY_WRITERS[type.dtype] && count) {
    pressed.row.append(button("Save .npy", () => save(`${name}.npy`, [writeNpy(value, type.dtype)], "application/octet-stream")));
  }
  if (all.length > 1) {
    const pick = make("select", { "aria-label": `Plane of ${name}` },
      ...all.slice(0, 500).map((_, i) => make("option", { value: i }, `plane ${i}`)));
    pick.onchange = () => { plane = all[Number(pick.value)]; way(); };
    pressed.row.append(pick);
  }
  const small = shape.length < 2 || shape.some((dim) => dim <= 4);
  pressed.press(count && shape.length >= 2 && !small ? "Heat map" : count && shape.length ? "Table" : "JSON");
  return make("div", {}, pressed.row, body);
}

function valueView(name, value, type) {
  switch (type?.kind) {
    case "tensor":
    case "vector":
      if (dtypeOf(type.dtype).kind === "complex" || !Array.isArray(value)) break;
      return tensorView(name, value, type);
    case "scalar":
      return make("span", { className: "big" }, typeof value === "string" ? value : JSON.stringify(value));
    case "dict":
      return make("dl", {}, ...type.fields.flatMap((each) => [make("dt", {}, each.name),
        make("dd", {}, valueView(each.name, value[each.name], each.type))]));
    case "tuple":
      return make("dl", {}, ...type.items.flatMap((each, i) => [make("dt", {}, String(i)),
        make("dd", {}, valueView(`${name} ${i}`, value[i], each))]));
    default:
  }
  return make("pre", {}, JSON.stringify(value, null, 1));
}

// What the answer has results of: the function's, then what it wrote to arguments.
function resultsOf(signature) {
  const written = signature.arguments.filter((each) => ["out", "inout"].includes(each.role));
  return [...signature.results, ...written];
}

function answerView(signature, results) {
  return resultsOf(signature).map((each, i) => {
    const name = each.name ?? (signature.results.length > 1 ? `result ${i}` : "result");
    return make("section", { className: "answer" },
      make("p", { className: "quiet" }, caption(name, each.type)), valueView(name, results[i], each.type));
  });
}

function problemView(problem, status) {
  const lines = [make("p", {}, make("strong", {}, problem.title ?? `Status ${status}`), ` (${problem.code ?? status})`),
    make("p", {}, problem.detail ?? "")];
  if (problem.pointer) lines.push(make("p", {}, "at ", make("code", {}, problem.pointer)));
  if (problem.expected) lines.push(make("p", {}, "expected ", make("code", {}, problem.expected)));
  if (problem.got) lines.push(make("p", {}, "got ", make("code", {}, problem.got)));
  return make("div", { className: "problem" }, ...lines);
}
