import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openInterpreter } from './__fixtures__/code-interpreter.ts';

/** What `.ci/run` fetches. */
const WHEELS = fileURLToPath(new URL('../../.cache/wasm-wheels', import.meta.url));

const lacks = existsSync(WHEELS) ? false : 'no .cache/wasm-wheels (.ci/run fetches them)';

describe('a wheel with a compiled module', { skip: lacks }, () => {
  test('is imported and runs, in the sandbox in force', async () => {
    await using interpreter = await openInterpreter({ wheelsFolder: WHEELS });
    assert.ok(interpreter.status.inForce === 'strict' || interpreter.status.inForce === 'basic');
    const { value, error } = await interpreter.runAlone(`import msgpack
from msgpack import _cmsgpack
said = {'towers': [1, 2.5, None], 'name': 'é'}
(msgpack.Packer is _cmsgpack.Packer, msgpack.unpackb(msgpack.packb(said)) == said, msgpack.packb([1, 2]))`);
    assert.equal(error, undefined);
    assert.equal(value, `(True, True, b'\\x92\\x01\\x02')`);
  });
});
