import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import type { ChoiceEvent, FinishReason } from '../../core/event.ts';
import { cutText } from '../tools/__fixtures__/read-calls.ts';
import { createHarmonyStage, type HarmonyStageOptions } from './harmony.ts';

interface Answer {
  reasoning: string;
  content: string;
  calls: { name: string; arguments: string }[];
  reason: FinishReason | undefined;
  tokens: number;
}

function read(
  pieces: readonly string[],
  { reason = 'stop', ...options }: Partial<HarmonyStageOptions> & { reason?: FinishReason } = {},
  phases: readonly number[] = [],
): Answer {
  const answer: Answer = { reasoning: '', content: '', calls: [], reason: undefined, tokens: 0 };
  const stage = createHarmonyStage({
    choice: 0,
    tools: [{ name: 'get_weather' }, { name: 'stop' }],
    isParallel: true,
    keepsThoughts: true,
    phases: [],
    isOpened: false,
    preface: '',
    createId: () => 'call_1',
    ...options,
  });
  const emit = (event: ChoiceEvent): void => {
    if ('tokens' in event) answer.tokens += event.tokens;
    if (event.type === 'text') answer.content += event.text;
    if (event.type === 'reasoning') answer.reasoning += event.text;
    if (event.type === 'tool-call') answer.calls.push({ name: event.name, arguments: '' });
    const call = answer.calls.at(-1);
    if (event.type === 'tool-arguments' && call) call.arguments += event.text;
    if (event.type === 'choice-end') answer.reason = event.reason;
  };
  for (const [at, text] of pieces.entries())
    stage.push({ type: 'text', choice: 0, phase: phases[at] ?? 0, tokens: 1, text }, emit);
  stage.push({ type: 'choice-end', choice: 0, reason }, emit);
  return answer;
}

const THOUGHT = '<|channel|>analysis<|message|>I think <b>\nso<|end|>';
const START = '<|start|>assistant';
const WEATHER = { name: 'get_weather', arguments: '{"city": "Ulm"}' };

/** Answers as models write them, with what they contain. */
const ANSWERS: readonly (readonly [text: string, answer: Partial<Answer>])[] = [
  [`${THOUGHT}${START}<|channel|>final<|message|>Four < 5.`, { reasoning: 'I think <b>\nso', content: 'Four < 5.' }],
  ['<|channel|>final<|message|>Four.<|return|>', { content: 'Four.' }],
  ['<|message|>Four.', { content: 'Four.' }],
  ['Four <|x|> text.', { content: 'Four <|x|> text.' }],
  ['to', { content: 'to' }],
  ['to=me', { content: 'to=me' }],
  ['<|channel|>final to all, four.', { content: '<|channel|>final to all, four.' }],
  [`<|channel|>${'four '.repeat(60)}`, { content: `<|channel|>${'four '.repeat(60)}` }],
  [
    `<|channel|>commentary to=assistant${THOUGHT}${START}<|channel|>commentary to=assistant<|channel|>final<|message|>Four.`,
    { reasoning: 'I think <b>\nso', content: 'Four.' },
  ],
  [
    `<|start|>${THOUGHT}<|start|><|channel|>final<|message|>Four.<|end|>`,
    { reasoning: 'I think <b>\nso', content: 'Four.' },
  ],
  [
    `${THOUGHT}${START}<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Ulm"}<|call|>`,
    { reasoning: 'I think <b>\nso', calls: [WEATHER] },
  ],
  [
    `${THOUGHT}${START} to=functions.get_weather<|channel|>commentary json<|message|>{"city": "Ulm"}`,
    { reasoning: 'I think <b>\nso', calls: [WEATHER] },
  ],
  ['<|channel|>commentary to=get_weather <|constrain|>json<|message|>{"city": "Ulm"}<|call|>', { calls: [WEATHER] }],
  [
    '<|channel|>commentary<|constrain|>json to=functions.get_weather<|message|>{"city": "Ulm"}<|call|>',
    { calls: [WEATHER] },
  ],
  [`<|channel|>analysis to=functions.get_weather code<|message|>{"city": "Ulm"}<|call|>`, { calls: [WEATHER] }],
  [
    ` to=functions.stop<|channel|>commentary json<|message|><|call|>${START} to=functions.get_weather<|channel|>commentary<|message|>{"city": "Ulm"}`,
    { calls: [{ name: 'stop', arguments: '{}' }, WEATHER] },
  ],
  [
    `<|channel|>commentary<|message|>Let me see.<|end|>${START}${THOUGHT}${START}<|channel|>commentary to=functions.get_weather<|message|>{"city": "Ulm"}`,
    { content: 'Let me see.', reasoning: 'I think <b>\nso', calls: [WEATHER] },
  ],
  [
    '<|channel|>commentary to=functions.other<|message|>{"a": 1}<|call|>',
    { calls: [{ name: 'other', arguments: '{"a": 1}' }] },
  ],
  ['<|channel|>commentary to=other<|message|>{"a": 1}<|call|>', { content: '{"a": 1}' }],
];

