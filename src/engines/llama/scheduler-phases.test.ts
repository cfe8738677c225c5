import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Grammar } from '../../core/grammar.ts';
import { GRAMMAR_SAMPLE_MS_MAX } from '../../core/limits.ts';
import type { Phase } from '../../core/prompt.ts';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import { IM_START, textOfTokens, TOOL_CALL } from './__fixtures__/fake-native-model.ts';

const plain = (text: string) => ({ text, special: false });
const text = (allowed: string): Grammar => ({ type: 'text', text: allowed });
const ANSWER: Phase = { kind: 'answer' };

/** What the sequence held at last. */
const context = (room: ReturnType<typeof createRoom>): string => textOfTokens(room.model.cells(0));

describe('phases', () => {
  it('a text ends a phase, leaves the context with the tokens that carry it, and is not said', async () => {
    const room = createRoom({
      sequences: 1,
      answer: (prompt) => (prompt === 'q|' ? 'thought</t>never' : 'answer'),
    });
    const heard = await room.run({
      prompt: 'q|',
      phases: [
        { kind: 'thought', until: { text: '</t>' }, thenAppend: [plain('</t>'), plain('\n|')], next: 1 },
        ANSWER,
      ],
    });
    assert.equal(heard.text(0, 0), 'thought');
    assert.equal(heard.text(0, 1), 'answer');
    assert.equal(context(room), 'q|thought</t>\n|answer');
    assert.deepEqual(
      heard.ends().map(({ reason }) => reason),
      ['stop'],
    );
    const { counts } = heard.finished();
    assert.equal(counts.completionTokens, 'thought</t>'.length + 'answer'.length);
    assert.equal(counts.thoughtTokens, 'thought</t>'.length);
  });

  it('a number of tokens ends a phase, and they all stay in the context', async () => {
    const room = createRoom({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'thoughts' : 'answer') });
    const heard = await room.run({
      prompt: 'q|',
      phases: [{ kind: 'thought', until: { tokens: 5 }, thenAppend: [plain('...|')], next: 1 }, ANSWER],
    });
    assert.equal(heard.text(0, 0), 'thoug');
    assert.equal(context(room), 'q|thoug...|answer');
  });

  it("the model's own end inside an earlier phase ends that phase only", async () => {
    const room = createRoom({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'hm' : 'answer') });
    const heard = await room.run({
      prompt: 'q|',
      phases: [{ kind: 'thought', until: { text: '</t>' }, thenAppend: [plain('</t>|')], next: 1 }, ANSWER],
    });
    assert.equal(heard.text(0, 0), 'hm');
    assert.equal(heard.text(0, 1), 'answer');
    assert.equal(context(room), 'q|hm</t>|answer');
  });

  it('a phase goes on where the one before said nothing and nothing is appended', async () => {
    for (const said of ['', '</t>']) {
      const room = createRoom({ answer: () => said });
      const heard = await room.run({
        prompt: 'q|',
        choices: 2,
        phases: [
          { kind: 'thought', until: { text: '</t>' }, next: 1 },
          { kind: 'answer', grammar: text('yes') },
        ],
      });
      assert.deepEqual([heard.text(0), heard.text(1)], ['yes', 'yes']);
      assert.deepEqual(
        heard.ends().map(({ reason }) => reason),
        ['stop', 'stop'],
      );
      assert.equal(room.model.samplersAlive, 0);
    }
  });

  it('each phase follows its own grammar', async () => {
    const heard = await createRoom().run({
      phases: [
        { kind: 'call', grammar: text('first'), next: 1 },
        { kind: 'call', grammar: text('second'), next: 2 },
        { kind: 'thought', until: { tokens: 2 }, next: 3 },
        { kind: 'answer', grammar: text('last') },
      ],
    });
    assert.equal(heard.text(0, 0), 'first');
    assert.equal(heard.text(0, 1), 'second');
    assert.equal(heard.text(0, 3), 'last');
  });

  it('a limit on all phases together holds', async () => {
    const heard = await createRoom().run({
      maxTotalTokens: 5,
      phases: [{ kind: 'thought', until: { tokens: 5 }, next: 1 }, ANSWER],
    });
    assert.equal(heard.finished().counts.completionTokens, 5);
    assert.deepEqual(
      heard.ends().map(({ reason }) => reason),
      ['length'],
    );
  });

  it('maxTokens limits the answer only', async () => {
    const heard = await createRoom().run({
      maxTokens: 3,
      phases: [{ kind: 'thought', until: { tokens: 6 }, next: 1 }, ANSWER],
    });
    assert.equal(heard.text(0, 0).length, 6);
    assert.equal(heard.text(0, 1).length, 3);
  });

  it('a phase for which the context has no room ends the answer', async () => {
    const room = createRoom({ contextTokens: 32 });
    const heard = await room.run({
      phases: [{ kind: 'thought', until: { tokens: 4 }, thenAppend: [plain('x'.repeat(40))], next: 1 }, ANSWER],
    });
    assert.deepEqual(
      heard.ends().map(({ reason }) => reason),
      ['length'],
    );
  });

  it('a model that cannot forget a tail evaluates what stays again', async () => {
    const room = createRoom({
      sequences: 1,
      canTruncate: false,
      answer: (prompt) => (prompt === 'q|' ? 'thought</t>' : 'answer'),
    });
    const heard = await room.run({
      prompt: 'q|',
      phases: [{ kind: 'thought', until: { text: '</t>' }, thenAppend: [plain('!|')], next: 1 }, ANSWER],
    });
    assert.equal(heard.text(0, 1), 'answer');
    assert.equal(context(room), 'q|thought!|answer');
  });

  it('special tokens may be appended, and the answers of all choices have their own phases', async () => {
    const room = createRoom({ answer: (prompt, seed) => (prompt === 'q|' ? `t${seed % 2 ? '</t>' : ''}` : 'a') });
    const heard = await room.run({
      prompt: 'q|',
      choices: 2,
      phases: [
        {
          kind: 'thought',
          until: { text: '</t>' },
          thenAppend: [{ text: '<|im_start|>', special: true }, plain('|')],
          next: 1,
        },
        ANSWER,
      ],
    });
    assert.deepEqual([heard.text(0), heard.text(1)], ['ta', 'ta']);
  });
});

