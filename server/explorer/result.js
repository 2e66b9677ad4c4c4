// SPDX-License-Identifier: Apache-2.0
//
// Shows the values of answers as numbers, plots, scores, tables, heat maps or pictures.
// Also shows problems.

const PAGE_ROWS = 50, SHOWN_COLUMNS = 64;
const IMAGES_MOST = 64, SCORES_SHOWN = 10;
// Points of a line; of a longer one the lowest and highest of each part.
const PLOT_POINTS = 1000;
const PLOT_LEAST = 8;
const CLASSES_MOST = 64;
// When a row is wrapped, and after how many elements.
const WRAPPED_LEAST = 16, WRAPPED = 10;
const HEAT = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

const NO_NUMBER = [224, 118, 42];  // the colour of values that are not finite

function heatOf(part) {
  if (part === null) return NO_NUMBER;
  const at = Math.max(0, Math.min(1, part)) * (HEAT.length - 1);
  const low = Math.min(HEAT.length - 2, Math.floor(at));
  return HEAT[low].map((from, i) => from + (HEAT[low + 1][i] - from) * (at - low));
}

const greyOf = (part) => (part === null ? NO_NUMBER : [part * 255, part * 255, part * 255]);

const SMALL = 1e-4;  // smaller numbers are written with an exponent

// Returns four digits. Nodes that show them have all digits as a title.
function numberText(value) {
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  const short = Number(value.toPrecision(4));
  return Math.abs(short) < SMALL ? short.toExponential() : String(short);
}

const numberNode = (tag, value, facts = {}) =>
  make(tag, { title: String(value), ...facts }, numberText(value));

// Makes a table that shows one page of rows at a time. Before each row is the index of
// its first element, if one long row was wrapped after `step` elements. `heads` are the
// labels of columns, `labels` those of the numbers in cells.
function tableOf(rows, { step = 1, heads, labels } = {}) {
  const columns = Math.min(SHOWN_COLUMNS, rows[0]?.length ?? 0);
  const head = make("tr", {}, make("td", {}),
    ...Array.from({ length: columns }, (_, j) => make("th", { scope: "col" }, heads?.[j] ?? String(j))));
  const body = make("tbody", {});
  const where = make("span", { role: "status", className: "quiet" });
  let first = 0;
  const show = (from) => {
    first = from;
    const end = Math.min(rows.length, first + PAGE_ROWS);
    body.replaceChildren(head, ...rows.slice(first, end).map((row, i) =>
      make("tr", {}, make("th", { scope: "row" }, String((first + i) * step)),
        ...row.slice(0, columns).map((each) => (labels?.[each] === undefined ? numberNode("td", each)
          : make("td", { title: `class ${each}` }, labels[each]))))));
    before.disabled = first === 0;
    after.disabled = end === rows.length;
    where.textContent = `rows ${first} to ${end - 1} of ${rows.length}`;
  };
  const before = button("Previous", () => show(Math.max(0, first - PAGE_ROWS)));
  const after = button("Next", () => show(first + PAGE_ROWS));
  show(0);
  const cut = (rows[0]?.length ?? 0) > columns;
  return make("div", {},
    rows.length > PAGE_ROWS ? make("div", { className: "row" }, before, after, where) : null,
    make("table", { className: "values" }, body),
    cut ? make("p", { className: "quiet" }, `The first ${columns} columns; JSON has all.`) : null);
}

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

// Returns the place of a value in a range, from 0 to 1; null: it is not a finite
// number. Computes with halves, because the range of two doubles may exceed all
// doubles.
function partOf(each, [low, high]) {
  const value = Number(each);
  if (!Number.isFinite(value)) return null;
  return high > low ? (value / 2 - low / 2) / (high / 2 - low / 2) : 0;
}

// Returns the place of the pointer in a node, in [0, 1) for each direction.
function pointerIn(event, node) {
  const area = node.getBoundingClientRect();
  const part = (at, from, size) => Math.max(0, Math.min(.999999, (at - from) / size));
  return [part(event.clientY, area.top, area.height), part(event.clientX, area.left, area.width)];
}

// Shows a line below a node about the place under the pointer. `textAt` returns its
// text.
function readout(node, textAt, rest) {
  const line = make("p", { className: "quiet readout" }, rest);
  node.onpointermove = (event) => { line.textContent = textAt(pointerIn(event, node)); };
  node.onpointerleave = () => { line.textContent = rest; };
  return line;
}

// ---------------------------------------------------------------------------
// Ways to show a tensor. Each is {text, fits(tensor), show(tensor), first(tensor)}. The
// way that is shown at first is the first one for which both `fits` and `first` are
// true.

