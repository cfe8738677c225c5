import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { describeAttacks } from './harness.ts';

// A model hub that lies. The operator adds and downloads models from it while the service runs.

const MIB = 1024 * 1024;
const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

/** Longest time of a command, in ms. The machine may be busy. */
const COMMAND_MS_MAX = 60_000;

const COMMIT = 'c'.repeat(40);
const CONTENT = Buffer.from('GGUF');
const CONTENT_HASH = createHash('sha256').update(CONTENT).digest('hex');
const OTHER_HASH = 'a'.repeat(64);

/** Behavior of the hub for one repository. */
interface Lie {
  /** Answers the list of files. Default: one file with the hash of the content. */
  readonly list?: (response: ServerResponse, host: string) => void;
  readonly listedHash?: string;
  readonly announcedHash?: string;
  readonly file?: (response: ServerResponse) => void;
  /** Text that the command prints. */
  readonly error: RegExp;
}

function sendWithoutEnd(response: ServerResponse): void {
  const writeMore = (): void => {
    while (!response.destroyed && response.write(Buffer.alloc(MIB, ' ')));
  };
  response.on('drain', writeMore);
  writeMore();
}

const sendNames = (names: readonly string[]) => (response: ServerResponse) =>
  void response.end(JSON.stringify(names.map((path) => ({ type: 'file', path, size: 4 }))));

const LIES_OF_LISTS: Readonly<Record<string, Lie>> = {
  'list-without-end': { list: sendWithoutEnd, error: /answer of the server is too large/ },
  'pages-without-end': {
    list: (response, host) =>
      void response.setHeader('link', `<http://${host}/api/models/o/pages-without-end/tree/x>; rel="next"`).end('[]'),
    error: /has too many files/,
  },
  'redirects-in-a-circle': {
    list: (response) => void response.writeHead(302, { location: '/api/models/o/redirects-in-a-circle/tree/x' }).end(),
    error: /redirects more than 5 times/,
  },
  'files-elsewhere': {
    list: sendNames(['../../../x-Q4_K_M.gguf', '/etc/x-Q4_K_M.gguf', 'a/../../x.gguf', '\u001b[2J-Q4_K_M.gguf']),
    error: /has no GGUF model/,
  },
};

const LIES_OF_FILES: Readonly<Record<string, Lie>> = {
  'other-content': { listedHash: OTHER_HASH, error: /unexpected content/ },
  'other-hash': { announcedHash: OTHER_HASH, error: /announces another file/ },
  'file-without-end': {
    file: (response) => sendWithoutEnd(response.writeHead(200, { 'x-linked-size': CONTENT.length })),
    error: /sent more than 4 bytes/,
  },
};

const LIES = { ...LIES_OF_LISTS, ...LIES_OF_FILES };

const server = createServer((request, response) => {
  const [, name = '', part] = /\/o\/([^/]+)\/(revision|tree|resolve)\//.exec(request.url ?? '') ?? [];
  const lie = LIES[name];
  if (!lie) return void response.writeHead(404).end();
  if (part === 'revision') return void response.end(JSON.stringify({ sha: COMMIT, tags: ['license:mit'] }));
  if (part === 'tree') {
    if (lie.list) return lie.list(response, request.headers.host ?? '');
    const lfs = { oid: lie.listedHash ?? CONTENT_HASH, size: CONTENT.length };
    return void response.end(JSON.stringify([{ type: 'file', path: 'x-Q4_K_M.gguf', size: CONTENT.length, lfs }]));
  }
  response.setHeader('x-linked-etag', `"${lie.announcedHash ?? lie.listedHash ?? CONTENT_HASH}"`);
  if (lie.file) lie.file(response);
  else response.writeHead(200, { 'content-length': CONTENT.length }).end(CONTENT);
});
await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
after(() => server.close().closeAllConnections());
const hubUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

interface CommandResult {
  readonly isDone: boolean;
  /** Standard output and standard error together. */
  readonly output: string;
}

/** Runs `parley models` on the data folder of the service. */
const runModels = (data: string, ...args: readonly string[]): Promise<CommandResult> =>
  new Promise((resolve) => {
    const options = {
      timeout: COMMAND_MS_MAX,
      env: { ...process.env, PARLEY_HUB_URL: hubUrl, PARLEY_MODELS: '', PARLEY_MODELS_FOLDER: join(data, 'weights') },
    };
    const all = ['--disable-warning=ExperimentalWarning', CLI, 'models', ...args, '--data', data];
    execFile(process.execPath, all, options, (error, stdout, stderr) =>
      resolve({ isDone: error === null, output: `${stdout}${stderr}` }),
    );
  });

const readIfExists = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

describeAttacks('attacks of a hub', {}, [
  {
    name: 'models add from repositories whose lists have no end, or name files elsewhere',
    async run({ parley: { data } }) {
      const before = await readIfExists(join(data, 'parley.yaml'));
      await Promise.all(
        Object.entries(LIES_OF_LISTS).map(async ([name, { error }]) => {
          const { isDone, output } = await runModels(data, 'add', name, '--hub', `o/${name}`);
          assert.equal(isDone, false, output);
          assert.match(output, error);
          assert.ok(!output.includes('\u001b'), 'nothing controls the terminal');
        }),
      );
      assert.equal(await readIfExists(join(data, 'parley.yaml')), before);
    },
  },
  {
    name: 'models add and models pull of files with other content, another hash, or without end',
    async run({ parley: { data } }) {
      const folder = join(data, 'weights');
      await mkdir(folder, { recursive: true });
      for (const [name, { error }] of Object.entries(LIES_OF_FILES)) {
        const added = await runModels(data, 'add', name, '--hub', `o/${name}`);
        assert.equal(added.isDone, true, added.output);
        const { isDone, output } = await runModels(data, 'pull', name);
        assert.equal(isDone, false, output);
        assert.match(output, error);
        assert.deepEqual(await readdir(folder), [], 'nothing of the file is left');
      }
      const config = await readFile(join(data, 'parley.yaml'), 'utf8');
      assert.ok(config.includes(`revision: ${COMMIT}`) && config.includes(OTHER_HASH), config);
    },
  },
]);
