import assert from 'node:assert/strict';
import { describeAttacks } from './harness.ts';

// Answers that occupy every sequence of the model.

/** Length of the attacker's answers in steps of 10 ms. */
const STEPS = 300;

const LONG_SCRIPT = `script:${JSON.stringify(Array.from({ length: STEPS }, () => ['x ', { delayMs: 10 }]).flat())}`;

describeAttacks('attacks on the sequences of a model', {}, [
  {
    name: 'two requests with n: 4 that fill all four sequences for many seconds',
    async run({ address, key }) {
      const ask = async (): Promise<void> => {
        const response = await fetch(`${address}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'svc-plus', n: 4, messages: [{ role: 'user', content: LONG_SCRIPT }] }),
        });
        const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
        // An interrupted answer continues where it stopped.
        assert.deepEqual(
          choices.map(({ message }) => message.content.length),
          [2 * STEPS, 2 * STEPS, 2 * STEPS, 2 * STEPS],
        );
      };
      await Promise.all([ask(), ask()]);
    },
  },
]);
