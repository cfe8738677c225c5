import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openTestInterpreter } from './__fixtures__/test-interpreter.ts';

/** Wheels that `.ci/run` downloads. */
const WHEELS_FOLDER = fileURLToPath(new URL('../../../../../.cache/wasm-wheels', import.meta.url));

const skipReason = existsSync(WHEELS_FOLDER) ? false : 'no .cache/wasm-wheels (.ci/run downloads them)';

describe('wheel with a compiled module', { skip: skipReason }, () => {
  test('is imported and runs in the sandbox', async () => {
    await using testInterpreter = await openTestInterpreter({ wheelsFolder: WHEELS_FOLDER });
    assert.ok(testInterpreter.status.effectiveLevel === 'strict' || testInterpreter.status.effectiveLevel === 'basic');
    const { value, error } = await testInterpreter.runAlone(`import msgpack
from msgpack import _cmsgpack
value = {'towers': [1, 2.5, None], 'name': 'é'}
(msgpack.Packer is _cmsgpack.Packer, msgpack.unpackb(msgpack.packb(value)) == value, msgpack.packb([1, 2]))`);
    assert.equal(error, undefined);
    assert.equal(value, `(True, True, b'\\x92\\x01\\x02')`);
  });
});
