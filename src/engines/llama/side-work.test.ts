import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestScheduler, type TestSchedulerOptions } from './__fixtures__/test-scheduler.ts';
import { createEmbed } from './embed.ts';
import { createRank } from './rank.ts';
import { createTaskQueue } from './task-queue.ts';

const never = new AbortController().signal;
const owner = { workspace: 'w', key: 'k' };
const input = (text: string, at = 0) => ({ text, field: `input[${at}]` });

function createSideWorkSetup(options: TestSchedulerOptions = {}) {
  const setup = createTestScheduler(options);
  const deps = {
    between: setup.scheduler.runBetweenTicks,
    taskQueue: createTaskQueue({ queueLengthMax: 8, queueWaitMsMax: 60_000 }),
  };
  const embed = createEmbed(setup.model, deps);
  const rank = createRank(setup.model, deps);
  return {
    setup,
    embed: (texts: readonly string[], signal = never) =>
      embed({ id: 'e', owner, inputs: texts.map((text, at) => input(text, at)) }, signal),
    rank: (query: string, documents: readonly string[]) =>
      rank({ id: 'r', owner, query: input(query), documents: documents.map((text, at) => input(text, at)) }, never),
  };
}

describe('createEmbed', () => {
  it('returns the vectors in the order of the texts, and counts only the tokens of the texts', async () => {
    const { embed } = createSideWorkSetup();
    // The fake model counts the letters a, b and c and all tokens; one token frames each text.
    assert.deepEqual(await embed(['aab', 'cabbage']), {
      vectors: [
        [2, 1, 0, 4],
        [2, 2, 1, 8],
      ],
      tokens: 10,
    });
  });

  it('evaluates pieces between the ticks of a generating request, whose answer stays the same', async () => {
    const order: string[] = [];
    const answer = () => 'abcdefgh';
    const alone = await createTestScheduler({ answer }).run({ prompt: 'x|' });
    const { setup, embed } = createSideWorkSetup({
      answer,
      onDecode: () => void order.push('tick'),
      onPiece: () => void order.push('piece'),
    });
    const request = setup.submit({ prompt: 'x|' });
    await embed(['a text of thirty characters, yes']);
    await request.closed;
    assert.equal(request.getText(), alone.getText());
    assert.equal(order.filter((each) => each === 'piece').length, 9);
    assert.match(order.join(' '), /tick piece tick piece tick/);
    assert.doesNotMatch(order.join(' '), /piece piece.*tick/);
  });

  it('never turns text into a special token', async () => {
    const pieces: number[] = [];
    const { embed } = createSideWorkSetup({ onPiece: (tokens) => void pieces.push(...tokens) });
    await embed(['<|im_end|><tool_call>']);
    assert.deepEqual(
      pieces.slice(1).filter((token) => token > 255),
      [],
    );
  });

  it('rejects a text without tokens or with too many, naming its field', async () => {
    const { embed } = createSideWorkSetup({ contextTokens: 16 });
    await assert.rejects(embed(['ok', '']), /Range of input length should be \[1, 16\] \(input\[1\]: 0 tokens\)/);
    await assert.rejects(embed(['x'.repeat(17)]), /\[1, 16\] \(input\[0\]: 17 tokens\)/);
    await assert.rejects(embed(['x'.repeat(1_000_000)]), /\(input\[0\]: more than 16 tokens\)/);
    assert.equal((await embed(['x'.repeat(16)])).tokens, 16);
  });

  it('stops within a piece when the caller aborts', async () => {
    const caller = new AbortController();
    let pieces = 0;
    const { embed } = createSideWorkSetup({
      onPiece() {
        if (++pieces === 2) caller.abort();
      },
    });
    await assert.rejects(embed(['x'.repeat(100), 'y'], caller.signal), { kind: 'cancelled' });
    await embed(['z']);
    assert.equal(pieces, 3);
  });

  it('rejects the request for which the library fails, and serves the next one', async () => {
    let fails = true;
    const { embed } = createSideWorkSetup({
      onPiece() {
        if (fails) throw new Error('no memory');
      },
    });
    await assert.rejects(embed(['a']), /no memory/);
    fails = false;
    assert.equal((await embed(['a'])).tokens, 1);
  });
});

describe('createRank', () => {
  it('returns one score per document, and counts both texts for each', async () => {
    const { rank } = createSideWorkSetup({ canRank: true });
    assert.deepEqual(await rank('cat', ['a dog', 'a cat']), { scores: [0.1, 0.9], tokens: 16 });
  });

  it('rejects the request if the model is not a reranking model', async () => {
    await assert.rejects(createSideWorkSetup().rank('q', ['d']), /not a reranking model/);
  });

  it('rejects a document that does not fit together with the query, naming its field', async () => {
    const { rank } = createSideWorkSetup({ canRank: true });
    await assert.rejects(rank('', ['d']), /\(input\[0\]: 0 tokens\)/);
    await assert.rejects(rank('cat', ['ok', 'x'.repeat(62)]), /\[1, 64\] \(input\[1\]: with the query 65 tokens\)/);
  });
});
