import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { createModelsReload } from './reload-models.ts';

test('a complaint is made once per content of the file, and again after the file was good', async () => {
  let output = '';
  let text = 'bad';
  const reload = createModelsReload({
    reload: async () => {
      if (text.startsWith('bad')) throw new ServiceError('invalid-request', `${text} is wrong`);
    },
    readText: () => text,
    stdout: { write: (said) => (output += said) },
  });
  const said = async (now: string) => {
    output = '';
    text = now;
    await Promise.all([reload(), reload()]); // the signal and the look at the file
    return output;
  };
  assert.equal(await said('bad'), 'The models stay as they are: bad is wrong\n');
  assert.equal(await said('bad'), '');
  assert.equal(await said('bad too'), 'The models stay as they are: bad too is wrong\n');
  assert.equal(await said('good'), '');
  assert.equal(await said('bad'), 'The models stay as they are: bad is wrong\n');
});
