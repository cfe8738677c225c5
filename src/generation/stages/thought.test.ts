import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ChoiceEvent, FinishReason } from '../../core/event.ts';
import { USUAL_THOUGHTS } from '../thoughts/thought-format.ts';
import { createThoughtStage, type ThoughtStageOptions } from './thought.ts';

const pieces = (text: string, cuts: readonly number[]): string[] => {
  const cutPositions = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...cutPositions].map((from, i) => text.slice(from, cutPositions[i] ?? text.length));
};

interface RunOptions extends Partial<ThoughtStageOptions> {
  readonly reason?: FinishReason;
}

const run = (
  events: readonly ChoiceEvent[],
  { reason = 'stop', ...options }: RunOptions = {},
): { out: ChoiceEvent[]; reasoning: string; text: string; tokens: number } => {
  const out: ChoiceEvent[] = [];
  const emit = (passed: ChoiceEvent): void => void out.push(passed);
  const stage = createThoughtStage({ format: USUAL_THOUGHTS, phases: [], keepsThoughts: true, ...options });
  for (const event of [...events, { type: 'choice-end', choice: 0, reason } as const]) stage.push(event, emit);
  stage.end(emit);
  const join = (type: 'reasoning' | 'text'): string =>
    out.map((event) => (event.type === type ? event.text : '')).join('');
  return {
    out,
    reasoning: join('reasoning'),
    text: join('text'),
    tokens: out.reduce((sum, event) => sum + ('tokens' in event ? event.tokens : 0), 0),
  };
};

const textIn =
  (phase: number) =>
  (text: string): ChoiceEvent => ({ type: 'text', choice: 0, text, tokens: 1, phase });

const PHASES = [{ kind: 'thought' }, { kind: 'answer' }] as const;
/** Phases of an answer in which the model opens the thought itself. */
const FREE_PHASES = [{ kind: 'answer' }, ...PHASES] as const;

const runText = (text: string, options: RunOptions = {}): readonly [reasoning: string, text: string] => {
  const whole = run([textIn(0)(text)], options);
  const { reasoning, text: content } = run([...text].map(textIn(0)), options);
  assert.deepEqual([reasoning, content], [whole.reasoning, whole.text], 'the same in one piece and by characters');
  return [reasoning, content];
};

