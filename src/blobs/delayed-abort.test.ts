import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { createDelayedAbort } from './delayed-abort.ts';

describe('delayed abort', () => {
  it('aborts after its delay once the trigger aborts', async () => {
    const trigger = new AbortController();
    const delayedAbort = createDelayedAbort(trigger.signal, 1);
    assert.equal(delayedAbort.signal.aborted, false);
    trigger.abort();
    assert.equal(delayedAbort.signal.aborted, false);
    await once(delayedAbort.signal, 'abort');
  });

  it('aborts also if the trigger was aborted from the start', async () => {
    await once(createDelayedAbort(AbortSignal.abort(), 1).signal, 'abort');
  });

  it('does not abort after dispose', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const trigger = new AbortController();
    const delayedAbort = createDelayedAbort(trigger.signal, 1);
    trigger.abort();
    delayedAbort.dispose();
    t.mock.timers.tick(10);
    assert.equal(delayedAbort.signal.aborted, false);
  });
});
