import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { createModelsReloader } from './models-reloader.ts';

test('prints a failure once per text of the file, and again after a successful reload', async () => {
  let output = '';
  let text = 'bad';
  const reload = createModelsReloader({
    reload: async () => {
      if (text.startsWith('bad')) throw new ServiceError('invalid-request', `${text} is wrong`);
    },
    readText: () => text,
    stdout: { write: (text) => (output += text) },
  });
  const reloadWith = async (now: string) => {
    output = '';
    text = now;
    await Promise.all([reload(), reload()]); // the signal and the file watcher
    return output;
  };
  assert.equal(await reloadWith('bad'), 'The models were not reloaded: bad is wrong\n');
  assert.equal(await reloadWith('bad'), '');
  assert.equal(await reloadWith('bad too'), 'The models were not reloaded: bad too is wrong\n');
  assert.equal(await reloadWith('good'), '');
  assert.equal(await reloadWith('bad'), 'The models were not reloaded: bad is wrong\n');
});