describe('createThoughtStage', () => {
  it('converts a thought phase to reasoning without the blanks around it, however texts are split', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), fc.array(fc.nat()), (one, two) => {
        const thought = ' so \n\nwhat is 2+2?  four \n ';
        const events = [...pieces(thought, one).map(textIn(0)), ...pieces('\n Four.\n', two).map(textIn(1))];
        const { reasoning, text, tokens } = run(events, { phases: PHASES });
        assert.equal(reasoning, thought.trim());
        assert.equal(text, 'Four.\n');
        assert.equal(tokens, events.length, 'no token goes uncounted');
      }),
    );
  });

  it('finds a thought that the model opens itself, with phases and without, however it is split', () => {
    fc.assert(
      fc.property(fc.array(fc.nat()), (cuts) => {
        const answer = ' <think>\nso </thin\n</think>\n\n  Four </think>\n';
        const { reasoning, text, tokens } = run(pieces(answer, cuts).map(textIn(0)));
        assert.deepEqual([reasoning, text], ['so </thin', 'Four </think>\n']);
        assert.equal(tokens, pieces(answer, cuts).length);
        const phased = [
          ...pieces('<think>', cuts).map(textIn(0)),
          ...pieces('\n<thi so\n', cuts).map(textIn(1)),
          ...pieces('\n\nFour', cuts).map(textIn(2)),
        ];
        const inPhases = run(phased, { phases: FREE_PHASES });
        assert.deepEqual([inPhases.reasoning, inPhases.text], ['<thi so', 'Four']);
      }),
    );
  });

  it('leaves an answer without a thought as it is', () => {
    for (const answer of [' \n Four.\n', '<thin', 'a <think>b</think>', '', '\n', '<b>\n'])
      assert.deepEqual(runText(answer), ['', answer]);
  });

  it('removes the mark of a model that repeats it after the prompt has opened the thought', () => {
    const events = [textIn(0)('<thi'), textIn(0)('nk>\nso'), textIn(1)('Four')];
    const { reasoning, text } = run(events, { phases: PHASES });
    assert.deepEqual([reasoning, text], ['so', 'Four']);
  });

  it('removes marks before the answer, with a thought and without', () => {
    const format = { open: '<a>', close: '<e>', answerOpenings: ['<s><f>', '<f>'] };
    assert.deepEqual(runText('<a>so<e><s><f>Four <f>', { format }), ['so', 'Four <f>']);
    assert.deepEqual(runText('<f>\nFour', { format }), ['', 'Four']);
    assert.deepEqual(runText('<s>Four', { format }), ['', '<s>Four']);
  });

  it('finds several thoughts in a row', () => {
    assert.deepEqual(runText('<think>a\n</think>\n<think>b</think>c'), ['ab', 'c']);
  });

  it('drops a thought and counts its tokens', () => {
    const { reasoning, text, tokens, out } = run(['<think>', 'so', '</think>', 'Four'].map(textIn(0)), {
      keepsThoughts: false,
    });
    assert.deepEqual([reasoning, text, tokens], ['', 'Four', 4]);
    assert.ok(out.every(({ type }) => type === 'text' || type === 'choice-end'));
  });

  it('drops repeated opening marks, and starts the answer where its mark follows instead of the thought', () => {
    const isOpened = true;
    const format = { ...USUAL_THOUGHTS, answerOpenings: ['<answer>'] };
    assert.deepEqual(runText('<think>\n<think>so</think>Four'), ['so', 'Four']);
    assert.deepEqual(runText('<think><think>so</think>Four', { isOpened }), ['so', 'Four']);
    assert.deepEqual(runText('\n<answer>\nFour', { isOpened, format }), ['', 'Four']);
    assert.deepEqual(runText('so <answer></think><answer>Four', { isOpened, format }), ['so <answer>', 'Four']);
  });

  it('emits a dropped thought as the answer when the model ends without closing it', () => {
    assert.deepEqual(runText('<think>\nFour.\n', { keepsThoughts: false }), ['', 'Four.']);
    assert.deepEqual(runText('<think>\nso', { keepsThoughts: false, reason: 'length' }), ['', '']);
    assert.deepEqual(runText('<think>\nso</think>', { keepsThoughts: false }), ['', '']);
    assert.deepEqual(runText('<think>\nso'), ['so', ''], 'a thought that is passed on stays one');
  });

  it('drops a thought that a server has separated, unless it is all of the answer', () => {
    const reasoning = (text: string): ChoiceEvent => ({ type: 'reasoning', choice: 0, text, tokens: 1 });
    const call: ChoiceEvent = { type: 'tool-call', choice: 0, index: 0, id: 'call_1', name: 'f' };
    const thought = [reasoning('so '), reasoning('what')];
    const join = ({ reasoning: kept, text, tokens }: ReturnType<typeof run>): readonly unknown[] => [
      kept,
      text,
      tokens,
    ];
    const drop = { keepsThoughts: false };
    assert.deepEqual(join(run([...thought, textIn(0)('Four')])), ['so what', 'Four', 3]);
    assert.deepEqual(join(run([...thought, textIn(0)('Four')], drop)), ['', 'Four', 3]);
    assert.deepEqual(join(run(thought, drop)), ['', 'so what', 2]);
    assert.deepEqual(join(run(thought, { ...drop, reason: 'length' })), ['', '', 2]);
    assert.deepEqual(join(run([...thought, call], drop)), ['', '', 2]);
  });

  it('ends an unclosed thought before a call, and only at the end of the answer', () => {
    const callOpenings = ['<call>', '<f='];
    for (const keepsThoughts of [true, false]) {
      const keep = (thought: string): string => (keepsThoughts ? thought : '');
      const runCall = (text: string, options: RunOptions = {}) =>
        runText(text, { callOpenings, keepsThoughts, ...options });
      assert.deepEqual(runCall('<think>so\n\n<call>f()</call>'), [keep('so'), '<call>f()</call>']);
      assert.deepEqual(runCall('<think>so <call>f() </think>x'), [keep('so <call>f()'), 'x']);
      assert.deepEqual(runCall('<think>a <cal <f=x>'), [keep('a <cal'), '<f=x>']);
      assert.deepEqual(runCall('<think>so <call>', { reason: 'length' }), [keep('so <call>'), '']);
    }
    const inPhase = ['so <ca', 'll>f()'].map(textIn(0));
    const ended = run(inPhase, { phases: PHASES, callOpenings });
    assert.deepEqual([ended.reasoning, ended.text], ['so', '<call>f()']);
    const closed = run([...inPhase, textIn(1)('Four')], { phases: PHASES, callOpenings });
    assert.deepEqual([closed.reasoning, closed.text], ['so <call>f()', 'Four']);
  });

  it('continues a call in a thought that its limit ended as the answer, but not one before the closing mark', () => {
    const phases = [{ kind: 'thought', until: { text: '</think>', tokens: 3 } }, { kind: 'answer' }] as const;
    const options = { phases, isOpened: true, callOpenings: ['<call>'], keepsThoughts: false };
    const thought = textIn(0);
    const answer = textIn(1);
    const limited = run([thought('Hm. '), thought('<call>'), thought('f'), answer('(1)')], options);
    assert.equal(limited.text, '<call>f(1)');
    assert.equal(run([thought('Hm. '), thought('<call>f'), answer('Yes')], options).text, 'Yes');
  });

  it('finds a thought whose mark lacks the name of its channel, however it is split', () => {
    const format = { open: '<|channel>thought', close: '<channel|>', answerOpenings: [] };
    for (const start of ['<|channel>thought\n', '<|channel>', '<|channel><|channel>thought\n'])
      fc.assert(
        fc.property(fc.array(fc.nat()), (cuts) => {
          const { reasoning, text } = run(pieces(`${start}Hm<channel|>Yes`, cuts).map(textIn(0)), { format });
          assert.deepEqual([reasoning, text], ['Hm', 'Yes']);
        }),
      );
  });

  it('takes a time that grows with the text, whatever the text that it holds', () => {
    const count = 40_000;
    for (const held of [' ', 'a', '<call>', '<think', '\n</think']) {
      const { reasoning, text } = run(
        ['<think>so ', ...Array<string>(count).fill(held), '</think>Four'].map(textIn(0)),
        {
          callOpenings: ['<call>'],
        },
      );
      assert.deepEqual([reasoning, text], [`so ${held.repeat(count)}`.trim(), 'Four']);
    }
    assert.equal(run(Array<string>(count).fill('\n').map(textIn(0))).text.length, count);
  });

  it('removes log probabilities of thoughts and keeps those of the answer', () => {
    const logprobs = [{ token: 'a', bytes: [97], logprob: -1, top: [] }];
    const event = (phase: number): ChoiceEvent => ({ type: 'text', choice: 0, text: 'a', tokens: 1, phase, logprobs });
    const { out } = run([event(0), event(1)], { phases: PHASES });
    assert.deepEqual(
      out.map((one) => [one.type, 'logprobs' in one]),
      [
        ['reasoning', false],
        ['text', true],
        ['choice-end', false],
      ],
    );
  });
});
