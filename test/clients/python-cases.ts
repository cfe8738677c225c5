import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { lacksWeights } from '../models-folder.ts';
import { type Parley, type ParleyOptions, startParley } from './harness.ts';
import { findPython } from './python.ts';

export interface PythonCases {
  /** Package of requirements.txt. */
  readonly client: string;
  /** File name in ./python. */
  readonly script: string;
  /** What the script runs, in its order. */
  readonly cases: readonly string[];
  readonly models: readonly Parameters<typeof lacksWeights>[0][];
  /** The Parleys it talks to, by the prefix of the variables ADDRESS and KEY that name each. Default: one without a prefix. */
  readonly parleys?: Readonly<Record<string, ParleyOptions>>;
}

/** One test for each case of a Python script, which prints a line of JSON when a case ended: `{"case", "error"}`. */
export function describePythonCases(
  title: string,
  { client, script, cases, models, parleys = { '': {} } }: PythonCases,
): void {
  const python = findPython(client);
  const skip = python.lacks ?? (models.map(lacksWeights).find((reason) => reason !== false) || false);

  describe(title, { skip }, () => {
    const results = new Map(cases.map((name) => [name, Promise.withResolvers<string | null>()]));
    const strangers: string[] = [];
    const started: Parley[] = [];
    let ended: Promise<void> | undefined;

    before(async () => {
      const env: Record<string, string> = {};
      for (const [prefix, options] of Object.entries(parleys)) {
        const parley = await startParley(options);
        started.push(parley);
        env[`${prefix}ADDRESS`] = parley.address;
        env[`${prefix}KEY`] = parley.key;
      }
      ended = run(env);
    });
    after(async () => {
      await ended;
      await Promise.all(started.map((parley) => parley.stop()));
    });

    for (const [name, result] of results) {
      test(name, async () => {
        const error = await result.promise;
        if (error !== null) assert.fail(error);
      });
    }

    test('runs no case that is not listed here', async () => {
      await ended;
      assert.deepEqual(strangers, []);
    });

    async function run(env: Readonly<Record<string, string>>): Promise<void> {
      const child = spawn(python.path, [fileURLToPath(new URL(`python/${script}`, import.meta.url))], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...env, NO_PROXY: '127.0.0.1', PYTHONDONTWRITEBYTECODE: '1', PYTHONUTF8: '1' },
      });
      const complaint = text(child.stderr);
      for await (const line of createInterface(child.stdout)) {
        const { case: name, error }: { case: string; error: string | null } = JSON.parse(line);
        const result = results.get(name);
        if (result) result.resolve(error);
        else strangers.push(name);
      }
      const reason = `the script did not come to it: ${await complaint}`;
      for (const { resolve } of results.values()) resolve(reason);
    }
  });
}
