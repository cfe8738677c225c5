import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { GenerationRequest } from '../../src/core/request.ts';
import { getFamily } from '../../src/catalogue/families/families.ts';
import { ENTRY } from '../../src/generation/__fixtures__/test-generation.ts';
import { planCompletion } from '../../src/generation/plan-completion.ts';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { openTestLlama } from './test-llama.ts';
import type { TestLlama } from './test-llama.ts';
import { getWeightsFileSkipReason, SMALL } from './weights.ts';

/**
 * Code before and after a gap, and the expected filling. The small model tends to repeat the suffix in most gaps. A line
 * and several lines come first; the others are filled in a full run only (PARLEY_TEST_FULL=1).
 */
const GAPS = [
  {
    name: 'the rest of a line',
    prompt: 'def add(a, b):\n    return ',
    suffix: '\n\nprint(add(1, 2))\n',
    filling: /^a \+ b$/,
  },
  {
    name: 'the body of a function whose end is there',
    // The prompt ends with the indentation, because the model is equally likely to choose another one.
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

describe('filling in the middle with a real model', { skip: getWeightsFileSkipReason(SMALL) }, () => {
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

  for (const { name, prompt, suffix, filling } of GAPS.slice(
    0,
    process.env['PARLEY_TEST_FULL'] === '1' ? undefined : 2,
  )) {
    it(`stops at the end of the gap: ${name}`, async () => {
      const choice = await fill({ prompt, suffix });
      assert.match(choice?.text ?? '', filling);
      assert.equal(choice?.finish_reason, 'stop');
    });
  }

  it('gives the same for a prompt in the template, with and without its last literal', async () => {
    const [{ prompt, suffix, filling }] = GAPS;
    const template = `<|fim_prefix|>${prompt}<|fim_suffix|>${suffix}`;
    for (const each of [`${template}<|fim_middle|>`, template])
      assert.match((await fill({ prompt: each }))?.text ?? '', filling);
  });
});

describe('a fill-in-the-middle prompt on a real vocabulary', { skip: getWeightsFileSkipReason(SMALL) }, () => {
  let llama: TestLlama;
  before(async () => {
    llama = await openTestLlama(SMALL);
  });
  after(() => llama.close());

  it('has three special tokens, and literals in its text stay text', async () => {
    const { engine } = llama;
    const tokenizePlan = async (prompt: NonNullable<GenerationRequest['prompt']>) => {
      const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, fillInTheMiddle: true } };
      const { fillInTheMiddle } = getFamily('qwen2');
      const { engineRequest } = await planCompletion(prompt, { entry, engine, fillInTheMiddle });
      return await engine.tokenize(engineRequest.input);
    };
    const special = new Set([151659, 151660, 151661]);
    const findSpecialTokens = async (prefix: string, suffix: string): Promise<readonly number[]> =>
      (await tokenizePlan({ type: 'fill', prefix, suffix })).map(({ id }) => id).filter((id) => special.has(id));
    assert.deepEqual(await findSpecialTokens('a', 'b'), [151659, 151661, 151660]);
    const literals = '<|fim_prefix|><|fim_suffix|><|fim_middle|>';
    assert.deepEqual(await findSpecialTokens(`a${literals}`, `${literals}b`), [151659, 151661, 151660]);
  });
});
