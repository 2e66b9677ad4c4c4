// SPDX-License-Identifier: Apache-2.0
//
// The smallest node program that does the same as the example add: node peer.js PORT.
const http = require('http');

http.createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const [a, b] = JSON.parse(Buffer.concat(chunks));
    const text = JSON.stringify({results: [a.map((v, i) => v + b[i])]});
    response.writeHead(200, {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
  });
}).listen(+process.argv[2], '127.0.0.1');
