import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, it } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { createAskUser } from './ask-user.ts';

function terminal({ isTTY = true } = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const stdin = Object.assign(input, { isTTY, isRaw: false, setRawMode: () => input }) as never;
  const stderr = Object.assign(output, { isTTY, columns: 80, rows: 24 }) as never;
  return { ask: createAskUser({ stdin, stderr }), input, output };
}

describe('askUser', () => {
  it('reads one line', async () => {
    const { ask, input, output } = terminal();
    const answer = ask?.('> ', new AbortController().signal);
    input.write('Blue ones.\r');
    assert.equal(await answer, 'Blue ones.');
    assert.match(String(output.read()), /> /);
  });

  it('returns an empty text when the input is closed', async () => {
    const { ask, input } = terminal();
    const answer = ask?.('> ', new AbortController().signal);
    input.write('\u0004');
    assert.equal(await answer, '');
  });

  it('rejects at Ctrl-C and when the signal aborts', async () => {
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

  it('is undefined without a terminal', () => {
    assert.equal(terminal({ isTTY: false }).ask, undefined);
  });
});
