// SPDX-License-Identifier: Apache-2.0
//
// Node without a package: fetch.mjs http://HOST:PORT MODEL. Tensors are sent as bytes
// after a document, and come back in the same way; `await fetch` in a page works alike.
const [url, model] = process.argv.slice(2);
const value = Int32Array.from({length: 16}, (_, i) => i);
const inputs = ['INPUT0', 'INPUT1'].map((name) => ({
  name, shape: [1, 16], datatype: 'INT32',
  parameters: {binary_data_size: value.byteLength},
}));
const head = Buffer.from(JSON.stringify(
    {inputs, parameters: {binary_data_output: true}}));
const answer = await fetch(`${url}/v2/models/${model}/infer`, {
  method: 'POST',
  headers: {'Inference-Header-Content-Length': head.length},
  body: Buffer.concat([head, Buffer.from(value.buffer), Buffer.from(value.buffer)]),
});
const body = await answer.arrayBuffer();
const text = (bytes) => new TextDecoder().decode(bytes);
if (!answer.ok) throw new Error(JSON.parse(text(body)).error);
let at = Number(answer.headers.get('Inference-Header-Content-Length'));
for (const output of JSON.parse(text(body.slice(0, at))).outputs) {
  const size = output.parameters.binary_data_size;
  const found = new Int32Array(body.slice(at, at + size));
  console.log(output.name, found.slice(0, 4).join(' '));
  at += size;
}
