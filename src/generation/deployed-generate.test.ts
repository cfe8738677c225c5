import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deploymentRecord, reservedRecord } from '../core/__fixtures__/deployment-record.ts';
import { ServiceError } from '../core/error.ts';
import type { EngineEvent } from '../core/event.ts';
import type { EngineRequest, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import type { Permit } from './admission.ts';
import { createBooks, createHouse, ENTRY } from './__fixtures__/house.ts';
import { withEngine } from './with-engine.ts';

const WORDS = ['a ', 'b ', 'c ', 'd ', 'e ', 'f '];

/** An engine with a context of 100, and what it was asked. */
function engineRoom(change: Partial<TextEngine> = {}) {
  const asked: EngineRequest[] = [];
  const engine = createScriptedEngine({ script: () => [{ type: 'tokens', tokens: WORDS }], contextTokens: 100 });
  const start: TextEngine['start'] = (request, signal) => {
    asked.push(request);
    return engine.start(request, signal);
  };
  return { asked, engine: { ...engine, start, ...change } };
}

/** A permit that counts, and what it was told. */
function counting(refuse?: ServiceError) {
  const begun: unknown[] = [];
  const produced = { answer: 0, thought: 0 };
  const permit: Partial<Permit> = {
    priority: 'reserved',
    count: {
      async begin(first) {
        begun.push(first);
        if (refuse) throw refuse;
      },
      produced: (tokens, kind) => void (produced[kind] += tokens),
    },
  };
  return { permit, begun, produced };
}

describe('a generation of a deployment', () => {
  it('is written down by its model and by its own name', async () => {
    const { books, generate } = createHouse(engineRoom().engine, { deployed: deploymentRecord() });
    await Array.fromAsync((await generate()).batches);
    assert.deepEqual([books.facts.model, books.facts.deployment], ['m', 'm-ours']);
    const plain = createHouse(engineRoom().engine);
    await Array.fromAsync((await plain.generate()).batches);
    assert.deepEqual([plain.books.facts.model, plain.books.facts.deployment], ['m', undefined]);
  });

  it('goes where its permit says in the queue of the engine', async () => {
    const { engine, asked } = engineRoom();
    const { generate } = createHouse(engine, { deployed: reservedRecord(), permit: { priority: 'reserved' } });
    await Array.fromAsync((await generate()).batches);
    assert.equal(asked[0]?.owner.priority, 'reserved');
  });

  it('counts its prompt exactly before the engine is asked, and its answer as it is produced', async () => {
    const { engine, asked } = engineRoom();
    const { permit, begun, produced } = counting();
    const { generate } = createHouse(engine, { deployed: reservedRecord(), permit });
    const { batches } = await generate();
    const events = (await Array.fromAsync(batches)).flat();
    const input = asked[0]?.input ?? assert.fail();
    assert.deepEqual(begun, [{ promptTokens: await engine.countTokens(input), thinks: false }]);
    assert.deepEqual(produced, { answer: WORDS.length, thought: 0 });
    const end = events.find((event) => event.type === 'end');
    assert.equal(end?.usage.promptTokens, await engine.countTokens(input));
  });

  it('that is refused asks nothing of the engine, and leaves nothing behind', async () => {
    const { engine, asked } = engineRoom();
    const { permit } = counting(new ServiceError('token-quota', 'used up', { retryAfterSeconds: 3 }));
    const { generate, books } = createHouse(engine, { deployed: reservedRecord(), permit });
    await assert.rejects(generate(), { kind: 'token-quota', retryAfterSeconds: 3 });
    assert.equal(asked.length, 0);
    assert.deepEqual([books.releases, books.leasesReleased], [1, 1]);
  });

  it('tells thought from answer, whoever divides them', async () => {
    const { engine } = engineRoom();
    const thinking = createScriptedEngine({
      script: () => [{ type: 'tokens', tokens: ['so', ' then', '</think>', 'yes'] }],
      contextTokens: 100,
    });
    const ours = counting();
    const entry = { ...ENTRY, abilities: { ...ENTRY.abilities, thinking: 'prompted' as const } };
    const own = createHouse(thinking, { deployed: reservedRecord(), permit: ours.permit, entry });
    await Array.fromAsync((await own.generate({ thinking: {} })).batches);
    assert.deepEqual(
      ours.begun.map((first) => (first as { thinks: boolean }).thinks),
      [true],
    );
    assert.ok(ours.produced.thought >= 2, String(ours.produced.thought));
    assert.ok(ours.produced.answer >= 1);

    const said: EngineEvent[] = [
      { type: 'reasoning', choice: 0, text: 'so', tokens: 3 },
      { type: 'text', choice: 0, phase: 0, text: 'yes', tokens: 1 },
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'end', usage: { promptTokens: 3, cachedTokens: 0, completionTokens: 4, reasoningTokens: 3 } },
    ];
    const theirs = counting();
    const server: TextEngine = {
      ...engine,
      capabilities: { ...engine.capabilities, input: 'chat', thinking: 'switch' },
      start: async () => ({
        batches: (async function* () {
          yield said;
        })(),
      }),
    };
    const house = createHouse(server, {
      deployed: reservedRecord(),
      permit: theirs.permit,
      entry: { ...ENTRY, abilities: { thinking: 'native' } },
    });
    await Array.fromAsync((await house.generate({ thinking: {} })).batches);
    // A server that renders the prompt itself tells only later how long it was.
    assert.deepEqual(theirs.begun, [{ promptTokens: undefined, thinks: true }]);
    assert.deepEqual(theirs.produced, { answer: 1, thought: 3 });
  });
});

