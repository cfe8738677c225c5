import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { until } from '../until.ts';
import { createServed, READY_MS_MAX, send } from './served.ts';
import type { Served, Server } from './served.ts';

const PROGRAM = fileURLToPath(new URL('../process/__fixtures__/chat-program.ts', import.meta.url));

const KILLS = 20;
/** For all of them, in ms: on a slow machine there are fewer. */
const KILLING_MS_MAX = 100_000;
/** From the moment at which it listens to its end: as long as a change of two or three programs takes, or less. */
const LIFE_MS_MAX = 2_000;

interface Told {
  readonly deployed_model: string;
  readonly status: string;
  readonly capacity: number;
  readonly ready_capacity: number;
}

/** What a deployment may want, as far as it was answered; undefined: it is not there, or goes. */
type Wanted = ReadonlySet<number | undefined>;

/** Until some moment within so many ms: none of them may matter. */
function chance(msMax: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, Math.random() * msMax);
  return promise;
}

describe('deployments and a service that is killed', { skip: process.platform !== 'linux' }, () => {
  let data = '';
  let served: Served;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-deployments-'));
    const words = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, '{port}', 'THEIR_KEY', data];
    await writeFile(
      join(data, 'parley.yaml'),
      `models:
  house-model:
    command: ${JSON.stringify(words)}
    environment: { THEIR_KEY: '{key}', NODE_COMPILE_CACHE: '${join(data, 'compile-cache')}' }
    upstreamModel: theirs
    contextTokens: 3000
`,
    );
    served = createServed({
      data,
      env: { NODE_COMPILE_CACHE: join(data, 'compile-cache'), PARLEY_MODELS_FOLDER: join(data, 'models') },
      // It says where it will listen before it does.
      isReady: async (url) => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true,
    });
  });
  after(async () => {
    await served?.end('SIGKILL');
    // Guards outlive a killed service for a moment, and what they compiled is written at their end.
    await rm(data, { recursive: true, maxRetries: 10 });
  });

  const ask = async (server: Server, method: string, path = '', body?: object) => {
    const response = await send(server, method, `/api/v1/deployments${path}`, body);
    const { output } = (await response.json()) as { readonly output?: Told };
    return { status: response.status, output };
  };
  const all = async (server: Server): Promise<readonly Told[]> => {
    const response = await send(server, 'GET', '/api/v1/deployments?page_size=100');
    return ((await response.json()) as { output: { deployments: readonly Told[] } }).output.deployments;
  };

  /** The programs that this test's services have started, by pid and start: a pid alone may be given out again. */
  async function programs(): Promise<readonly string[]> {
    const found: string[] = [];
    const told = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      const words = (await told(pid, 'cmdline')).split('\0');
      if (!words.includes(PROGRAM) || !words.includes(data)) continue;
      const [, numbers] = (await told(pid, 'stat')).split(/\) \S /);
      if (numbers !== undefined) found.push(`${pid} of ${numbers.split(' ')[18]}`);
    }
    return found;
  }

  it(
    'are brought about by the next one: no answered wish is lost, no program is left over, no record is a ghost',
    { timeout: 300_000 },
    async () => {
      // Whoever is killed writes no cache of compiled sources.
      let server = await served.start();
      await served.end('SIGTERM');
      server = await served.start();

      const wanted = new Map<string, Wanted>();
      const seen = new Set<string>();
      let answered = 0;

      // On a busy machine no life may be long enough for a program to come up: one runs before the first kill.
      const { status } = await ask(server, 'POST', '', {
        model_name: 'house-model',
        plan: 'mu',
        capacity: 1,
        suffix: 's0',
      });
      assert.equal(status, 200);
      wanted.set('house-model-s0', new Set([1]));
      const started = await until('a program runs', { withinMs: READY_MS_MAX }, async () => {
        const found = await programs();
        return found.length > 0 ? found : undefined;
      });
      for (const program of started) seen.add(program);

      /** One change after the other, until the service is gone. */
      const change = async (at: Server, turn: number): Promise<void> => {
        for (let step = 0; ; step++) {
          const suffix = `s${(turn + step) % 3}`;
          const name = `house-model-${suffix}`;
          const before: Wanted = wanted.get(name) ?? new Set([undefined]);
          const capacity = Math.floor(Math.random() * 3);
          const isThere = !before.has(undefined);
          const isToGo = isThere && Math.random() < 0.3;
          const wish = isToGo ? undefined : capacity;
          // Until it is answered, it may or may not have been heard.
          wanted.set(name, new Set([...before, wish]));
          const create = { model_name: 'house-model', plan: 'mu', capacity, suffix };
          const { status } = await (isToGo
            ? ask(at, 'DELETE', `/${name}`)
            : isThere
              ? ask(at, 'PUT', `/${name}/scale`, { capacity })
              : ask(at, 'POST', '', create));
          // One that goes, and is not gone yet, is in the way of the next one of its name.
          if (status === 200) wanted.set(name, new Set([wish]));
          else assert.ok(!isThere && status === 409, `${name} ${status}`);
          if (status === 409 && before.size === 1) wanted.set(name, before);
          answered++;
          await chance(400);
        }
      };

      const check = async (at: Server): Promise<void> => {
        const told = new Map((await all(at)).map((each) => [each.deployed_model, each]));
        for (const [name, wishes] of wanted) {
          const record = told.get(name);
          const is = record && record.status !== 'DELETING' ? record.capacity : undefined;
          assert.ok(wishes.has(is), `${name} wants ${is}, and was told to want ${[...wishes].join(' or ')}`);
          wanted.set(name, new Set([is]));
        }
        for (const name of told.keys()) assert.ok(wanted.has(name), `nobody made ${name}`);
      };

      const killingSince = performance.now();
      let kills = 0;
      for (; kills < KILLS && performance.now() - killingSince < KILLING_MS_MAX; kills += 1) {
        const { child } = server;
        const killed = once(child, 'exit');
        const changing = change(server, kills).catch((error: unknown) => {
          // Whoever asks a service that is killed is told nothing.
          if (!(error instanceof TypeError)) throw error;
        });
        await chance(LIFE_MS_MAX);
        // Where a change takes longer than a life, every second one is longer.
        if (kills % 2 === 1)
          await until('more changes than kills', { withinMs: READY_MS_MAX }, async () =>
            answered > kills + 1 ? true : undefined,
          );
        for (const program of await programs()) seen.add(program);
        child.kill('SIGKILL');
        await Promise.all([killed, changing]);
        server = await served.start();
        await check(server);
      }
      assert.ok(answered >= kills && seen.size > 0, `${answered} changes, ${seen.size} programs`);

      const last = server;
      for (const [name, wishes] of wanted)
        if (wishes.has(undefined))
          await until(`${name} is gone`, { withinMs: READY_MS_MAX }, async () =>
            (await ask(last, 'GET', `/${name}`)).status === 404 ? true : undefined,
          );
      await ask(last, 'POST', '', { model_name: 'house-model', plan: 'mu', capacity: 2, suffix: 'end' });
      wanted.set('house-model-end', new Set([2]));
      const records = await until('all that is wanted is there', { withinMs: READY_MS_MAX }, async () => {
        const told = await all(last);
        const isDone = told.every(
          ({ status, capacity, ready_capacity: ready }) =>
            status === (capacity === 0 ? 'STOPPED' : 'RUNNING') && ready === capacity,
        );
        return isDone ? told : undefined;
      });
      await check(last);
      const units = records.reduce((sum, { capacity }) => sum + capacity, 0);
      // Programs of earlier services have been told to end by their guards, and take a moment for it.
      const alive = await until(`${units} programs`, { withinMs: READY_MS_MAX }, async () => {
        const found = await programs();
        return found.length === units ? found : undefined;
      });
      for (const program of alive) assert.ok(!seen.has(program), `program ${program} has outlived its service`);
      const chat = { model: 'house-model-end', messages: [{ role: 'user', content: 'Hi' }] };
      assert.equal((await send(last, 'POST', '/v1/chat/completions', chat)).status, 200);

      for (const { deployed_model: name } of records) await ask(last, 'DELETE', `/${name}`);
      await until('nothing is left', { withinMs: READY_MS_MAX }, async () =>
        (await all(last)).length + (await programs()).length === 0 ? true : undefined,
      );
      await served.end('SIGTERM');
      const store = await openStore({ dialect: sqliteDialect({ file: join(data, 'parley.db') }) });
      assert.deepEqual(await store.deployments.listAll(), []);
      const jobs = await store.jobs.list({ limit: 100 });
      assert.deepEqual(
        jobs.filter(({ state }) => state !== 'done'),
        [],
      );
      await store.close();
    },
  );
});
