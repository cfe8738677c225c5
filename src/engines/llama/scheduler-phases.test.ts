import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Grammar } from '../../core/grammar.ts';
import { GRAMMAR_SAMPLE_MS_MAX } from './limits.ts';
import type { GenerationPhase } from '../../core/prompt.ts';
import { createTestScheduler } from './__fixtures__/test-scheduler.ts';
import { IM_START, detokenize, TOOL_CALL } from './__fixtures__/fake-native-model.ts';

const plain = (text: string) => ({ text, special: false });
const text = (allowed: string): Grammar => ({ type: 'text', text: allowed });
const ANSWER: GenerationPhase = { kind: 'answer' };

/** Returns the final content of the sequence. */
const getContext = (setup: ReturnType<typeof createTestScheduler>): string => detokenize(setup.model.cells(0));

describe('createScheduler: phases', () => {
  it('end at their end text, which leaves the context with its tokens and is not output', async () => {
    const setup = createTestScheduler({
      sequences: 1,
      answer: (prompt) => (prompt === 'q|' ? 'thought</t>never' : 'answer'),
    });
    const request = await setup.run({
      prompt: 'q|',
      phases: [
        { kind: 'thought', until: { text: '</t>' }, appendOnEnd: [plain('</t>'), plain('\n|')], nextPhase: 1 },
        ANSWER,
      ],
    });
    assert.equal(request.getText(0, 0), 'thought');
    assert.equal(request.getText(0, 1), 'answer');
    assert.equal(getContext(setup), 'q|thought</t>\n|answer');
    assert.deepEqual(
      request.getChoiceEnds().map(({ reason }) => reason),
      ['stop'],
    );
    const { counts } = request.getFinished();
    assert.equal(counts.completionTokens, 'thought</t>'.length + 'answer'.length);
    assert.equal(counts.thoughtTokens, 'thought</t>'.length);
  });

  it('end at a number of tokens, which all stay in the context', async () => {
    const setup = createTestScheduler({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'thoughts' : 'answer') });
    const request = await setup.run({
      prompt: 'q|',
      phases: [{ kind: 'thought', until: { tokens: 5 }, appendOnEnd: [plain('...|')], nextPhase: 1 }, ANSWER],
    });
    assert.equal(request.getText(0, 0), 'thoug');
    assert.equal(getContext(setup), 'q|thoug...|answer');
  });

  it('end at the end token of the model, which does not end the answer', async () => {
    const setup = createTestScheduler({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'hm' : 'answer') });
    const request = await setup.run({
      prompt: 'q|',
      phases: [{ kind: 'thought', until: { text: '</t>' }, appendOnEnd: [plain('</t>|')], nextPhase: 1 }, ANSWER],
    });
    assert.equal(request.getText(0, 0), 'hm');
    assert.equal(request.getText(0, 1), 'answer');
    assert.equal(getContext(setup), 'q|hm</t>|answer');
  });

  it('continue after a phase without output and without appended text', async () => {
    for (const output of ['', '</t>']) {
      const setup = createTestScheduler({ answer: () => output });
      const request = await setup.run({
        prompt: 'q|',
        choices: 2,
        phases: [
          { kind: 'thought', until: { text: '</t>' }, nextPhase: 1 },
          { kind: 'answer', grammar: text('yes') },
        ],
      });
      assert.deepEqual([request.getText(0), request.getText(1)], ['yes', 'yes']);
      assert.deepEqual(
        request.getChoiceEnds().map(({ reason }) => reason),
        ['stop', 'stop'],
      );
      assert.equal(setup.model.activeSamplers, 0);
    }
  });

  it('follow their own grammars', async () => {
    const request = await createTestScheduler().run({
      phases: [
        { kind: 'call', grammar: text('first'), nextPhase: 1 },
        { kind: 'call', grammar: text('second'), nextPhase: 2 },
        { kind: 'thought', until: { tokens: 2 }, nextPhase: 3 },
        { kind: 'answer', grammar: text('last') },
      ],
    });
    assert.equal(request.getText(0, 0), 'first');
    assert.equal(request.getText(0, 1), 'second');
    assert.equal(request.getText(0, 3), 'last');
  });

  it('obey a limit on all phases together', async () => {
    const request = await createTestScheduler().run({
      maxTotalTokens: 5,
      phases: [{ kind: 'thought', until: { tokens: 5 }, nextPhase: 1 }, ANSWER],
    });
    assert.equal(request.getFinished().counts.completionTokens, 5);
    assert.deepEqual(
      request.getChoiceEnds().map(({ reason }) => reason),
      ['length'],
    );
  });

  it('are not limited by maxTokens if they are thoughts', async () => {
    const request = await createTestScheduler().run({
      maxTokens: 3,
      phases: [{ kind: 'thought', until: { tokens: 6 }, nextPhase: 1 }, ANSWER],
    });
    assert.equal(request.getText(0, 0).length, 6);
    assert.equal(request.getText(0, 1).length, 3);
  });

  it('end the answer if the context has no space for the next phase', async () => {
    const setup = createTestScheduler({ contextTokens: 32 });
    const request = await setup.run({
      phases: [{ kind: 'thought', until: { tokens: 4 }, appendOnEnd: [plain('x'.repeat(40))], nextPhase: 1 }, ANSWER],
    });
    assert.deepEqual(
      request.getChoiceEnds().map(({ reason }) => reason),
      ['length'],
    );
  });

  it('evaluate retained text again if the model cannot truncate', async () => {
    const setup = createTestScheduler({
      sequences: 1,
      canTruncate: false,
      answer: (prompt) => (prompt === 'q|' ? 'thought</t>' : 'answer'),
    });
    const request = await setup.run({
      prompt: 'q|',
      phases: [{ kind: 'thought', until: { text: '</t>' }, appendOnEnd: [plain('!|')], nextPhase: 1 }, ANSWER],
    });
    assert.equal(request.getText(0, 1), 'answer');
    assert.equal(getContext(setup), 'q|thought!|answer');
  });

  it('may append special tokens, and are separate for each choice', async () => {
    const setup = createTestScheduler({
      answer: (prompt, seed) => (prompt === 'q|' ? `t${seed % 2 ? '</t>' : ''}` : 'a'),
    });
    const request = await setup.run({
      prompt: 'q|',
      choices: 2,
      phases: [
        {
          kind: 'thought',
          until: { text: '</t>' },
          appendOnEnd: [{ text: '<|im_start|>', special: true }, plain('|')],
          nextPhase: 1,
        },
        ANSWER,
      ],
    });
    assert.deepEqual([request.getText(0), request.getText(1)], ['ta', 'ta']);
  });
});

