import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';
import { connectRaw } from './__fixtures__/test-http.ts';

let server: TestHttp;
before(async () => {
  server = await startTestHttp({
    listeners: [
      { host: '127.0.0.1', port: 0, region: 'cn-beijing' },
      {
        host: '127.0.0.1',
        port: 0,
        region: 'ap-southeast-1',
        deprecated: { since: 1_767_225_600, successor: 'https://w1.ap-southeast-1.example.com' },
      },
      { host: '127.0.0.1', port: 0, region: 'cn-hongkong' },
    ],
    hosts: (['cn-beijing', 'ap-southeast-1', 'us-east-1'] as const).map((region) => ({
      pattern: `{workspace}.${region}.example.com`,
      region,
    })),
  });
});
after(() => server[Symbol.asyncDispose]());

const NATIVE = '/api/v1/files';
const MESSAGES = '/apps/anthropic/v1/messages/count_tokens';
const COMPATIBLE = '/v1/models';

async function send(
  path: string,
  headers: Record<string, string>,
  { listener = 0, host = 'localhost' } = {},
): Promise<{ status: number; body: string; head: string }> {
  const method = path === MESSAGES ? 'POST' : 'GET';
  const lines = Object.entries({ host, connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}`);
  using peer = connectRaw(server.ports[listener] ?? 0, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const text = await peer.readToEnd();
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body, head };
}

/** Statuses of an accepted key: 200 for a served path, 400 UnsupportedOperation for a path that is only documented. */
const ACCEPTED_STATUSES = [200, 400];

const rows: readonly (readonly [string, string, Record<string, string>, boolean])[] = [
  ['bearer', COMPATIBLE, { authorization: 'Bearer sk-good' }, true],
  ['bearer in lower case', NATIVE, { authorization: 'bearer sk-good' }, true],
  ['bearer in upper case, more spaces', MESSAGES, { authorization: 'BEARER   sk-good' }, true],
  ['x-api-key on messages', MESSAGES, { 'x-api-key': 'sk-good' }, true],
  ['both, the same', MESSAGES, { 'x-api-key': 'sk-good', authorization: 'Bearer sk-good' }, true],
  ['both, different', MESSAGES, { 'x-api-key': 'sk-good', authorization: 'Bearer sk-sub' }, false],
  ['x-api-key elsewhere', COMPATIBLE, { 'x-api-key': 'sk-good' }, false],
  ['x-api-key on native', NATIVE, { 'x-api-key': 'sk-good' }, false],
  ['none', NATIVE, {}, false],
  ['another scheme', COMPATIBLE, { authorization: 'Basic c2stZ29vZA==' }, false],
  ['bare key', COMPATIBLE, { authorization: 'sk-good' }, false],
  ['empty', COMPATIBLE, { authorization: 'Bearer ' }, false],
  ['unknown', COMPATIBLE, { authorization: 'Bearer sk-nobody' }, false],
  ['revoked', COMPATIBLE, { authorization: 'Bearer sk-revoked' }, false],
  ['expired', NATIVE, { authorization: 'Bearer sk-expired' }, false],
  ['a property name of every object', COMPATIBLE, { authorization: 'Bearer __proto__' }, false],
];

for (const [name, path, headers, isAccepted] of rows) {
  test(`key ${name} on ${path}: ${isAccepted ? 'accepted' : '401'}`, async () => {
    const { status, body } = await send(path, headers);
    if (isAccepted) assert.ok(ACCEPTED_STATUSES.includes(status), `${status} ${body}`);
    else assert.equal(status, 401);
    assert.ok(!body.includes('sk-'));
  });
}

test('rejects a wrong key with the text of each protocol', async () => {
  const headers = { authorization: 'Bearer sk-nobody' };
  assert.match((await send(COMPATIBLE, headers)).body, /"message":"Incorrect API key provided\.".*"invalid_api_key"/);
  assert.match((await send(NATIVE, headers)).body, /"code":"InvalidApiKey","message":"Invalid API-key provided\."/);
  assert.match((await send(MESSAGES, headers)).body, /"type":"authentication_error"/);
});

test('a refusal distinguishes a missing key, a missing scheme and a wrong key', async () => {
  const cases: readonly (readonly [string, Record<string, string>, RegExp])[] = [
    [COMPATIBLE, {}, /"message":"No API key was sent\. Send the header Authorization: Bearer YOUR_API_KEY\."/],
    [COMPATIBLE, { authorization: 'Bearer ' }, /"message":"No API key was sent\./],
    [NATIVE, {}, /"code":"InvalidApiKey","message":"No API key was sent\./],
    [MESSAGES, {}, /"message":"No API key was sent\. .* or x-api-key: YOUR_API_KEY\."/],
    [
      COMPATIBLE,
      { authorization: 'sk-good' },
      /"message":"The Authorization header must have the form: Bearer YOUR_API_KEY\."/,
    ],
    [NATIVE, { authorization: 'Basic c2stZ29vZA==' }, /"message":"The Authorization header must have the form/],
    [COMPATIBLE, { authorization: 'Bearer sk-nobody' }, /"message":"Incorrect API key provided\."/],
    [COMPATIBLE, { authorization: 'Bearer sk-expired' }, /"message":"Incorrect API key provided\."/],
  ];
  for (const [path, headers, message] of cases) {
    const { status, body } = await send(path, headers);
    assert.equal(status, 401);
    assert.match(body, message);
    if (path === COMPATIBLE) assert.match(body, /"code":"invalid_api_key"/);
  }
});

test('a 401 response has the header WWW-Authenticate: Bearer, and no other response has it', async () => {
  for (const path of [COMPATIBLE, NATIVE, MESSAGES]) {
    const { status, head } = await send(path, { authorization: 'Bearer sk-nobody' });
    assert.equal(status, 401);
    assert.match(head, /^www-authenticate: Bearer$/im);
  }
  const { head } = await send(COMPATIBLE, { authorization: 'Bearer sk-good' });
  assert.doesNotMatch(head, /www-authenticate/i);
});

test('rejects a key of another region with 401 and names both regions', async () => {
  const { status, body } = await send(COMPATIBLE, { authorization: 'Bearer sk-singapore' });
  assert.equal(status, 401);
  assert.match(body, /Singapore \(ap-southeast-1\).*China \(Beijing\) \(cn-beijing\)/);
  assert.match(body, /invalid_api_key/);
});

test('rejects an interface that the region does not offer with 403 and names its regions and the request', async () => {
  const hongkong = { authorization: 'Bearer sk-hongkong' };
  const messages = await send(MESSAGES, hongkong, { listener: 2 });
  assert.equal(messages.status, 403);
  assert.match(messages.body, /"permission_error".*Singapore \(ap-southeast-1\)/);
  assert.equal((await send(COMPATIBLE, hongkong, { listener: 2 })).status, 200);
  const bearer = { authorization: 'Bearer sk-virginia' };
  const conversation = await send('/v1/conversations/x', bearer, { host: 'primary.us-east-1.example.com' });
  assert.equal(conversation.status, 403);
  assert.match(conversation.body, /access_denied/);
  assert.match(conversation.body, /Conversations is not offered in US \(Virginia\)/);
});

test('rejects a workspace header or host label that is not the key’s workspace', async () => {
  const key = { authorization: 'Bearer sk-good' };
  assert.equal((await send(COMPATIBLE, { ...key, 'X-DashScope-WorkSpace': 'primary' })).status, 200);
  const other = await send(NATIVE, { ...key, 'x-dashscope-workspace': 'sub' });
  assert.equal(other.status, 403);
  assert.match(other.body, /"code":"Workspace\.AccessDenied"/);
  assert.equal((await send(COMPATIBLE, { ...key, 'X-Svc-WorkSpace': 'sub' })).status, 403);
  assert.equal((await send(COMPATIBLE, key, { host: 'primary.cn-beijing.example.com:8000' })).status, 200);
  assert.equal((await send(COMPATIBLE, key, { host: 'sub.cn-beijing.example.com' })).status, 403);
  assert.equal((await send(COMPATIBLE, key, { host: 'PRIMARY.CN-BEIJING.EXAMPLE.COM.' })).status, 200);
});

test('compares the workspace of a host name case-insensitively and that of a header exactly', async () => {
  const key = { authorization: 'Bearer sk-capitals' };
  assert.equal((await send(COMPATIBLE, key, { host: 'team-a.cn-beijing.example.com' })).status, 200);
  assert.equal((await send(COMPATIBLE, key, { host: 'Team-A.cn-beijing.example.com' })).status, 200);
  assert.equal((await send(COMPATIBLE, key, { host: 'team-b.cn-beijing.example.com' })).status, 403);
  assert.equal((await send(COMPATIBLE, { ...key, 'x-dashscope-workspace': 'Team-A' })).status, 200);
  assert.equal((await send(COMPATIBLE, { ...key, 'x-dashscope-workspace': 'team-a' })).status, 403);
});

test('takes the region from the host, or from the listener if no rule matches the host', async () => {
  const key = { authorization: 'Bearer sk-singapore' };
  assert.equal((await send(COMPATIBLE, key, { host: 'primary.ap-southeast-1.example.com' })).status, 200);
  assert.equal((await send(COMPATIBLE, key, { host: 'primary.mars.example.com' })).status, 401);
  assert.equal((await send(COMPATIBLE, key, { listener: 1 })).status, 200);
});

test('announces the deprecation of an address, also in errors', async () => {
  const served = await send(COMPATIBLE, { authorization: 'Bearer sk-singapore' }, { listener: 1 });
  const refused = await send(COMPATIBLE, {}, { listener: 1 });
  for (const { head } of [served, refused]) {
    assert.match(head, /^deprecation: @1767225600$/im);
    assert.match(head, /^link: <https:\/\/w1\.ap-southeast-1\.example\.com>; rel="successor-version"$/im);
  }
  assert.doesNotMatch((await send(COMPATIBLE, { authorization: 'Bearer sk-good' })).head, /deprecation/i);
});

test('logs the reason why a key was rejected, and never a key', async () => {
  await send(COMPATIBLE, { authorization: 'Bearer sk-revoked' });
  const line = server.logLines.findLast((each) => each['keyStatus'] === 'revoked');
  assert.equal(line?.['status'], 401);
  assert.ok(!JSON.stringify(server.logLines).includes('sk-'));
});
