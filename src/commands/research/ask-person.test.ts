import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { createAskPerson } from './ask-person.ts';

function terminal({ isTTY = true } = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stdin = Object.assign(input, { isTTY, isRaw: false, setRawMode: () => input }) as never;
  const stderr = Object.assign(output, { isTTY, columns: 80, rows: 24 }) as never;
  return { ask: createAskPerson({ stdin, stderr }), input, output };
}

describe('a person at a terminal', () => {
  it('is asked for one line', async () => {
    const { ask, input, output } = terminal();
    const answer = ask?.('> ', new AbortController().signal);
    input.write('Blue ones.\r');
    assert.equal(await answer, 'Blue ones.');
    assert.match(String(output.read()), /> /);
  });

  it('says nothing by closing it', async () => {
    const { ask, input } = terminal();
    const answer = ask?.('> ', new AbortController().signal);
    input.write('\u0004');
    assert.equal(await answer, '');
  });

  it('stops all by Ctrl-C, and is not waited for when something else does', async () => {
    const { ask, input } = terminal();
    const answer = ask?.('> ', new AbortController().signal);
    input.write('\u0003');
    await assert.rejects(answer ?? assert.fail(), { kind: 'cancelled', message: 'Stopped. Nothing was written.' });

    const stop = new AbortController();
    const reason = new ServiceError('cancelled', 'Stopped.');
    const second = terminal().ask?.('> ', stop.signal);
    stop.abort(reason);
    await assert.rejects(second ?? assert.fail(), reason);
  });

  it('is nobody where there is no terminal', () => {
    assert.equal(terminal({ isTTY: false }).ask, undefined);
  });
});
