import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { readProgramVersion } from '../../src/engines/command/find-program.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-version-'));
after(() => rmSync(root, { recursive: true }));

const writeScript = (name: string, text: string): string => {
  const path = join(root, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  return path;
};

const OPTIONS = { environment: { PATH: process.env.PATH, PARLEY_SECRET: 'parley-secret' }, timeoutMs: 10_000 };

describe('readProgramVersion', () => {
  test('returns the line with the version from either output stream', async () => {
    const chatty = writeScript(
      'chatty',
      'echo "ggml_cuda_init: found 1" >&2; echo "version: 9931 (abc)" >&2; echo "built with" >&2',
    );
    assert.equal(await readProgramVersion(chatty, OPTIONS), 'version: 9931 (abc)');
    assert.equal(await readProgramVersion(writeScript('short', 'echo; echo 0.21.0'), OPTIONS), '0.21.0');
  });

  test('passes no variables of Parley to the program', async () => {
    assert.equal(await readProgramVersion(writeScript('nosy', 'echo "[$PARLEY_SECRET]"'), OPTIONS), '[]');
  });

  test('returns undefined for a program that fails, prints nothing, or takes too long', async () => {
    assert.equal(await readProgramVersion(writeScript('failing', 'echo 1.0; exit 1'), OPTIONS), undefined);
    assert.equal(await readProgramVersion(writeScript('silent', ''), OPTIONS), undefined);
    assert.equal(await readProgramVersion(join(root, 'nothing'), OPTIONS), undefined);
    assert.equal(
      await readProgramVersion(writeScript('slow', 'exec sleep 60'), { ...OPTIONS, timeoutMs: 200 }),
      undefined,
    );
  });
});
