import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { after, afterEach, beforeEach, describe, mock, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { offerSpeech, SPEECH_ANSWER_MS_MAX } from './offer-speech.ts';

const QUESTION = 'Add speech recognition and embeddings? Download: engine 114 MB, weights 172 MB. [y/N] ';
const NOT_ADDED = 'Speech is not added. To add it later: parley serve --with speech\n';
const MISSING = { engineBytes: 114e6, weightsBytes: 172e6 };

describe('the offer of speech at the start', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-offer-'));
  const declinedFile = join(folder, 'speech-declined');
  after(() => rmSync(folder, { recursive: true }));
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => {
    mock.timers.reset();
    rmSync(declinedFile, { force: true });
  });

  const open = ({ isTerminal = true, isRequested = false, isMissing = true } = {}) => {
    const stdin = Object.assign(new PassThrough(), { isTTY: isTerminal });
    let output = '';
    const stop = new AbortController();
    const accepted = offerSpeech({
      setup: { findMissing: async () => (isMissing ? MISSING : undefined) },
      isRequested,
      declinedFile,
      signal: stop.signal,
      stdin,
      stdout: { isTTY: isTerminal, write: (text) => (output += text) },
    });
    return { stdin, stop, accepted, readOutput: () => output };
  };
  const answer = async (line: string) => {
    const { stdin, accepted, readOutput } = open();
    stdin.write(line);
    return { isAccepted: await accepted, output: readOutput() };
  };

  test('names the downloads, and installs after a yes', async () => {
    for (const line of ['y\n', 'Yes\n']) {
      assert.deepEqual(await answer(line), { isAccepted: true, output: QUESTION });
    }
    assert.equal(existsSync(declinedFile), false);
  });

  test('takes an empty line for no, and does not ask again', async () => {
    assert.deepEqual(await answer('\n'), { isAccepted: false, output: QUESTION + NOT_ADDED });
    const again = open();
    assert.equal(await again.accepted, false);
    assert.equal(again.readOutput(), '');
  });

  test('continues without an answer, and asks again at the next start', async () => {
    const { accepted, readOutput } = open();
    await nextTurn();
    assert.equal(readOutput(), QUESTION);
    mock.timers.tick(SPEECH_ANSWER_MS_MAX);
    assert.equal(await accepted, false);
    assert.equal(readOutput(), `${QUESTION}\n${NOT_ADDED}`);
    assert.equal(existsSync(declinedFile), false);
  });

  test('stops waiting when the service stops or the input ends', async () => {
    const stopped = open();
    await nextTurn();
    stopped.stop.abort(new Error('stopping'));
    assert.equal(await stopped.accepted, false);
    const ended = open();
    ended.stdin.end();
    assert.equal(await ended.accepted, false);
    assert.equal(existsSync(declinedFile), false);
  });

  test('asks nothing without a terminal', async () => {
    const { accepted, readOutput } = open({ isTerminal: false });
    assert.equal(await accepted, false);
    assert.equal(readOutput(), '');
  });

  test('asks nothing when nothing is missing', async () => {
    const { accepted, readOutput } = open({ isMissing: false });
    assert.equal(await accepted, false);
    assert.equal(readOutput(), '');
  });

  test('installs without a question when the configuration says so, with or without a terminal', async () => {
    for (const isTerminal of [true, false]) {
      const { accepted, readOutput } = open({ isTerminal, isRequested: true });
      assert.equal(await accepted, true);
      assert.equal(readOutput(), '');
    }
    assert.equal(await open({ isRequested: true, isMissing: false }).accepted, false);
  });
});