describe('calls', () => {
  const CALLS: Phase[] = [
    { kind: 'answer', triggers: [{ pattern: '<c>', phase: 1 }] },
    { kind: 'call', grammar: text('{"x":1}'), next: 0, thenAppend: [plain('</c>|')] },
  ];

  it('begin at a trigger, follow their grammar, and lead back to free text', async () => {
    const room = createRoom({
      sequences: 1,
      answer: (prompt) => (prompt === 'q|' ? 'I will <c>never' : 'Done. <c>'),
    });
    const heard = await room.run({ prompt: 'q|', maxTokens: 45, phases: CALLS });
    assert.equal(heard.text(), 'I will <c>{"x":1}Done. <c>{"x":1}Done. <c>{"x');
    assert.equal(context(room), 'q|I will <c>{"x":1}</c>|Done. <c>{"x":1}</c>|Done. <c>{"');
    assert.deepEqual(
      heard.ends().map(({ reason }) => reason),
      ['length'],
    );
    const { counts } = heard.finished();
    assert.deepEqual([counts.completionTokens, counts.thoughtTokens], [45, 0]);
    assert.equal(room.model.samplersAlive, 0);
  });

  it('cut a token that says more than the trigger, and go on behind it', async () => {
    const room = createRoom({
      sequences: 1,
      answer: (prompt) => (prompt === 'q|' ? [97, TOOL_CALL] : 'never'),
    });
    const heard = await room.run({
      prompt: 'q|',
      phases: [
        { kind: 'answer', triggers: [{ pattern: 'a<tool', phase: 1 }] },
        { kind: 'call', grammar: text('s>') },
      ],
    });
    assert.equal(heard.text(0, 0), 'a<tool');
    assert.equal(heard.text(0, 1), 's>');
    assert.equal(context(room), 'q|a<tools>');
    assert.ok(!room.model.cells(0).includes(TOOL_CALL), 'the token itself has left');
    assert.equal(heard.finished().counts.completionTokens, 4);
  });

  it('after a thought count apart from it', async () => {
    const room = createRoom({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'hm</t>' : 'ok<c>') });
    const heard = await room.run({
      prompt: 'q|',
      maxTokens: 7,
      phases: [
        { kind: 'thought', until: { text: '</t>' }, next: 1, thenAppend: [plain('|')] },
        { kind: 'answer', triggers: [{ pattern: '<c>', phase: 2 }] },
        { kind: 'call', grammar: text('call') },
      ],
    });
    assert.equal(heard.text(), 'hmok<c>ca');
    const { counts } = heard.finished();
    assert.deepEqual([counts.completionTokens, counts.thoughtTokens], [13, 6]);
  });

  it('tell control tokens as text where they are markers, and say nothing of others', async () => {
    const answer = () => [97, IM_START, 98];
    const silent = await createRoom({ answer }).run({ prompt: 'q|' });
    assert.equal(silent.text(), 'ab');
    const room = createRoom({ answer });
    const told = await room.run({
      prompt: 'q|',
      markers: ['<|im_start|>', '<|unknown|>'],
      phases: [
        { kind: 'answer', triggers: [{ pattern: '<\\|im_start\\|>', phase: 1 }] },
        { kind: 'call', grammar: text('c') },
      ],
    });
    assert.equal(told.text(), 'a<|im_start|>c');
  });

  it('whose grammar the library cannot read fail as our fault, and leave nothing behind', async () => {
    const room = createRoom({ answer: () => 'a<c>' });
    const heard = await room.run({
      prompt: 'q|',
      phases: [
        { kind: 'answer', triggers: [{ pattern: '<c>', phase: 1 }] },
        { kind: 'call', grammar: text('broken') },
      ],
    });
    const last = heard.lines.at(-1);
    assert.ok(last?.type === 'failed' && last.kind === 'internal');
    assert.equal(room.model.samplersAlive, 0);
    assert.equal(room.scheduler.health().busySequences, 0);
  });
});

