import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after } from 'node:test';
import { sendAsAttacker } from './attacker-request.ts';
import { describeAttacks } from './harness.ts';

// Images by URL. The server of the model is on this machine, and would fetch whatever URL it gets.

/** Paths that were requested from the server of the model, which is at the same time the operator's own network. */
const requestedPaths: string[] = [];
const receivedBodies: string[] = [];

/** Three of them are as much as a request may bring in. */
const LARGE_IMAGE = Buffer.alloc(4 * 1024 * 1024, 7);

const server = createServer((request, response) => {
  requestedPaths.push(request.url ?? '');
  void text(request).then((body) => {
    if (request.url?.startsWith('/large')) {
      response.writeHead(200, { 'content-type': 'image/png' }).end(LARGE_IMAGE);
      return;
    }
    if (request.method === 'POST') receivedBodies.push(body);
    if (request.url?.endsWith('tokenize')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ tokens: [1], text: ['a'] }));
      return;
    }
    const message = { role: 'assistant', content: 'Seen.' };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ choices }));
  });
});
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
after(() => server.close().closeAllConnections());
const { port } = server.address() as AddressInfo;

const FORBIDDEN_URLS = [
  `http://127.0.0.1:${port}/secret`,
  `http://localhost:${port}/secret`,
  `http://[::ffff:127.0.0.1]:${port}/secret`,
  `http://2130706433:${port}/secret`,
  'http://169.254.169.254/latest/meta-data/',
  'http://10.0.0.1/a.png',
  'file:///etc/passwd',
  'FILE:/etc/passwd',
  '/etc/passwd',
  'gopher://127.0.0.1/',
  ' http://127.0.0.1/',
];

const config = `models:
  vision: { url: 'http://127.0.0.1:${port}/v1', abilities: { vision: true }, contextTokens: 4096 }
  counting: { url: 'http://127.0.0.1:${port}/v1', server: sglang, abilities: { vision: true }, contextTokens: 4096 }
`;

describeAttacks('attacks with images', { config }, [
  {
    name: '11 URLs of images in the network of the operator, 20 times each',
    async run(target) {
      for (let round = 0; round < 20; round += 1) {
        const responses = await Promise.all(
          FORBIDDEN_URLS.map(async (url) => {
            const content = [{ type: 'image_url', image_url: { url } }];
            const body = JSON.stringify({ model: 'vision', messages: [{ role: 'user', content }] });
            return { url, ...(await sendAsAttacker(target, { path: '/v1/chat/completions', body })) };
          }),
        );
        for (const { url, status, text } of responses)
          assert.equal(status, 400, `${JSON.stringify(url)}: ${status} ${text}`);
      }
      assert.deepEqual(receivedBodies, [], 'the server of the model must get none of these requests');
      assert.ok(!requestedPaths.includes('/secret'));
    },
  },
  {
    name: 'the same URLs in requests that count tokens, which the server would process like prompts',
    async run(target) {
      const count = (content: unknown) =>
        sendAsAttacker(target, {
          path: '/v1/messages/count_tokens',
          body: JSON.stringify({ model: 'counting', messages: [{ role: 'user', content }] }),
        });
      const tokenize = (content: unknown) =>
        sendAsAttacker(target, {
          path: '/api/v1/tokenizer',
          body: JSON.stringify({ model: 'counting', input: { messages: [{ role: 'user', content }] } }),
        });
      receivedBodies.length = 0;
      // Requests without images reach the server.
      for (const response of [await count([{ type: 'text', text: 'Hi' }]), await tokenize([{ text: 'Hi' }])])
        assert.equal(response.status, 200, response.text);
      assert.equal(receivedBodies.length, 3, 'two requests for tokens, and one for their texts');
      for (const url of FORBIDDEN_URLS) {
        const estimated = await count([{ type: 'image', source: { type: 'url', url } }]);
        assert.equal(estimated.status, 200, estimated.text);
        const refused = await tokenize([{ image: url }]);
        assert.equal(refused.status, 400, refused.text);
      }
      assert.equal(receivedBodies.length, 3, receivedBodies.join('\n'));
      assert.ok(!requestedPaths.includes('/secret'));
    },
  },
]);

describeAttacks('attacks with images of allowed hosts', { config: `images: { allow: [127.0.0.0/8] }\n${config}` }, [
  {
    name: '20 requests with 12 MiB of images by URL each, two at a time',
    // Bytes, base64, JSON and the bytes of that, for two requests, until they are collected.
    memoryMibMax: 400,
    async run(target) {
      const content = Array.from({ length: 3 }, (_, n) => ({
        type: 'image_url',
        image_url: { url: `http://127.0.0.1:${port}/large-${n}` },
      }));
      const body = JSON.stringify({ model: 'vision', messages: [{ role: 'user', content }] });
      for (let round = 0; round < 10; round += 1) {
        const send = () => sendAsAttacker(target, { path: '/v1/chat/completions', body });
        for (const { status, text } of await Promise.all([send(), send()])) assert.equal(status, 200, text);
      }
    },
  },
]);
