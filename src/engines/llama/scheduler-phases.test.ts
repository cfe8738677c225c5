import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import { textOfTokens } from './__fixtures__/fake-native-model.ts';

const plain = (text: string) => ({ text, special: false });

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
      phases: [{ until: { text: '</t>' }, thenAppend: [plain('</t>'), plain('\n|')] }, {}],
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
    assert.equal(counts.earlierPhaseTokens, 'thought</t>'.length);
  });

  it('a number of tokens ends a phase, and they all stay in the context', async () => {
    const room = createRoom({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'thoughts' : 'answer') });
    const heard = await room.run({
      prompt: 'q|',
      phases: [{ until: { tokens: 5 }, thenAppend: [plain('...|')] }, {}],
    });
    assert.equal(heard.text(0, 0), 'thoug');
    assert.equal(context(room), 'q|thoug...|answer');
  });

  it("the model's own end inside an earlier phase ends that phase only", async () => {
    const room = createRoom({ sequences: 1, answer: (prompt) => (prompt === 'q|' ? 'hm' : 'answer') });
    const heard = await room.run({
      prompt: 'q|',
      phases: [{ until: { text: '</t>' }, thenAppend: [plain('</t>|')] }, {}],
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
        phases: [{ until: { text: '</t>' } }, { grammar: 'yes' }],
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
      phases: [{ grammar: 'first' }, { grammar: 'second' }, { until: { tokens: 2 } }, { grammar: 'last' }],
    });
    assert.equal(heard.text(0, 0), 'first');
    assert.equal(heard.text(0, 1), 'second');
    assert.equal(heard.text(0, 3), 'last');
  });

  it('a limit on all phases together holds', async () => {
    const heard = await createRoom().run({ maxTotalTokens: 5, phases: [{ until: { tokens: 5 } }, {}] });
    assert.equal(heard.finished().counts.completionTokens, 5);
    assert.deepEqual(
      heard.ends().map(({ reason }) => reason),
      ['length'],
    );
  });

  it('maxTokens limits the last phase only', async () => {
    const heard = await createRoom().run({ maxTokens: 3, phases: [{ until: { tokens: 6 } }, {}] });
    assert.equal(heard.text(0, 0).length, 6);
    assert.equal(heard.text(0, 1).length, 3);
  });

  it('a phase for which the context has no room ends the answer', async () => {
    const room = createRoom({ contextTokens: 32 });
    const heard = await room.run({ phases: [{ until: { tokens: 4 }, thenAppend: [plain('x'.repeat(40))] }, {}] });
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
      phases: [{ until: { text: '</t>' }, thenAppend: [plain('!|')] }, {}],
    });
    assert.equal(heard.text(0, 1), 'answer');
    assert.equal(context(room), 'q|thought!|answer');
  });

  it('special tokens may be appended, and the answers of all choices have their own phases', async () => {
    const room = createRoom({ answer: (prompt, seed) => (prompt === 'q|' ? `t${seed % 2 ? '</t>' : ''}` : 'a') });
    const heard = await room.run({
      prompt: 'q|',
      choices: 2,
      phases: [{ until: { text: '</t>' }, thenAppend: [{ text: '<|im_start|>', special: true }, plain('|')] }, {}],
    });
    assert.deepEqual([heard.text(0), heard.text(1)], ['ta', 'ta']);
  });
});
