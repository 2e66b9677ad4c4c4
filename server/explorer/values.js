// SPDX-License-Identifier: Apache-2.0
//
// Element types, nested arrays and their shapes, and .npy files.

// Returns the size in bits and the kind of the numbers. Signless integers count as
// signed.
function dtypeOf(name) {
  const found = /^(i|si|ui|index|f|bf|complex)/.exec(name || "");
  const bits = name === "index" ? 64 : Number(/\d+/.exec(name || "")?.[0] ?? 32);
  const kind = name === "i1" ? "bool" : { i: "int", si: "int", ui: "uint", index: "int",
    f: "float", bf: "float", complex: "complex" }[found?.[1]] ?? "other";
  return { name, bits, kind };
}

// Returns what is wrong with a number of this type; "": nothing.
function faultOf(value, dtype) {
  if (dtype.kind === "other" || dtype.kind === "complex") return "";
  if (dtype.kind === "bool") {
    return value === true || value === false || value === 0 || value === 1
      ? "" : `${JSON.stringify(value)} is not true, false, 0 or 1`;
  }
  if (dtype.kind === "float") {
    if (["NaN", "Infinity", "-Infinity"].includes(value)) return "";
    if (typeof value !== "number") return `${JSON.stringify(value)} is no number`;
    return Number.isFinite(value) ? "" : "the number is too large for a double";
  }
  const wide = dtype.bits > 53;
  const big = wide && typeof value === "string" && /^-?\d+$/.test(value);
  // JavaScript may have rounded such a number already.
  if (wide && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    return `${value} is more than a number of JavaScript holds exactly: write it in quotes`;
  }
  if (!big && !Number.isInteger(value)) return `${JSON.stringify(value)} is no integer`;
  const bits = BigInt(dtype.bits);
  const low = dtype.kind === "uint" ? 0n : -(1n << (bits - 1n));
  const high = dtype.kind === "uint" ? (1n << bits) - 1n : (1n << (bits - 1n)) - 1n;
  const whole = BigInt(value);
  return whole >= low && whole <= high ? "" : `${value} is not from ${low} to ${high}`;
}

// Reads the text of one element; throws an Error that says what is wrong.
function readElement(text, dtype) {
  const word = text.trim();
  if (!word) throw new Error(`a value of type ${dtype.name} is missing`);
  let value = word;
  if (/^(true|false)$/.test(word)) value = word === "true";
  else if (/^-?\d+$/.test(word) && dtype.bits > 53 && dtype.kind !== "float") {
    value = Number.isSafeInteger(Number(word)) ? Number(word) : word;
  } else if (!/^(NaN|-?Infinity)$/.test(word)) {
    value = Number(word);
    if (Number.isNaN(value)) throw new Error(`${word} is no number`);
  }
  const fault = faultOf(value, dtype);
  if (fault) throw new Error(fault);
  return value;
}

// Returns the shape of nested arrays; throws if they are ragged.
function shapeOf(value, place = "") {
  if (!Array.isArray(value)) return [];
  const shapes = value.map((each, i) => shapeOf(each, `${place}/${i}`));
  for (let i = 1; i < shapes.length; i++) {
    if (String(shapes[i]) !== String(shapes[0])) {
      throw new Error(`${place}/${i} has shape ${shapeText(shapes[i])}, ${place}/0 has ${shapeText(shapes[0])}`);
    }
  }
  return [value.length, ...(shapes[0] ?? [])];
}

const shapeText = (shape) => (shape.length ? shape.map((dim) => dim ?? "?").join("x") : "scalar");

function checkShape(shape, wanted) {
  if (!wanted) return;
  // After a dim of 0, the other dims cannot be seen.
  const empty = shape.includes(0);
  if (shape.length !== wanted.length && !empty) {
    throw new Error(`it has ${shape.length} dims (${shapeText(shape)}), the type has ${wanted.length} (${shapeText(wanted)})`);
  }
  shape.forEach((dim, i) => {
    if (wanted[i] !== null && wanted[i] !== undefined && dim !== wanted[i]) {
      throw new Error(`dim ${i} is ${dim}, it must be ${wanted[i]}`);
    }
  });
}

