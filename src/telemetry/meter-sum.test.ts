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

test('adds the memory of processes, and takes the largest delay and the smallest limit', async () => {
  const create = (max: number, walBytes?: number) =>
    createMeter({
      ...OPERATIONS,
      processMetrics: {
        eventLoop: { read: () => ({ p50: 0, p99: 0, max }) },
        ...(walBytes !== undefined && {
          readServiceMeasurements: async () => ({
            databaseBytes: 1,
            walBytes,
            freeDiskBytes: 1,
            engines: [],
            waitingJobs: [],
          }),
        }),
      },
    });
  const primary = create(0.1, 77);
  const sum = createMeterSum(await readTransferred(primary));
  sum.join().update(await readTransferred(primary));
  sum.join().update(await readTransferred(create(0.7)));
  sum.join().update(await readTransferred(create(0.3)));
  const { text } = await sum.renderMetrics();
  assert.match(text, /^parley_event_loop_delay_seconds\{quantile="max"\} 0\.7$/m);
  assert.match(text, /^parley_database_bytes\{file="wal"\} 77$/m);
  const resident = Number(/^parley_resident_memory_bytes (\d+)$/m.exec(text)?.[1]);
  assert.ok(resident > 2 * process.memoryUsage.rss(), 'three processes');
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
