import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../lib/clock.ts';
import { formatBytes } from './format-bytes.ts';
import { createProgressMeter, type PullProgress } from './progress-meter.ts';
import { createProgressPrinter, describeProgress } from './progress-printer.ts';

function createManualClock(): Clock & { pass(ms: number): void } {
  let ms = 0;
  return { now: () => ms, monotonic: () => ms, pass: (more) => void (ms += more) };
}

test('computes the rate over the last seconds, without bytes of an earlier attempt', () => {
  const clock = createManualClock();
  const reports: PullProgress[] = [];
  const meter = createProgressMeter({ weights: 'w', source: 'hub', clock, report: (event) => reports.push(event) });
  meter.update({ doneBytes: 5_000, totalBytes: 100_000 });
  assert.equal(reports[0]?.ratePerSecond, 0);
  assert.equal(reports[0]?.secondsLeft, undefined);
  clock.pass(1_000);
  meter.update({ doneBytes: 6_000, totalBytes: 100_000 });
  assert.equal(reports[1]?.ratePerSecond, 1_000);
  assert.equal(reports[1]?.secondsLeft, 94);
  for (let second = 0; second < 30; second++) {
    clock.pass(1_000);
    meter.update({ doneBytes: 6_000 + (second + 1) * 2_000, totalBytes: 100_000 });
  }
  assert.equal(reports.at(-1)?.ratePerSecond, 2_000);
});

test('reports at most five times a second, and always the last state', () => {
  const clock = createManualClock();
  const reports: number[] = [];
  const meter = createProgressMeter({
    weights: 'w',
    source: 'hub',
    clock,
    report: (event) => reports.push(event.doneBytes),
  });
  for (let bytes = 1; bytes <= 1_000; bytes++) {
    clock.pass(1);
    meter.update({ doneBytes: bytes, totalBytes: 1_000 });
  }
  assert.equal(reports.length, 6);
  assert.equal(reports.at(-1), 1_000);
});

const PROGRESS: PullProgress = {
  weights: 'w',
  source: 'packages',
  doneBytes: 206_400_000,
  totalBytes: 491_400_064,
  donePart: 2,
  parts: 6,
  ratePerSecond: 12_300_000,
  secondsLeft: 23.2,
};

test('formats share, rate and remaining time', () => {
  assert.equal(describeProgress(PROGRESS), 'w from packages: 42 % 206 MB of 491 MB, part 2 of 6, 12 MB/s, 0:24 left');
  assert.equal(
    describeProgress({ weights: 'w', source: 'hub', doneBytes: 900, ratePerSecond: 0 }),
    'w from hub: 900 B',
  );
  assert.match(describeProgress({ ...PROGRESS, secondsLeft: 7_262 }), /2:01:02 left$/);
});

test('rewrites one line on a terminal, which never wraps', () => {
  const written: string[] = [];
  const stream = { isTTY: true, columns: 30, write: (text: string) => written.push(text) };
  const printer = createProgressPrinter(stream, createManualClock());
  printer.report(PROGRESS);
  printer.report(PROGRESS);
  printer.finishLine();
  printer.finishLine();
  assert.deepEqual(written, [
    '\rw from packages: 42 % 206 MB \u001b[K',
    '\rw from packages: 42 % 206 MB \u001b[K',
    '\n',
  ]);
});

test('prints few plain lines without a terminal, including the first and the last', () => {
  const clock = createManualClock();
  const written: string[] = [];
  const printer = createProgressPrinter({ write: (text: string) => written.push(text) }, clock);
  const progressAt = (share: number): PullProgress => ({
    ...PROGRESS,
    doneBytes: share * PROGRESS.doneBytes,
    totalBytes: PROGRESS.doneBytes,
  });
  for (let share = 0; share < 100; share++) {
    printer.report(progressAt(share / 100));
    clock.pass(1_000);
  }
  printer.report(progressAt(1));
  assert.equal(written.length, 11);
  assert.ok(written.every((line) => line.endsWith('\n') && !line.includes('\r')));
  for (let second = 0; second <= 60; second++) {
    printer.report({ ...progressAt(0.01), weights: 'slow' });
    clock.pass(1_000);
  }
  assert.equal(written.length, 13, 'a slow download is reported once a minute');
});

test('formats sizes briefly', () => {
  const sizes = [0, 999, 1_000, 9_949, 98_362_432, 491_400_064, 999_600_000, 1_117_320_768];
  assert.deepEqual(sizes.map(formatBytes), ['0 B', '999 B', '1.0 kB', '9.9 kB', '98 MB', '491 MB', '1.0 GB', '1.1 GB']);
});
