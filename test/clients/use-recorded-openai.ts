import { spawnSync } from 'node:child_process';
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import { type ParleyOptions, REQUEST_MS_MAX } from './harness.ts';
import { assertPublishedShapes, publishedShapesSkipReason } from './published-shapes.ts';
import { type RecordedParley, startRecordedParley } from './recorded-parley.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));

export interface RecordedOpenAI {
  readonly client: OpenAI;
  /** A client with a key of another workspace. */
  readonly otherWorkspaceClient: OpenAI;
  /** A client on the deprecated path of the interface. */
  readonly deprecatedPathClient: OpenAI;
  /**
   * Declares the last test of the suite: all bodies and events match their published shapes, and each of these shapes
   * occurs.
   */
  testPublishedShapes(kinds: readonly string[]): void;
}

/**
 * Creates clients without retries, and a Parley behind a recording proxy that runs during the tests of the calling
 * suite.
 */
export function useRecordedOpenAI(options: ParleyOptions): RecordedOpenAI {
  let parley: RecordedParley;
  let otherWorkspaceKey: string | undefined;
  before(async () => {
    parley = await startRecordedParley(options);
  });
  after(() => parley?.stop());

  const createClient = (baseURL: string, apiKey: string): OpenAI =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: REQUEST_MS_MAX });
  return {
    get client() {
      return createClient(parley.baseUrl, parley.key);
    },
    get otherWorkspaceClient() {
      return createClient(parley.baseUrl, (otherWorkspaceKey ??= createKey('strangers', parley.data)));
    },
    get deprecatedPathClient() {
      return createClient(`${parley.address}/api/v2/apps/protocols/compatible-mode/v1`, parley.key);
    },
    testPublishedShapes(kinds) {
      test('match their published shapes in every answer and event', { skip: publishedShapesSkipReason }, () =>
        assertPublishedShapes(parley.exchanges, kinds),
      );
    },
  };
}

/** Creates a key of a workspace with the CLI, as an operator does, and returns its secret. */
function createKey(workspace: string, data: string): string {
  const args = ['keys', 'create', '--workspace', workspace, '--json', '--data', data];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', CLI, ...args],
    { encoding: 'utf8' },
  );
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout).key;
}
