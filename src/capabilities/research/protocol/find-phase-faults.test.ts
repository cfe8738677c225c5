import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createSseParser } from '../../../lib/sse.ts';
import type { SseFrame } from '../../../lib/sse.ts';
import { findPhaseFaults } from './__fixtures__/find-phase-faults.ts';
import { readGoldenCases } from './__fixtures__/golden-cases.ts';

// Other tests rely on this checker, so each of its rules is violated here once, in an otherwise valid stream.

function readGoldenFrames(name: string): SseFrame[] {
  const goldenCase = readGoldenCases().find((each) => each.name === name);
  assert.ok(goldenCase);
  return createSseParser({ sizeMax: 1_000_000 }).push(readFileSync(goldenCase.getPath('stream.sse'), 'utf8'));
}

const REPORT = readGoldenFrames('report');

/** Replaces a text in one event, which must contain it. */
const replaceInFrame = (position: number, text: string, by: string): SseFrame[] =>
  REPORT.map((frame, at) => {
    if (at !== position) return frame;
    assert.ok(frame.data.includes(text), `${text} is not in ${frame.data}`);
    return { ...frame, data: frame.data.replaceAll(text, by) };
  });

const renumber = (frames: readonly SseFrame[]): SseFrame[] =>
  frames.map((frame, at) => ({ ...frame, id: `${at + 1}` }));

const removeFrames = (...positions: readonly number[]): SseFrame[] =>
  renumber(REPORT.filter((_, at) => !positions.includes(at)));

