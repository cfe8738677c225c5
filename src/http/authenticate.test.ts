import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startHttp } from './__fixtures__/test-http.ts';
import type { TestHttp } from './__fixtures__/test-http.ts';
import { connectRaw } from './__fixtures__/test-http.ts';

let front: TestHttp;
before(async () => {
  front = await startHttp({
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
after(() => front[Symbol.asyncDispose]());

const NATIVE = '/api/v1/files';
const MESSAGES = '/apps/anthropic/v1/messages/count_tokens';
const COMPATIBLE = '/v1/models';

async function ask(
  path: string,
  headers: Record<string, string>,
  { listener = 0, host = 'localhost' } = {},
): Promise<{ status: number; body: string; head: string }> {
  const method = path === MESSAGES ? 'POST' : 'GET';
  const lines = Object.entries({ host, connection: 'close', ...headers }).map(([name, value]) => `${name}: ${value}`);
  using peer = connectRaw(front.ports[listener] ?? 0, `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
  const text = await peer.rest();
  const [head = '', body = ''] = text.split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body, head };
}

/** 200 where served, 400 UnsupportedOperation where only documented: the key was taken. */
const taken = [200, 400];

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
  ['a name of every object', COMPATIBLE, { authorization: 'Bearer __proto__' }, false],
];

for (const [name, path, headers, isTaken] of rows) {
  test(`key ${name} on ${path}: ${isTaken ? 'taken' : '401'}`, async () => {
    const { status, body } = await ask(path, headers);
    if (isTaken) assert.ok(taken.includes(status), `${status} ${body}`);
    else assert.equal(status, 401);
    assert.ok(!body.includes('sk-'));
  });
}

test('a wrong key is told in the words of each protocol', async () => {
  const headers = { authorization: 'Bearer sk-nobody' };
  assert.match((await ask(COMPATIBLE, headers)).body, /"message":"Incorrect API key provided\.".*"invalid_api_key"/);
  assert.match((await ask(NATIVE, headers)).body, /"code":"InvalidApiKey","message":"Invalid API-key provided\."/);
  assert.match((await ask(MESSAGES, headers)).body, /"type":"authentication_error"/);
});

test('a key of another region is 401 and both regions are named', async () => {
  const { status, body } = await ask(COMPATIBLE, { authorization: 'Bearer sk-singapore' });
  assert.equal(status, 401);
  assert.match(body, /Singapore \(ap-southeast-1\).*China \(Beijing\) \(cn-beijing\)/);
  assert.match(body, /invalid_api_key/);
});

test('an interface that a region does not have is 403 and its regions are named', async () => {
  const hongkong = { authorization: 'Bearer sk-hongkong' };
  const messages = await ask(MESSAGES, hongkong, { listener: 2 });
  assert.equal(messages.status, 403);
  assert.match(messages.body, /"permission_error".*Singapore \(ap-southeast-1\)/);
  assert.equal((await ask(COMPATIBLE, hongkong, { listener: 2 })).status, 200);
  const bearer = { authorization: 'Bearer sk-virginia' };
  const vocabulary = await ask('/v1/conversations/x', bearer, { host: 'primary.us-east-1.example.com' });
  assert.equal(vocabulary.status, 403);
  assert.match(vocabulary.body, /access_denied/);
});

test('a workspace header or host label must be the key’s', async () => {
  const key = { authorization: 'Bearer sk-good' };
  assert.equal((await ask(COMPATIBLE, { ...key, 'X-DashScope-WorkSpace': 'primary' })).status, 200);
  const other = await ask(NATIVE, { ...key, 'x-dashscope-workspace': 'sub' });
  assert.equal(other.status, 403);
  assert.match(other.body, /"code":"Workspace\.AccessDenied"/);
  assert.equal((await ask(COMPATIBLE, { ...key, 'X-Svc-WorkSpace': 'sub' })).status, 403);
  assert.equal((await ask(COMPATIBLE, key, { host: 'primary.cn-beijing.example.com:8000' })).status, 200);
  assert.equal((await ask(COMPATIBLE, key, { host: 'sub.cn-beijing.example.com' })).status, 403);
  assert.equal((await ask(COMPATIBLE, key, { host: 'PRIMARY.CN-BEIJING.EXAMPLE.COM.' })).status, 200);
});

test('a workspace with capitals is reached by host names, which have none; a header must be exact', async () => {
  const key = { authorization: 'Bearer sk-capitals' };
  assert.equal((await ask(COMPATIBLE, key, { host: 'team-a.cn-beijing.example.com' })).status, 200);
  assert.equal((await ask(COMPATIBLE, key, { host: 'Team-A.cn-beijing.example.com' })).status, 200);
  assert.equal((await ask(COMPATIBLE, key, { host: 'team-b.cn-beijing.example.com' })).status, 403);
  assert.equal((await ask(COMPATIBLE, { ...key, 'x-dashscope-workspace': 'Team-A' })).status, 200);
  assert.equal((await ask(COMPATIBLE, { ...key, 'x-dashscope-workspace': 'team-a' })).status, 403);
});

test('a host decides the region over the listener, an unknown one does not', async () => {
  const key = { authorization: 'Bearer sk-singapore' };
  assert.equal((await ask(COMPATIBLE, key, { host: 'primary.ap-southeast-1.example.com' })).status, 200);
  assert.equal((await ask(COMPATIBLE, key, { host: 'primary.mars.example.com' })).status, 401);
  assert.equal((await ask(COMPATIBLE, key, { listener: 1 })).status, 200);
});

test('a deprecated address is served and says so, also in errors', async () => {
  const served = await ask(COMPATIBLE, { authorization: 'Bearer sk-singapore' }, { listener: 1 });
  const refused = await ask(COMPATIBLE, {}, { listener: 1 });
  for (const { head } of [served, refused]) {
    assert.match(head, /^deprecation: @1767225600$/im);
    assert.match(head, /^link: <https:\/\/w1\.ap-southeast-1\.example\.com>; rel="successor-version"$/im);
  }
  assert.doesNotMatch((await ask(COMPATIBLE, { authorization: 'Bearer sk-good' })).head, /deprecation/i);
});

test('why a key was not taken stands in the log only, and no key does', async () => {
  await ask(COMPATIBLE, { authorization: 'Bearer sk-revoked' });
  const line = front.lines.findLast((each) => each['keyStatus'] === 'revoked');
  assert.equal(line?.['status'], 401);
  assert.ok(!JSON.stringify(front.lines).includes('sk-'));
});
