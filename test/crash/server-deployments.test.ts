import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { scaleKills } from '../scale-kills.ts';
import { until } from '../until.ts';
import { createRestartableServer, READY_MS_MAX, send } from './restartable-server.ts';
import type { RestartableServer, RunningServer } from './restartable-server.ts';

const PROGRAM = fileURLToPath(new URL('../process/__fixtures__/fake-chat-server.ts', import.meta.url));

const KILLS = scaleKills(20);
/** Limit for all kills together, in ms: a slow machine runs fewer of them. */
const KILLING_MS_MAX = 100_000;
/** Longest time from readiness to the kill, in ms: about as long as a change of two or three programs takes. */
const LIFE_MS_MAX = 2_000;

interface DeploymentResponse {
  readonly deployed_model: string;
  readonly status: string;
  readonly capacity: number;
  readonly ready_capacity: number;
}

/** Capacities that a deployment may have after the responses so far; undefined means deleted or being deleted. */
type PossibleCapacities = ReadonlySet<number | undefined>;

/** Waits for a random time of at most `msMax` milliseconds. */
function waitRandomly(msMax: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  setTimeout(resolve, Math.random() * msMax);
  return promise;
}

describe('deployments of a service that is killed', { skip: process.platform !== 'linux' }, () => {
  let data = '';
  let testServer: RestartableServer;
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-crash-deployments-'));
    const compileCache = process.env.NODE_COMPILE_CACHE ?? join(data, 'compile-cache');
    const programCommand = [
      process.execPath,
      '--disable-warning=ExperimentalWarning',
      PROGRAM,
      '{port}',
      'PROGRAM_KEY',
      data,
    ];
    await writeFile(
      join(data, 'parley.yaml'),
      `models:
  program-model:
    command: ${JSON.stringify(programCommand)}
    environment: { PROGRAM_KEY: '{key}', NODE_COMPILE_CACHE: '${compileCache}' }
    upstreamModel: theirs
    contextTokens: 3000
`,
    );
    testServer = createRestartableServer({
      data,
      env: { NODE_COMPILE_CACHE: compileCache, PARLEY_MODELS_FOLDER: join(data, 'models') },
      // The server prints its address before it listens.
      isReady: async (url) => (await fetch(`${url}/health`).catch(() => undefined))?.ok === true,
    });
  });
  after(async () => {
    await testServer?.stop('SIGKILL');
    // Guard processes outlive a killed service for a moment and write their compile cache when they exit.
    await rm(data, { recursive: true, maxRetries: 10 });
  });

  const sendRequest = async (server: RunningServer, method: string, path = '', body?: object) => {
    const response = await send(server, method, `/api/v1/deployments${path}`, body);
    const { output } = (await response.json()) as { readonly output?: DeploymentResponse };
    return { status: response.status, output };
  };
  const listDeployments = async (server: RunningServer): Promise<readonly DeploymentResponse[]> => {
    const response = await send(server, 'GET', '/api/v1/deployments?page_size=100');
    return ((await response.json()) as { output: { deployments: readonly DeploymentResponse[] } }).output.deployments;
  };

  /** Lists the programs of this test's services by pid and start time, because a pid may be reused. */
  async function listPrograms(): Promise<readonly string[]> {
    const found: string[] = [];
    const readProcFile = (pid: string, file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '');
    for (const pid of await readdir('/proc')) {
      if (!/^\d+$/.test(pid)) continue;
      const words = (await readProcFile(pid, 'cmdline')).split('\0');
      if (!words.includes(PROGRAM) || !words.includes(data)) continue;
      const [, numbers] = (await readProcFile(pid, 'stat')).split(/\) \S /);
      if (numbers !== undefined) found.push(`${pid} of ${numbers.split(' ')[18]}`);
    }
    return found;
  }

  it(
    'are reconciled by the next service: no acknowledged change is lost, no program and no record is left over',
    { timeout: 300_000 },
    async () => {
      // A killed process writes no compile cache, so the first one exits normally.
      let server = await testServer.start();
      await testServer.stop('SIGTERM');
      server = await testServer.start();

      const possibleCapacities = new Map<string, PossibleCapacities>();
      const earlierPrograms = new Set<string>();
      let responseCount = 0;

      // Starts one program before the first kill, because no later life may be long enough on a busy machine.
      const { status } = await sendRequest(server, 'POST', '', {
        model_name: 'program-model',
        plan: 'mu',
        capacity: 1,
        suffix: 's0',
      });
      assert.equal(status, 200);
      possibleCapacities.set('program-model-s0', new Set([1]));
      const started = await until('a program is running', { timeoutMs: READY_MS_MAX }, async () => {
        const found = await listPrograms();
        return found.length > 0 ? found : undefined;
      });
      for (const program of started) earlierPrograms.add(program);

      /** Sends one change after another until the service is gone. */
      const changeDeployments = async (at: RunningServer, turn: number): Promise<void> => {
        for (let step = 0; ; step++) {
          const suffix = `s${(turn + step) % 3}`;
          const name = `program-model-${suffix}`;
          const before: PossibleCapacities = possibleCapacities.get(name) ?? new Set([undefined]);
          const capacity = Math.floor(Math.random() * 3);
          const isDeployed = !before.has(undefined);
          const isDeletion = isDeployed && Math.random() < 0.3;
          const newCapacity = isDeletion ? undefined : capacity;
          // Until the response arrives, the service may or may not have applied the change.
          possibleCapacities.set(name, new Set([...before, newCapacity]));
          const create = { model_name: 'program-model', plan: 'mu', capacity, suffix };
          const { status } = await (isDeletion
            ? sendRequest(at, 'DELETE', `/${name}`)
            : isDeployed
              ? sendRequest(at, 'PUT', `/${name}/scale`, { capacity })
              : sendRequest(at, 'POST', '', create));
          // A deployment that is still being deleted blocks the next one with its name.
          if (status === 200) possibleCapacities.set(name, new Set([newCapacity]));
          else assert.ok(!isDeployed && status === 409, `${name} ${status}`);
          if (status === 409 && before.size === 1) possibleCapacities.set(name, before);
          responseCount++;
          await waitRandomly(400);
        }
      };

      const checkDeployments = async (at: RunningServer): Promise<void> => {
        const recordsByName = new Map((await listDeployments(at)).map((each) => [each.deployed_model, each]));
        for (const [name, capacities] of possibleCapacities) {
          const record = recordsByName.get(name);
          const actual = record && record.status !== 'DELETING' ? record.capacity : undefined;
          assert.ok(capacities.has(actual), `${name} has capacity ${actual}, expected ${[...capacities].join(' or ')}`);
          possibleCapacities.set(name, new Set([actual]));
        }
        for (const name of recordsByName.keys()) assert.ok(possibleCapacities.has(name), `${name} was never created`);
      };

      const killingSince = performance.now();
      let kills = 0;
      for (; kills < KILLS && performance.now() - killingSince < KILLING_MS_MAX; kills += 1) {
        const { child } = server;
        const killed = once(child, 'exit');
        const changeLoop = changeDeployments(server, kills).catch((error: unknown) => {
          // A request to a killed service fails without a response.
          if (!(error instanceof TypeError)) throw error;
        });
        await waitRandomly(LIFE_MS_MAX);
        // Waits longer before every second kill, in case a change takes longer than a life.
        if (kills % 2 === 1)
          await until('there are more responses than kills', { timeoutMs: READY_MS_MAX }, async () =>
            responseCount > kills + 1 ? true : undefined,
          );
        for (const program of await listPrograms()) earlierPrograms.add(program);
        child.kill('SIGKILL');
        await Promise.all([killed, changeLoop]);
        server = await testServer.start();
        await checkDeployments(server);
      }
      assert.ok(
        responseCount >= kills && earlierPrograms.size > 0,
        `${responseCount} responses, ${earlierPrograms.size} programs`,
      );

      const last = server;
      for (const [name, possible] of possibleCapacities)
        if (possible.has(undefined))
          await until(`${name} is gone`, { timeoutMs: READY_MS_MAX }, async () =>
            (await sendRequest(last, 'GET', `/${name}`)).status === 404 ? true : undefined,
          );
      await sendRequest(last, 'POST', '', { model_name: 'program-model', plan: 'mu', capacity: 2, suffix: 'end' });
      possibleCapacities.set('program-model-end', new Set([2]));
      const records = await until('all deployments reach their capacity', { timeoutMs: READY_MS_MAX }, async () => {
        const current = await listDeployments(last);
        const isDone = current.every(
          ({ status, capacity, ready_capacity: ready }) =>
            status === (capacity === 0 ? 'STOPPED' : 'RUNNING') && ready === capacity,
        );
        return isDone ? current : undefined;
      });
      await checkDeployments(last);
      const unitCount = records.reduce((sum, { capacity }) => sum + capacity, 0);
      // The guards of earlier services are still stopping their programs, which takes a moment.
      const runningPrograms = await until(
        `${unitCount} programs are running`,
        { timeoutMs: READY_MS_MAX },
        async () => {
          const found = await listPrograms();
          return found.length === unitCount ? found : undefined;
        },
      );
      for (const program of runningPrograms)
        assert.ok(!earlierPrograms.has(program), `program ${program} outlived its service`);
      const chat = { model: 'program-model-end', messages: [{ role: 'user', content: 'Hi' }] };
      assert.equal((await send(last, 'POST', '/v1/chat/completions', chat)).status, 200);

      for (const { deployed_model: name } of records) await sendRequest(last, 'DELETE', `/${name}`);
      await until('nothing is left', { timeoutMs: READY_MS_MAX }, async () =>
        (await listDeployments(last)).length + (await listPrograms()).length === 0 ? true : undefined,
      );
      await testServer.stop('SIGTERM');
      const store = await openStore({ dialect: createSqliteDialect({ file: join(data, 'parley.db') }) });
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
