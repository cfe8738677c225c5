import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Reference, ResearchEvent, ResearchSite } from '../research.ts';
import { createSseParser } from '../../../lib/sse.ts';
import type { SseFrame } from '../../../lib/sse.ts';
import { findPhaseFaults } from './__fixtures__/find-phase-faults.ts';
import { createResearchStreamEncoder } from './stream.ts';

const parseFrames = (bytes: string): SseFrame[] => createSseParser({ sizeMax: 1_000_000 }).push(bytes);

const parseMessages = (bytes: string) => parseFrames(bytes).map(({ data }) => JSON.parse(data).output.message);

test('fills silence with numbered KeepAlive messages, and with a comment after the last event', () => {
  const encoder = createResearchStreamEncoder({ streamPlan: false }, 'r');
  const bytes = [
    encoder.keepAlive(),
    encoder.push([{ type: 'usage', inputTokens: 5, outputTokens: 0 }]),
    encoder.keepAlive(),
    encoder.push([
      { type: 'question', text: 'Why?' },
      { type: 'end', reason: 'stop' },
    ]),
  ].join('');
  assert.equal(encoder.keepAlive(), ':keep-alive\n\n');
  assert.equal(encoder.close(), '');
  assert.deepEqual(
    parseMessages(bytes).map(({ phase }) => phase),
    ['KeepAlive', 'KeepAlive', 'answer', 'answer'],
  );
  assert.deepEqual(findPhaseFaults(parseFrames(bytes), { step: 1 }), []);
  assert.equal(encoder.contentType, 'text/event-stream;charset=UTF-8');
});

test('never sends a path of the host', () => {
  const site = { title: 'T', description: '', url: '/srv/pages/1.html', icon: 'file:///srv/icons/1.png' };
  const encoder = createResearchStreamEncoder({ streamPlan: false }, 'r');
  const bytes = encoder.push([
    { type: 'sites', id: 1, sites: [{ ...site, number: 1 }] },
    { type: 'report', text: 'A [[1]].', references: [{ ...site, index: 1 }] },
  ]);
  assert.equal(bytes.includes('srv'), false);
  const [sitesMessage, , reportMessage] = parseMessages(bytes);
  assert.equal(
    encoder
      .push([{ type: 'sites', id: 1, sites: [{ ...site, number: 1, icon: 'parley-index:/srv/1.png' }] }])
      .includes('srv'),
    false,
  );
  const none = { title: 'T', description: '', url: '', icon: '' };
  assert.deepEqual(sitesMessage.extra.deep_research.research.webSites, [{ ...none, favicon: '' }]);
  assert.deepEqual(reportMessage.extra.deep_research, { references: [{ ...none, index_number: 1 }] });
});

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
/** Text without citation marks. */
const prose = text.map((written) => written.replaceAll('[', '('));
const words = text.map((written) => `w${written}`);
const url = fc.oneof(
  fc.webUrl(),
  fc.nat().map((id) => `parley-index:${id}`),
);
const icon = fc.oneof(fc.webUrl(), fc.constant(''));
const site: fc.Arbitrary<ResearchSite> = fc.record({
  number: fc.integer({ min: 1, max: 40 }),
  title: text,
  description: text,
  url,
  icon,
});

/** Events of a query after its text. */
const createFindings = (id: number): fc.Arbitrary<ResearchEvent[]> =>
  fc
    .array(
      fc.oneof(
        fc.array(site, { maxLength: 3 }).map((sites): ResearchEvent => ({ type: 'sites', id, sites })),
        fc
          .tuple(fc.integer({ min: 1, max: 40 }), text)
          .map(([number, learned]): ResearchEvent => ({ type: 'learned', id, site: number, text: learned })),
      ),
      { maxLength: 4 },
    )
    .map((found) => [...found, { type: 'query-end', id }]);

const queries: fc.Arbitrary<ResearchEvent[]> = fc
  .tuple(fc.nat(4), fc.array(fc.nat(4), { maxLength: 20 }))
  .chain(([count, order]) =>
    fc.tuple(...Array.from({ length: count }, (_, at) => fc.tuple(words, words, createFindings(at + 1)))).map((all) => {
      const remaining = all.map(([, , found]) => [...found]);
      const queryEvents = all.map(([query, goal], at): ResearchEvent => ({ type: 'query', id: at + 1, query, goal }));
      // Some of the queries run in parallel, in any order.
      const mixed = order.flatMap((pick) => remaining[pick % Math.max(1, remaining.length)]?.splice(0, 1) ?? []);
      return [...queryEvents, ...mixed, ...remaining.flat()];
    }),
  );

const references: fc.Arbitrary<Reference[]> = fc
  .array(fc.record({ title: text, description: text, url, icon }), { maxLength: 5 })
  .map((all) => all.map((each, at) => ({ ...each, index: at + 1 })));

