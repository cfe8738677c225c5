import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Tool } from '../core/message.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ResultBlock } from '../core/result.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createHouse, ENTRY } from './__fixtures__/house.ts';
import { collect } from './collect.ts';

const entry = {
  ...ENTRY,
  contextTokens: 8192,
  abilities: { ...ENTRY.abilities, tools: true, thinking: 'prompted' as const },
};

const TOOL: Tool = {
  name: 'get_weather',
  description: '',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  field: 'tools[0].function.parameters',
};

/** An answer of a model that says these tokens, through all stages. */
async function answer(
  tokens: readonly (string | Uint8Array)[],
  request: Partial<GenerationRequest>,
): Promise<readonly Pick<ResultBlock, 'type' | 'text'>[]> {
  const engine = createScriptedEngine({ script: () => [{ type: 'tokens', tokens }], contextTokens: 8192 });
  const { batches } = await createHouse(engine, { entry }).generate(request);
  const { choices } = await collect(batches);
  return choices[0]?.blocks.map(({ type, text }) => ({ type, text })) ?? [];
}

const CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 👍 </think>"}}\n</tool_call>';

const part = fc.constantFrom(
  'Hm, ',
  '</think>',
  '\n\n',
  '<think>',
  '</thi',
  '<',
  'Grüße 👍🏽 ',
  CALL,
  CALL.slice(0, 30),
  '```json\n{"name": "get_weather", "arguments": {}}\n```',
  '{"name": "other", "arguments": {}}',
  '```',
  '{',
  'é',
);

function cutBytes(text: string, cuts: readonly number[]): Uint8Array[] {
  const bytes = new TextEncoder().encode(text);
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...places]
    .map((from, i) => bytes.subarray(from, places[i] ?? bytes.length))
    .filter(({ length }) => length > 0);
}

describe('an answer through engine output, thought, marks and calls', () => {
  const request: Partial<GenerationRequest> = {
    thinking: { budgetTokens: 4000 },
    toolUse: { tools: [TOOL], choice: 'auto', isParallel: true, streamsComplex: true },
  };

  it('is the same however its bytes are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { maxLength: 10 }),
        fc.array(fc.nat(), { maxLength: 40 }),
        async (parts, cuts) => {
          const text = parts.join('');
          assert.deepEqual(await answer(cutBytes(text, cuts), request), await answer([...text], request));
        },
      ),
    );
  });

  it('is the same cut at each byte: thought first, then words, then a call, and no mark in any of them', async () => {
    const text = `Grüße 👍🏽</think>\n\nIt is warm.${CALL}`;
    const whole = await answer([...text], request);
    assert.deepEqual(whole, [
      { type: 'reasoning', text: 'Grüße 👍🏽' },
      { type: 'text', text: '\n\nIt is warm.' },
      { type: 'tool-call', text: '{"city": "Zürich 👍 </think>"}' },
    ]);
    const { length } = new TextEncoder().encode(text);
    for (let at = 1; at < length; at++)
      assert.deepEqual(await answer(cutBytes(text, [at]), request), whole, `at ${at}`);
  });
});
