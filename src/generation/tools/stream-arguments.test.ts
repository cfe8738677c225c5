import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createTestGeneration, ENTRY } from '../__fixtures__/test-generation.ts';
import { createChatTemplate } from '../chat-template.ts';
import { USUAL_THOUGHTS } from '../thoughts/thought-format.ts';
import { CALL_TEMPLATES } from './__fixtures__/call-templates.ts';
import { deriveToolFormat } from './derive-tool-format.ts';

const entry = { ...ENTRY, contextTokens: 8192, abilities: { ...ENTRY.abilities, tools: true } };
const TOOL = {
  name: 'set_alarm',
  description: '',
  field: 'tools[0].function.parameters',
  parameters: {
    type: 'object',
    properties: {
      label: { type: 'string' },
      code: { type: 'string' },
      days: { type: 'array', items: { type: 'integer' } },
      // Nested tags do not tell text from other values.
      options: { type: 'object', properties: { a: { type: 'string' }, b: { type: ['number', 'null'] } } },
      is_on: { type: 'boolean' },
    },
  },
};

/** Text without quotes and marks, which some formats cannot write. */
const text = fc.string({ unit: fc.constantFrom(...'ab 12\n{}[]:=é👍漢') });
const values = fc.record(
  {
    label: text,
    code: fc.nat().map(String),
    days: fc.array(fc.integer()),
    options: fc.record(
      { a: text, b: fc.oneof(fc.integer(), fc.constant(0.5), fc.constant(null)) },
      { requiredKeys: [] },
    ),
    is_on: fc.boolean(),
  },
  { requiredKeys: ['label'] },
);

/** Returns a function that writes a call as the template writes it in a conversation. */
function createCallWriter(source: string): (call: Readonly<Record<string, unknown>>) => string {
  const template = createChatTemplate({ source, specialTokens: [], bosToken: '', eosToken: '<|im_end|>' });
  const render = (variables: Readonly<Record<string, unknown>>): string =>
    template
      .render(variables)
      .map((segment) => segment.text)
      .join('');
  const derived = deriveToolFormat(render, { specialTokens: [], eosToken: '<|im_end|>', thoughts: USUAL_THOUGHTS });
  assert.ok(derived);
  const { idNamesTool, argumentsAsText, emptyAsNull } = derived.form;
  const id = idNamesTool ? `functions.${TOOL.name}:0` : 'abcdefgh0';
  return (call) => {
    const values = argumentsAsText ? JSON.stringify(call) : call;
    const message = {
      role: 'assistant',
      content: emptyAsNull ? null : '',
      tool_calls: [{ id, type: 'function', function: { name: TOOL.name, arguments: values } }],
    };
    return render({ messages: [message] }).slice('<|im_start|>assistant\n'.length, -'<|im_end|>\n'.length);
  };
}

/** Joins characters to tokens that end at these positions, taken modulo their number. */
function cutText(characters: readonly string[], positions: readonly number[]): string[] {
  const ends = new Set(positions.map((position) => position % characters.length));
  return characters.reduce<string[]>(
    (tokens, character, at) =>
      at === 0 || ends.has(at) ? [...tokens, character] : [...tokens.slice(0, -1), `${tokens.at(-1)}${character}`],
    [],
  );
}

/** Returns the arguments of the first call of an answer, as pieces in the order in which they are streamed. */
type StreamArguments = (
  tokens: readonly string[],
  options: { readonly streamsComplexArguments: boolean; readonly maxTokens?: number },
) => Promise<string[]>;

/** Uses one engine for all answers, because a call format is derived once for each loaded model. */
async function createArgumentsStreamer(chatTemplate: string): Promise<StreamArguments> {
  let answer: readonly string[] = [];
  const scripted = createScriptedEngine({
    script: () => [{ type: 'tokens', tokens: answer }],
    contextTokens: 8192,
  });
  const model = { ...(await scripted.loadModel()), chatTemplate, specialTokens: [] };
  const engine: TextEngine = {
    ...scripted,
    capabilities: { ...scripted.capabilities, grammar: true },
    loadModel: async () => model,
  };
  const { generate } = createTestGeneration(engine, { entry });
  return async (tokens, { streamsComplexArguments, maxTokens = 4096 }) => {
    answer = tokens;
    const { batches } = await generate({
      maxTokens,
      toolUse: { tools: [TOOL], choice: 'auto', isParallel: false, streamsComplexArguments },
    });
    const pieces: string[] = [];
    let isCall = false;
    for await (const batch of batches)
      for (const event of batch) {
        if (event.type === 'block-start') isCall = event.block.type === 'tool-call';
        if (event.type === 'block-delta' && isCall && event.text !== '') pieces.push(event.text);
      }
    return pieces;
  };
}

describe('streamed arguments', () => {
  for (const [way, source] of Object.entries(CALL_TEMPLATES))
    it(`are the start of valid JSON after every piece, and complete in one piece without tool_stream: ${way}`, async () => {
      const writeCall = createCallWriter(source);
      const streamArguments = await createArgumentsStreamer(source);
      await fc.assert(
        fc.asyncProperty(values, fc.array(fc.nat(), { maxLength: 12 }), fc.nat(), async (call, places, at) => {
          const written = writeCall(call);
          const byCharacters = [...written];
          const tokens = cutText(byCharacters, places);
          const streamed = await streamArguments(tokens, { streamsComplexArguments: true });
          assert.deepEqual(JSON.parse(streamed.join('')), JSON.parse(JSON.stringify(call)));
          assert.deepEqual(await streamArguments(tokens, { streamsComplexArguments: false }), [streamed.join('')]);
          for (const streamsComplexArguments of [true, false]) {
            const cut = await streamArguments(byCharacters, {
              streamsComplexArguments,
              maxTokens: 1 + (at % byCharacters.length),
            });
            assert.ok(streamed.join('').startsWith(cut.join('')), `${cut.join('')} starts ${streamed.join('')}`);
          }
        }),
        { numRuns: scalePropertyRuns(60) },
      );
    });

  it('arrive before the call is complete where a value is text', async () => {
    const inTags = CALL_TEMPLATES['names and values in tags'] ?? '';
    for (const source of [inTags, CALL_TEMPLATES['a list of Python calls'] ?? '']) {
      const streamArguments = await createArgumentsStreamer(source);
      const written = createCallWriter(source)({ label: 'a long label of an alarm' });
      const cut = await streamArguments([...written], {
        streamsComplexArguments: true,
        maxTokens: written.indexOf(' alarm'),
      });
      assert.match(cut.join(''), /^\{"label": ?"a lon/);
    }
  });
});
