import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSseParser } from '../../../lib/sse.ts';
import type { SseFrame } from '../../../lib/sse.ts';
import { checkPhases } from './__fixtures__/check-phases.ts';
import { goldenCases } from './__fixtures__/golden-cases.ts';

// The checker is what other tests lean on, so each of its rules is broken here once, in a stream that is right otherwise.

function goldenFrames(name: string): SseFrame[] {
  const found = goldenCases().find((each) => each.name === name);
  assert.ok(found);
  return createSseParser({ sizeMax: 1_000_000 }).push(readFileSync(found.at('stream.sse'), 'utf8'));
}

const REPORT = goldenFrames('report');

/** One text of one event exchanged; the text has to be there. */
const exchanged = (position: number, text: string, by: string): SseFrame[] =>
  REPORT.map((frame, at) => {
    if (at !== position) return frame;
    assert.ok(frame.data.includes(text), `${text} is not in ${frame.data}`);
    return { ...frame, data: frame.data.replaceAll(text, by) };
  });

const numbered = (frames: readonly SseFrame[]): SseFrame[] =>
  frames.map((frame, at) => ({ ...frame, id: `${at + 1}` }));

const without = (...positions: readonly number[]): SseFrame[] =>
  numbered(REPORT.filter((_, at) => !positions.includes(at)));

const swapped = (a: number, b: number): SseFrame[] =>
  numbered(REPORT.map((frame, at) => REPORT[at === a ? b : at === b ? a : at] ?? frame));

const PLAN_END = 1;
const FIRST_KEEP_ALIVE = 2;
const QUERY = 3;
const SITES = 5;
const LEARNED = 6;
const QUERY_END = 7;
const CITING = 14;
const LAST = 16;

const SENTENCE = 'A lighthouse of stone stands before the harbour of Brenwick since 1874.';

