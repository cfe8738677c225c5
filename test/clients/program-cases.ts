import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { lacksModel, type TestedModel } from '../models-folder.ts';
import { type Parley, type ParleyOptions, startParley } from './harness.ts';
import { assertPublished, lacksPublishedShapes } from './published-shapes.ts';
import { startRecordedParley } from './recorded-parley.ts';
import type { Exchange } from './recorder.ts';

export interface Cases {
  /** What the program runs, in its order. */
  readonly cases: readonly string[];
  readonly models: readonly TestedModel[];
  /**
   * The Parleys it talks to, by the prefix of the variables ADDRESS and KEY that name each; one may be started in its own way.
   * Default: one without a prefix.
   */
  readonly parleys?: Readonly<Record<string, ParleyOptions | (() => Promise<Parley>)>>;
  /**
   * Whatever the program is told of conversations and responses is checked by its published shape, and that there is one of
   * each of these: `assertPublished`. It talks to nothing else then.
   */
  readonly published?: readonly string[];
  /** What is looked at here when the program has ended, by its title; its Parleys still serve. */
  readonly afterwards?: Readonly<Record<string, () => void | Promise<void>>>;
}

/** A program of another language. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Why its tests are skipped. */
  readonly lacks?: string | undefined;
}

/** One test for each case of a program, which prints a line of JSON when a case ended: `{"case", "error"}`. */
export function describeProgramCases(
  title: string,
  program: Program,
  { cases, models, parleys = { '': {} }, published, afterwards = {} }: Cases,
): void {
  const skip = program.lacks ?? (models.map(lacksModel).find((reason) => reason !== false) || false);

  describe(title, { skip }, () => {
    const results = new Map(cases.map((name) => [name, Promise.withResolvers<string | null>()]));
    const strangers: string[] = [];
    const started: Parley[] = [];
    const exchanges: (readonly Exchange[])[] = [];
    let ended: Promise<void> | undefined;

    before(async () => {
      const env: Record<string, string> = {};
      for (const [prefix, options] of Object.entries(parleys)) {
        const parley = await start(options);
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

    for (const [name, look] of Object.entries(afterwards)) {
      test(name, async () => {
        await ended;
        await look();
      });
    }

    if (published) {
      test('is told nothing but what has its published shape', { skip: lacksPublishedShapes }, async () => {
        await ended;
        assertPublished(exchanges.flat(), published);
      });
    }

    function start(options: ParleyOptions | (() => Promise<Parley>)): Promise<Parley> {
      if (typeof options === 'function') return options();
      return published ? startRecorded(options) : startParley(options);
    }

    async function startRecorded(options: ParleyOptions): Promise<Parley> {
      const parley = await startRecordedParley(options);
      exchanges.push(parley.exchanges);
      return parley;
    }

    async function run(env: Readonly<Record<string, string>>): Promise<void> {
      const child = spawn(program.command, program.args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, ...program.env, ...env, NO_PROXY: '127.0.0.1' },
      });
      const complaint = text(child.stderr);
      for await (const line of createInterface(child.stdout)) {
        const { case: name, error }: { case: string; error: string | null } = JSON.parse(line);
        const result = results.get(name);
        if (result) result.resolve(error);
        else strangers.push(name);
      }
      const reason = `the program did not come to it: ${await complaint}`;
      for (const { resolve } of results.values()) resolve(reason);
    }
  });
}
