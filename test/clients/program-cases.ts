import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { getCapabilitySkipReason } from '../capabilities.ts';
import { getModelSkipReason, type TestModel } from '../models-folder.ts';
import { type Parley, type ParleyOptions, startParley } from './harness.ts';
import { assertPublishedShapes, publishedShapesSkipReason } from './published-shapes.ts';
import { startRecordedParley } from './recorded-parley.ts';
import type { Exchange } from './recording-proxy.ts';

export interface ProgramCases {
  /** Names of the cases in the order in which the program runs them. */
  readonly cases: readonly string[];
  readonly models: readonly TestModel[];
  /** Names of capabilities that the cases use; without one of them, they are skipped. Default: none. */
  readonly capabilities?: readonly string[];
  /**
   * The Parleys that the program calls, by the prefix of the environment variables ADDRESS and KEY that describe each.
   * A function starts a Parley with other settings. Default: one without a prefix.
   */
  readonly parleys?: Readonly<Record<string, ParleyOptions | (() => Promise<Parley>)>>;
  /**
   * Names of published shapes: all conversations and responses that the program receives are checked against their
   * published shapes, and each of these must occur at least once (`assertPublishedShapes`). The program may call
   * nothing else then.
   */
  readonly expectedShapes?: readonly string[];
  /** Checks after the end of the program, by their titles. The Parleys still run. */
  readonly checksAfterwards?: Readonly<Record<string, () => void | Promise<void>>>;
}

/** A test program in another language. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Why its tests are skipped; undefined when they can run. */
  readonly skipReason?: string | undefined;
}

/**
 * Makes a function that starts one Parley for all suites of a test file whose cases leave nothing behind that others
 * would notice. It is stopped at the end of the file.
 */
export function shareParley<T extends Parley>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined;
  after(async () => (await started)?.stop());
  return async () => ({ ...(await (started ??= start())), stop: async () => undefined });
}

/**
 * Declares one test for each case of a program. The program prints a JSON line `{"case", "error"}` at the end of each
 * case.
 */
export function describeProgramCases(
  title: string,
  program: Program,
  { cases, models, capabilities = [], parleys = { '': {} }, expectedShapes, checksAfterwards = {} }: ProgramCases,
): void {
  const skip =
    program.skipReason ??
    (getCapabilitySkipReason(...capabilities) ||
      (models.map(getModelSkipReason).find((reason) => reason !== false) ?? false));

  describe(title, { skip }, () => {
    const results = new Map(cases.map((name) => [name, Promise.withResolvers<string | null>()]));
    const unlistedCases: string[] = [];
    const started: Parley[] = [];
    const recordedExchanges: (readonly Exchange[])[] = [];
    let finished: Promise<void> | undefined;

    before(async () => {
      const env: Record<string, string> = {};
      for (const [prefix, options] of Object.entries(parleys)) {
        const parley = await start(options);
        started.push(parley);
        env[`${prefix}ADDRESS`] = parley.address;
        env[`${prefix}KEY`] = parley.key;
      }
      finished = run(env);
    });
    after(async () => {
      await finished;
      await Promise.all(started.map((parley) => parley.stop()));
    });

    for (const [name, result] of results) {
      test(name, async () => {
        const error = await result.promise;
        if (error !== null) assert.fail(error);
      });
    }

    test('runs no case that the test does not list', async () => {
      await finished;
      assert.deepEqual(unlistedCases, []);
    });

    for (const [name, check] of Object.entries(checksAfterwards)) {
      test(name, async () => {
        await finished;
        await check();
      });
    }

    if (expectedShapes) {
      test(
        'gets only answers and events that match their published shapes',
        { skip: publishedShapesSkipReason },
        async () => {
          await finished;
          assertPublishedShapes(recordedExchanges.flat(), expectedShapes);
        },
      );
    }

    function start(options: ParleyOptions | (() => Promise<Parley>)): Promise<Parley> {
      if (typeof options === 'function') return options();
      return expectedShapes ? startRecorded(options) : startParley(options);
    }

    async function startRecorded(options: ParleyOptions): Promise<Parley> {
      const parley = await startRecordedParley(options);
      recordedExchanges.push(parley.exchanges);
      return parley;
    }

    async function run(env: Readonly<Record<string, string>>): Promise<void> {
      const child = spawn(program.command, program.args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...program.env, ...env, NO_PROXY: '127.0.0.1' },
      });
      const stderr = text(child.stderr);
      for await (const line of createInterface(child.stdout)) {
        const { case: name, error }: { case: string; error: string | null } = JSON.parse(line);
        const result = results.get(name);
        if (result) result.resolve(error);
        else unlistedCases.push(name);
      }
      const reason = `the program did not run this case: ${await stderr}`;
      for (const { resolve } of results.values()) resolve(reason);
    }
  });
}
