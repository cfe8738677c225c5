import { spawnSync } from 'node:child_process';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { type ParleyOptions, REQUEST_MS_MAX } from './harness.ts';
import { assertPublished, lacksPublishedShapes } from './published-shapes.ts';
import { type RecordedParley, startRecordedParley } from './recorded-parley.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

export interface RecordedOpenAI {
  readonly client: OpenAI;
  /** Of another workspace. */
  readonly stranger: OpenAI;
  /** On the path that this interface had before. */
  readonly old: OpenAI;
  /** The last test of the suite: whatever its clients were told has its published shape, and there was one of each of these. */
  testPublished(kinds: readonly string[]): void;
}

/** Clients for Node, which try nothing twice, at a Parley that runs as long as the tests of the suite it is called in. */
export function useRecordedOpenAI(options: ParleyOptions): RecordedOpenAI {
  let parley: RecordedParley;
  let stranger = '';
  before(async () => {
    parley = await startRecordedParley(options);
    const args = ['keys', 'create', '--workspace', 'strangers', '--json', '--data', parley.data];
    const made = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, ...args], {
      encoding: 'utf8',
    });
    assert.equal(made.status, 0, made.stderr);
    stranger = JSON.parse(made.stdout).key;
  });
  after(() => parley?.stop());

  const clientAt = (baseURL: string, apiKey: string): OpenAI =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: REQUEST_MS_MAX });
  return {
    get client() {
      return clientAt(parley.baseUrl, parley.key);
    },
    get stranger() {
      return clientAt(parley.baseUrl, stranger);
    },
    get old() {
      return clientAt(`${parley.address}/api/v2/apps/protocols/compatible-mode/v1`, parley.key);
    },
    testPublished(kinds) {
      test('has its published shape in every answer and event', { skip: lacksPublishedShapes }, () =>
        assertPublished(parley.exchanges, kinds),
      );
    },
  };
}
