// SPDX-License-Identifier: Apache-2.0
//
// Has a digit recognised, and powers of a matrix computed in a loop, through the types
// that openapi-typescript generated in api.d.ts.
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

declare const process: { argv: string[] };
const [, , url, seven] = process.argv;
const client = createClient<paths>({ baseUrl: url });
const [image]: [number[][]] = JSON.parse(seven);

const { data } = await client.POST("/api/v1/functions/digits/classify", {
  body: { kwargs: { image } },
});
const digit: number | undefined = data?.results[0].digit;
if (digit !== 7) throw new Error(`it read ${digit}`);

const { error } = await client.POST("/api/v1/functions/digits/classify", {
  body: [image.slice(1)],
});
if (error?.code !== "shape_mismatch") throw new Error(`it said ${error?.code}`);

const loop = await client.POST("/api/v1/functions/matmul/matmul?iterate", {
  body: { args: [[[1, 1], [1, 0]], [[1, 1], [1, 0]]], repeat: { times: 3, feed: { "0": 0 } } },
  parseAs: "text",
});
const steps: string | undefined = loop.data;
const last = '{"step":3,"results":[[[5.0,3.0],[3.0,2.0]]]}\n{"done":"times","steps":3}\n';
if (!steps?.endsWith(last)) throw new Error(`it made ${steps}`);

// The product stays in a session, where the next call uses it.
const path = { module: "matmul" };
const made = await client.POST("/api/v1/modules/{module}/sessions", { params: { path }, body: {} });
const session: string = made.data!.session;
const header = { "Farcall-Session": session };
await client.POST("/api/v1/functions/matmul/matmul", {
  params: { header },
  body: { args: [[[1, 1], [1, 0]], [[1, 1], [1, 0]]], options: { keep: { "0": "y" } } },
});
const product = await client.POST("/api/v1/functions/matmul/matmul", {
  params: { header },
  body: [{ ref: "y" }, [[1], [1]]],
});
if (JSON.stringify(product.data?.results) !== "[[[3],[2]]]") {
  throw new Error(`it made ${JSON.stringify(product)}`);
}
const shown = await client.GET("/api/v1/modules/{module}/sessions/{session}", {
  params: { path: { ...path, session } },
});
if (shown.data?.values.y.bytes !== 16) throw new Error(`it has ${JSON.stringify(shown)}`);