describe('createScheduler: calls', () => {
  const CALLS: GenerationPhase[] = [
    { kind: 'answer', triggers: [{ pattern: '<c>', phase: 1 }] },
    { kind: 'call', grammar: text('{"x":1}'), nextPhase: 0, appendOnEnd: [plain('</c>|')] },
  ];

  it('start at a trigger, follow their grammar, and return to the answer', async () => {
    const setup = createTestScheduler({
      sequences: 1,
      answer: (prompt) => (prompt === 'q|' ? 'I will <c>never' : 'Done. <c>'),
    });
    const request = await setup.run({ prompt: 'q|', maxTokens: 45, phases: CALLS });
    assert.equal(request.getText(), 'I will <c>{"x":1}Done. <c>{"x":1}Done. <c>{"x');
    assert.equal(getContext(setup), 'q|I will <c>{"x":1}</c>|Done. <c>{"x":1}</c>|Done. <c>{"');
    assert.deepEqual(
      request.getChoiceEnds().map(({ reason }) => reason),
      ['length'],
    );
    const { counts } = request.getFinished();
    assert.deepEqual([counts.completionTokens, counts.thoughtTokens], [45, 0]);
    assert.equal(setup.model.activeSamplers, 0);
  });

  it('cut a token that extends beyond the trigger, and continue after the match', async () => {
    const setup = createTestScheduler({
      sequences: 1,
      answer: (prompt) => (prompt === 'q|' ? [97, TOOL_CALL] : 'never'),
    });
    const request = await setup.run({
      prompt: 'q|',
      phases: [
        { kind: 'answer', triggers: [{ pattern: 'a<tool', phase: 1 }] },
        { kind: 'call', grammar: text('s>') },
      ],
    });
    assert.equal(request.getText(0, 0), 'a<tool');
    assert.equal(request.getText(0, 1), 's>');
    assert.equal(getContext(setup), 'q|a<tools>');
    assert.ok(!setup.model.cells(0).includes(TOOL_CALL), 'the token itself has left');
    assert.equal(request.getFinished().counts.completionTokens, 4);
  });

  it('are counted separately from a thought', async () => {
    const setup = createTestScheduler({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'hm</t>' : 'ok<c>') });
    const request = await setup.run({
      prompt: 'q|',
      maxTokens: 7,
      phases: [
        { kind: 'thought', until: { text: '</t>' }, nextPhase: 1, appendOnEnd: [plain('|')] },
        { kind: 'answer', triggers: [{ pattern: '<c>', phase: 2 }] },
        { kind: 'call', grammar: text('call') },
      ],
    });
    assert.equal(request.getText(), 'hmok<c>ca');
    const { counts } = request.getFinished();
    assert.deepEqual([counts.completionTokens, counts.thoughtTokens], [13, 6]);
  });

  it('output control tokens as text if they are markers, and omit others', async () => {
    const answer = () => [97, IM_START, 98];
    const withoutMarkers = await createTestScheduler({ answer }).run({ prompt: 'q|' });
    assert.equal(withoutMarkers.getText(), 'ab');
    const setup = createTestScheduler({ answer });
    const withMarkers = await setup.run({
      prompt: 'q|',
      markers: ['<|im_start|>', '<|unknown|>'],
      phases: [
        { kind: 'answer', triggers: [{ pattern: '<\\|im_start\\|>', phase: 1 }] },
        { kind: 'call', grammar: text('c') },
      ],
    });
    assert.equal(withMarkers.getText(), 'a<|im_start|>c');
  });

  it('fail with an internal error if the library cannot parse the grammar, and leave nothing behind', async () => {
    const setup = createTestScheduler({ answer: () => 'a<c>' });
    const request = await setup.run({
      prompt: 'q|',
      phases: [
        { kind: 'answer', triggers: [{ pattern: '<c>', phase: 1 }] },
        { kind: 'call', grammar: text('broken') },
      ],
    });
    const last = request.lines.at(-1);
    assert.ok(last?.type === 'failed' && last.kind === 'internal');
    assert.equal(setup.model.activeSamplers, 0);
    assert.equal(setup.scheduler.health().busySequences, 0);
  });
});

