// SPDX-License-Identifier: Apache-2.0
//
// Has a digit read through the types that openapi-typescript made in api.d.ts.
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
