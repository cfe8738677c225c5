import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';
import { startEventLoopMonitor } from './event-loop-monitor.ts';
import { until } from '../../test/until.ts';
import { createMeter } from './meter.ts';

test('a log line is JSON with a time, a level, a constant message and the fields', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  log.info('request', { operation: 'models.list', status: 200 });
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>;
  assert.equal(line['level'], 'info');
  assert.equal(line['msg'], 'request');
  assert.equal(line['operation'], 'models.list');
  assert.match(String(line['time']), /^\d{4}-\d\d-\d\dT/);
});

test('a log line contains only name, message, stack and causes of an error', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } });
  const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), { apiKey: 'sk-secret' });
  log.error('request', { error });
  assert.ok(!lines.join('').includes('sk-secret'));
  const line = JSON.parse(lines[0] ?? '') as { error: { message: string; cause: { name: string } } };
  assert.equal(line.error.message, 'outer');
  assert.equal(line.error.cause.name, 'TypeError');
});

test('an unknown operation creates no series', async () => {
  const meter = createMeter({ operations: ['models.list'] });
  meter.recordRequest({ operation: 'models.list', status: 200, kind: 'none', durationMs: 3, promptTokens: 5 });
  meter.recordRequest({ operation: '/etc/passwd', status: 404, kind: 'not-found', durationMs: 1 });
  const { text, contentType } = await meter.renderMetrics();
  assert.match(contentType, /^text\/plain/);
  assert.match(text, /parley_requests_total\{operation="models.list",status="200",kind="none"\} 1/);
  assert.match(text, /parley_requests_total\{operation="other",status="404",kind="not-found"\} 1/);
  assert.match(text, /parley_tokens_total\{operation="models.list",direction="prompt"\} 5/);
  assert.ok(!text.includes('passwd'));
});

test('counts job attempts by outcome, and running jobs', async () => {
  const meter = createMeter({ operations: [] });
  const [ended] = [meter.trackJob('batch'), meter.trackJob('batch')];
  ended('waiting');
  const { text } = await meter.renderMetrics();
  assert.match(text, /parley_jobs_running\{kind="batch"\} 1/);
  assert.match(text, /parley_job_attempts_total\{kind="batch",outcome="waiting"\} 1/);
});

test('reports the process and the service as they are at the time of the scrape', async () => {
  let waitingJobs = [{ kind: 'batch', count: 2, oldestSeconds: 30 }];
  const meter = createMeter({
    operations: [],
    processMetrics: {
      eventLoop: { read: () => ({ p50: 0.001, p99: 0.02, max: 0.5 }) },
      readServiceMeasurements: async () => ({
        databaseBytes: 4096,
        walBytes: 512,
        freeDiskBytes: 1e9,
        engines: [
          { engine: 'w', queued: 1, busySequences: 2, sequences: 4 },
          { engine: 'w', queued: 2, busySequences: 0, sequences: 4 },
        ],
        waitingJobs,
      }),
    },
  });
  const { text } = await meter.renderMetrics();
  for (const line of [
    'parley_event_loop_delay_seconds{quantile="p99"} 0.02',
    'parley_event_loop_delay_seconds{quantile="max"} 0.5',
    'parley_database_bytes{file="main"} 4096',
    'parley_database_bytes{file="wal"} 512',
    'parley_data_disk_free_bytes 1000000000',
    'parley_engine_queue_length{engine="w"} 3',
    'parley_engine_sequences{engine="w",state="busy"} 2',
    'parley_engine_sequences{engine="w",state="total"} 8',
    'parley_jobs_waiting{kind="batch"} 2',
    'parley_jobs_waiting_oldest_seconds{kind="batch"} 30',
  ])
    assert.ok(text.split('\n').includes(line), line);
  assert.match(text, /^parley_resident_memory_bytes [1-9]\d{6,}$/m);
  if (process.platform === 'linux') {
    assert.match(text, /^parley_open_file_descriptors [1-9]\d*$/m);
    assert.match(text, /^parley_file_descriptor_limit [1-9]\d*$/m);
  }
  waitingJobs = [];
  assert.doesNotMatch((await meter.renderMetrics()).text, /parley_jobs_waiting\{/);
});

test('measures how late the timers of the event loop are', async () => {
  let now = 0;
  const monitor = startEventLoopMonitor(() => now);
  await until('a late timer', { timeoutMs: 10_000 }, async () => {
    const started = performance.now();
    while (performance.now() - started < 200);
    return monitor.read().max > 0.1 || undefined;
  });
  now = 60_000;
  monitor.read();
  assert.ok(monitor.read().max > 0.1, 'the last window counts, too');
  now = 120_000;
  monitor.read();
  assert.ok(monitor.read().max < 0.1);
  await monitor.close();
});

test('counts checks of weights by their outcome', async () => {
  const meter = createMeter({ operations: [] });
  meter.recordWeightsCheck('intact');
  meter.recordWeightsCheck('damaged');
  const { text } = await meter.renderMetrics();
  for (const outcome of ['intact', 'damaged'])
    assert.match(text, new RegExp(`^parley_weights_checks_total\\{outcome="${outcome}"\\} 1$`, 'm'));
});

test('two meters count separately, and closing a stream twice has no effect', async () => {
  const [one, two] = [createMeter({ operations: [] }), createMeter({ operations: [] })];
  const close = one.trackStream();
  one.trackStream();
  close();
  close();
  assert.match((await one.renderMetrics()).text, /parley_streams_in_flight 1/);
  assert.match((await two.renderMetrics()).text, /parley_streams_in_flight 0/);
});

test('counts damaged data from zero', async () => {
  const meter = createMeter({ operations: [] });
  meter.recordDamage('blob');
  const { text } = await meter.renderMetrics();
  assert.match(text, /parley_damaged_data_total\{data="blob"\} 1/);
  assert.match(text, /parley_damaged_data_total\{data="database"\} 0/);
});
