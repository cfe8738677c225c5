import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { startParley } from '../../../../../test/clients/harness.ts';
import { getWeightsSkipReason } from '../../../../../test/models-folder.ts';

/** A port that `fetch` refuses to connect to. */
const UNREACHABLE_REGISTRY = 'http://127.0.0.1:9';

describe('a start on a machine without the speech engine', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  const start = async (env: Readonly<Record<string, string>>) => {
    const enginesFolder = mkdtempSync(join(tmpdir(), 'parley-no-engines-'));
    const parley = await startParley({
      withTinyModel: true,
      env: { PARLEY_ENGINES_FOLDER: enginesFolder, PARLEY_NPM_REGISTRY_URL: UNREACHABLE_REGISTRY, ...env },
    });
    try {
      const output = await parley.waitForOutput(/^Try:$/m);
      const ready = await fetch(`${parley.address}/ready`);
      assert.equal(ready.status, 200, await ready.text());
      return output;
    } finally {
      await parley.stop();
      rmSync(enginesFolder, { recursive: true });
    }
  };

  test('runs without speech when the requested installation fails, and says why', async () => {
    const output = await start({ PARLEY_WITH: 'speech' });
    assert.match(output, /^Speech was not installed: Cannot reach the package registry http:\/\/127\.0\.0\.1:9/m);
    assert.doesNotMatch(output, /\[y\/N\]/);
  });

  test('asks nothing without a terminal, and reports the vocabulary interface as on', async () => {
    const output = await start({});
    assert.doesNotMatch(output, /\[y\/N\]|Speech is not added/);
    assert.match(
      output,
      /Custom vocabulary +on +\/api\/v1\/services\/audio\/asr\/customization: the speech engine is not/,
    );
  });
});
