// SPDX-License-Identifier: Apache-2.0
//
// A tensor as a drawing or a file.

// Makes nested arrays with the dims of the picture. `at` returns the grey of a cell,
// from 0 (white) to 1 (black); `ink` is the value that stands for black.
function inked(picture, height, width, ink, whole, at) {
  return nest([...picture.leading.map(() => 1), height, width], (index) => {
    const value = at(index.at(-2), index.at(-1)) * ink;
    return whole ? Math.round(value) : Math.round(value * 1e4) / 1e4;
  });
}

// Paints greys. With `clear`, paints only the ink, over whatever is behind the canvas.
function paintGrey(canvas, plane, black, clear = false) {
  canvas.height = plane.length;
  canvas.width = plane[0]?.length ?? 0;
  if (!canvas.width || !canvas.height) return;
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  plane.flat().forEach((each, i) => {
    const grey = 255 - Math.max(0, Math.min(255, Math.round(Number(each) / black * 255)));
    image.data.set(clear ? [0, 0, 0, 255 - grey] : [grey, grey, grey, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

// Makes the control that chooses one of several images ("Image 1 of 2"), hidden if
// there is only one: {node, set, at}. `show` gets the index; `extra` are buttons that
// are always shown.
function imagePager(show, ...extra) {
  const pager = { at: 0, node: null, set: null };
  let count = 1;
  const where = make("span", { role: "status" });
  const turn = (by) => { pager.set(count, (pager.at + by + count) % count); show(pager.at); };
  const several = make("span", { className: "row" }, button("Previous image", () => turn(-1)),
    where, button("Next image", () => turn(1)));
  pager.set = (most, at) => {
    count = most;
    pager.at = at;
    several.hidden = count < 2;
    where.textContent = count < 2 ? "" : `Image ${at + 1} of ${count}`;
  };
  pager.node = make("div", { className: "row" }, several, ...extra);
  pager.set(1, 0);
  return pager;
}

const KEYS_HINT = "By keys: arrows move, Space inks a cell or clears it.";

// The images of a value while they are drawn. Cells that nobody drew keep the given
// value. `greys` are the drawn cells, from 0 (white) to 1, and null for all others.
function drawnImages({ picture, ink, whole, get, set }) {
  const { height, width } = picture;
  const lead = shapeOf(get()).slice(0, -2);
  const open = picture.leading.indexOf(null);
  const entry = (values) => ({ values, greys: nest([height, width], () => null) });
  const images = planes(get(), [...lead, height, width])
    .map((plane) => entry(plane.map((row) => [...row])));
  const valueOf = (grey) => (whole ? Math.round(grey * ink()) : Math.round(grey * ink() * 1e4) / 1e4);
  const give = () => {
    if (open >= 0 && canAdd) lead[open] = images.length;
    let at = 0;
    set(nest(lead, () => images[at++].values.map((row) => [...row])));
  };
  const canAdd = open >= 0 && lead.every((dim, k) => k === open || dim === 1);
  return { images, canAdd, give,
    greyOf: (k, i, j) => images[k].greys[i][j]
      ?? Math.max(0, Math.min(1, Number(images[k].values[i][j]) / ink())),
    put(k, i, j, grey) {
      images[k].greys[i][j] = grey;
      images[k].values[i][j] = valueOf(grey);
    },
    rescale: () => images.forEach(({ values, greys }) => greys.forEach((row, i) => row.forEach((grey, j) => {
      if (grey !== null) values[i][j] = valueOf(grey);
    }))),
    add: () => images.push(entry(nest([height, width], () => 0))) };
}

function padEditor(drawing) {
  const { name, picture, get, scaleRow } = drawing;
  const { height, width } = picture;
  const large = Math.max(1, Math.floor(256 / Math.max(height, width)));
  const canvas = make("canvas", { className: "pad", tabIndex: 0, role: "img", height, width,
    "aria-label": `Drawing of ${name}, ${height} by ${width}. Draw with the pointer, or move with the arrow keys and press Space.` });
  canvas.style.width = `${width * large}px`;
  canvas.style.aspectRatio = `${width} / ${height}`;
  const hint = make("span", { className: "here", "aria-hidden": "true" }, "Draw here");
  const frame = make("i", { className: "cursor", hidden: true, "aria-hidden": "true" });
  const keys = make("p", { className: "quiet keys", role: "status" }, KEYS_HINT);
  const drawn = drawnImages(drawing);
  let last = null, cursor = [0, 0];
  const greyAt = (i, j) => drawn.greyOf(pager.at, i, j);
  const show = () => {
    const cells = nest([height, width], ([i, j]) => greyAt(i, j));
    paintGrey(canvas, cells, 1, true);
    hint.hidden = !frame.hidden || cells.some((row) => row.some(Boolean));
  };
  const commit = () => { drawn.give(); show(); changed(canvas); };
  const put = (i, j, grey) => drawn.put(pager.at, i, j, grey);
  const remove = button("Remove this image", () => {
    drawn.images.splice(pager.at, 1);
    turnTo(Math.min(pager.at, drawn.images.length - 1));
    commit();
    if (remove.hidden) canvas.focus();
  });
  const pager = imagePager(show, ...(drawn.canAdd ? [button("Add an image", () => {
    drawn.add();
    turnTo(drawn.images.length - 1);
    commit();
  }), remove] : []));
  const turnTo = (at) => {
    pager.set(drawn.images.length, at);
    remove.hidden = drawn.images.length < 2;
  };
  turnTo(0);
  // Draws with a pen about as wide as a cell: a cell is darker the nearer its middle
  // is.
  const dot = (y, x) => {
    for (let i = Math.max(0, Math.floor(y - 1.5)); i <= Math.min(height - 1, y + 1.5); i++) {
      for (let j = Math.max(0, Math.floor(x - 1.5)); j <= Math.min(width - 1, x + 1.5); j++) {
        const grey = Math.min(1, 1.25 - Math.hypot(i + .5 - y, j + .5 - x));
        if (grey > greyAt(i, j)) put(i, j, grey);
      }
    }
  };
  const at = (event) => {
    const area = canvas.getBoundingClientRect();
    return [(event.clientY - area.top) / area.height * height, (event.clientX - area.left) / area.width * width];
  };
  const line = (to) => {
    const from = last ?? to;
    const steps = Math.max(1, Math.ceil(Math.hypot(to[0] - from[0], to[1] - from[1]) * 4));
    for (let k = 0; k <= steps; k++) {
      dot(from[0] + (to[0] - from[0]) * k / steps, from[1] + (to[1] - from[1]) * k / steps);
    }
    last = to;
    commit();
  };
  // Puts a frame around the cell that the keys change, so that the cell's ink stays
  // visible.
  const point = (is) => {
    frame.hidden = !is;
    const [i, j] = cursor;
    Object.assign(frame.style, { top: `${i / height * 100}%`, left: `${j / width * 100}%`,
      height: `${100 / height}%`, width: `${100 / width}%` });
    keys.textContent = is ? `Row ${i}, column ${j}: ${Math.round(greyAt(i, j) * 100)} % black. ${KEYS_HINT}` : KEYS_HINT;
    show();
  };
  canvas.onpointerdown = (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = null;
    point(false);
    line(at(event));
  };
  canvas.onpointermove = (event) => { if (event.buttons & 1) line(at(event)); };
  canvas.onpointerup = () => { last = null; };
  canvas.onfocus = () => point(canvas.matches(":focus-visible"));
  canvas.onblur = () => point(false);
  canvas.onkeydown = (event) => {
    const step = ARROWS[event.key];
    if (!step && event.key !== " ") return;
    event.preventDefault();
    const [i, j] = cursor;
    if (step) {
      const within = (to, dim) => Math.max(0, Math.min(dim - 1, to));
      cursor = [within(i + step[0], height), within(j + step[1], width)];
    } else {
      put(i, j, greyAt(i, j) > 0 ? 0 : 1);
      commit();
    }
    point(true);
  };
  const clearButton = button("Clear", () => {
    nest([height, width], ([i, j]) => put(i, j, 0));
    commit();
  }, { className: "clear" });
  scaleRow.querySelector(".clear")?.remove();
  scaleRow.append(clearButton);
  const node = make("div", {}, make("div", { className: "padbox" }, canvas, hint, frame),
    keys, pager.node, scaleRow);
  scaleRow.oninput = () => { drawn.rescale(); drawn.give(); show(); };
  show();
  return { node, controls: [canvas], read: get, raw: get };
}

const coloursOf = ({ shape }) => (shape?.length === 3 && [3, 4].includes(shape[2]) ? shape[2] : 0);

// Returns the pixels of a picture as greys or, if the type is height x width x 3 or 4,
// as colours.
async function readPicture(file, { type, picture, whole, ...drawing }) {
  const ink = drawing.ink();
  const colours = coloursOf(type);
  if (!picture && !colours) throw new Error(`a picture does not fit ${typeText(type)}`);
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is no picture that a browser shows: choose ${kindsOf(type, picture)}`);
  });
  const [wantedHeight, wantedWidth] = colours ? type.shape : [picture.height, picture.width];
  const height = wantedHeight ?? bitmap.height, width = wantedWidth ?? bitmap.width;
  const canvas = make("canvas", { height, width });
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  context.fillRect(0, 0, width, height);
  context.drawImage(bitmap, 0, 0, width, height);
  const { data } = context.getImageData(0, 0, width, height);
  if (colours) {
    return nest([height, width, colours], ([i, j, k]) => {
      const value = data[4 * (i * width + j) + k] / 255 * ink;
      return whole ? Math.round(value) : value;
    });
  }
  return inked(picture, height, width, ink, whole, (i, j) => {
    const at = 4 * (i * width + j);
    return 1 - (.299 * data[at] + .587 * data[at + 1] + .114 * data[at + 2]) / 255;
  });
}

const kindsOf = (type, picture) =>
  `a .npy or .json file${picture || coloursOf(type) ? ", or a picture" : ""}`;

async function readFile(file, drawing) {
  if (/\.npy$/i.test(file.name)) return readNpy(await file.arrayBuffer());
  if (!/\.json$/i.test(file.name)) return readPicture(file, drawing);
  try { return JSON.parse(await file.text()); } catch (error) {
    throw new Error(`${file.name} is no JSON: ${error.message}`);
  }
}

function fileEditor(drawing) {
  const { name, type, picture, ink, get, set, scaleRow } = drawing;
  const kinds = kindsOf(type, picture);
  const input = make("input", { type: "file", accept: ".npy,.json,image/png,image/jpeg",
    "aria-label": `File for ${name}: ${kinds}` });
  const canvas = make("canvas", { hidden: true, role: "img", "aria-label": `${name} as a picture` });
  let wrong = null;
  const images = () => {
    if (!picture || get() === null) return [];
    try {
      const shape = shapeOf(get());
      return shape.length < 2 || shape.at(-1) * shape.at(-2) > 1 << 20 ? [] : planes(get(), shape);
    } catch { return []; }  // the nested arrays are ragged
  };
  const show = (at) => {
    const all = images();
    pager.set(all.length, at);
    canvas.hidden = !all.length;
    if (!all.length) return;
    paintGrey(canvas, all[at], ink());
    canvas.style.width = `${Math.min(256, all[at][0].length * 16)}px`;
  };
  const pager = imagePager(show);
  const load = async () => {
    const file = input.files[0];
    if (!file) return;
    try {
      wrong = null;
      const read = await readFile(file, drawing);
      if (!node.isConnected) return;
      set(read);
      show(0);
    } catch (error) {
      wrong = error;
    }
    changed(node);
  };
  input.onchange = load;
  scaleRow.oninput = load;
  scaleRow.querySelector(".clear")?.remove();
  const node = make("div", {}, make("p", {}, input),
    make("p", { className: "quiet" }, kinds[0].toUpperCase() + kinds.slice(1)),
    picture ? scaleRow : null, canvas, pager.node);
  return { node, controls: [input], read() { if (wrong) throw wrong; return get(); }, raw: get };
}