/** Each reference is added in one event, which cites it; later events cite it too. */
const report: fc.Arbitrary<ResearchEvent[]> = fc
  .tuple(references, fc.array(prose, { maxLength: 5 }))
  .map(([all, pieces]) => [
    { type: 'report', text: 'Begun. ' },
    ...all.map((_, at): ResearchEvent => ({
      type: 'report',
      text: `${pieces[at] ?? ''} [[${at + 1}]] [[1]]`,
      references: all.slice(0, at + 1),
    })),
    ...pieces.map((piece): ResearchEvent => ({ type: 'report', text: piece })),
  ]);

const plan: fc.Arbitrary<ResearchEvent[]> = fc
  .array(text, { maxLength: 3 })
  .map((pieces) => [...pieces.map((piece): ResearchEvent => ({ type: 'plan', text: piece })), { type: 'plan-end' }]);

const end: fc.Arbitrary<ResearchEvent> = fc.constantFrom('stop', 'length').map((reason) => ({ type: 'end', reason }));

/** Inserts usage events, which only grow, at any position before the end. */
function withUsage(events: readonly ResearchEvent[], at: readonly number[]): ResearchEvent[] {
  const all = [...events];
  for (const [calls, position] of at.toSorted((a, b) => a - b).entries()) {
    const usage = { type: 'usage', inputTokens: calls * 10, outputTokens: calls } as const;
    all.splice(Math.min(position + calls, all.length - 1), 0, usage);
  }
  return all;
}

const usages = fc.array(fc.nat(30), { maxLength: 4 });

const runs = fc
  .tuple(plan, queries, report, end, usages)
  .map(([planEvents, searched, written, last, at]) => withUsage([...planEvents, ...searched, ...written, last], at));

const questions = fc
  .tuple(fc.array(text, { maxLength: 4 }), usages)
  .map(([pieces, at]) =>
    withUsage([...[...pieces, 'Why?'].map((piece): ResearchEvent => ({ type: 'question', text: piece })), END], at),
  );

const END: ResearchEvent = { type: 'end', reason: 'stop' };

const steps = fc.oneof(
  runs.map((events) => ({ events, step: 2 as const })),
  questions.map((events) => ({ events, step: 1 as const })),
);

interface BatchCut {
  readonly size: number;
  readonly isSilent: boolean;
}

function streamToBytes(events: readonly ResearchEvent[], streamPlan: boolean, cuts: readonly BatchCut[]): string {
  const encoder = createResearchStreamEncoder({ streamPlan }, 'r');
  let bytes = encoder.open();
  for (let at = 0, turn = 0; at < events.length; turn++) {
    const { size, isSilent } = cuts[turn % cuts.length] ?? { size: 0, isSilent: false };
    if (isSilent) bytes += encoder.keepAlive();
    bytes += encoder.push(events.slice(at, at + size + 1));
    at += size + 1;
  }
  return bytes + encoder.close();
}

const createCuts = (isSilent: fc.Arbitrary<boolean>): fc.Arbitrary<BatchCut[]> =>
  fc.array(fc.record({ size: fc.nat(6), isSilent }), { minLength: 1, maxLength: 8 });

test('encodes a valid event sequence for any run and any silence', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), createCuts(fc.boolean()), ({ events, step }, streamPlan, each) => {
      assert.deepEqual(findPhaseFaults(parseFrames(streamToBytes(events, streamPlan, each)), { step, streamPlan }), []);
    }),
  );
});

test('encodes the same bytes, however the events are batched', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), createCuts(fc.constant(false)), ({ events }, streamPlan, each) => {
      assert.equal(
        streamToBytes(events, streamPlan, each),
        streamToBytes(events, streamPlan, [{ size: events.length, isSilent: false }]),
      );
    }),
  );
});

test('encodes pieces that add up to the text, and a last count that equals the total usage', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), ({ events }, streamPlan) => {
      const bytes = streamToBytes(events, streamPlan, [{ size: 0, isSilent: false }]);
      const joinContent = (phase: string): string =>
        parseMessages(bytes)
          .filter((message) => message.phase === phase)
          .map(({ content }) => content)
          .join('');
      const joinEventText = (types: readonly string[]): string =>
        events.map((event) => (types.includes(event.type) && 'text' in event ? event.text : '')).join('');
      assert.equal(joinContent('answer'), joinEventText(['question', 'report']));
      assert.equal(joinContent('ResearchPlanning'), streamPlan ? joinEventText(['plan']) : '');
      const usage = events.findLast((event) => event.type === 'usage');
      assert.deepEqual(JSON.parse(parseFrames(bytes).at(-1)?.data ?? '').usage, {
        input_tokens: usage?.inputTokens ?? 0,
        output_tokens: usage?.outputTokens ?? 0,
      });
    }),
  );
});
