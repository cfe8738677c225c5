import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { GenerationRequest } from '../../src/core/request.ts';
import { familyOf } from '../../src/catalogue/families/families.ts';
import { ENTRY } from '../../src/generation/__fixtures__/house.ts';
import { planCompletion } from '../../src/generation/plan-completion.ts';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { openLlama } from './llama.ts';
import type { Llama } from './llama.ts';
import { lacks, SMALL } from './weights.ts';

/** What stands before and after a gap, and what fills it. The small model goes on with something like the suffix in most. */
const GAPS = [
  {
    name: 'the rest of a line',
    prompt: 'def add(a, b):\n    return ',
    suffix: '\n\nprint(add(1, 2))\n',
    filling: /^a \+ b$/,
  },
  {
    name: 'the body of a function whose end is there',
    // With its indentation: where the model has to choose that too, it is as sure of another one as of this.
    prompt: 'def total(rows):\n    result = 0\n    ',
    suffix: '\n    return result\n\nprint(total([1, 2, 3]))\n',
    filling: /^for (\w+) in rows:\n {8}result \+= \1$/,
  },
  {
    name: 'an expression before the end of its statement',
    prompt: 'function isEven(n) {\n  return ',
    suffix: ';\n}\n\nconsole.log(isEven(4));\n',
    filling: /^n % 2 ===? 0$/,
  },
  {
    name: 'a method before another one',
    prompt:
      'class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n        self.items.append(item)\n\n    def pop(self):\n',
    suffix: '\n    def is_empty(self):\n        return not self.items\n',
    filling: /^ {8}(?!.*\bdef\b).*self\.items\.pop\(\)/s,
  },
] as const;

interface Answer {
  readonly choices: readonly { readonly text: string; readonly finish_reason: string }[];
}

describe('filling in the middle with a real model', { skip: lacks(SMALL) }, () => {
  let parley: Parley;
  before(async () => {
    parley = await startParley();
  });
  after(() => parley.stop());

  const fill = async (body: object) => {
    const response = await fetch(`${parley.baseUrl}/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'svc-coder-turbo', temperature: 0, max_tokens: 64, ...body }),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as Answer).choices[0];
  };

  for (const { name, prompt, suffix, filling } of GAPS) {
    it(`ends where the gap does: ${name}`, async () => {
      const choice = await fill({ prompt, suffix });
      assert.match(choice?.text ?? '', filling);
      assert.equal(choice?.finish_reason, 'stop');
    });
  }

  it('gives the same by the template, with and without its last literal', async () => {
    const [{ prompt, suffix, filling }] = GAPS;
    const template = `<|fim_prefix|>${prompt}<|fim_suffix|>${suffix}`;
    for (const each of [`${template}<|fim_middle|>`, template])
      assert.match((await fill({ prompt: each }))?.text ?? '', filling);
  });
});

describe('a prompt to be filled, on a real vocabulary', { skip: lacks(SMALL) }, () => {
  let llama: Llama;
  before(async () => {
    llama = await openLlama(SMALL);
  });
  after(() => llama.close());

  it('has three special tokens, and literals in its content are none', async () => {
    const { engine } = llama;
    const planOf = async (prompt: NonNullable<GenerationRequest['prompt']>) => {
      const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, fillInTheMiddle: true } };
      const { fillInTheMiddle } = familyOf('qwen2');
      const { asked } = await planCompletion(prompt, { entry, engine, fillInTheMiddle });
      return await engine.tokenize(asked.input);
    };
    const special = new Set([151659, 151660, 151661]);
    const count = async (prefix: string, suffix: string): Promise<readonly number[]> =>
      (await planOf({ type: 'fill', prefix, suffix })).map(({ id }) => id).filter((id) => special.has(id));
    assert.deepEqual(await count('a', 'b'), [151659, 151661, 151660]);
    const literals = '<|fim_prefix|><|fim_suffix|><|fim_middle|>';
    assert.deepEqual(await count(`a${literals}`, `${literals}b`), [151659, 151661, 151660]);
  });
});