function heatMap({ rows, text, rowText = String }) {
  const range = rangeOf(rows.flat());
  const [low, high] = range.map(numberText);
  const odd = rows.flat().some((each) => !Number.isFinite(Number(each)));
  const canvas = canvasOf(rows, `Heat map of ${text}, from ${low} to ${high}`,
    (each) => heatOf(partOf(each, range)));
  const strip = canvasOf([Array.from({ length: 128 }, (_, i) => i / 127)], "", heatOf);
  strip.setAttribute("aria-hidden", "true");
  strip.className = "strip";
  const at = ([y, x]) => {
    const i = Math.floor(y * rows.length), j = Math.floor(x * rows[0].length);
    return `${rowText(i)}, ${j}: ${rows[i][j]}`;
  };
  return [canvas, make("p", { className: "scale" }, numberNode("span", range[0]), strip,
    numberNode("span", range[1]), odd ? " orange is not finite" : null),
  readout(canvas, at, "The pointer shows a value.")];
}

// Draws an image of three or four channels; the first three are shown. Values are from
// 0 to 1 or, if one is above 1, from 0 to 255.
function colourCanvas(image, label) {
  const scale = rangeOf(flatten(image))[1] > 1 ? 1 : 255;
  return canvasOf(image.map((row) => row.map((pixel) => ({ pixel }))), label,
    ({ pixel }) => pixel.slice(0, 3).map((each) => each * scale));
}

function greyCanvas(plane, label, range = rangeOf(plane.flat())) {
  return canvasOf(plane, label, (each) => greyOf(partOf(each, range)));
}

const isColour = (shape) => shape.length === 3 && shape[2] >= 3 && shape[2] <= 4;

const picture = ({ value, shape, rows, text }) => [isColour(shape)
  ? colourCanvas(value, `Picture of ${text}`) : greyCanvas(rows, `Picture of ${text}`)];

// Returns the images of [N, H, W], [N, H, W, channels] or [N, channels, H, W]; null: it
// has none.
function imagesOf({ value, shape }) {
  const [, a, b, c] = shape;
  if (shape.length === 3 && !isColour(shape) && a > 4 && b > 4) {
    return value.map((plane) => (label) => greyCanvas(plane, label));
  }
  if (shape.length !== 4) return null;
  if (c === 1) return value.map((image) => (label) => greyCanvas(image.map((row) => row.flat()), label));
  if (c === 3 || c === 4) return value.map((image) => (label) => colourCanvas(image, label));
  if (a === 1) return value.map((image) => (label) => greyCanvas(image[0], label));
  if (a !== 3) return null;
  return value.map(([red, green, blue]) => (label) => colourCanvas(red.map((row, i) =>
    row.map((each, j) => [each, green[i][j], blue[i][j]])), label));
}

function imageGrid(tensor) {
  const images = imagesOf(tensor);
  const shown = images.slice(0, IMAGES_MOST);
  return [make("div", { className: "images" }, ...shown.map((paint, i) =>
    make("figure", {}, paint(`Image ${i} of ${tensor.text}`), make("figcaption", {}, String(i))))),
  shown.length < images.length
    ? make("p", { className: "quiet" }, `The first ${shown.length} of ${images.length}.`) : null];
}

// Returns the numbers of a tensor with only one row; null: it has more rows.
const lineOf = ({ value, shape }) =>
  (shape.slice(0, -1).every((dim) => dim === 1) ? flatten(value).map(Number) : null);

// Returns the indices of the points that a line connects.
function pointsOf(numbers) {
  const step = Math.ceil(numbers.length / (PLOT_POINTS / 2));
  if (numbers.length <= PLOT_POINTS) return numbers.map((_, i) => i);
  const points = [];
  for (let from = 0; from < numbers.length; from += step) {
    let low = from, high = from;
    for (let i = from; i < Math.min(numbers.length, from + step); i++) {
      if (!Number.isFinite(numbers[i])) continue;
      const isFirst = !Number.isFinite(numbers[low]);
      if (isFirst || numbers[i] < numbers[low]) low = i;
      if (isFirst || numbers[i] > numbers[high]) high = i;
    }
    points.push(Math.min(low, high), Math.max(low, high));
  }
  return points;
}

function linePlot(tensor) {
  const numbers = lineOf(tensor);
  const exact = flatten(tensor.value);  // wide integers are texts here
  const range = rangeOf(numbers);
  const [low, high] = range.map(numberText);
  let broken = true;
  const path = pointsOf(numbers).map((i) => {
    const part = partOf(numbers[i], range);
    const mark = part === null ? "" : `${broken ? "M" : "L"}${i} ${(1 - part) * 100}`;
    broken = part === null;
    return mark;
  }).join("");
  const svg = (tag, facts, ...children) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, each] of Object.entries(facts)) node.setAttribute(name, each);
    node.append(...children);
    return node;
  };
  const plot = svg("svg", { class: "plot", viewBox: `0 -2 ${Math.max(1, numbers.length - 1)} 104`,
    preserveAspectRatio: "none", role: "img",
    "aria-label": `Line of ${tensor.text}, from ${low} to ${high}` }, svg("path", { d: path }));
  const at = ([, x]) => {
    const i = Math.round(x * (numbers.length - 1));
    return `${i}: ${exact[i]}`;
  };
  return [make("p", { className: "scale" }, numberNode("span", range[1])), plot,
    make("p", { className: "scale" }, numberNode("span", range[0])),
    readout(plot, at, `0 to ${numbers.length - 1}; the pointer shows a value.`)];
}

