import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePositions } from '../../test/property-runs.ts';
import type { Tool } from '../core/message.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ResultBlock } from '../core/result.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY } from './__fixtures__/test-generation.ts';
import { collectResult } from './collect-result.ts';

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

/** Returns the blocks of an answer with these tokens after all stages. */
async function answer(
  tokens: readonly (string | Uint8Array)[],
  request: Partial<GenerationRequest>,
): Promise<readonly Pick<ResultBlock, 'type' | 'text'>[]> {
  const engine = createScriptedEngine({ script: () => [{ type: 'tokens', tokens }], contextTokens: 8192 });
  const { batches } = await createTestGeneration(engine, { entry }).generate(request);
  const { choices } = await collectResult(batches);
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
  const cutPositions = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...cutPositions]
    .map((from, i) => bytes.subarray(from, cutPositions[i] ?? bytes.length))
    .filter(({ length }) => length > 0);
}

describe('an answer that passes all stages', () => {
  const request: Partial<GenerationRequest> = {
    thinking: { budgetTokens: 4000 },
    toolUse: { tools: [TOOL], choice: 'auto', isParallel: true, streamsComplexArguments: true },
  };

  it('is the same however its bytes are split', async () => {
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

  it('has reasoning, text and a call without marks, at whatever byte it is split', async () => {
    const text = `Grüße 👍🏽</think>\n\nIt is warm.${CALL}`;
    const whole = await answer([...text], request);
    assert.deepEqual(whole, [
      { type: 'reasoning', text: 'Grüße 👍🏽' },
      { type: 'text', text: 'It is warm.' },
      { type: 'tool-call', text: '{"city": "Zürich 👍 </think>"}' },
    ]);
    const { length } = new TextEncoder().encode(text);
    for (const at of scalePositions(length - 1).map((position) => position + 1))
      assert.deepEqual(await answer(cutBytes(text, [at]), request), whole, `at ${at}`);
  });
});
