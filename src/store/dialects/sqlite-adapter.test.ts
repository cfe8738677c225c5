import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { createSqliteAdapter } from './sqlite-adapter.ts';

describe('SQLite adapter', () => {
  it('prepares each SQL text once and evicts the least recently used statement', () => {
    const adapter = createSqliteAdapter(new DatabaseSync(':memory:'), 2);
    const one = adapter.prepare('select 1');
    const two = adapter.prepare('select 2');
    assert.equal(adapter.prepare('select 1'), one);
    adapter.prepare('select 3');
    assert.equal(adapter.prepare('select 1'), one);
    assert.notEqual(adapter.prepare('select 2'), two);
  });

  it('distinguishes statements that return rows from others', () => {
    const adapter = createSqliteAdapter(new DatabaseSync(':memory:'));
    assert.equal(adapter.prepare('create table t (a)').reader, false);
    adapter.prepare('create table t (a)').run([]);
    assert.equal(adapter.prepare('insert into t values (?)').reader, false);
    const returning = adapter.prepare('insert into t values (?) returning a');
    assert.equal(returning.reader, true);
    assert.deepEqual(
      returning.all([2n ** 40n]).map((row) => ({ ...Object(row) })),
      [{ a: 2 ** 40 }],
    );
  });

  it('starts every transaction as a writer', () => {
    const database = new DatabaseSync(':memory:');
    const adapter = createSqliteAdapter(database);
    assert.equal(adapter.prepare('begin'), adapter.prepare('begin immediate'));
    adapter.prepare('begin').run([]);
    assert.ok(database.isTransaction);
    adapter.prepare('rollback').run([]);
    assert.ok(!database.isTransaction);
    adapter.prepare('rollback').run([]); // SQLite has already rolled back: no failure
  });

  it('rejects a parameter type that SQLite does not support', () => {
    const adapter = createSqliteAdapter(new DatabaseSync(':memory:'));
    assert.throws(() => adapter.prepare('select ?').all([{}]), /does not support parameters of type object/);
    assert.throws(() => adapter.prepare('select ?').all([undefined]), /does not support parameters of type undefined/);
  });
});
