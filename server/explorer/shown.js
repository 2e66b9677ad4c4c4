// SPDX-License-Identifier: Apache-2.0
//
// Reads how a module wants its results to be shown: the attribute "show" of a
// signature, which the sidecar or the compiler wrote. Malformed parts are ignored.

const RATE_LEAST = 3000, RATE_MOST = 384000;  // as in core/abi/show.c

// Maps JSON pointers into the results to {labels, audio}; members may be undefined.
function shownOf(signature) {
  let list;
  try { list = JSON.parse(signature.raw.attrs.show); } catch { return new Map(); }
  if (!Array.isArray(list)) return new Map();
  return new Map(list.filter((each) => typeof each?.at === "string").map((each) => [each.at, {
    labels: Array.isArray(each.labels) ? each.labels.map(String) : undefined,
    audio: each.audio >= RATE_LEAST && each.audio <= RATE_MOST ? each.audio : undefined,
  }]));
}

// Converts samples to numbers from -1 to 1. Integers are divided by the largest one.
function samplesOf(numbers, dtype) {
  const full = dtype.kind === "float" ? 1 : 2 ** (dtype.bits - 1);
  const middle = dtype.kind === "uint" ? full : 0;
  return Float32Array.from(numbers, (each) => (Number(each) - middle) / full);
}

// Makes a button that plays one or two rows of samples, until it is removed from the
// page.
function playButton(rows, rate, dtype) {
  let context = null;  // the playing context; null: nothing is played
  const fault = make("span", { className: "wrong", role: "alert" });
  const stop = () => {
    context?.close();
    context = null;
    watcher.disconnect();
    play.textContent = "Play";
  };
  const watcher = new MutationObserver(() => { if (!play.isConnected) stop(); });
  const start = () => {
    fault.textContent = "";
    try {
      context = new AudioContext();
      const buffer = context.createBuffer(rows.length, rows[0].length, rate);
      rows.forEach((row, i) => buffer.copyToChannel(samplesOf(row, dtype), i));
      const source = new AudioBufferSourceNode(context, { buffer });
      source.onended = stop;
      source.connect(context.destination);
      source.start();
      play.textContent = "Stop";
      watcher.observe(document.body, { childList: true, subtree: true });
    } catch (error) {
      stop();
      fault.textContent = `It cannot be played: ${error.message}`;
    }
  };
  const play = button("Play", () => (context ? stop() : start()));
  const seconds = numberText(rows[0].length / rate);
  return make("p", { className: "row" }, play, `${seconds} s, ${rate} samples a second`, fault);
}
