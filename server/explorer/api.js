// SPDX-License-Identifier: Apache-2.0
//
// Requests: the page asks for nothing that another client could not ask for.

const pathOf = (module, name) =>
  `/api/v1/functions/${encodeURIComponent(module)}/${encodeURIComponent(name)}`;
const hashOf = (each) =>
  `#/${encodeURIComponent(each.module)}/${encodeURIComponent(each.name)}`;

const withToken = (fields) =>
  (page.token ? { ...fields, Authorization: `Bearer ${page.token}` } : fields);

async function getJson(path) {
  const answer = await fetch(path, { headers: withToken({ Accept: "application/json" }) });
  const read = await answer.json();
  if (!answer.ok) {
    throw Object.assign(new Error(read.detail ?? answer.statusText),
      { problem: read, status: answer.status });
  }
  return read;
}

function stagesOf(timing) {
  return [...(timing ?? "").matchAll(/(\w+);dur=([\d.]+)/g)]
    .map((each) => [each[1], Number(each[2])]);
}

async function send(path, body) {
  const began = performance.now();
  const answer = await fetch(path, { method: "POST", body,
    headers: withToken({ "Content-Type": "application/json", Accept: "application/json" }) });
  const read = await answer.json();
  return { ok: answer.ok, status: answer.status, read, ms: performance.now() - began,
    stages: stagesOf(answer.headers.get("Server-Timing")) };
}
