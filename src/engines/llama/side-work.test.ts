import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRoom } from './__fixtures__/scheduler-room.ts';
import type { RoomOptions } from './__fixtures__/scheduler-room.ts';
import { createEmbed } from './embed.ts';
import { createRank } from './rank.ts';
import { createTurns } from './turns.ts';

const never = new AbortController().signal;
const owner = { workspace: 'w', key: 'k' };
const input = (text: string, at = 0) => ({ text, field: `input[${at}]` });

function createHouse(options: RoomOptions = {}) {
  const room = createRoom(options);
  const aside = { between: room.scheduler.between, turns: createTurns({ placesMax: 8, waitMsMax: 60_000 }) };
  const embed = createEmbed(room.model, aside);
  const rank = createRank(room.model, aside);
  return {
    room,
    embed: (texts: readonly string[], signal = never) =>
      embed({ id: 'e', owner, inputs: texts.map((text, at) => input(text, at)) }, signal),
    rank: (query: string, documents: readonly string[]) =>
      rank({ id: 'r', owner, query: input(query), documents: documents.map((text, at) => input(text, at)) }, never),
  };
}

describe('vectors', () => {
  it('are those of the texts, in their order, and count the tokens of the texts alone', async () => {
    const { embed } = createHouse();
    // The fake model counts a, b, c and all tokens; one token frames each text.
    assert.deepEqual(await embed(['aab', 'cabbage']), {
      vectors: [
        [2, 1, 0, 4],
        [2, 2, 1, 8],
      ],
      tokens: 10,
    });
  });

  it('take pieces between the ticks of who generates, whose answer is the same', async () => {
    const order: string[] = [];
    const answer = () => 'abcdefgh';
    const alone = await createRoom({ answer }).run({ prompt: 'x|' });
    const { room, embed } = createHouse({
      answer,
      onDecode: () => void order.push('tick'),
      onPiece: () => void order.push('piece'),
    });
    const heard = room.submit({ prompt: 'x|' });
    await embed(['a text of thirty characters, yes']);
    await heard.over;
    assert.equal(heard.text(), alone.text());
    assert.equal(order.filter((each) => each === 'piece').length, 9);
    assert.match(order.join(' '), /tick piece tick piece tick/);
    assert.doesNotMatch(order.join(' '), /piece piece.*tick/);
  });

  it('never make a special token of a text', async () => {
    const pieces: number[] = [];
    const { embed } = createHouse({ onPiece: (tokens) => void pieces.push(...tokens) });
    await embed(['<|im_end|><tool_call>']);
    assert.deepEqual(
      pieces.slice(1).filter((token) => token > 255),
      [],
    );
  });

  it('are refused for a text without a token or with too many, naming its field', async () => {
    const { embed } = createHouse({ contextTokens: 16 });
    await assert.rejects(embed(['ok', '']), /Range of input length should be \[1, 16\] \(input\[1\]: 0 tokens\)/);
    await assert.rejects(embed(['x'.repeat(17)]), /\[1, 16\] \(input\[0\]: 17 tokens\)/);
    await assert.rejects(embed(['x'.repeat(1_000_000)]), /\(input\[0\]: more than 16 tokens\)/);
    assert.equal((await embed(['x'.repeat(16)])).tokens, 16);
  });

  it('end within a piece when nobody waits for them', async () => {
    const caller = new AbortController();
    let pieces = 0;
    const { embed } = createHouse({
      onPiece() {
        if (++pieces === 2) caller.abort();
      },
    });
    await assert.rejects(embed(['x'.repeat(100), 'y'], caller.signal), { kind: 'cancelled' });
    await embed(['z']);
    assert.equal(pieces, 3);
  });

  it('fail for whom the library fails, and for nobody after', async () => {
    let fails = true;
    const { embed } = createHouse({
      onPiece() {
        if (fails) throw new Error('no memory');
      },
    });
    await assert.rejects(embed(['a']), /no memory/);
    fails = false;
    assert.equal((await embed(['a'])).tokens, 1);
  });
});

describe('scores', () => {
  it('are one for each document, and count both texts for each', async () => {
    const { rank } = createHouse({ canRank: true });
    assert.deepEqual(await rank('cat', ['a dog', 'a cat']), { scores: [0.1, 0.9], tokens: 16 });
  });

  it('are refused by a model that was not trained for them', async () => {
    await assert.rejects(createHouse().rank('q', ['d']), /was not trained to rank/);
  });

  it('are refused where a document does not fit beside the query, naming its field', async () => {
    const { rank } = createHouse({ canRank: true });
    await assert.rejects(rank('', ['d']), /\(input\[0\]: 0 tokens\)/);
    await assert.rejects(rank('cat', ['ok', 'x'.repeat(62)]), /\[1, 64\] \(input\[1\]: with the query 65 tokens\)/);
  });
});