describe('a context that is narrower than its engine has', () => {
  const deployed = reservedRecord({ spec: { maxContextLength: 8 } });

  it('ends an answer that fills it, and says what a wish came to', async () => {
    const { engine, asked } = engineRoom();
    const { generate } = createHouse(engine, { deployed });
    const { batches, ignored } = await generate({ maxTokens: 50 });
    const events = (await Array.fromAsync(batches)).flat();
    const promptTokens = await engine.countTokens(asked[0]?.input ?? assert.fail());
    const end = events.find((event) => event.type === 'end');
    assert.equal(end?.usage.completionTokens, 8 - promptTokens);
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'choice-end' ? event.reason : [])),
      ['length'],
    );
    assert.deepEqual(ignored, ['max_tokens(clamped)']);
  });

  it('refuses a prompt that does not fit, with both figures, before anything is counted', async () => {
    const { engine, asked } = engineRoom();
    const { permit, begun } = counting();
    const { generate } = createHouse(engine, { deployed, permit });
    const text = Array.from({ length: 12 }, () => 'word').join(' ');
    await assert.rejects(generate({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] }), {
      kind: 'context-exceeded',
      message: /should be \[1, 7\] \(the prompt has \d+ tokens, the context of deployment m-ours holds 8\)/,
    });
    assert.deepEqual([asked, begun], [[], []]);
  });

  it('is none where the engine has no more anyway, and is named where nobody here can measure it', async () => {
    const { engine } = engineRoom();
    const wide = createHouse(engine, { deployed: reservedRecord({ spec: { maxContextLength: 100 } }) });
    assert.deepEqual((await wide.generate({ maxTokens: 20 })).ignored, []);
    const server: TextEngine = { ...engine, capabilities: { ...engine.capabilities, input: 'chat' } };
    const house = createHouse(server, { deployed, entry: { ...ENTRY, abilities: {} } });
    assert.deepEqual((await house.generate()).ignored, ['max_context_length']);
  });
});

describe('other work of a deployment', () => {
  it('goes where its permit says, and is counted once', async () => {
    const { permit, begun } = counting();
    const { context, needs, books } = createBooks({}, { deployed: reservedRecord(), permit });
    const owners: unknown[] = [];
    const on = { model: 'm', interface: 'embeddings' } as const;
    await withEngine(needs, on, context, async (_engine, owner) => {
      owners.push(owner);
      return { promptTokens: 5, result: undefined };
    });
    assert.deepEqual(owners, [{ workspace: 'cn-beijing/w', key: 'k', priority: 'reserved' }]);
    assert.deepEqual(begun, [{ promptTokens: undefined, thinks: false }]);
    assert.deepEqual([books.facts.deployment, books.releases, books.leasesReleased], ['m-ours', 1, 1]);
  });
});
