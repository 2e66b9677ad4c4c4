// SPDX-License-Identifier: Apache-2.0
//
// A tensor as a drawing or a file.

// Nested arrays of the picture's dims: `at` gives the grey of a cell, 0 (white) to 1
// (black), and `ink` is the value of black.
function inked(picture, height, width, ink, whole, at) {
  return nest([...picture.leading, height, width], (index) => {
    const value = at(index.at(-2), index.at(-1)) * ink;
    return whole ? Math.round(value) : Math.round(value * 1e4) / 1e4;
  });
}

const planeOf = (value) => { let plane = value; while (Array.isArray(plane?.[0]?.[0])) plane = plane[0]; return plane; };

// Paints greys; with `clear` as ink on whatever is behind the canvas.
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

function padEditor(name, picture, get, set, ink, whole, scaleRow) {
  const { height, width } = picture;
  const large = Math.max(1, Math.floor(256 / Math.max(height, width)));
  const canvas = make("canvas", { className: "pad", tabIndex: 0, role: "img", height, width,
    "aria-label": `Drawing of ${name}, ${height} by ${width}. Draw with the pointer, or move with the arrow keys and press Space.` });
  canvas.style.width = `${width * large}px`;
  canvas.style.aspectRatio = `${width} / ${height}`;
  const hint = make("span", { className: "here", "aria-hidden": "true" }, "Draw here");
  const given = planeOf(get());
  const fits = given?.length === height && given[0]?.length === width;
  const cells = nest([height, width], ([i, j]) => (fits ? Math.max(0, Math.min(1, Number(given[i][j]) / ink())) : 0));
  let last = null, cursor = [height >> 1, width >> 1];
  const show = (moved) => {
    paintGrey(canvas, cells, 1, true);
    hint.hidden = moved || cells.some((row) => row.some(Boolean));
    const context = canvas.getContext("2d");
    if (moved) { context.fillStyle = "#e0762a"; context.fillRect(cursor[1], cursor[0], 1, 1); }
    set(inked(picture, height, width, ink(), whole, (i, j) => cells[i][j]));
  };
  // A pen of about a cell's width: the nearer a cell's middle, the darker.
  const dot = (y, x) => {
    for (let i = Math.max(0, Math.floor(y - 1.5)); i <= Math.min(height - 1, y + 1.5); i++) {
      for (let j = Math.max(0, Math.floor(x - 1.5)); j <= Math.min(width - 1, x + 1.5); j++) {
        const far = Math.hypot(i + .5 - y, j + .5 - x);
        cells[i][j] = Math.max(cells[i][j], Math.max(0, Math.min(1, 1.25 - far)));
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
    changed();
  };
  const changed = (moved) => { show(moved); canvas.dispatchEvent(new Event("input", { bubbles: true })); };
  canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); last = null; line(at(event)); };
  canvas.onpointermove = (event) => { if (event.buttons & 1) line(at(event)); };
  canvas.onpointerup = () => { last = null; };
  canvas.onkeydown = (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!step && event.key !== " ") return;
    event.preventDefault();
    if (step) {
      cursor = [(cursor[0] + step[0] + height) % height, (cursor[1] + step[1] + width) % width];
    } else {
      const [i, j] = cursor;
      cells[i][j] = cells[i][j] ? 0 : 1;
    }
    changed(true);
  };
  canvas.onblur = () => show(false);
  const clearButton = button("Clear", () => { cells.forEach((row) => row.fill(0)); changed(); },
    { className: "clear" });
  scaleRow.querySelector(".clear")?.remove();
  scaleRow.append(clearButton);
  const node = make("div", {}, make("div", { className: "padbox" }, canvas, hint), scaleRow);
  scaleRow.oninput = () => show();
  show();
  return { node, controls: [canvas], read: get };
}

// The pixels of a picture as greys or, if the type is height x width x 3 or 4, as
// colours.
async function readPicture(file, type, picture, ink, whole) {
  const colours = type.shape?.length === 3 && [3, 4].includes(type.shape[2]) ? type.shape[2] : 0;
  if (!picture && !colours) throw new Error(`a picture does not fit ${typeText(type)}`);
  const bitmap = await createImageBitmap(file);
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

function fileEditor(name, type, picture, get, set, ink, whole, scaleRow, check) {
  const input = make("input", { type: "file", accept: ".npy,.json,image/png,image/jpeg",
    "aria-label": `File for ${name}: .npy, .json or a picture` });
  const canvas = make("canvas", { hidden: true, role: "img", "aria-label": `${name} as a picture` });
  let wrong = null;
  const show = () => {
    const plane = planeOf(get());
    canvas.hidden = !picture || !Array.isArray(plane?.[0]) || plane.length * plane[0].length > 1 << 20;
    if (!canvas.hidden) {
      paintGrey(canvas, plane, ink());
      canvas.style.width = `${Math.min(256, plane[0].length * 16)}px`;
    }
  };
  const load = async () => {
    const file = input.files[0];
    if (!file) return;
    try {
      wrong = null;
      if (/\.npy$/i.test(file.name)) set(readNpy(await file.arrayBuffer()));
      else if (/\.json$/i.test(file.name)) set(JSON.parse(await file.text()));
      else set(await readPicture(file, type, picture, ink(), whole));
      show();
    } catch (error) {
      wrong = error;
    }
    check();
  };
  input.onchange = load;
  scaleRow.oninput = load;
  scaleRow.querySelector(".clear")?.remove();
  const node = make("div", {}, make("p", {}, input), picture ? scaleRow : null, canvas);
  return { node, controls: [input], read() { if (wrong) throw wrong; return get(); } };
}
