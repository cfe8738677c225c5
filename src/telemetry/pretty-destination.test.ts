import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from './log.ts';
import { createPrettyDestination } from './pretty-destination.ts';

test('formats time, level, message and fields as one line', () => {
  const lines: string[] = [];
  const log = createLog({ level: 'info', destination: createPrettyDestination({ write: (text) => lines.push(text) }) });
  log.info('request', { operation: 'models.list', status: 200 });
  assert.match(lines.join(''), /^\d\d:\d\d:\d\d info  request operation=models\.list status=200\n$/);
});

test('passes on a line that is not JSON', () => {
  const lines: string[] = [];
  createPrettyDestination({ write: (text) => lines.push(text) }).write('plain words\n');
  assert.deepEqual(lines, ['plain words\n']);
});

test('formats each of several lines in one write', () => {
  const lines: string[] = [];
  createPrettyDestination({ write: (text) => lines.push(text) }).write(
    'one\n{"level":"info","time":"","msg":"two","worker":1}\n',
  );
  assert.deepEqual(lines, ['one\n', ' info  two worker=1\n']);
});