describe('createScheduler: slow grammars', () => {
  it('fail their own request because of its schema, and leave the others running', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    let cpu = 0;
    const setup = createTestScheduler({ cpuMs: () => cpu });
    const { createSampler } = setup.model;
    const stuck = Promise.withResolvers<undefined>();
    const reached = Promise.withResolvers<void>();
    setup.model.createSampler = (options) => {
      const sampler = createSampler(options);
      const sample = (): Promise<undefined> => {
        reached.resolve();
        return stuck.promise;
      };
      return options.grammar ? { ...sampler, sample } : sampler;
    };
    const schema: Grammar = { type: 'schema', schema: true, field: 'tools[1]' };
    const slow = setup.submit({
      prompt: 'slow',
      phases: [{ kind: 'answer', grammar: { type: 'sequence', parts: [text('x'), schema] } }],
    });
    const other = setup.submit({ prompt: 'other', maxTokens: 30 });
    await reached.promise;
    cpu = GRAMMAR_SAMPLE_MS_MAX + 1;
    t.mock.timers.tick(GRAMMAR_SAMPLE_MS_MAX);
    await Promise.all([slow.closed, other.closed]);
    const last = slow.lines.at(-1);
    assert.ok(last?.type === 'failed' && last.kind === 'invalid');
    assert.equal(last.param, 'tools[1]');
    assert.match(last.message, /too ambiguous/);
    assert.equal(other.getText().length, 30);
    assert.equal(setup.scheduler.health().busySequences, 0);
    stuck.resolve(undefined);
  });
});