const BROKEN: readonly (readonly [fault: RegExp, frames: readonly SseFrame[]])[] = [
  [/there are no events/, []],
  [/has the id 3/, REPORT.map((frame, at) => (at === 1 ? { ...frame, id: '3' } : frame))],
  [/is of the kind error/, REPORT.map((frame, at) => (at === 1 ? { ...frame, event: 'error' } : frame))],
  [/usage\.input_tokens/, exchanged(QUERY, '"input_tokens":652', '"input_tokens":"652"')],
  [/output: Unrecognized key/, exchanged(QUERY, '"choices":null', '"choices":null,"more":1')],
  [/status_code/, exchanged(QUERY, '"status_code":200', '"status_code":"200"')],
  [/: Invalid input/, exchanged(QUERY, '{"status_code"', '["status_code"')],
  [/the request id changes/, exchanged(QUERY, '00000000-0000', '10000000-0000')],
  [/the usage falls/, exchanged(LAST, '"output_tokens":402', '"output_tokens":1')],
  [/fininshed is true/, exchanged(QUERY, '"fininshed":false', '"fininshed":true')],
  [/fininshed_reason is stop/, exchanged(QUERY, '"fininshed_reason":"null"', '"fininshed_reason":"stop"')],
  [/finish_reason is stop/, exchanged(QUERY, '"finish_reason":null', '"finish_reason":"stop"')],
  [/finish_reason is null/, exchanged(LAST, '"finish_reason":"stop"', '"finish_reason":null')],
  [/something told is null/, exchanged(CITING, '"description":"Stone towers"', '"description":null')],
  [/the phase is Web/, exchanged(QUERY, '"WebResearch"', '"Web"')],
  [/a KeepAlive is not empty/, exchanged(FIRST_KEEP_ALIVE, '"content":""', '"content":"."')],
  [/WebResearch comes after answer/, swapped(QUERY, CITING)],
  [/no KeepAlive between ResearchPlanning and WebResearch/, without(FIRST_KEEP_ALIVE)],
  [/a plan has content/, exchanged(0, '"content":""', '"content":"First"')],
  [/a plan has findings/, exchanged(0, '"deep_research":{}', '"deep_research":{"a":1}')],
  [/a plan's status is begun/, exchanged(0, '"status":"typing"', '"status":"begun"')],
  [/the plan goes on after its end/, swapped(0, PLAN_END)],
  [/a query comes before the end of the plan/, without(PLAN_END)],
  [/a query has content/, exchanged(QUERY, '"content":""', '"content":"q"')],
  [/query and research differ/, exchanged(QUERY, '"query":{"researchGoal"', '"query":{"b":"","researchGoal"')],
  [/a query has references beside it/, exchanged(QUERY, '"deep_research":{', '"deep_research":{"references":[],')],
  [/query 3 comes after 1/, exchanged(8, '"id":2', '"id":3')],
  [/query 1 goes back to streamingQueries/, swapped(QUERY + 1, SITES)],
  [/query 1 goes on after its end/, swapped(LEARNED, QUERY_END)],
  [/a query's status is found/, exchanged(SITES, '"streamingWebResult"', '"found"')],
  [/query 1 has no words/, without(QUERY)],
  [/webSites\.0\.url/, exchanged(SITES, '"url":"https://example.com/towers"', '"url":"/srv/towers"')],
  [/icon and favicon differ/, exchanged(SITES, '"favicon":"https', '"favicon":"http')],
  [/learningMap/, exchanged(LEARNED, '{"1":', '{"site":')],
  [/neither sites nor what was learned/, exchanged(LEARNED, `,"learningMap":{"1":"${SENTENCE}"}`, '')],
  [/the answer comes before the end of query 1/, without(QUERY_END)],
  [/references are not numbered/, exchanged(CITING, '"index_number":1', '"index_number":2')],
  [/\[\[1\]\] comes before its reference/, without(CITING)],
  [/\[\[2\]\] comes before its reference/, exchanged(CITING, '[[1]]', '[[2]]')],
  [/an answer says nothing/, exchanged(CITING + 1, '"content":"It is of stone [[1]]."', '"content":""')],
  [/an answer's status is finished/, exchanged(CITING, '"status":"typing"', '"status":"finished"')],
  [/the last event says something/, exchanged(LAST, '"content":""', '"content":"!"')],
  [/references were told again/, numbered(REPORT.toSpliced(CITING, 0, ...REPORT.slice(CITING, CITING + 1)))],
];

test('a right stream has no faults', () => {
  assert.deepEqual(checkPhases(REPORT, { step: 2 }), []);
});

for (const [fault, frames] of BROKEN) {
  test(`the check finds that ${fault.source}`, () => {
    const faults = checkPhases(frames, { step: 2 });
    assert.ok(
      faults.some((each) => fault.test(each)),
      faults.join('\n'),
    );
  });
}

test('a question is checked as one, with neither plan nor sources, and a report is none', () => {
  const question = goldenFrames('question');
  assert.deepEqual(checkPhases(question, { step: 1 }), []);
  assert.match(checkPhases(question, { step: 2 }).join(), /the report comes before the end of the plan/);
  const faults = checkPhases(REPORT, { step: 1 }).join();
  assert.match(faults, /ResearchPlanning where a question was to be asked/);
  assert.match(faults, /a question has references/);
  assert.match(checkPhases(numbered(question.slice(-1)), { step: 1 }).join(), /there is no answer/);
});

test('a mark that is cut in two is found, and counts once', () => {
  const [piece] = exchanged(CITING + 1, 'It is of stone [[1]].', 'Cut [');
  assert.ok(piece);
  const frames = numbered([
    ...exchanged(CITING + 1, 'It is of stone [[1]].', 'Cut [').slice(0, CITING + 2),
    ...exchanged(CITING + 1, 'It is of stone [[1]].', '[7]] and on').slice(CITING + 1),
  ]);
  const faults = checkPhases(frames, { step: 2 });
  assert.deepEqual(faults, [`event ${CITING + 3}: [[7]] comes before its reference`]);
});