const swapFrames = (a: number, b: number): SseFrame[] =>
  renumber(REPORT.map((frame, at) => REPORT[at === a ? b : at === b ? a : at] ?? frame));

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
  [/usage\.input_tokens/, replaceInFrame(QUERY, '"input_tokens":652', '"input_tokens":"652"')],
  [/output: Unrecognized key/, replaceInFrame(QUERY, '"choices":null', '"choices":null,"more":1')],
  [/status_code/, replaceInFrame(QUERY, '"status_code":200', '"status_code":"200"')],
  [/: Invalid input/, replaceInFrame(QUERY, '{"status_code"', '["status_code"')],
  [/the request id changes/, replaceInFrame(QUERY, '00000000-0000', '10000000-0000')],
  [/the usage falls/, replaceInFrame(LAST, '"output_tokens":402', '"output_tokens":1')],
  [/fininshed is true/, replaceInFrame(QUERY, '"fininshed":false', '"fininshed":true')],
  [/fininshed_reason is stop/, replaceInFrame(QUERY, '"fininshed_reason":"null"', '"fininshed_reason":"stop"')],
  [/finish_reason is stop/, replaceInFrame(QUERY, '"finish_reason":null', '"finish_reason":"stop"')],
  [/finish_reason is null/, replaceInFrame(LAST, '"finish_reason":"stop"', '"finish_reason":null')],
  [/a value is null/, replaceInFrame(CITING, '"description":"Stone towers"', '"description":null')],
  [/the phase is Web/, replaceInFrame(QUERY, '"WebResearch"', '"Web"')],
  [/a KeepAlive is not empty/, replaceInFrame(FIRST_KEEP_ALIVE, '"content":""', '"content":"."')],
  [/WebResearch comes after answer/, swapFrames(QUERY, CITING)],
  [/no KeepAlive between ResearchPlanning and WebResearch/, removeFrames(FIRST_KEEP_ALIVE)],
  [/a plan has content/, replaceInFrame(0, '"content":""', '"content":"First"')],
  [/a plan has findings/, replaceInFrame(0, '"deep_research":{}', '"deep_research":{"a":1}')],
  [/a plan's status is started/, replaceInFrame(0, '"status":"typing"', '"status":"started"')],
  [/the plan continues after its end/, swapFrames(0, PLAN_END)],
  [/a query comes before the end of the plan/, removeFrames(PLAN_END)],
  [/a query has content/, replaceInFrame(QUERY, '"content":""', '"content":"q"')],
  [/query and research differ/, replaceInFrame(QUERY, '"query":{"researchGoal"', '"query":{"b":"","researchGoal"')],
  [/a query has references beside it/, replaceInFrame(QUERY, '"deep_research":{', '"deep_research":{"references":[],')],
  [/query 3 comes after 1/, replaceInFrame(8, '"id":2', '"id":3')],
  [/query 1 goes back to streamingQueries/, swapFrames(QUERY + 1, SITES)],
  [/query 1 continues after its end/, swapFrames(LEARNED, QUERY_END)],
  [/a query's status is found/, replaceInFrame(SITES, '"streamingWebResult"', '"found"')],
  [/query 1 has no text/, removeFrames(QUERY)],
  [/webSites\.0\.url/, replaceInFrame(SITES, '"url":"https://example.com/towers"', '"url":"/srv/towers"')],
  [/icon and favicon differ/, replaceInFrame(SITES, '"favicon":"https', '"favicon":"http')],
  [/learningMap/, replaceInFrame(LEARNED, '{"1":', '{"site":')],
  [/neither sites nor learned text/, replaceInFrame(LEARNED, `,"learningMap":{"1":"${SENTENCE}"}`, '')],
  [/the answer comes before the end of query 1/, removeFrames(QUERY_END)],
  [/references are not numbered/, replaceInFrame(CITING, '"index_number":1', '"index_number":2')],
  [/\[\[1\]\] comes before its reference/, removeFrames(CITING)],
  [/\[\[2\]\] comes before its reference/, replaceInFrame(CITING, '[[1]]', '[[2]]')],
  [/an answer event has no content/, replaceInFrame(CITING + 1, '"content":"It is of stone [[1]]."', '"content":""')],
  [/an answer's status is finished/, replaceInFrame(CITING, '"status":"typing"', '"status":"finished"')],
  [/the last event has content/, replaceInFrame(LAST, '"content":""', '"content":"!"')],
  [/references were sent again/, renumber(REPORT.toSpliced(CITING, 0, ...REPORT.slice(CITING, CITING + 1)))],
];

test('finds no faults in a valid stream', () => {
  assert.deepEqual(findPhaseFaults(REPORT, { step: 2 }), []);
});

for (const [fault, frames] of BROKEN) {
  test(`finds the fault ${fault.source}`, () => {
    const faults = findPhaseFaults(frames, { step: 2 });
    assert.ok(
      faults.some((each) => fault.test(each)),
      faults.join('\n'),
    );
  });
}

test('expects neither plan nor sources in a question, and rejects a report in its place', () => {
  const question = readGoldenFrames('question');
  assert.deepEqual(findPhaseFaults(question, { step: 1 }), []);
  assert.match(findPhaseFaults(question, { step: 2 }).join(), /the report comes before the end of the plan/);
  const faults = findPhaseFaults(REPORT, { step: 1 }).join();
  assert.match(faults, /ResearchPlanning in place of a question/);
  assert.match(faults, /a question has references/);
  assert.match(findPhaseFaults(renumber(question.slice(-1)), { step: 1 }).join(), /there is no answer/);
});

test('finds a citation mark that is split between two events, once', () => {
  const [piece] = replaceInFrame(CITING + 1, 'It is of stone [[1]].', 'Cut [');
  assert.ok(piece);
  const frames = renumber([
    ...replaceInFrame(CITING + 1, 'It is of stone [[1]].', 'Cut [').slice(0, CITING + 2),
    ...replaceInFrame(CITING + 1, 'It is of stone [[1]].', '[7]] and on').slice(CITING + 1),
  ]);
  const faults = findPhaseFaults(frames, { step: 2 });
  assert.deepEqual(faults, [`event ${CITING + 3}: [[7]] comes before its reference`]);
});