const complete = (answer: Partial<Answer>): Omit<Answer, 'tokens'> => ({
  reasoning: '',
  content: '',
  calls: [],
  reason: answer.calls ? 'tool-calls' : 'stop',
  ...answer,
});

describe('createHarmonyStage', () => {
  for (const [text, answer] of ANSWERS)
    it(`reads ${JSON.stringify(text)}, however it is cut`, () => {
      const { tokens, ...whole } = read([text]);
      assert.deepEqual([whole, tokens], [complete(answer), 1]);
      fc.assert(
        fc.property(fc.array(fc.nat()), (places) => {
          const pieces = cutText(text, places);
          assert.deepEqual(read(pieces), { ...complete(answer), tokens: pieces.length });
        }),
        { numRuns: scalePropertyRuns(50) },
      );
      assert.deepEqual(read([...text]), { ...complete(answer), tokens: text.length });
    });

  it('drops thoughts that were not requested, and counts their tokens', () => {
    const { reasoning, content, tokens } = read([THOUGHT, `${START}<|channel|>final<|message|>Four.`], {
      keepsThoughts: false,
    });
    assert.deepEqual([reasoning, content, tokens], ['', 'Four.', 2]);
  });

  it('drops what follows the first call when calls are not parallel', () => {
    const call = '<|channel|>commentary to=functions.get_weather<|message|>{"city": "Ulm"}<|call|>';
    assert.deepEqual(read([call + START + call], { isParallel: false }).calls, [WEATHER]);
  });

  it('continues a header that the prompt has started', () => {
    const preface = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>';
    assert.deepEqual(read(['{"city": "Ulm"}'], { preface }).calls, [WEATHER]);
  });

  it('takes the text of thought phases for thoughts, and continues with a forced call', () => {
    const phases = [{ kind: 'thought' }, { kind: 'call' }] as const;
    const preface = '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>';
    const stage = (texts: readonly (readonly [number, string])[], options: Partial<HarmonyStageOptions>): Answer =>
      read(
        texts.map(([, text]) => text),
        options,
        texts.map(([phase]) => phase),
      );
    const { reasoning, calls } = stage(
      [
        [0, 'I think'],
        [0, ' so'],
        [1, '{"city": '],
        [1, '"Ulm"}'],
      ],
      { phases, preface },
    );
    assert.deepEqual([reasoning, calls], ['I think so', [WEATHER]]);
    const free = stage(
      [
        [0, '<|channel|>analysis<|message|>'],
        [1, 'so'],
        [2, '<|start|>assistant<|channel|>final<|message|>Four.'],
      ],
      {
        phases: [{ kind: 'answer' }, { kind: 'thought' }, { kind: 'answer' }],
      },
    );
    assert.deepEqual([free.reasoning, free.content], ['so', 'Four.']);
  });

  it('starts inside a thought that the prompt opened', () => {
    const { reasoning, content } = read([`so<|end|>${START}<|channel|>final<|message|>Four.`], { isOpened: true });
    assert.deepEqual([reasoning, content], ['so', 'Four.']);
  });

  it('keeps the start of arguments that a token limit cut, and ends with its reason', () => {
    const { calls, reason } = read(['<|channel|>commentary to=functions.get_weather<|message|>{"ci'], {
      reason: 'length',
    });
    assert.deepEqual([calls, reason], [[{ name: 'get_weather', arguments: '{"ci' }], 'length']);
  });

  it('drops a header that a token limit cut', () => {
    assert.equal(read(['<|channel|>commentary to=func'], { reason: 'length' }).content, '');
  });
});
