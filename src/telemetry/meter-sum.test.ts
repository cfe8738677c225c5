import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMeter, type ReadableMeter } from './meter.ts';
import { createMeterSum } from './meter-sum.ts';

const OPERATIONS = { operations: ['chat'] };

const recordRequests = (meter: ReadableMeter, times: number): void => {
  for (let i = 0; i < times; i++)
    meter.recordRequest({ operation: 'chat', status: 200, kind: 'none', durationMs: 30, completionTokens: 2 });
};

/** Reads a snapshot as another process receives it. */
const readTransferred = async (meter: ReadableMeter) =>
  JSON.parse(JSON.stringify(await meter.readSnapshot())) as object[];

test('adds counters, histograms and gauges of several processes', async () => {
  const sum = createMeterSum(await createMeter(OPERATIONS).readSnapshot());
  const [one, other] = [createMeter(OPERATIONS), createMeter(OPERATIONS)];
  const [first, second] = [sum.join(), sum.join()];
  recordRequests(one, 3);
  recordRequests(other, 4);
  one.trackStream();
  other.trackStream();
  first.update(await readTransferred(one));
  second.update(await readTransferred(other));
  const { text, contentType } = await sum.renderMetrics();
  assert.match(text, /parley_requests_total\{operation="chat",status="200",kind="none"\} 7/);
  assert.match(text, /parley_tokens_total\{operation="chat",direction="completion"\} 14/);
  assert.match(text, /parley_request_duration_seconds_count\{operation="chat"\} 7/);
  assert.match(text, /parley_request_duration_seconds_bucket\{le="0.1",operation="chat"\} 7/);
  assert.match(text, /parley_request_duration_seconds_bucket\{le="\+Inf",operation="chat"\} 7/);
  assert.match(text, /parley_streams_in_flight 2/);
  assert.equal(contentType, (await one.renderMetrics()).contentType);
});

test('keeps the counts of a process that left, drops its gauges, and ignores its later snapshots', async () => {
  const sum = createMeterSum(await createMeter(OPERATIONS).readSnapshot());
  const [one, other, next] = [createMeter(OPERATIONS), createMeter(OPERATIONS), createMeter(OPERATIONS)];
  const [first, second] = [sum.join(), sum.join()];
  recordRequests(one, 3);
  one.trackStream();
  recordRequests(other, 4);
  first.update(await readTransferred(one));
  second.update(await readTransferred(other));
  first.leave();
  first.leave();
  first.update(await readTransferred(one));
  const after = (await sum.renderMetrics()).text;
  assert.match(after, /parley_requests_total\{.*\} 7/);
  assert.match(after, /parley_streams_in_flight 0/);
  second.leave();
  const third = sum.join();
  recordRequests(next, 1);
  third.update(await readTransferred(next));
  assert.match((await sum.renderMetrics()).text, /parley_requests_total\{.*\} 8/);
});

test('contains every metric name before anything was counted', async () => {
  const meter = createMeter(OPERATIONS);
  const { text } = await createMeterSum(await meter.readSnapshot()).renderMetrics();
  assert.equal(text, (await meter.renderMetrics()).text);
});
