import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { createDatabaseHealth, type DatabaseDamageReport } from './database-health.ts';

const FILE = '/data/parley.db';

function create() {
  let nowMs = 0;
  const logged: string[] = [];
  const health = createDatabaseHealth({
    file: FILE,
    clock: { now: () => nowMs, monotonic: () => nowMs },
    log: { error: (message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`) },
  });
  return { health, logged, pass: (ms: number) => void (nowMs += ms) };
}

describe('database health', () => {
  it('is not ready for good after corruption, and names the file and the command', () => {
    const { health, pass } = create();
    assert.equal(health.getProblem(), undefined);
    health.report({ type: 'corrupt', error: new Error('database disk image is malformed') });
    pass(1e9);
    assert.match(
      health.getProblem() ?? '',
      /\/data\/parley\.db is damaged: database disk image is malformed; run `parley check`/,
    );
    assert.doesNotThrow(() => health.throwIfRefused());
  });

  it('is ready again a minute after the last disk error', () => {
    const { health, pass } = create();
    for (let count = 0; count < 2; count += 1) {
      health.report({ type: 'disk-error', error: new Error('disk I/O error') });
      pass(59_999);
      assert.match(health.getProblem() ?? '', /cannot be read or written: disk I\/O error/);
    }
    pass(1);
    assert.equal(health.getProblem(), undefined);
  });

  it('reports each damage, and logs once in ten seconds', () => {
    const { health, logged, pass } = create();
    let count = 0;
    health.onDamage(() => (count += 1));
    for (const ms of [0, 5_000, 5_000]) {
      pass(ms);
      health.report({ type: 'corrupt', error: new Error('malformed') });
    }
    assert.equal(count, 3);
    assert.equal(logged.length, 2);
    assert.ok(logged.every((line) => line.includes(FILE)));
  });

  it('passes on damage that other processes do not know yet', () => {
    const { health, pass } = create();
    const reports: DatabaseDamageReport[] = [];
    health.onReport((report) => reports.push(report));
    const [corruption, diskError] = [new Error('malformed'), new Error('disk I/O error')];
    for (const ms of [0, 999, 1]) {
      pass(ms);
      health.report({ type: 'corrupt', error: corruption });
      health.report({ type: 'disk-error', error: diskError });
    }
    assert.deepEqual(reports, [
      { type: 'corrupt', message: 'malformed' },
      { type: 'disk-error', message: 'disk I/O error' },
      { type: 'disk-error', message: 'disk I/O error' },
    ]);
  });

  it('records damage of another process as its own, without a log line, a count and another report', () => {
    const { health, logged } = create();
    const calls: string[] = [];
    health.onDamage(() => calls.push('damage'));
    health.onReport(() => calls.push('report'));
    health.recordReport({ type: 'disk-error', message: 'disk I/O error' });
    assert.match(health.getProblem() ?? '', /cannot be read or written: disk I\/O error/);
    assert.equal(health.getCorruption(), undefined);
    health.recordReport({ type: 'corrupt', message: 'malformed' });
    assert.match(health.getProblem() ?? '', /is damaged: malformed/);
    assert.deepEqual(health.getCorruption(), { type: 'corrupt', message: 'malformed' });
    health.report({ type: 'corrupt', error: new Error('malformed') });
    assert.deepEqual([calls, logged.length], [['damage'], 1]);
  });

  it('refuses requests after a check found damage, and passes the problem on', () => {
    const { health, logged } = create();
    const problems: string[] = [];
    health.onRefusal((problem) => problems.push(problem));
    health.refuse('page 7');
    assert.throws(
      () => health.throwIfRefused(),
      (thrown) => {
        assert.ok(thrown instanceof ServiceError);
        assert.equal(thrown.kind, 'overloaded');
        assert.ok(!thrown.message.includes('page 7'), 'callers learn nothing about the file');
        return true;
      },
    );
    assert.deepEqual([health.getProblem(), health.getRefusal(), problems], ['page 7', 'page 7', ['page 7']]);
    assert.equal(logged.length, 1);
  });
});
