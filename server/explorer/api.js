// SPDX-License-Identifier: Apache-2.0
//
// Requests. The page sends only requests that any other client could send.

const pathOf = (module, name) =>
  `/api/v1/functions/${encodeURIComponent(module)}/${encodeURIComponent(name)}`;
const hashOf = (each) =>
  `#/${encodeURIComponent(each.module)}/${encodeURIComponent(each.name)}`;

const inSession = (session, fields) =>
  (session ? { ...fields, "Farcall-Session": session } : fields);
const withToken = (fields) =>
  (page.token ? { ...fields, Authorization: `Bearer ${page.token}` } : fields);

// Parses the text of an answer; throws if it is not JSON, such as a page of a proxy.
function jsonOf(answer, text) {
  try { return JSON.parse(text); } catch {
    throw new Error(`status ${answer.status}, and no JSON: ${text.slice(0, 80)}`);
  }
}

// Fetches JSON. Notes in the state whether the server answers; throws if it does not.
async function fetchJson(path, options) {
  const request = new Request(path, options);  // throws if it cannot be sent
  let answer, text;
  try {
    answer = await fetch(request);
    text = await answer.text();
  } catch (error) {
    if (error.name !== "AbortError") page.set({ gone: true });
    throw error;
  }
  if (page.gone) page.set({ gone: false });
  return { answer, read: jsonOf(answer, text) };
}

// Notes whether the answer refuses the token: it is missing, unknown, or lacks the
// right.
function noteAccess(status, problem) {
  const is = status === 401 || (status === 403 && page.token !== "");
  if (is) page.set({ access: { detail: page.token ? problem.detail : "" } });
  return is;
}

async function getJson(path, options = {}) {
  const { answer, read } =
    await fetchJson(path, { ...options, headers: withToken({ Accept: "application/json" }) });
  if (answer.ok) return read;
  throw Object.assign(new Error(read.detail ?? answer.statusText), { problem: read,
    status: answer.status, isAccess: noteAccess(answer.status, read) });
}

function stagesOf(timing) {
  return [...(timing ?? "").matchAll(/(\w+);dur=([\d.]+)/g)]
    .map((each) => [each[1], Number(each[2])]);
}

async function send(path, body, signal, session) {
  const began = performance.now();
  const { answer, read } = await fetchJson(path, { method: "POST", body, signal,
    headers: inSession(session, withToken({ "Content-Type": "application/json", Accept: "application/json" })) });
  if (answer.ok && page.access) page.set({ access: null });
  return { ok: answer.ok, status: answer.status, read, ms: performance.now() - began,
    stages: stagesOf(answer.headers.get("Server-Timing")),
    isAccess: !answer.ok && noteAccess(answer.status, read) };
}

// Yields the documents of an answer in parts as they come. An error answer is yielded
// as the only document. Throws if the answer is cut.
async function* sendSteps(path, body, signal, session) {
  const answer = await fetch(new Request(path, { method: "POST", body, signal,
    headers: inSession(session, withToken({ "Content-Type": "application/json", Accept: "text/event-stream" })) }));
  if (!answer.ok) {
    const read = jsonOf(answer, await answer.text());
    noteAccess(answer.status, read);
    yield { code: "", status: answer.status, ...read };
    return;
  }
  if (page.access) page.set({ access: null });
  // TextDecoderStream is not used: bytes in it are lost when the connection is cut.
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  // The beginning of a line that has not ended; only new bytes are searched.
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = decoder.decode(value, { stream: true }).split("\n");
    lines[0] = text + lines[0];
    text = lines.pop();
    for (const each of lines) if (each) yield JSON.parse(each.replace(/^data: /, ""));
  }
}