// Checks nested arrays against the type of a tensor: first the shape, then each
// element. Elements of complex and unknown types are checked only by the server.
function checkTensor(value, type) {
  const dtype = dtypeOf(type.dtype);
  if (dtype.kind === "complex" || dtype.kind === "other") return;
  checkShape(shapeOf(value), type.shape);
  const walk = (each, place) => {
    if (Array.isArray(each)) { each.forEach((inner, i) => walk(inner, `${place}/${i}`)); return; }
    const fault = faultOf(each, dtype);
    if (fault) throw new Error(place ? `${place}: ${fault}` : fault);
  };
  walk(value, "");
}

// Makes nested arrays of this shape; `at` returns the element for each index.
function nest(shape, at, index = []) {
  if (index.length === shape.length) return at(index);
  return Array.from({ length: shape[index.length] }, (_, i) => nest(shape, at, [...index, i]));
}

function flatten(value, out = []) {
  if (Array.isArray(value)) for (const each of value) flatten(each, out);
  else out.push(value);
  return out;
}

// Makes nested arrays from {shape, data}; `data` may be flat.
function unpack({ shape, data }, dtype) {
  const flat = flatten(data);
  let at = 0;
  return nest(shape, () => (dtype.kind === "complex" ? [flat[at++], flat[at++]] : flat[at++]));
}

// ---------------------------------------------------------------------------
// Files in the .npy format

const NPY_READERS = { i1: "getInt8", u1: "getUint8", b1: "getUint8", i2: "getInt16", u2: "getUint16",
  i4: "getInt32", u4: "getUint32", i8: "getBigInt64", u8: "getBigUint64", f4: "getFloat32", f8: "getFloat64" };

const plain = (value) => {
  if (typeof value === "bigint") {
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  }
  return Number.isFinite(value) ? value : String(value);
};

// Returns the nested arrays of a .npy file; throws if the page cannot read it.
function readNpy(buffer) {
  const view = new DataView(buffer);
  if (buffer.byteLength < 12 || view.getUint32(0) !== 0x934e554d) throw new Error("this is no .npy file");
  const wide = view.getUint8(6) > 1;
  const start = wide ? 12 : 10;
  const size = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const head = new TextDecoder().decode(buffer.slice(start, start + size));
  const descr = /'descr':\s*'([<>|=])(\w+)'/.exec(head);
  const dims = /'shape':\s*\(([^)]*)\)/.exec(head);
  const reader = NPY_READERS[descr?.[2]];
  if (!reader || !dims) throw new Error(`its elements are ${descr ? descr[2] : "unknown"}, which this page does not read: send the file with curl`);
  const shape = dims[1].split(",").filter((each) => each.trim()).map(Number);
  const width = Number(descr[2].slice(1));
  const count = shape.reduce((all, dim) => all * dim, 1);
  if (buffer.byteLength - start - size < count * width) throw new Error("the file ends too early");
  const columns = /'fortran_order':\s*True/.test(head);
  const steps = shape.map((_, i) =>
    (columns ? shape.slice(0, i) : shape.slice(i + 1)).reduce((all, dim) => all * dim, 1));
  return nest(shape, (index) => {
    const at = index.reduce((sum, each, i) => sum + each * steps[i], 0);
    return plain(view[reader](start + size + at * width, descr[1] !== ">"));
  });
}

const NPY_WRITERS = { i8: ["|i1", 1, "setInt8"], ui8: ["|u1", 1, "setUint8"], i1: ["|b1", 1, "setUint8"],
  i16: ["<i2", 2, "setInt16"], i32: ["<i4", 4, "setInt32"], i64: ["<i8", 8, "setBigInt64"],
  f32: ["<f4", 4, "setFloat32"], f64: ["<f8", 8, "setFloat64"] };

function writeNpy(value, dtype) {
  const [descr, width, writer] = NPY_WRITERS[dtype];
  const shape = shapeOf(value);
  const dims = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  let head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${dims}), }`;
  head = head.padEnd(64 * Math.ceil((head.length + 11) / 64) - 11) + "\n";
  const flat = flatten(value);
  const bytes = new DataView(new ArrayBuffer(10 + head.length + flat.length * width));
  [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0].forEach((byte, i) => bytes.setUint8(i, byte));
  bytes.setUint16(8, head.length, true);
  [...head].forEach((c, i) => bytes.setUint8(10 + i, c.charCodeAt(0)));
  flat.forEach((each, i) =>
    bytes[writer](10 + head.length + i * width, width === 8 && dtype === "i64" ? BigInt(each) : Number(each), true));
  return bytes.buffer;
}
