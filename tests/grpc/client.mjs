// SPDX-License-Identifier: Apache-2.0
//
// A client in Node, which uses the .proto files that farcalld describes itself with:
// node client.mjs PACKAGES PROTO HOST:PORT
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import process from 'node:process';

const [packages, proto, address] = process.argv.slice(2);
const require = createRequire(`${packages}/node_modules/`);
const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');
const {inference} = grpc.loadPackageDefinition(loader.loadSync(
    'grpc_service.proto', {includeDirs: [proto], keepCase: true, longs: Number}));
const client = new inference.GRPCInferenceService(
    address, grpc.credentials.createInsecure());

const call = (method, request, options = {}) => new Promise((resolve, reject) => {
  client[method](request, new grpc.Metadata(), options,
                 (error, answer) => error ? reject(error) : resolve(answer));
});
const numbers = Array.from({length: 16}, (_, at) => at);
const raw = Buffer.from(Int32Array.from(numbers).buffer);
const input = (name) => ({name, datatype: 'INT32', shape: [1, 16]});
const request = (id) => ({
  model_name: 'simple', id, inputs: [input('INPUT0'), input('INPUT1')],
  raw_input_contents: [raw, raw],
});
const sums = (answer) => Array.from(new Int32Array(
    Uint8Array.from(answer.raw_output_contents[0]).buffer));

assert.equal((await call('ServerLive', {})).live, true);
const answer = await call('ModelInfer', request('a'));
assert.equal(answer.id, 'a');
assert.deepEqual(sums(answer), numbers.map((each) => 2 * each));

const refused = await call('ModelInfer', {...request('b'), model_name: '\u00e4'})
    .catch((error) => error);
assert.equal(refused.code, grpc.status.NOT_FOUND);
assert.match(refused.details, /unknown model: '\u00e4'/);
assert.equal(refused.metadata.get('farcall-error-code')[0], 'module_not_found');
const late = await call('ModelInfer', request('c'), {deadline: Date.now() - 1000})
    .catch((error) => error);
assert.equal(late.code, grpc.status.DEADLINE_EXCEEDED);

const stream = client.ModelStreamInfer();
const ids = ['0', '1', '2', '3'];
const seen = [];
const ended = new Promise((resolve, reject) => {
  stream.on('data', (each) => seen.push(each.infer_response));
  stream.on('error', reject);
  stream.on('end', resolve);
});
for (const id of ids) stream.write(request(id));
stream.end();
await ended;
assert.deepEqual(seen.map((each) => each.id).sort(), ids);
for (const each of seen) assert.deepEqual(sums(each), sums(answer));

const all = await Promise.all(numbers.map((each) => call('ModelInfer', request(`${each}`))));
assert.deepEqual(all.map((each) => each.id), numbers.map(String));
client.close();