// Returns the rows if they look like scores of classes: no number is negative, and the
// sum of each row is about 1.
function scoresOf({ rows, shape, type, shown }) {
  if (dtypeOf(type.dtype).kind !== "float" || shape.at(-1) < 2 || shape.length > 2) return null;
  if (shown?.audio) return null;
  const good = rows.every((row) => row.every((each) => Number(each) >= 0)
    && Math.abs(row.reduce((sum, each) => sum + Number(each), 0) - 1) < .01);
  return good ? rows : null;
}

function scoreBars(tensor) {
  const bars = (row) => row.map((each, i) => [Number(each), i]).sort((a, b) => b[0] - a[0])
    .slice(0, SCORES_SHOWN).map(([score, i]) => {
      const bar = make("i", { "aria-hidden": "true" });
      bar.style.width = `${score * 100}%`;
      return make("li", {}, make("span", {}, tensor.shown?.labels?.[i] ?? String(i)), make("span", { className: "track" }, bar),
        numberNode("span", score));
    });
  const list = make("ol", { className: "scores", "aria-label": `Highest of ${tensor.text}` },
    ...bars(tensor.rows[0]));
  if (tensor.rows.length === 1) return [list];
  const pick = make("select", { "aria-label": `Row of ${tensor.name}` },
    ...tensor.rows.slice(0, 500).map((_, i) => make("option", { value: i }, `row ${i}`)));
  pick.onchange = () => list.replaceChildren(...bars(tensor.rows[Number(pick.value)]));
  return [pick, list];
}

// Are the elements likely to be numbers of classes, which are small integers? A line
// through them would mean nothing.
const isClasses = ({ value, shape, type, shown }) => shape.length === 1 && !shown?.audio
  && ["int", "uint", "bool"].includes(dtypeOf(type.dtype).kind)
  && value.every((each) => Number(each) >= 0 && Number(each) < CLASSES_MOST);

const isSmall = ({ shape }) => shape.length < 2 || shape.some((dim) => dim <= 4);

// Is the tensor sound: one or two rows of samples?
const isSound = ({ shape, rows, shown }) =>
  shown?.audio && shape.length <= 2 && rows.length <= 2 && rows[0].length > 0;

const sound = (tensor) => [
  playButton(tensor.rows, tensor.shown.audio, dtypeOf(tensor.type.dtype)),
  ...(lineOf(tensor)?.length > 1 ? linePlot(tensor) : [])];

// Makes a table; a long row is wrapped. If there is one label for each column, the
// labels are heads of columns; otherwise they are labels of integers.
function table({ rows, shape, type, shown }) {
  const step = shape.length === 1 && shape[0] > WRAPPED_LEAST ? WRAPPED : 0;
  const all = shown?.labels;
  const isNumber = ["int", "uint"].includes(dtypeOf(type.dtype).kind);
  const perColumn = all?.length === shape.at(-1) && (shape.length > 1 || !isNumber);
  const named = { heads: perColumn && !step ? all : undefined, labels: isNumber && !perColumn ? all : undefined };
  if (!step) return [tableOf(rows, named)];
  const parts = Array.from({ length: Math.ceil(shape[0] / step) }, (_, i) =>
    rows[0].slice(i * step, (i + 1) * step));
  return [tableOf(parts, { ...named, step })];
}

const WAYS = [
  { text: "Sound", fits: isSound, first: () => true, show: sound },
  { text: "Scores", fits: scoresOf, first: () => true, show: scoreBars },
  { text: "Line", fits: (tensor) => lineOf(tensor)?.length > 1, show: linePlot,
    first: (tensor) => lineOf(tensor).length >= PLOT_LEAST && !isClasses(tensor) },
  { text: "Images", fits: imagesOf, first: ({ shape }) => shape.length === 4, show: imageGrid },
  { text: "Heat map", fits: ({ shape }) => shape.length >= 2, show: heatMap,
    first: (tensor) => !isSmall(tensor) },
  { text: "Picture", fits: ({ shape }) => shape.length >= 2, show: picture, first: () => false },
  { text: "Table", fits: ({ shape }) => shape.length > 0, first: () => true,
    show: table },
];