describe('a grammar under which a token takes for ever', () => {
  it('ends its own request as the fault of its schema, and the others go on', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    let cpu = 0;
    const room = createRoom({ cpuMs: () => cpu });
    const { createSampler } = room.model;
    const stuck = Promise.withResolvers<undefined>();
    const reached = Promise.withResolvers<void>();
    room.model.createSampler = (options) => {
      const sampler = createSampler(options);
      const sample = (): Promise<undefined> => {
        reached.resolve();
        return stuck.promise;
      };
      return options.grammar ? { ...sampler, sample } : sampler;
    };
    const schema: Grammar = { type: 'schema', schema: true, field: 'tools[1]' };
    const slow = room.submit({
      prompt: 'slow',
      phases: [{ kind: 'answer', grammar: { type: 'sequence', parts: [text('x'), schema] } }],
    });
    const other = room.submit({ prompt: 'other', maxTokens: 30 });
    await reached.promise;
    cpu = GRAMMAR_SAMPLE_MS_MAX + 1;
    t.mock.timers.tick(GRAMMAR_SAMPLE_MS_MAX);
    await Promise.all([slow.over, other.over]);
    const last = slow.lines.at(-1);
    assert.ok(last?.type === 'failed' && last.kind === 'invalid');
    assert.equal(last.param, 'tools[1]');
    assert.match(last.message, /too ambiguous/);
    assert.equal(other.text().length, 30);
    assert.equal(room.scheduler.health().busySequences, 0);
    stuck.resolve(undefined);
  });
});
