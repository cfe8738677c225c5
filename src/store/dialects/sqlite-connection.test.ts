import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { SqliteConnection } from './sqlite-connection.ts';

describe('SQLite connection', () => {
  it('prepares each SQL text once and evicts the least recently used statement', (test) => {
    const database = new DatabaseSync(':memory:');
    const prepared = test.mock.method(database, 'prepare');
    const connection = new SqliteConnection(database, 2);
    const countPrepared = (...texts: readonly string[]): number => {
      const before = prepared.mock.callCount();
      for (const text of texts) connection.execute(text, []);
      return prepared.mock.callCount() - before;
    };
    assert.equal(countPrepared('select 1', 'select 2', 'select 1'), 2);
    assert.equal(countPrepared('select 3', 'select 1'), 1);
    assert.equal(countPrepared('select 2'), 1);
  });

  it('returns the rows of a statement, or the number of rows that it changed', () => {
    const connection = new SqliteConnection(new DatabaseSync(':memory:'));
    connection.execute('create table t (a)', []);
    assert.deepEqual(connection.execute('insert into t values (?), (2)', [1]).numAffectedRows, 2n);
    const { rows } = connection.execute('insert into t values (?) returning a', [2n ** 40n]);
    assert.deepEqual(
      rows.map((row) => ({ ...Object(row) })),
      [{ a: 2 ** 40 }],
    );
  });

  it('rejects a parameter type that SQLite does not support', () => {
    const connection = new SqliteConnection(new DatabaseSync(':memory:'));
    assert.throws(() => connection.execute('select ?', [{}]), /does not support parameters of type object/);
    assert.throws(() => connection.execute('select ?', [undefined]), /does not support parameters of type undefined/);
  });
});