// Returns the planes of a tensor: its last two dims, once for each index of the other
// dims.
function planes(value, shape) {
  if (shape.length <= 2) return [value];
  const all = flatten(value.map((each) => planes(each, shape.slice(1)).map((plane) => ({ plane }))));
  return all.map((each) => each.plane);
}

function tensorView(name, value, type, shown) {
  const shape = shapeOf(value);
  const count = shape.reduce((all, dim) => all * dim, 1);
  const { box: body, node: bodyNode } = scrollBox(name);
  const all = shape.length > 2 && count ? planes(value, shape) : [value];
  const tensor = { name, value, shape, type, shown, text: `${name}, ${shapeText(shape)}`, rows: null };
  const choosePlane = (i) => { tensor.rows = shape.length === 1 ? [all[i]] : all[i]; };
  choosePlane(0);
  let show = null;
  const ways = count ? WAYS.filter((each) => each.fits(tensor)) : [];
  const entries = ways.map((each) => [each.text,
    () => body.replaceChildren(...each.show(tensor).filter(Boolean))]);
  entries.push(["JSON", () => body.replaceChildren(make("pre", {}, printRows(value)))]);
  const pressed = choice(`How to show ${name}`,
    entries.map(([text, act]) => [text, () => { show = act; act(); }]));
  if (NPY_WRITERS[type.dtype] && count) {
    pressed.row.append(button("Save .npy", () => save(`${name}.npy`, [writeNpy(value, type.dtype)], "application/octet-stream")));
  }
  if (all.length > 1) {
    const pick = make("select", { "aria-label": `Plane of ${name}` },
      ...all.slice(0, 500).map((_, i) => make("option", { value: i }, `plane ${i}`)));
    pick.onchange = () => { choosePlane(Number(pick.value)); show(); };
    pressed.row.append(pick);
  }
  pressed.press(ways.find((each) => each.first(tensor))?.text ?? "JSON");
  return make("div", {}, pressed.row, bodyNode);
}

// Shows a number, or the label of the class with this number.
function scalarView(value, shown) {
  const label = shown?.labels?.[Number(value)];
  if (label !== undefined) {
    return make("span", {}, make("span", { className: "big" }, label), ` class ${value}`);
  }
  return typeof value === "number" ? numberNode("span", value, { className: "big" })
    : make("span", { className: "big" }, typeof value === "string" ? value : JSON.stringify(value));
}

// `at` is the JSON pointer of the value in the results. `shown` comes from shownOf.
function valueView(name, value, type, at, shown) {
  const part = (key, text, inner) => [make("dt", {}, key),
    make("dd", {}, valueView(text, value[key], inner,
      `${at}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`, shown))];
  switch (type?.kind) {
    case "tensor":
    case "vector":
      if (dtypeOf(type.dtype).kind === "complex" || !Array.isArray(value)) break;
      return tensorView(name, value, type, shown.get(at));
    case "scalar":
      return scalarView(value, shown.get(at));
    case "dict":
      return make("dl", {}, ...type.fields.flatMap((each) => part(each.name, each.name, each.type)));
    case "tuple":
      return make("dl", {}, ...type.items.flatMap((each, i) => part(i, `${name} ${i}`, each)));
    default:
  }
  return make("pre", {}, JSON.stringify(value, null, 1));
}

// Returns what has results in an answer: the function's results, then the arguments
// that it writes.
function resultsOf(signature) {
  const written = signature.arguments.filter((each) => ["out", "inout"].includes(each.role));
  return [...signature.results, ...written];
}

function answerView(signature, results) {
  const shown = shownOf(signature);
  return resultsOf(signature).map((each, i) => {
    const name = each.name ?? (signature.results.length > 1 ? `result ${i}` : "result");
    return make("section", { className: "answer" },
      make("p", { className: "quiet" }, caption(name, each.type)), valueView(name, results[i], each.type, `/${i}`, shown));
  });
}

// The place in the code where a function failed is useful only to its author, so it is
// folded away.
const CODE_PLACE = / \((at 0x[0-9A-F]+(?: of [^()]*)?)\)$/;

function problemView(problem, status) {
  const detail = problem.detail ?? "", place = CODE_PLACE.exec(detail)?.[1];
  const lines = [make("p", {}, make("strong", {}, problem.title ?? `Status ${status}`), ` (${problem.code ?? status})`),
    make("p", {}, detail.replace(CODE_PLACE, ""))];
  if (problem.pointer) lines.push(make("p", {}, "at ", make("code", {}, problem.pointer)));
  if (problem.expected) lines.push(make("p", {}, "expected ", make("code", {}, problem.expected)));
  if (problem.got) lines.push(make("p", {}, "got ", make("code", {}, problem.got)));
  if (place) lines.push(make("details", {}, make("summary", {}, "Details"), make("p", {}, make("code", {}, place))));
  return make("div", { className: "problem" }, ...lines);
}
