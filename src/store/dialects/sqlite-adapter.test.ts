import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { sqliteAdapter } from './sqlite-adapter.ts';

describe('the SQLite adapter', () => {
  it('prepares a text once, and forgets the one unused for longest', () => {
    const adapter = sqliteAdapter(new DatabaseSync(':memory:'), 2);
    const one = adapter.prepare('select 1');
    const two = adapter.prepare('select 2');
    assert.equal(adapter.prepare('select 1'), one);
    adapter.prepare('select 3');
    assert.equal(adapter.prepare('select 1'), one);
    assert.notEqual(adapter.prepare('select 2'), two);
  });

  it('tells statements that give rows from those that do not', () => {
    const adapter = sqliteAdapter(new DatabaseSync(':memory:'));
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

  it('begins every transaction as a writer', () => {
    const database = new DatabaseSync(':memory:');
    const adapter = sqliteAdapter(database);
    assert.equal(adapter.prepare('begin'), adapter.prepare('begin immediate'));
    adapter.prepare('begin').run([]);
    assert.ok(database.isTransaction);
    adapter.prepare('rollback').run([]);
    assert.ok(!database.isTransaction);
    adapter.prepare('rollback').run([]); // the database has already done it: no failure
  });

  it('refuses a parameter that SQLite has no type for', () => {
    const adapter = sqliteAdapter(new DatabaseSync(':memory:'));
    assert.throws(() => adapter.prepare('select ?').all([{}]), /takes no object/);
    assert.throws(() => adapter.prepare('select ?').all([undefined]), /takes no undefined/);
  });
});
