// SPDX-License-Identifier: Apache-2.0
//
// What a module says of how its results are best shown: attribute "show" of a signature,
// which its sidecar or its compiler wrote. Whatever is not as it should be is passed over.

const RATE_LEAST = 3000, RATE_MOST = 384000;  // as in core/abi/show.c

// Of each place in the results, a JSON pointer: {labels, audio}, those that there are.
function shownOf(signature) {
  let list;
  try { list = JSON.parse(signature.raw.attrs.show); } catch { return new Map(); }
  if (!Array.isArray(list)) return new Map();
  return new Map(list.filter((each) => typeof each?.at === "string").map((each) => [each.at, {
    labels: Array.isArray(each.labels) ? each.labels.map(String) : undefined,
    audio: each.audio >= RATE_LEAST && each.audio <= RATE_MOST ? each.audio : undefined,
  }]));
}

// Samples from -1 to 1: integers are parts of the largest one.
function samplesOf(numbers, dtype) {
  const full = dtype.kind === "float" ? 1 : 2 ** (dtype.bits - 1);
  const middle = dtype.kind === "uint" ? full : 0;
  return Float32Array.from(numbers, (each) => (Number(each) - middle) / full);
}

// A button that plays one or two rows of samples, for as long as it is on the page.
function playButton(rows, rate, dtype) {
  let context = null;  // of what is played
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
