import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMeter } from './meter.ts';
import type { ReadableMeter } from './meter.ts';
import { createMeterSum } from './meter-sum.ts';

const OPERATIONS = { operations: ['chat'] };

const count = (meter: ReadableMeter, times: number): void => {
  for (let i = 0; i < times; i++)
    meter.requestEnded({ operation: 'chat', status: 200, kind: 'none', durationMs: 30, completionTokens: 2 });
};

/** As it comes from another process. */
const readingOf = async (meter: ReadableMeter) => JSON.parse(JSON.stringify(await meter.read())) as object[];

test('counters, histograms and gauges of several processes are added', async () => {
  const sum = createMeterSum(await createMeter(OPERATIONS).read());
  const [one, other] = [createMeter(OPERATIONS), createMeter(OPERATIONS)];
  const [first, second] = [sum.join(), sum.join()];
  count(one, 3);
  count(other, 4);
  one.streamOpened();
  other.streamOpened();
  first.take(await readingOf(one));
  second.take(await readingOf(other));
  const { text, contentType } = await sum.expose();
  assert.match(text, /parley_requests_total\{operation="chat",status="200",kind="none"\} 7/);
  assert.match(text, /parley_tokens_total\{operation="chat",direction="completion"\} 14/);
  assert.match(text, /parley_request_duration_seconds_count\{operation="chat"\} 7/);
  assert.match(text, /parley_request_duration_seconds_bucket\{le="0.1",operation="chat"\} 7/);
  assert.match(text, /parley_request_duration_seconds_bucket\{le="\+Inf",operation="chat"\} 7/);
  assert.match(text, /parley_streams_in_flight 2/);
  assert.equal(contentType, (await one.expose()).contentType);
});

test('of one that has ended the counts stay and the open streams go; what it says later is not heard', async () => {
  const sum = createMeterSum(await createMeter(OPERATIONS).read());
  const [one, other, next] = [createMeter(OPERATIONS), createMeter(OPERATIONS), createMeter(OPERATIONS)];
  const [first, second] = [sum.join(), sum.join()];
  count(one, 3);
  one.streamOpened();
  count(other, 4);
  first.take(await readingOf(one));
  second.take(await readingOf(other));
  first.leave();
  first.leave();
  first.take(await readingOf(one));
  const after = (await sum.expose()).text;
  assert.match(after, /parley_requests_total\{.*\} 7/);
  assert.match(after, /parley_streams_in_flight 0/);
  second.leave();
  const third = sum.join();
  count(next, 1);
  third.take(await readingOf(next));
  assert.match((await sum.expose()).text, /parley_requests_total\{.*\} 8/);
});

test('before anybody counted, every name is there', async () => {
  const own = createMeter(OPERATIONS);
  const { text } = await createMeterSum(await own.read()).expose();
  assert.equal(text, (await own.expose()).text);
});
