import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { test, type TestContext } from 'node:test';
import { listen } from './__fixtures__/fake-hub.ts';
import { createHubIndex, type HubIndex } from './hub-index.ts';
import { HUB_LIST_PAGES_MAX } from './limits.ts';

const COMMIT = 'c'.repeat(40);
const HASH = 'a'.repeat(64);

/** Starts a hub that answers the file list as the listener does. Counts the requests for it. */
async function startHub(
  t: TestContext,
  answerTree: RequestListener,
  answerMs?: number,
): Promise<{ readonly hub: HubIndex; trees: number }> {
  const setup = { trees: 0 };
  const server = createServer((request, response) => {
    if (!request.url?.includes('/tree/')) {
      response.end(JSON.stringify({ sha: COMMIT, tags: ['license:mit'] }));
      return;
    }
    setup.trees++;
    answerTree(request, response);
  });
  const hub = createHubIndex({ hubUrl: await listen(t, server), fetch, ...(answerMs ? { answerMs } : {}) });
  return Object.assign(setup, { hub });
}

const sendFiles = (paths: readonly string[], more: object = {}): RequestListener => {
  const files = paths.map((path) => ({ type: 'file', path, size: 7, lfs: { oid: HASH, size: 7 }, ...more }));
  return (_request, response) => response.end(JSON.stringify(files));
};

test('leaves out files whose names are no paths within the repository, or would control a terminal', async (t) => {
  const { hub } = await startHub(
    t,
    sendFiles(['a.gguf', '../b.gguf', 'c/../../d.gguf', '/e.gguf', 'f\u001b[2J.gguf', 'g\u202e.gguf', 'c/ok-1.gguf']),
  );
  const { files } = await hub.readRepository('o/r');
  assert.deepEqual(
    files.map(({ path }) => path),
    ['a.gguf', 'c/ok-1.gguf'],
  );
});

test('refuses sizes that are none', async (t) => {
  for (const size of [-1, 1.5, '7', 1e300]) {
    const { hub } = await startHub(t, sendFiles(['a.gguf'], { size }));
    await assert.rejects(hub.readRepository('o/r'), { kind: 'upstream-failed', message: /unexpected form/ });
  }
});

test('leaves out repositories and licences whose names would control a terminal', async (t) => {
  const answer = [
    { id: 'o/r', downloads: 1, tags: ['license:mit'] },
    { id: 'o/\u001b[2J', tags: [] },
    { id: 'o/s', tags: ['license:\u001b]0;x\u0007'] },
  ];
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  const hub = createHubIndex({ hubUrl: await listen(t, server), fetch });
  assert.deepEqual(await hub.search('x'), [{ name: 'o/r', downloads: 1, licence: 'mit' }, { name: 'o/s' }]);
});

test('stops reading a list without end, in one answer or in pages', async (t) => {
  const endless = await startHub(t, (_request, response) => {
    const writeMore = (): void => {
      while (!response.destroyed && response.write(' '.repeat(1024 * 1024)));
    };
    response.on('drain', writeMore);
    writeMore();
  });
  await assert.rejects(endless.hub.readRepository('o/r'), { kind: 'upstream-failed', message: /too large/ });
  const paged = await startHub(t, (request, response) => {
    const link = `<http://${request.headers.host}${request.url}>; rel="next"`;
    response.writeHead(200, { link }).end('[]');
  });
  await assert.rejects(paged.hub.readRepository('o/r'), { kind: 'upstream-failed', message: /too many files/ });
  assert.equal(paged.trees, HUB_LIST_PAGES_MAX);
});

test('gives up an answer that never ends', async (t) => {
  const { hub } = await startHub(t, (_request, response) => void response.writeHead(200).write('['), 500);
  await assert.rejects(hub.readRepository('o/r'), {
    kind: 'upstream-failed',
    message: /^The hub did not send its answer to http.* within 0\.5 s\.$/,
  });
});
