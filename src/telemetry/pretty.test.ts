import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';
import { prettyLines } from './pretty.ts';

test('a person reads time, level, message and facts in one line', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: prettyLines({ write: (text) => lines.push(text) }) });
  log.info('request', { operation: 'models.list', status: 200 });
  assert.match(lines.join(''), /^\d\d:\d\d:\d\d info  request operation=models\.list status=200\n$/);
});

test('what is no JSON is passed on', () => {
  const lines: string[] = [];
  prettyLines({ write: (text) => lines.push(text) }).write('plain words\n');
  assert.deepEqual(lines, ['plain words\n']);
});

test('several lines at once are one line each', () => {
  const lines: string[] = [];
  prettyLines({ write: (text) => lines.push(text) }).write('one\n{"level":"info","time":"","msg":"two","worker":1}\n');
  assert.deepEqual(lines, ['one\n', ' info  two worker=1\n']);
});
