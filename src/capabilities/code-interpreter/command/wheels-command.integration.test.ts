import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { hashBytes } from '../../../weights/__fixtures__/fake-hub.ts';
import type { Fetch } from '../../../weights/pull-limits.ts';
import { readPyodideDistribution, type PyodideDistribution } from '../wheels/pyodide-distribution.ts';
import { selectWheels } from '../wheels/select-wheels.ts';
import { createWheelsCommand } from './wheels-command.ts';

/** Creates a package whose wheel contains its name. */
const createPackage = (name: string, dependencies: readonly string[] = [], modules: readonly string[] = [name]) => ({
  name,
  version: '1.0',
  fileName: `${name}-1.0-py3-none-any.whl`,
  sha256: hashBytes(Buffer.from(name)),
  dependencies,
  modules,
});

const PACKAGES = [
  createPackage('array'),
  createPackage('table', ['array', 'dates']),
  createPackage('dates'),
  createPackage('image-tools', [], ['IMG']),
  { ...createPackage('solver', ['library']) },
  { ...createPackage('library'), fileName: 'library-1.0.zip' },
];

const DISTRIBUTION: PyodideDistribution = {
  version: '1.2.3',
  packages: new Map(PACKAGES.map((each) => [each.name, each])),
  target: { platform: 'pyemscripten_2026_0_wasm32', python: '3.14' },
  url: 'https://release.test/full/',
};

describe('parley wheels add', () => {
  let folder = '';
  let wheels = '';
  let requests: string[] = [];
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-wheels-'));
    wheels = join(folder, 'wheels');
    requests = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  const serve: Fetch = async (url) => {
    requests.push(url);
    return new Response(new URL(url).pathname.split('/').at(-1)?.split('-1.0')[0] ?? '');
  };

  async function run(args: readonly string[], fetch: Fetch = serve): Promise<{ output: string; errors: string }> {
    const [output, errors]: [string[], string[]] = [[], []];
    const command = createWheelsCommand({
      getFolder: () => wheels,
      readDistribution: () => DISTRIBUTION,
      openIndex: async (target) => async (wanted, workFolder) => {
        const path = join(workFolder, `${wanted.package}-${wanted.version}-cp314-cp314-${target.platform}.whl`);
        await writeFile(path, 'from the index');
        return path;
      },
      fetch,
      stdout: { write: (text) => void output.push(text) },
      stderr: { write: (text) => void errors.push(text) },
    });
    await command.parseAsync(['node', 'wheels', 'add', ...args]);
    return { output: output.join(''), errors: errors.join('') };
  }

  it('adds packages and what they import, shows progress, and keeps wheels that are there', async () => {
    const { output, errors } = await run(['table']);
    assert.deepEqual((await readdir(wheels)).toSorted(), [
      'array-1.0-py3-none-any.whl',
      'dates-1.0-py3-none-any.whl',
      'table-1.0-py3-none-any.whl',
    ]);
    assert.equal(await readFile(join(wheels, 'array-1.0-py3-none-any.whl'), 'utf8'), 'array');
    assert.match(output, new RegExp(`dates-1.0-py3-none-any.whl +added +${hashBytes(Buffer.from('dates'))}`));
    assert.match(errors, /part 0 of 3/);
    assert.match(errors, /after a restart/);
    assert.ok(requests.includes('https://release.test/full/table-1.0-py3-none-any.whl'));
    requests = [];
    assert.match((await run(['array', 'IMG'])).output, /array-1.0-py3-none-any.whl +already there/);
    assert.deepEqual(requests, ['https://release.test/full/image-tools-1.0-py3-none-any.whl']);
  });

  it('takes wheels from a folder or another address, with its password', async () => {
    const source = join(folder, 'source');
    await mkdir(source);
    await writeFile(join(source, 'array-1.0-py3-none-any.whl'), 'array', { mode: 0o600 });
    await run(['array', '--from', source]);
    assert.deepEqual([await readdir(wheels), requests], [['array-1.0-py3-none-any.whl'], []]);
    let authorization: string | null = null;
    await run(['dates', '--from', 'http://me:secret@mirror.test/314'], async (url, init) => {
      authorization = new Headers(init.headers).get('authorization');
      return serve(url, init);
    });
    assert.deepEqual(requests, ['http://mirror.test/314/dates-1.0-py3-none-any.whl']);
    assert.equal(authorization, `Basic ${Buffer.from('me:secret').toString('base64')}`);
    await assert.rejects(run(['image-tools', '--from', source]), { message: /source has no file image-tools-1.0/ });
  });

  it('adds nothing whose hash differs, and leaves no unfinished file', async () => {
    await assert.rejects(
      run(['array'], async () => new Response('changed')),
      {
        kind: 'upstream-failed',
        message: /array-1.0-py3-none-any.whl was not added: its SHA-256 is .* 1\.2\.3 states/,
      },
    );
    assert.deepEqual(await readdir(wheels), []);
  });

  it('says how to go on without a connection', async () => {
    const offline: Fetch = async () => {
      throw new TypeError('fetch failed', { cause: new Error('getaddrinfo ENOTFOUND release.test') });
    };
    await assert.rejects(run(['array'], offline), {
      message: /Cannot reach https:\/\/release\.test: getaddrinfo .* pass --from FOLDER/,
    });
    const { output } = await run(['table', '--dry-run'], offline);
    assert.match(output, new RegExp(`array-1.0-py3-none-any.whl +${hashBytes(Buffer.from('array'))}`));
  });

  it('replaces other versions of a package', async () => {
    await mkdir(wheels);
    for (const name of ['array-0.9-py3-none-any.whl', 'array_tools-0.9-py3-none-any.whl', 'array-notes.txt'])
      await writeFile(join(wheels, name), 'old');
    await run(['array']);
    assert.deepEqual((await readdir(wheels)).toSorted(), [
      'array-1.0-py3-none-any.whl',
      'array-notes.txt',
      'array_tools-0.9-py3-none-any.whl',
    ]);
  });

  it('takes other packages from the package index by their version', async () => {
    const { output } = await run(['msgpack==1.2.4']);
    assert.deepEqual(await readdir(wheels), ['msgpack-1.2.4-cp314-cp314-pyemscripten_2026_0_wasm32.whl']);
    assert.match(output, new RegExp(`added +${hashBytes(Buffer.from('from the index'))}`));
  });

  it('refuses unknown names with similar ones, and packages with parts that are no wheels', async () => {
    await assert.rejects(run(['tables']), { kind: 'invalid-request', message: /Similar: table\..*tables==1\.0/ });
    await assert.rejects(run(['solver']), { kind: 'unsupported', message: /library-1\.0\.zip/ });
  });
});

describe('readPyodideDistribution', () => {
  it('pins numpy, pandas and matplotlib with what they import', () => {
    const distribution = readPyodideDistribution();
    const { pinned } = selectWheels(['numpy', 'pandas', 'matplotlib', 'PIL'], distribution);
    assert.ok(pinned.length >= 13);
    for (const { fileName, sha256 } of pinned) {
      assert.match(fileName, /-none-any\.whl$|-cp314-cp314-pyemscripten_2026_0_wasm32\.whl$/);
      assert.match(sha256, /^[0-9a-f]{64}$/);
    }
    assert.deepEqual(distribution.target, { platform: 'pyemscripten_2026_0_wasm32', python: '3.14' });
  });
});
