import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';
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
